// What the tests of cairn/movable/relocatable_heap.hpp share: heaps with holes, and where their
// objects are.
#pragma once

#include <cairn/movable/relocatable_heap.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace relocatable_heap_tests {

using cairn::relocatable_heap;
using cairn::work_limit;
using handle = relocatable_heap::handle_type;

inline constexpr auto everything = work_limit{};

inline std::uintptr_t address(const relocatable_heap& heap, handle h) {
    return reinterpret_cast<std::uintptr_t>(heap.get(h));
}

/// Objects of the given sizes, every second one freed.
inline std::vector<handle> make_holes(relocatable_heap& heap, std::size_t count,
                                      std::size_t size_min, std::size_t size_step) {
    std::vector<handle> kept;
    std::vector<handle> freed;
    for (std::size_t i = 0; i < count; ++i) {
        const handle h = heap.allocate(size_min + i % 7 * size_step);
        EXPECT_TRUE(h);
        std::memset(heap.get(h), static_cast<int>(i), heap.size(h));
        (i % 2 == 0 ? freed : kept).push_back(h);
    }
    for (const handle h : freed) { heap.deallocate(h); }
    return kept;
}

}  // namespace relocatable_heap_tests
