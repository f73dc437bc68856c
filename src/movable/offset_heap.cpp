// Cold half of cairn/movable/offset_heap.hpp: the two heaps that people use, compiled once.
#include <cairn/movable/offset_heap.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

template class basic_offset_heap<std::uint64_t>;
template class basic_offset_heap<std::uint32_t>;

}}  // namespace cairn::CAIRN_FLAVOUR
