// Cold half of cairn/alloc/heap.hpp: the five heaps beside the usual one, compiled once.
#include <cairn/alloc/best_fit.hpp>
#include <cairn/alloc/first_fit.hpp>
#include <cairn/alloc/half_fit.hpp>
#include <cairn/alloc/heap.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

template class heap<quick_fit>;
template class heap<strict_good_fit>;
template class heap<best_fit>;
template class heap<first_fit>;
template class heap<half_fit>;

}}  // namespace cairn::CAIRN_FLAVOUR
