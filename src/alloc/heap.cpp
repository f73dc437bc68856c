// Cold half of cairn/alloc/heap.hpp: the five heaps that people use, compiled once, and their last word.
#include <cairn/alloc/heap.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

void detail::heap_is_corrupt(const char* sentence) noexcept {
    assert_failed("the heap's words agree (checked in every build)", sentence);
}

template class heap<good_fit>;
template class heap<strict_good_fit>;
template class heap<best_fit>;
template class heap<first_fit>;
template class heap<half_fit>;

}  // namespace cairn::inline CAIRN_FLAVOUR
