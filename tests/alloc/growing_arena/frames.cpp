// Sentences of cairn/alloc/growing_arena.hpp about frames: what one reset leaves for the next, and
// what was reserved.
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/core/sizes.hpp>
#include <gtest/gtest.h>

#include <cstddef>

#include "support/test_upstream.hpp"

using namespace cairn;

TEST(growing_arena, options_may_follow_the_size_of_the_first_block) {
    growing_arena a{4_KiB, {.block_size_max = 4_KiB, .name = "frames"}};
    EXPECT_NE(a.allocate(4_KiB / 2), nullptr);
    EXPECT_NE(a.allocate(4_KiB / 2), nullptr);
    EXPECT_NE(a.allocate(4_KiB / 2), nullptr);
    EXPECT_LT(a.capacity(), 13_KiB) << "blocks do not double";
    EXPECT_GE(a.block_count(), 2u);
}

TEST(growing_arena, after_warm_up_a_frame_calls_no_upstream) {
    for (const reset_policy policy :
         {reset_policy::keep_all(), reset_policy::coalesce(), reset_policy::keep(1_MiB)}) {
        test_upstream upstream;
        growing_arena a{1_KiB, upstream, {.on_reset = policy}};
        std::size_t warm = 0;
        for (int frame = 0; frame < 100; ++frame) {
            const int load = 50 + (frame * 37) % 100;  // changes from frame to frame
            for (int i = 0; i < load; ++i) {
                ASSERT_NE(a.allocate(static_cast<std::size_t>(8 + i)), nullptr);
            }
            ASSERT_NE(a.allocate(3000), nullptr);
            a.reset();
            if (frame == 60) { warm = upstream.request_count(); }
        }
        EXPECT_EQ(upstream.request_count(), warm);
        EXPECT_EQ(a.used_size(), 0u);
    }
}

TEST(growing_arena, coalesce_puts_the_next_frame_into_one_block) {
    test_upstream upstream;
    growing_arena a{1_KiB, upstream, {.on_reset = reset_policy::coalesce()}};
    for (int i = 0; i < 100; ++i) { (void)a.allocate(100); }
    EXPECT_GT(a.block_count(), 1u);
    a.reset();
    EXPECT_EQ(a.block_count(), 1u);
    EXPECT_GE(a.capacity(), 100u * 112u);
    auto* const first = static_cast<std::byte*>(a.allocate(100));
    for (int i = 1; i < 100; ++i) { EXPECT_EQ(a.allocate(100), first + i * 112); }
}

TEST(growing_arena, adaptive_forgets_one_worst_frame) {
    test_upstream upstream;
    growing_arena a{1_KiB, upstream, {.on_reset = reset_policy::adaptive()}};
    const auto frame = [&](int count) {
        for (int i = 0; i < count; ++i) { ASSERT_NE(a.allocate(100), nullptr); }
        a.reset();
    };
    for (int i = 0; i < 10; ++i) { frame(20); }
    frame(10000);
    EXPECT_GT(upstream.live_size(), 1000000u);
    for (int i = 0; i < 200; ++i) { frame(20); }
    EXPECT_LT(upstream.live_size(), 20u * 112u * 3u);
    const std::size_t warm = upstream.request_count();
    for (int i = 0; i < 50; ++i) { frame(20); }
    EXPECT_EQ(upstream.request_count(), warm) << "a steady load calls no upstream";
}

TEST(growing_arena, growth_can_be_forbidden_after_reserve) {
    test_upstream upstream;
    growing_arena a{1_KiB, upstream};
    ASSERT_TRUE(a.reserve(10000));
    a.set_growth(growing_arena::growth::forbidden);
    std::size_t served = 0;
    while (a.allocate(100) != nullptr) { served += 100; }
    EXPECT_GE(served, 8900u);
    EXPECT_EQ(upstream.request_count(), 1u);
    a.set_growth(growing_arena::growth::allowed);
    EXPECT_NE(a.allocate(100), nullptr);
}

TEST(growing_arena, what_was_reserved_serves_many_large_requests) {
    test_upstream upstream;
    growing_arena a{64_KiB, upstream};
    ASSERT_TRUE(a.reserve(1_MiB));
    a.set_growth(growing_arena::growth::forbidden);
    for (int i = 0; i < 26; ++i) { ASSERT_NE(a.allocate(40000), nullptr) << i; }  // 1,040,000 bytes
    EXPECT_EQ(upstream.request_count(), 1u);
    a.validate();
}

TEST(growing_arena, a_coalesced_block_serves_the_whole_next_frame_of_large_requests) {
    test_upstream upstream;
    growing_arena a{64_KiB, upstream, {.on_reset = reset_policy::coalesce()}};
    const auto frame = [&] {
        for (int i = 0; i < 20; ++i) { ASSERT_NE(a.allocate(40000), nullptr); }
        a.reset();
    };
    frame();
    frame();
    const std::size_t requests = upstream.request_count();
    for (int i = 0; i < 5; ++i) { frame(); }
    EXPECT_EQ(upstream.request_count(), requests);
}

TEST(growing_arena, what_was_reserved_serves_a_request_of_more_than_half_of_it_and_the_rest) {
    test_upstream upstream;
    growing_arena a{64_KiB, upstream};
    ASSERT_TRUE(a.reserve(1'000'000));
    a.set_growth(growing_arena::growth::forbidden);
    EXPECT_NE(a.allocate(600'000), nullptr);
    EXPECT_NE(a.allocate(400'000), nullptr);
    EXPECT_EQ(upstream.request_count(), 1u);
    a.validate();
}

TEST(growing_arena, a_coalesced_block_serves_a_frame_of_which_one_request_is_most) {
    test_upstream upstream;
    growing_arena a{64_KiB, upstream, {.on_reset = reset_policy::coalesce()}};
    const auto frame = [&] {
        ASSERT_NE(a.allocate(600'000), nullptr);
        for (int i = 0; i < 100; ++i) { ASSERT_NE(a.allocate(1'000), nullptr); }
        a.validate();
        a.reset();
    };
    frame();
    const std::size_t requests = upstream.request_count();
    const std::size_t capacity = a.capacity();
    for (int i = 0; i < 5; ++i) { frame(); }
    EXPECT_EQ(upstream.request_count(), requests);
    EXPECT_EQ(a.capacity(), capacity);
}

TEST(growing_arena, a_frame_of_oversized_requests_lies_in_one_piece_once_one_was_seen) {
    test_upstream upstream;
    growing_arena a{64_KiB, upstream};  // as users make it
    for (int frame = 0; frame < 5; ++frame) {
        SCOPED_TRACE(frame);
        const std::size_t asked = upstream.request_count();
        std::byte* previous = nullptr;
        std::size_t breaks = 0;  // places where the next request does not follow the one before
        for (int i = 0; i < 50; ++i) {
            auto* const p = static_cast<std::byte*>(a.allocate(40000));
            ASSERT_NE(p, nullptr);
            breaks += previous != nullptr && p != previous + 40000;
            previous = p;
        }
        a.reset();
        EXPECT_EQ(a.block_count(), 1u);
        if (frame == 0) { continue; }
        EXPECT_EQ(breaks, 0u);
        EXPECT_EQ(upstream.request_count(), asked) << "no calls to upstream, at the reset neither";
    }
}

TEST(growing_arena, keeps_its_blocks_when_upstream_has_no_block_of_their_summed_size) {
    test_upstream upstream;
    upstream.refuse_larger(100_KiB);
    growing_arena a{16_KiB, upstream, {.block_size_max = 64_KiB}};
    std::size_t warm = 0;
    for (int frame = 0; frame < 10; ++frame) {
        for (int i = 0; i < 20; ++i) { ASSERT_NE(a.allocate(40000), nullptr); }
        a.reset();
        a.validate();
        if (frame == 1) { warm = upstream.request_count(); }
    }
    EXPECT_EQ(upstream.request_count(), warm)
        << "what was refused once is not asked for each frame";
    EXPECT_GE(a.block_count(), 20u);

    for (const bool trims : {false, true}) {
        if (trims) {
            EXPECT_GT(a.trim(), 0u);
            EXPECT_EQ(a.block_count(), 0u);
        } else {
            a.reset(reset_policy::release());
        }
        upstream.refuse_larger(test_upstream::never);
        for (int i = 0; i < 20; ++i) { ASSERT_NE(a.allocate(40000), nullptr); }
        a.reset();
        EXPECT_EQ(a.block_count(), 1u) << "an arena that gave everything back asks anew";
        upstream.refuse_larger(100_KiB);
        for (int frame = 0; frame < 4; ++frame) {
            for (int i = 0; i < 40; ++i) { ASSERT_NE(a.allocate(40000), nullptr); }
            a.reset();
        }
        EXPECT_GE(a.block_count(), 20u);
    }
}

TEST(growing_arena, adaptive_puts_a_frame_of_several_blocks_into_one) {
    growing_arena a{1_KiB, system_memory(), {.on_reset = reset_policy::adaptive()}};
    for (int i = 0; i < 30; ++i) { (void)a.allocate(100); }
    EXPECT_GT(a.block_count(), 1u);
    a.reset();
    EXPECT_EQ(a.block_count(), 1u);
}
