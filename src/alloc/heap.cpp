// Cold half of cairn/alloc/heap.hpp: the usual heap, compiled once.
// Heaps of other fits: heap/other_fits.cpp, which a program without one does not link.
#include <cairn/alloc/heap.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

template class heap<good_fit>;

}}  // namespace cairn::CAIRN_FLAVOUR
