// Cold half of cairn/alloc/heap.hpp: the five heaps beside the usual one, compiled once.
#include <cairn/alloc/heap.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

template class detail::heap_core<quick_fit>;
template class detail::heap_core<strict_good_fit>;
template class detail::heap_core<best_fit>;
template class detail::heap_core<first_fit>;
template class detail::heap_core<half_fit>;
template class heap<quick_fit>;
template class heap<strict_good_fit>;
template class heap<best_fit>;
template class heap<first_fit>;
template class heap<half_fit>;

}}  // namespace cairn::CAIRN_FLAVOUR
