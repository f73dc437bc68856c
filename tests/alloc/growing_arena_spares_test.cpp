// Which of its spare blocks a growing_arena takes.
#include <cairn/alloc/growing_arena.hpp>
#include <gtest/gtest.h>

#include "support/test_upstream.hpp"

using namespace cairn;
using namespace cairn::literals;

TEST(growing_arena_spares, a_large_request_takes_the_smallest_that_holds_it) {
    test_upstream upstream;
    growing_arena a{4_KiB, upstream};
    const auto before = a.mark();
    void* const large = a.allocate(300'000);
    void* const small = a.allocate(100'000);
    void* const medium = a.allocate(200'000);
    a.rewind(before);  // all three are spares
    const std::size_t asked = upstream.request_count();
    EXPECT_EQ(a.allocate(90'000), small);
    EXPECT_EQ(a.allocate(190'000), medium);
    EXPECT_EQ(a.allocate(290'000), large) << "which nothing smaller has taken";
    EXPECT_EQ(upstream.request_count(), asked);
    a.validate();
}

TEST(growing_arena_spares, trim_gives_them_back_and_keeps_what_is_used) {
    test_upstream upstream;
    growing_arena memory{1024, upstream};
    EXPECT_EQ(memory.trim(), 0u);
    auto* const first = static_cast<char*>(memory.allocate(100));
    *first = 'a';
    const std::size_t used = upstream.live_size();
    const auto here = memory.mark();
    for (int i = 0; i < 100; ++i) { ASSERT_NE(memory.allocate(1000), nullptr); }
    EXPECT_EQ(memory.trim(), 0u) << "all blocks are used";
    memory.rewind(here);
    const std::size_t spare = upstream.live_size() - used;
    EXPECT_GT(spare, 90'000u);
    EXPECT_EQ(memory.trim(), spare);
    EXPECT_EQ(upstream.live_size(), used);
    memory.validate();
    EXPECT_EQ(*first, 'a');
    ASSERT_NE(memory.allocate(5000), nullptr);
    memory.reset();
    memory.trim();
    EXPECT_EQ(upstream.live_size(), 0u);
    memory.validate();
    EXPECT_NE(memory.allocate(10), nullptr);
}

TEST(growing_arena_spares, small_requests_take_the_largest_that_was_filled_before) {
    test_upstream upstream;
    growing_arena a{1_KiB, upstream};
    const auto before = a.mark();
    void* const oversized = a.allocate(50'000);
    for (int i = 0; i < 20; ++i) { ASSERT_NE(a.allocate(300), nullptr); }  // 1, 2 and 4 KiB
    a.rewind(before);
    const std::size_t asked = upstream.request_count();
    auto* const first = static_cast<std::byte*>(a.allocate(304));
    for (std::size_t i = 1; i < 13; ++i) { ASSERT_EQ(a.allocate(304), first + i * 304); }
    EXPECT_EQ(a.allocate(50'000), oversized) << "which waited for a request of its size";
    EXPECT_EQ(upstream.request_count(), asked);
    a.validate();
}
