// Cold half of cairn/alloc/heap.hpp: the five heaps that people use, compiled once.
#include <cairn/alloc/heap.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

template class heap<good_fit>;
template class heap<strict_good_fit>;
template class heap<best_fit>;
template class heap<first_fit>;
template class heap<half_fit>;

}  // namespace cairn::inline CAIRN_FLAVOUR
