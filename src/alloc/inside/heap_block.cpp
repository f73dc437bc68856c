// Cold half of cairn/alloc/inside/heap_block.hpp: the last word of all heaps, also of movable ones.
#include <cairn/alloc/inside/heap_block.hpp>

#include <cstring>

namespace cairn { inline namespace CAIRN_FLAVOUR {

void detail::heap_is_corrupt(const char* sentence, const void* memory) noexcept {
    // Texts are compared: each module of a program may have sentences of its own.
    const auto is = [sentence](const char* text) { return std::strcmp(sentence, text) == 0; };
    const misuse_kind kind = is(heap_promise::freed_once)    ? misuse_kind::double_free
                             : is(heap_promise::freed_here)  ? misuse_kind::foreign_pointer
                             : is(heap_promise::freed_start) ? misuse_kind::foreign_pointer
                             : is(heap_promise::freed_size)  ? misuse_kind::wrong_size
                                                             : misuse_kind::corrupted;
    assert_failed("the heap's words agree (checked in every build)", sentence,
                  {.kind = kind, .object = memory, .type = "memory of a heap"});
}

}}  // namespace cairn::CAIRN_FLAVOUR
