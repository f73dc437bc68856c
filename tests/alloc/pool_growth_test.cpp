// What cairn/alloc/pool.hpp promises of its chunks: growing, giving back, walking over what is live.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/pool.hpp>
#include <cairn/core/null_allocator.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "support/allocator_contract.hpp"
#include "support/test_upstream.hpp"

namespace {

using cairn::alignment;
using cairn::pool;

std::vector<void*> take(pool& p, std::size_t count) {
    std::vector<void*> slots;
    for (std::size_t i = 0; i < count; ++i) { slots.push_back(p.allocate()); }
    return slots;
}

TEST(pool, chunks_double_up_to_their_cap) {
    test_upstream upstream;
    pool p{64, alignment{64}, upstream, {.slots_per_chunk = 2, .chunk_size_max = 64 * 16}};
    (void)take(p, 2 + 4 + 8 + 16 + 16);
    EXPECT_EQ(p.stats().chunk_count, 5u);
    EXPECT_EQ(p.stats().slot_count, 46u);
    EXPECT_EQ(p.stats().upstream_size, upstream.live_size());
}

TEST(pool, its_chunks_lie_in_an_arena_and_die_with_it) {
    cairn::arena level{std::size_t{16} << 10};
    {
        pool particles{24, alignment{8}, level, {.slots_per_chunk = 32}};
        auto slots = take(particles, 100);
        for (void* const s : slots) { EXPECT_TRUE(level.owns(s)); }
        for (std::size_t i = 0; i < 100; i += 2) { particles.deallocate(slots[i]); }
        const std::size_t used = level.used_size();
        auto again = take(particles, 50);
        EXPECT_EQ(level.used_size(), used) << "free slots come first";
        while (void* const s = particles.allocate()) { again.push_back(s); }
        EXPECT_GT(again.size(), 50u) << "until the arena is full";
        particles.validate();
        for (std::size_t i = 1; i < 100; i += 2) { particles.deallocate(slots[i]); }
        for (void* const s : again) { particles.deallocate(s); }
    }
    level.reset();
    EXPECT_EQ(level.used_size(), 0u);
    level.validate();
}

TEST(pool, after_reserve_no_upstream_is_needed) {
    test_upstream upstream;
    pool p{40, alignment{8}, upstream};
    EXPECT_TRUE(p.reserve(1000));
    EXPECT_TRUE(p.reserve(900));
    EXPECT_EQ(p.stats().slot_count, 1000u);
    upstream.refuse_from(0);
    auto slots = take(p, 1000);
    EXPECT_EQ(std::count(slots.begin(), slots.end(), nullptr), 0);
    EXPECT_EQ(p.allocate(), nullptr);
    for (void* s : slots) { p.deallocate(s); }
    EXPECT_TRUE(p.reserve(1000)) << "free slots count";
    EXPECT_FALSE(p.reserve(1001));
    upstream.refuse_nothing();
    EXPECT_TRUE(p.reserve(1500));
    EXPECT_EQ(std::set<void*>(slots.begin(), slots.end()).size(), 1000u);
    slots = take(p, 1500);
    EXPECT_EQ(p.stats().chunk_count, 2u);
    p.validate();
}

TEST(pool, reserve_in_the_middle_of_use_keeps_what_is_free) {
    test_upstream upstream;
    pool p{16, alignment{8}, upstream, {.slots_per_chunk = 8}};
    auto slots = take(p, 8);
    for (void* s : slots) { p.deallocate(s); }
    EXPECT_TRUE(p.reserve(5000));
    p.validate();
    slots = take(p, 5000);
    EXPECT_EQ(std::set<void*>(slots.begin(), slots.end()).size(), 5000u);
    EXPECT_EQ(p.stats().slot_count, 5000u);
}

TEST(pool, trim_gives_back_chunks_that_are_entirely_free) {
    test_upstream upstream;
    pool p{64, alignment{64}, upstream, {.slots_per_chunk = 8, .chunk_size_max = 8 * 64}};
    auto slots = take(p, 44);  // five full chunks and half of a sixth
    std::map<void*, std::vector<void*>> by_chunk;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        by_chunk[slots[i / 8 * 8]].push_back(slots[i]);
    }
    // All of chunk 1 and 3, one of chunk 2 and of the last.
    for (std::size_t c : {1u, 3u}) {
        for (std::size_t i = 0; i < 8; ++i) { p.deallocate(slots[c * 8 + i]); }
    }
    p.deallocate(slots[2 * 8 + 4]);
    p.deallocate(slots[5 * 8 + 1]);
    EXPECT_EQ(p.trim(), 2 * 8 * 64u);
    p.validate();
    EXPECT_EQ(p.stats().chunk_count, 4u);
    EXPECT_EQ(p.stats().live_count, 26u);
    EXPECT_EQ(p.stats().upstream_size, upstream.live_size());
    // What is left of the last chunk is still carved, and the two free slots come back by address.
    const std::size_t requests = upstream.request_count();
    auto again = take(p, 6);
    EXPECT_EQ(upstream.request_count(), requests);
    EXPECT_TRUE(std::is_sorted(again.begin(), again.begin() + 2));
    (void)p.allocate();
    EXPECT_GT(upstream.request_count(), requests);
}

TEST(pool, trim_of_an_unused_pool_gives_everything_back) {
    test_upstream upstream;
    pool p{64, alignment{64}, upstream};
    EXPECT_EQ(p.trim(), 0u);
    auto slots = take(p, 1000);
    for (void* s : slots) { p.deallocate(s); }
    EXPECT_TRUE(p.reserve(5000));
    p.trim();
    EXPECT_EQ(upstream.live_count(), 0u);
    p.validate();
    EXPECT_NE(p.allocate(), nullptr);
    p.reset();
    p.trim();
    EXPECT_EQ(upstream.live_count(), 0u);
}

TEST(pool, for_each_live_visits_the_live_slots_in_address_order) {
    test_upstream upstream;
    pool p{24, alignment{8}, upstream, {.slots_per_chunk = 7, .chunk_size_max = 24 * 20}};
    std::mt19937 random{11};
    auto slots = take(p, 150);
    std::shuffle(slots.begin(), slots.end(), random);
    for (std::size_t i = 0; i < 70; ++i) {
        p.deallocate(slots.back());
        slots.pop_back();
    }
    std::sort(slots.begin(), slots.end());
    std::vector<void*> seen;
    p.for_each_live([&](void* s) { seen.push_back(s); });
    EXPECT_EQ(seen, slots);
    // and may free what it is given
    std::size_t visits = 0;
    p.for_each_live([&](void* s) {
        if (visits++ % 2 == 0) { p.deallocate(s); }
    });
    EXPECT_EQ(visits, 80u);
    EXPECT_EQ(p.stats().live_count, 40u);
    p.validate();
    void* const lowest = p.allocate();
    EXPECT_NE(lowest, nullptr);
}

TEST(pool, after_for_each_live_allocation_goes_by_address) {
    pool p{32, alignment{16}, cairn::system_memory(), {.slots_per_chunk = 64}};
    auto slots = take(p, 64);
    std::mt19937 random{3};
    std::shuffle(slots.begin(), slots.end(), random);
    for (void* s : slots) { p.deallocate(s); }
    p.for_each_live([](void*) { ADD_FAILURE() << "nothing is live"; });
    const auto again = take(p, 64);
    EXPECT_TRUE(std::is_sorted(again.begin(), again.end()));
}

TEST(pool, refused_at_every_upstream_request_it_goes_on_working) {
    for (std::size_t refused = 0; refused < 16; ++refused) {
        test_upstream upstream;
        pool p{32, alignment{16}, upstream, {.slots_per_chunk = 4, .chunk_size_max = 512}};
        upstream.refuse_from(refused, 1);
        std::vector<void*> slots;
        int refusals = 0;
        while (slots.size() < 100) {
            if (void* const s = p.allocate()) {
                slots.push_back(s);
            } else {
                ++refusals;
                p.validate();
            }
            ASSERT_LE(refusals, 1);
        }
        EXPECT_EQ(refusals, refused < upstream.request_count() ? 1 : 0);
        EXPECT_EQ(std::set<void*>(slots.begin(), slots.end()).size(), 100u);
        for (void* s : slots) { p.deallocate(s); }
        p.validate();
    }
}

// Against a naive model, from a printed seed: every live slot carries its own number.
TEST(pool, random_operations_agree_with_a_set) {
    for (unsigned seed = 1; seed <= 40; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        std::mt19937 random{seed};
        test_upstream upstream;
        const std::size_t size = 8 + random() % 60;
        pool p{size,
               alignment{std::size_t{1} << random() % 5},
               upstream,
               {.slots_per_chunk = 1 + random() % 20,
                .chunk_size_max = std::size_t{256} << random() % 8,
                .slot_count_max = 400}};
        std::map<void*, std::uint64_t> model;
        std::vector<void*> order;
        std::uint64_t next = 0;
        const auto free_at = [&](std::size_t i) {
            std::uint64_t value = 0;
            std::memcpy(&value, order[i], sizeof value);
            ASSERT_EQ(value, model.at(order[i])) << "somebody else wrote here";
            model.erase(order[i]);
            p.deallocate(order[i]);
            order[i] = order.back();
            order.pop_back();
        };
        unsigned long bias = 50;
        const int operation_count = cairn::detail::poison_is_queryable ? 8'000 : 25'000;
        for (int op = 0; op < operation_count; ++op) {
            if (op % 500 == 0) {
                bias = 20 + random() % 60;
                p.validate();
                ASSERT_EQ(p.stats().live_count, model.size());
            }
            const unsigned long dice = random() % 10'000;
            if (dice == 0) {
                p.reset();
                model.clear();
                order.clear();
            } else if (dice < 10) {
                p.trim();
                p.validate();
            } else if (dice < 15) {
                (void)p.reserve(random() % 200);
                p.validate();
            } else if (dice < 20) {
                auto expected = model.begin();
                p.for_each_live([&](void* s) {
                    ASSERT_NE(expected, model.end());
                    ASSERT_EQ(s, expected->first);
                    ++expected;
                });
                ASSERT_EQ(expected, model.end());
            } else if (dice < 30) {
                upstream.refuse_from(upstream.request_count(), random() % 3);
            } else if (random() % 100 < bias) {
                if (void* const s = p.allocate()) {
                    std::memcpy(s, &next, sizeof next);
                    ASSERT_TRUE(model.emplace(s, next++).second) << "given out twice";
                    order.push_back(s);
                }
            } else if (!order.empty()) {
                free_at(random() % order.size());
            }
            ASSERT_FALSE(testing::Test::HasFatalFailure());
        }
        while (!order.empty()) { free_at(order.size() - 1); }
        p.trim();
        ASSERT_EQ(upstream.live_count(), 0u);
    }
}

}  // namespace
