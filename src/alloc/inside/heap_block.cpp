// Cold half of cairn/alloc/inside/heap_block.hpp: the last word of all heaps, also of movable ones.
#include <cairn/alloc/inside/heap_block.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

void detail::heap_is_corrupt(const char* sentence, const void* memory) noexcept {
    // heap_promise has one object for each sentence, so addresses are compared, not the text.
    const misuse_kind kind = sentence == heap_promise::freed_once   ? misuse_kind::double_free
                             : sentence == heap_promise::freed_here ? misuse_kind::foreign_pointer
                             : sentence == heap_promise::freed_size ? misuse_kind::wrong_size
                                                                    : misuse_kind::corrupted;
    assert_failed("the heap's words agree (checked in every build)", sentence,
                  {.kind = kind, .object = memory, .type = "memory of a heap"});
}

}}  // namespace cairn::CAIRN_FLAVOUR
