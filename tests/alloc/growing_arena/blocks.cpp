// Sentences of cairn/alloc/growing_arena.hpp about its blocks: when they are taken, rewound and
// given back.
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/core/sizes.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <utility>

#include "support/allocator_contract.hpp"
#include "support/arena_model.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;

TEST(growing_arena, keeps_the_common_contract) {
    for (unsigned seed = 1; seed <= 30; ++seed) {
        test_upstream upstream;
        growing_arena a{1_KiB, upstream};
        check_allocator_contract(a, seed);
    }
}

TEST(growing_arena, agrees_with_the_model_under_every_reset_policy) {
    const reset_policy policies[] = {reset_policy::keep_all(), reset_policy::keep(5000),
                                     reset_policy::coalesce(), reset_policy::release(),
                                     reset_policy::adaptive()};
    for (unsigned seed = 1; seed <= 60; ++seed) {
        test_upstream upstream;
        growing_arena a{std::size_t{256} << (seed % 5),
                        upstream,
                        {.block_size_max = 16_KiB, .on_reset = policies[seed % 5]}};
        check_arena_against_model(a, seed, {.reset_every = 500});
    }
}

TEST(growing_arena, takes_nothing_before_the_first_allocation_and_grows_geometrically) {
    test_upstream upstream;
    growing_arena a{1_KiB, upstream, {.block_size_max = 4_KiB}};
    EXPECT_EQ(upstream.request_count(), 0u);
    std::size_t total = 0;
    while (upstream.request_count() < 5) {
        ASSERT_NE(a.allocate(100), nullptr);
        total += 112;
    }
    EXPECT_EQ(upstream.live_size(), 1_KiB + 2_KiB + 4_KiB + 4_KiB + 4_KiB) << "up to the cap";
    EXPECT_EQ(a.used_size(), total);
}

TEST(growing_arena, an_oversized_request_gets_its_own_block_and_the_current_one_goes_on) {
    test_upstream upstream;
    growing_arena a{4_KiB, upstream};
    auto* const before = static_cast<std::byte*>(a.allocate(16));
    ASSERT_NE(a.allocate(100000), nullptr);
    auto* const after = static_cast<std::byte*>(a.allocate(16));
    EXPECT_EQ(after, before + 16);
    EXPECT_EQ(upstream.request_count(), 2u);
}

TEST(growing_arena, an_exhausted_upstream_leaves_it_unchanged_at_every_point) {
    std::size_t refusals = 0;
    for (std::size_t refused = 0; refused < 12; ++refused) {
        test_upstream upstream;
        upstream.refuse_from(refused, 3);
        growing_arena a{256, upstream, {.block_size_max = 1_KiB}};
        for (int i = 0; i < 200; ++i) {
            const std::size_t used = a.used_size();
            const std::size_t size = i % 17 == 0 ? 3000 : 50;
            void* const p = a.allocate(size);
            if (p == nullptr) {
                ++refusals;
                EXPECT_EQ(a.used_size(), used);
            } else {
                std::memset(p, 0x5A, size);
            }
            a.validate();
        }
        a.reset();
        EXPECT_NE(a.allocate(50), nullptr) << "it goes on working";
    }
    EXPECT_GT(refusals, 5u);
}

TEST(growing_arena, halves_its_wish_when_upstream_has_only_small_blocks) {
    test_upstream upstream;
    upstream.limit_size(20_KiB);
    growing_arena a{16_KiB, upstream};
    ASSERT_NE(a.allocate(16000), nullptr);
    EXPECT_NE(a.allocate(1000), nullptr) << "32 KiB are refused, a smaller block is not";
}

TEST(growing_arena, release_gives_everything_back_and_keep_keeps_at_most_n_bytes) {
    test_upstream upstream;
    growing_arena a{1_KiB, upstream};
    for (int i = 0; i < 100; ++i) { (void)a.allocate(100); }
    a.reset(reset_policy::keep(5_KiB));
    EXPECT_LE(upstream.live_size(), 5_KiB);
    EXPECT_GT(upstream.live_size(), 0u);
    a.reset(reset_policy::release());
    EXPECT_EQ(upstream.live_size(), 0u);
}

TEST(growing_arena, rewind_keeps_the_blocks_as_spares) {
    test_upstream upstream;
    growing_arena a{512, upstream};
    void* const first = a.allocate(100);
    std::memset(first, 7, 100);
    const auto here = a.mark();
    const std::size_t used = a.used_size();
    for (int round = 0; round < 5; ++round) {
        for (int i = 0; i < 50; ++i) { ASSERT_NE(a.allocate(100), nullptr); }
        ASSERT_NE(a.allocate(5000), nullptr);
        a.rewind(here);
        EXPECT_EQ(a.used_size(), used);
        EXPECT_EQ(static_cast<char*>(first)[99], 7);
        a.validate();
    }
    const std::size_t warm = upstream.request_count();
    for (int i = 0; i < 50; ++i) { ASSERT_NE(a.allocate(100), nullptr); }
    EXPECT_EQ(upstream.request_count(), warm);
}

TEST(growing_arena, a_rewind_takes_back_the_large_blocks_that_were_made_beside_the_current_one) {
    test_upstream upstream;
    growing_arena a{4_KiB, upstream};
    (void)a.allocate(100);
    const auto here = a.mark();
    const std::size_t used = a.used_size();
    ASSERT_NE(a.allocate(5000), nullptr) << "a block of its own, under the current one";
    const std::size_t requests = upstream.request_count();
    for (int round = 0; round < 3; ++round) {
        a.rewind(here);
        EXPECT_EQ(a.used_size(), used);
        a.validate();
        ASSERT_NE(a.allocate(5000), nullptr);
        EXPECT_EQ(upstream.request_count(), requests) << "the same block";
    }
}

TEST(growing_arena, one_block_stays_current_when_the_arena_is_rewound_to_empty) {
    test_upstream upstream;
    growing_arena a{4_KiB, upstream};
    const auto empty = a.mark();
    void* const first = a.allocate(100);
    const auto later = a.mark();
    (void)a.allocate(100);
    a.rewind(empty);
    EXPECT_EQ(a.used_size(), 0u);
    EXPECT_EQ(a.high_water_size(), 224u);
    EXPECT_TRUE(a.owns(first)) << "it is in use: the next allocation takes no other";
    EXPECT_EQ(a.allocate(2000), first) << "more than half a block, which it has";
    a.rewind(empty);
    EXPECT_EQ(a.allocate(100), first);
    EXPECT_EQ(upstream.request_count(), 1u);
    a.validate();
    if (asserts_enabled) { EXPECT_DEATH(a.rewind(later), "died with an older one"); }
}

TEST(growing_arena, an_outgrown_oversized_block_serves_again) {
    test_upstream upstream;
    growing_arena a{1_KiB, upstream};
    void* const p = a.allocate(100000);
    a.deallocate(p, 100000);
    EXPECT_EQ(a.used_size(), 0u);
    EXPECT_EQ(a.allocate(100000), p);
    EXPECT_EQ(upstream.request_count(), 1u);
}

TEST(growing_arena, knows_its_high_water_mark_over_blocks) {
    growing_arena a{512};
    for (int i = 0; i < 50; ++i) { (void)a.allocate(112); }
    a.reset();
    (void)a.allocate(16);
    EXPECT_EQ(a.high_water_size(), 50u * 112u);
    a.reset_high_water();
    EXPECT_EQ(a.high_water_size(), 16u);
}

TEST(growing_arena, moves_with_its_blocks) {
    test_upstream upstream;
    growing_arena a{512, upstream};
    void* p = nullptr;
    for (int i = 0; i < 50; ++i) { p = a.allocate(112); }
    growing_arena b{std::move(a)};
    EXPECT_TRUE(b.owns(p));
    b.validate();
    EXPECT_NE(a.allocate(10), nullptr);  // NOLINT: moved-from is empty and works
    growing_arena c{64, upstream};
    c = std::move(b);
    EXPECT_TRUE(c.owns(p));
    c.validate();
}

TEST(growing_arena, sizes_around_every_block_edge_are_served_and_leak_nothing) {
    for (std::size_t size = 1; size < 600; ++size) {
        test_upstream upstream;
        growing_arena a{512, upstream};
        for (int i = 0; i < 6; ++i) { std::memset(a.allocate(size), 1, size); }
        a.validate();
        a.reset();
        EXPECT_EQ(a.used_size(), 0u);
    }
}

TEST(growing_arena, a_block_of_size_0_may_be_freed_wherever_it_lies) {
    growing_arena a{512};
    void* const in_no_block = a.allocate(0);
    void* const first = a.allocate(16);
    while (a.block_count() == 1) { (void)a.allocate(16); }
    a.reset();
    (void)a.allocate(16);
    a.deallocate(in_no_block, 0);
    EXPECT_NE(first, nullptr);

    growing_arena exact{512};
    ASSERT_TRUE(exact.allocate(16) != nullptr);
    ASSERT_TRUE(exact.allocate(exact.capacity() - 16 - 208) != nullptr);
    while (exact.used_size() < exact.capacity()) { (void)exact.allocate(16); }
    void* const at_the_end = exact.allocate(0);
    ASSERT_EQ(exact.block_count(), 1u);
    (void)exact.allocate(16);
    exact.deallocate(at_the_end, 0);
    exact.validate();
}

TEST(growing_arena, the_last_block_gives_its_bytes_back) {
    growing_arena a{1_KiB};
    (void)a.allocate(32);
    void* const p = a.allocate(100);
    a.deallocate(p, 100);
    EXPECT_EQ(a.used_size(), 32u);
    EXPECT_EQ(a.allocate(100), p);
}

TEST(growing_arena, a_move_takes_markers_and_the_ban_on_growth_along) {
    growing_arena a{512};
    (void)a.allocate(16);
    const auto here = a.mark();
    (void)a.allocate(16);
    a.set_growth(growing_arena::growth::forbidden);
    growing_arena b{std::move(a)};
    b.rewind(here);
    EXPECT_EQ(b.used_size(), 16u);
    EXPECT_EQ(b.allocate(1000), nullptr) << "growth is still forbidden";
}

TEST(growing_arena, assigned_to_itself_it_keeps_everything) {
    growing_arena a{512};
    void* const p = a.allocate(16);
    growing_arena& same = a;
    a = std::move(same);
    EXPECT_TRUE(a.owns(p));
    EXPECT_EQ(a.used_size(), 16u);
}

TEST(growing_arena, more_marks_than_are_remembered_write_nowhere_else) {
    struct {
        growing_arena a{64_KiB};
        unsigned char after[512] = {};
    } s;
    const auto first = s.a.mark();
    for (int i = 0; i < 60; ++i) {
        (void)s.a.allocate(16);
        (void)s.a.mark();
    }
    for (const unsigned char byte : s.after) { EXPECT_EQ(byte, 0); }
    s.a.rewind(first);
    EXPECT_EQ(s.a.used_size(), 0u);
}

TEST(growing_arena_misuse, is_named_in_checked_builds) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    growing_arena a{512};
    growing_arena other{512};
    (void)a.allocate(16);
    int local = 0;
    EXPECT_DEATH(a.deallocate(&local, 4), "comes back to the arena");
    EXPECT_DEATH(a.rewind(other.mark()), "on the arena that it was taken from");
    EXPECT_DEATH(
        {
            const auto outer = a.mark();
            for (int i = 0; i < 100; ++i) { (void)a.allocate(100); }
            const auto inner = a.mark();
            a.rewind(outer);
            a.rewind(inner);
        },
        "newest first");
}
