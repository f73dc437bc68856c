// Sentences of cairn/movable/offset_heap.hpp about the moves that it plans.
#include <cairn/movable/offset_heap.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "movable/offset_heap/offsets.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;
using namespace offset_heap_tests;

TYPED_TEST(offset_heap_test, planned_moves_bring_the_free_memory_together) {
    for (unsigned seed = 1; seed <= 4; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        std::mt19937 random{seed};
        basic_offset_heap<TypeParam> h{50'000};
        std::vector<range> live;
        std::vector<std::uint8_t> memory(50'000);
        const auto check = [&] {
            for (const range& r : live) {
                const auto at = static_cast<std::size_t>(h.offset(r.name));
                for (std::size_t i = 0; i < r.size; ++i) {
                    if (memory[at + i] != static_cast<std::uint8_t>(r.user)) { return false; }
                }
            }
            return true;
        };
        for (unsigned i = 0; i < 400; ++i) {
            const std::uint64_t size = 1 + random() % 300;
            const std::uint64_t align = i % 5 == 0 ? 16 : 1;
            const auto a =
                h.allocate(static_cast<TypeParam>(size), static_cast<TypeParam>(align), i);
            if (!a) { break; }
            live.push_back({a, 0, size, align, i});
            std::memset(memory.data() + h.offset(a), static_cast<int>(i), size);
        }
        for (int i = 0; i < 150; ++i) {
            std::swap(live[random() % live.size()], live.back());
            h.deallocate(live.back().name);
            live.pop_back();
        }
        using move = typename basic_offset_heap<TypeParam>::move;
        const typename basic_offset_heap<TypeParam>::limits_type limits{3, 2000, 50};
        int idle_rounds = 0;
        int calls = 0;
        std::size_t moved = 0;
        while (idle_rounds < 2 && ++calls < 200'000) {
            move moves[3];
            const std::size_t n = h.plan(moves, 3, limits);
            ASSERT_EQ(h.moves_in_flight(), n);
            if (calls % 16 == 0) { h.validate(); }
            moved += n;
            TypeParam bytes = 0;
            for (std::size_t i = 0; i < n; ++i) {
                bytes = static_cast<TypeParam>(bytes + moves[i].size);
                ASSERT_LT(moves[i].to, moves[i].from) << "memory moves down";
                if (random() % 8 == 0) {
                    h.cancel(moves[i]);
                } else {
                    std::memmove(memory.data() + moves[i].to, memory.data() + moves[i].from,
                                 moves[i].size);
                    h.commit(moves[i]);
                }
                if (calls % 16 == 1) { h.validate(); }
            }
            ASSERT_LE(bytes, 2000u);
            if (random() % 50 == 0 && !live.empty()) {  // life goes on between the calls
                std::swap(live[random() % live.size()], live.back());
                h.deallocate(live.back().name);
                live.pop_back();
            }
            if (h.round_is_over()) {
                idle_rounds = moved == 0 ? idle_rounds + 1 : 0;
                moved = 0;
            }
        }
        ASSERT_TRUE(check()) << "every allocation has its bytes";
        for (const range& r : live) { ASSERT_EQ(h.offset(r.name) % r.align, 0u); }
        const auto s = h.stats();
        std::size_t aligned = 0;
        for (const range& r : live) { aligned += r.align != 1 ? 1u : 0u; }
        EXPECT_LE(s.free_size - s.largest_free, 15u * aligned)
            << "but for what alignment keeps apart, the free memory is one piece";
        h.reset();
    }
}

TYPED_TEST(offset_heap_test, what_is_larger_than_the_limit_does_not_stop_the_others) {
    basic_offset_heap<TypeParam> h{790};
    const auto gone = h.allocate(400);
    const auto small = h.allocate(50);
    const auto large = h.allocate(300);
    const auto top = h.allocate(40);
    h.deallocate(gone);
    typename basic_offset_heap<TypeParam>::move moves[4];
    ASSERT_EQ(h.plan(moves, 4, {4, 100, 1000}), 2u);
    EXPECT_EQ(moves[0].what, top);
    EXPECT_EQ(moves[1].what, small);
    h.commit(moves[0]);
    h.commit(moves[1]);
    EXPECT_EQ(h.plan(moves, 4, {4, 100, 1000}), 0u);
    EXPECT_EQ(h.offset(large), 450u);
    h.validate();
}

TYPED_TEST(offset_heap_test, with_all_holes_that_there_can_be_an_allocation_still_finds_its_nodes) {
    test_upstream upstream;
    basic_offset_heap<TypeParam> h{1000, upstream, {.allocation_count_max = 3}};
    const auto first = h.allocate(10);
    const auto second = h.allocate(10);
    ASSERT_TRUE(h.allocate(10));
    h.deallocate(first);
    ASSERT_TRUE(h.allocate(30, 64));  // [30, 64) stays free in front of it
    h.deallocate(second);
    EXPECT_EQ(h.stats().free_range_count, 3u);
    upstream.refuse_from(upstream.request_count());
    EXPECT_TRUE(h.allocate(25, 16)) << "from 32 on, with a hole on both sides";
    h.validate();
}

TYPED_TEST(offset_heap_test, a_round_of_single_steps_ends_where_upstream_refuses_nodes) {
    test_upstream upstream;
    basic_offset_heap<TypeParam> h{60'000, upstream};
    const auto gone = h.allocate(10);
    upstream.refuse_from(upstream.request_count());
    while (h.allocate(4)) {}
    h.deallocate(gone);  // what moves there leaves 6 of it free, which would need a node
    typename basic_offset_heap<TypeParam>::move moves[1];
    int calls = 0;
    do {
        if (h.plan(moves, 1, {1, 1000, 1}) != 0) { h.cancel(moves[0]); }  // the neighbour slides
        ASSERT_LT(++calls, 100'000);
    } while (!h.round_is_over());
    h.validate();
}

TYPED_TEST(offset_heap_test, without_overlaps_it_slides_what_fits_beside_itself) {
    basic_offset_heap<TypeParam> h{45};
    const auto gone = h.allocate(10);
    ASSERT_TRUE(h.allocate(4));
    const auto gone_too = h.allocate(6);
    const auto moves_first = h.allocate(10);
    const auto slides = h.allocate(15);
    h.deallocate(gone);
    h.deallocate(gone_too);
    typename basic_offset_heap<TypeParam>::move moves[4];
    ASSERT_EQ(h.plan(moves, 1, {1, 1000, 1000, false}), 1u);
    EXPECT_EQ(moves[0].what, moves_first);
    h.commit(moves[0]);  // leaves 16 free in front of the 15
    ASSERT_EQ(h.plan(moves, 4, {4, 1000, 1000, false}), 1u);
    EXPECT_EQ(moves[0].what, slides);
    EXPECT_FALSE(moves[0].overlaps);
    h.commit(moves[0]);
    EXPECT_EQ(h.offset(slides), 14u);
    h.validate();
}

TYPED_TEST(offset_heap_test, what_slides_takes_its_hole_whole_until_the_copy_is_done) {
    basic_offset_heap<TypeParam> h{120};
    const auto gone = h.allocate(30);
    const auto slides = h.allocate(40);
    ASSERT_TRUE(h.allocate(50));
    h.deallocate(gone);
    typename basic_offset_heap<TypeParam>::move moves[4];
    ASSERT_EQ(h.plan(moves, 1, {1, 1000, 1000}), 1u);
    EXPECT_TRUE(moves[0].overlaps);
    EXPECT_EQ(h.stats().free_range_count, 0u);
    h.validate();
    h.commit(moves[0]);
    EXPECT_EQ(h.offset(slides), 0u);
    EXPECT_EQ(h.stats().free_size, 30u);
    h.validate();
}

TYPED_TEST(offset_heap_test, a_commit_between_two_calls_does_not_lead_a_round_astray) {
    basic_offset_heap<TypeParam> h{28};
    ASSERT_TRUE(h.allocate(10));
    const auto hole = h.allocate(4);
    ASSERT_TRUE(h.allocate(3));
    const auto gap = h.allocate(2);
    const auto slides = h.allocate(5);
    const auto top = h.allocate(4);
    h.deallocate(hole);
    h.deallocate(gap);
    typename basic_offset_heap<TypeParam>::move moves[4];
    ASSERT_EQ(h.plan(moves, 1, {1, 1000, 1000}), 1u);
    const auto first = moves[0];
    EXPECT_EQ(first.what, top);
    // Down to the end of the first phase, and to the place that the move goes to in the second.
    EXPECT_EQ(h.plan(moves, 1, {1, 1000, 6}), 0u);
    ASSERT_FALSE(h.round_is_over());
    h.commit(first);
    ASSERT_EQ(h.plan(moves, 4, {4, 1000, 1000}), 1u) << "the round goes on above that place";
    EXPECT_EQ(moves[0].what, slides);
    h.commit(moves[0]);
    h.validate();
}

TYPED_TEST(offset_heap_test, pinned_allocations_stay) {
    basic_offset_heap<TypeParam> h{1000};
    const auto a = h.allocate(100);
    const auto b = h.allocate(100);
    h.deallocate(a);
    h.set_pinned(b, true);
    typename basic_offset_heap<TypeParam>::move moves[4];
    EXPECT_EQ(h.plan(moves, 4, {4, 1000, 1000}), 0u);
    h.set_pinned(b, false);
    ASSERT_EQ(h.plan(moves, 4, {4, 1000, 1000}), 1u);
    EXPECT_EQ(moves[0].to, 0u);
    h.commit(moves[0]);
    EXPECT_EQ(h.offset(b), 0u);
    h.validate();
}
