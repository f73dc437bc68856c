// Sentences of cairn/core/cache_line.hpp.
#include <cairn/core/cache_line.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

using namespace cairn;

TEST(cache_line_padded, neighbours_of_an_array_lie_on_different_lines) {
    cache_line_padded<int> counts[3];
    const auto line = [](const int& of) {
        return reinterpret_cast<std::uintptr_t>(&of) / cache_line_size;
    };
    EXPECT_EQ(line(*counts[1]) - line(*counts[0]), 1u);
    EXPECT_EQ(line(*counts[2]) - line(*counts[1]), 1u);
    EXPECT_EQ(*counts[2], 0) << "the object is cleared";
}

TEST(cache_line_padded, a_type_that_is_aligned_to_more_keeps_its_alignment) {
    struct alignas(4 * cache_line_size) page {
        char bytes[10];
    };
    static_assert(alignof(cache_line_padded<page>) == 4 * cache_line_size);
    static_assert(sizeof(cache_line_padded<page>) == sizeof(page));
}

TEST(cache_line_padded, is_used_like_a_pointer) {
    cache_line_padded<std::string> name;
    *name = "cairn";
    const auto& read = name;
    EXPECT_EQ(read->size(), 5u);
    EXPECT_EQ(&*read, &name.value);
}
