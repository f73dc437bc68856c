// Sentences of cairn/alloc/tagged_arenas.hpp that one thread can show.
#include <cairn/alloc/tagged_arenas.hpp>
#include <cairn/core/poison.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "support/allocator_contract.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;
using namespace cairn::literals;

static_assert(byte_allocator<tagged_arenas::view> && resizes_in_place<tagged_arenas::view> &&
              has_good_size<tagged_arenas::view>);
static_assert(std::is_nothrow_move_constructible_v<tagged_arenas::view> &&
              !std::is_copy_constructible_v<tagged_arenas::view>);
static_assert(!std::is_move_constructible_v<tagged_arenas>);

TEST(tagged_arenas, keep_the_contract_in_each_view) {
    test_upstream upstream;
    tagged_arenas memory{upstream, {.block_size = 4_KiB}};
    for (unsigned seed = 0; seed < 10; ++seed) {
        const auto t = memory.begin();
        auto view = memory.local(t);
        check_allocator_contract(view, seed, {.size_max = 3000, .align_log2_max = 12});
        view = {};
        memory.end(t);
    }
    memory.trim();
    EXPECT_LE(memory.stats().taken_size, 0u);
}

TEST(tagged_arenas, take_the_blocks_of_two_for_a_thousand_jobs_in_turn) {
    test_upstream upstream;
    tagged_arenas memory{upstream};
    const auto t = memory.begin("frame");
    std::size_t asked = 0;
    for (int job = 0; job < 500; ++job) {
        auto first = memory.local(t);
        auto second = memory.local(t);
        for (int i = 0; i < 20; ++i) {
            EXPECT_NE(first.allocate(48), nullptr);
            EXPECT_NE(second.allocate(48), nullptr);
            asked += 2 * 48;
        }
    }
    const std::size_t needed = asked / (64_KiB - sizeof(detail::tag_block)) + 1;
    EXPECT_LE(memory.stats().block_count, needed + 1) << asked << " bytes were asked for";
    memory.end(t);
}

TEST(tagged_arenas, continue_every_block_of_more_views_than_there_are_words) {
    tagged_arenas memory;
    const auto t = memory.begin();
    for (int round = 0; round < 5; ++round) {
        std::vector<tagged_arenas::view> views;
        for (int i = 0; i < 20; ++i) {
            views.push_back(memory.local(t));
            EXPECT_NE(views.back().allocate(100), nullptr);
        }
    }
    EXPECT_EQ(memory.stats().block_count, 20u);
    memory.end(t);
}

TEST(tagged_arenas, end_everything_of_a_tag_and_nothing_of_others) {
    test_upstream upstream;
    tagged_arenas memory{upstream, {.block_size = 1_KiB}};
    const auto kept = memory.begin("kept");
    const auto ended = memory.begin("ended");
    auto keeper = memory.local(kept);
    auto* const data = static_cast<unsigned char*>(keeper.allocate(200));
    std::memset(data, 7, 200);
    {
        auto view = memory.local(ended);
        for (int i = 0; i < 50; ++i) { EXPECT_NE(view.allocate(200), nullptr); }
        EXPECT_NE(view.allocate(5000), nullptr);
    }
    EXPECT_TRUE(memory.is_live(ended));
    memory.end(ended);
    EXPECT_FALSE(memory.is_live(ended));
    EXPECT_TRUE(memory.is_live(kept));
    EXPECT_EQ(memory.stats().tag_count, 1u);
    EXPECT_EQ(memory.stats().block_count, 1u);
    const std::size_t taken = memory.stats().taken_size;
    {
        const auto next = memory.begin("next");
        auto view = memory.local(next);
        for (int i = 0; i < 50; ++i) {
            auto* const p = static_cast<unsigned char*>(view.allocate(200));
            std::memset(p, 9, 200);
        }
        view = {};
        memory.end(next);
    }
    EXPECT_EQ(memory.stats().taken_size, taken) << "the next tag takes the blocks of the last one";
    for (int i = 0; i < 200; ++i) { EXPECT_EQ(data[i], 7); }
    keeper = {};
    memory.end(kept);
}

TEST(tagged_arenas, give_a_large_request_a_block_that_ends_with_the_tag) {
    test_upstream upstream;
    tagged_arenas memory{upstream, {.block_size = 4_KiB}};
    const auto t = memory.begin();
    auto view = memory.local(t);
    for (int i = 0; i < 4; ++i) { EXPECT_NE(view.allocate(memory.small_size_max() - 32), nullptr); }
    const std::size_t count = upstream.live_count();
    void* const large = view.allocate(memory.small_size_max() + 1);
    EXPECT_EQ(upstream.live_count(), count + 1);
    std::memset(large, 1, memory.small_size_max() + 1);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.allocate(10, alignment{8192})) % 8192, 0u);
    EXPECT_EQ(memory.stats().block_count, 1u);
    view = {};
    memory.end(t);
    EXPECT_EQ(upstream.live_count(), count) << "large blocks go back at once";
}

TEST(tagged_arenas, reserve_and_trim_the_pool_of_blocks) {
    test_upstream upstream;
    tagged_arenas memory{upstream, {.block_size = 4_KiB}};
    EXPECT_TRUE(memory.reserve(0));
    EXPECT_EQ(memory.stats().free_count, 0u);
    EXPECT_TRUE(memory.reserve(4_KiB - sizeof(detail::tag_block)));
    EXPECT_EQ(memory.stats().free_count, 1u) << "all of one block is enough";
    EXPECT_TRUE(memory.reserve(20'000));
    EXPECT_EQ(memory.stats().free_count, 5u);
    const auto t = memory.begin();  // takes records
    const std::size_t asked = upstream.request_count();
    {
        auto view = memory.local(t);
        for (int i = 0; i < 100; ++i) { EXPECT_NE(view.allocate(180), nullptr); }
    }
    EXPECT_EQ(upstream.request_count(), asked);
    memory.end(t);
    EXPECT_EQ(memory.stats().free_count, 5u);
    EXPECT_EQ(memory.trim(), 5 * 4_KiB);
    EXPECT_EQ(memory.trim(), 0u);
    EXPECT_EQ(memory.stats().taken_size, 0u);
}

TEST(tagged_arenas, refuse_what_is_beyond_the_limit) {
    tagged_arenas memory{{.block_size = 4_KiB, .limit_size = 10_KiB}};
    const auto t = memory.begin();
    auto view = memory.local(t);
    std::size_t given = 0;
    while (view.allocate(100) != nullptr) { given += 112; }
    EXPECT_GT(given, 7'900u);
    EXPECT_LE(memory.stats().taken_size, 10_KiB);
    EXPECT_EQ(view.allocate(3000), nullptr);
    EXPECT_FALSE(memory.reserve(1));
    view = {};
    memory.end(t);
    const auto next = memory.begin();
    EXPECT_NE(memory.local(next).allocate(100), nullptr) << "the blocks are free again";
    memory.end(next);
    EXPECT_EQ(memory.trim(), 8_KiB);
}

TEST(tagged_arenas, survive_a_refusal_of_each_upstream_call) {
    for (std::size_t n = 0;; ++n) {
        test_upstream upstream;
        bool refused = false;
        {
            tagged_arenas memory{upstream, {.block_size = 1_KiB}};
            upstream.refuse_from(n, 1);
            const auto t = memory.begin();
            refused = !t;
            {
                auto view = memory.local(t);
                for (int i = 0; i < 20; ++i) {
                    void* const p = view.allocate(100);
                    if (p == nullptr) { refused = true; }
                    void* const large = view.allocate(2000);
                    if (large == nullptr) { refused = true; }
                }
            }
            refused = !memory.reserve(5000) || refused;
            memory.end(t);
            EXPECT_EQ(memory.stats().tag_count, 0u);
        }
        EXPECT_EQ(upstream.live_count(), 0u);
        if (!refused) { break; }
        ASSERT_LT(n, 200u);
    }
}

TEST(tagged_arenas, make_objects_and_move_views) {
    tagged_arenas memory;
    const auto t = memory.begin();
    auto view = memory.local(t);
    struct point {
        float x, y;
    };
    auto* const p = view.make<point>(1.0F, 2.0F);
    const auto numbers = view.make_array<int>(100);
    EXPECT_EQ(numbers.size(), 100u);
    tagged_arenas::view moved = std::move(view);
    EXPECT_NE(moved.make<int>(3), nullptr);
    EXPECT_EQ(view.allocate(1), nullptr) << "a view that was moved from is of no tag";
    EXPECT_EQ(p->y, 2.0F);
    EXPECT_EQ(memory.stats().block_count, 1u);
    tagged_arenas::view& same = moved;
    moved = std::move(same);
    EXPECT_NE(moved.make<int>(4), nullptr) << "a view that was moved to itself is the same";
    moved = tagged_arenas::view{};
    memory.end(t);
}

TEST(tagged_arenas, poison_what_a_tag_had) {
    if (!detail::poison_is_queryable) { GTEST_SKIP() << "AddressSanitizer is not here"; }
    tagged_arenas memory;
    const auto t = memory.begin();
    auto view = memory.local(t);
    void* const p = view.allocate(40);
    EXPECT_FALSE(is_poisoned(p));
    EXPECT_TRUE(is_poisoned(static_cast<char*>(p) + 48));
    view = {};
    memory.end(t);
    EXPECT_TRUE(is_poisoned(p));
}

TEST(tagged_arenas, have_no_tag_and_no_view_by_default) {
    tagged_arenas memory;
    memory.end({});
    EXPECT_FALSE(memory.is_live({}));
    auto view = memory.local({});
    EXPECT_EQ(view.allocate(10), nullptr);
    EXPECT_NE(view.allocate(0), nullptr);
    view.deallocate(nullptr, 10);
}
