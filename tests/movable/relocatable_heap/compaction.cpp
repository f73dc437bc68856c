// Sentences of cairn/movable/relocatable_heap.hpp about compaction: what a budget moves, and what a
// pin keeps in place.
#include <cairn/movable/relocatable_heap.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <utility>

#include "movable/relocatable_heap/holes.hpp"

using namespace relocatable_heap_tests;

namespace {

using namespace cairn::literals;
using cairn::pinned;
using cairn::relocatable_heap;
using cairn::work_limit;
using handle = relocatable_heap::handle_type;

TEST(relocatable_heap_test, unlimited_compaction_makes_one_piece_of_the_free_memory) {
    relocatable_heap heap{64_KiB};
    const auto kept = make_holes(heap, 100, 100, 100);
    EXPECT_GT(heap.stats().hole_count, 40u);
    EXPECT_GT(heap.stats().fragmentation(), 0.02);
    const auto report = heap.compact(everything);
    EXPECT_TRUE(report.one_piece);
    EXPECT_TRUE(report.settled);
    EXPECT_EQ(heap.stats().largest_free, heap.free_size());
    EXPECT_EQ(heap.stats().fragmentation(), 0.0);
    EXPECT_EQ(heap.compact(everything).steps, 0u) << "nothing is left to look at";
    heap.validate();
}

TEST(relocatable_heap_test, unlimited_compaction_copies_no_object_twice) {
    relocatable_heap heap{64_KiB};
    const auto kept = make_holes(heap, 100, 100, 100);
    heap.compact({.steps = 7});  // in the middle of a round
    const std::size_t live = heap.capacity() - heap.free_size();
    const auto report = heap.compact(everything);
    EXPECT_TRUE(report.one_piece);
    EXPECT_LE(report.bytes, live);
    EXPECT_LE(report.moves, kept.size());
}

TEST(relocatable_heap_test, compaction_goes_on_where_the_last_call_stopped) {
    relocatable_heap heap{64_KiB};
    const auto kept = make_holes(heap, 100, 100, 100);
    std::size_t calls = 0;
    for (;; ++calls) {
        ASSERT_LT(calls, 2000u);
        const auto report = heap.compact({.steps = 1});
        EXPECT_LE(report.steps, 1u);
        EXPECT_LE(report.moves, 1u);
        heap.validate();
        if (report.settled) { break; }
    }
    EXPECT_EQ(heap.stats().hole_count, 1u);
    EXPECT_EQ(heap.stats().calls_to_converge, calls + 1);
    for (std::size_t i = 0; i < kept.size(); ++i) {
        EXPECT_EQ(*static_cast<unsigned char*>(heap.get(kept[i])), 2 * i + 1);
    }
}

TEST(relocatable_heap_test, an_object_moves_at_most_once_in_a_round) {
    relocatable_heap heap{64_KiB};
    const auto kept = make_holes(heap, 120, 50, 90);
    std::map<std::uint64_t, std::uint64_t> moved_in;  // handle -> round
    std::map<std::uint64_t, std::uintptr_t> at;
    for (const handle h : kept) { at[h.raw()] = address(heap, h); }
    std::uint64_t round = 0;
    for (bool settled = false; !settled;) {
        const std::uint64_t before = heap.stats().round_count;
        settled = heap.compact({.steps = 1}).settled;
        if (heap.stats().round_count != before) { round = heap.stats().round_count; }
        for (const handle h : kept) {
            if (at[h.raw()] == address(heap, h)) { continue; }
            at[h.raw()] = address(heap, h);
            const auto [old, is_new] = moved_in.emplace(h.raw(), round);
            EXPECT_TRUE(is_new || old->second < round) << "twice in round " << round;
            old->second = round;
        }
    }
    EXPECT_GT(moved_in.size(), kept.size() / 2);
}

TEST(relocatable_heap_test, a_limit_is_passed_by_one_object_at_most) {
    for (const std::size_t bytes : {1u, 99u, 400u, 1000u, 5000u}) {
        relocatable_heap heap{64_KiB};
        const auto kept = make_holes(heap, 100, 100, 100);
        for (bool settled = false; !settled;) {
            const auto report = heap.compact({.bytes = bytes});
            EXPECT_TRUE(report.bytes <= bytes || report.moves == 1);
            EXPECT_LE(report.bytes, bytes + 700);
            settled = report.settled;
        }
        EXPECT_EQ(heap.stats().hole_count, 1u) << "the smallest budget makes progress";
    }
}

TEST(relocatable_heap_test, steps_that_are_not_named_grow_with_the_time) {
    relocatable_heap heap{1_MiB};
    const auto kept = make_holes(heap, 1000, 100, 100);
    EXPECT_EQ(heap.compact({.bytes = 1_MiB}).steps, 40u);
    EXPECT_EQ(heap.compact({.microseconds = 50'000'000, .steps = 7}).steps, 7u);
    EXPECT_EQ(heap.compact({.bytes = 1_MiB, .steps = 100}).steps, 100u);
    EXPECT_GT(heap.compact({.microseconds = 50'000'000}).moves, 40u);
    EXPECT_TRUE(heap.compact().settled) << "without a limit it goes on to the end";
}

TEST(relocatable_heap_test, an_empty_budget_moves_nothing) {
    relocatable_heap heap{64_KiB};
    const auto kept = make_holes(heap, 100, 100, 100);
    const std::uintptr_t top = address(heap, kept.back());
    EXPECT_EQ(heap.compact({.bytes = 0}).moves, 0u);
    EXPECT_EQ(heap.compact({.microseconds = 0}).moves, 0u);
    EXPECT_EQ(heap.compact({.steps = 0}).moves, 0u);
    EXPECT_EQ(address(heap, kept.back()), top);
}

TEST(relocatable_heap_test, a_budget_of_time_converges_too) {
    relocatable_heap heap{64_KiB};
    const auto kept = make_holes(heap, 100, 100, 100);
    int calls = 0;
    while (!heap.compact({.microseconds = 5}).settled) { ASSERT_LT(++calls, 100'000); }
    EXPECT_EQ(heap.stats().hole_count, 1u);
}

TEST(relocatable_heap_test, no_call_looks_at_more_than_its_steps_however_many_objects_live) {
    relocatable_heap heap{4_MiB, cairn::system_memory(), {.object_count = 20'000}};
    const auto kept = make_holes(heap, 20'000, 32, 48);
    std::size_t most = 0;
    for (bool settled = false; !settled;) {
        const auto report = heap.compact({.steps = 64});
        most = report.steps > most ? report.steps : most;
        settled = report.settled;
    }
    EXPECT_LE(most, 64u);
    EXPECT_EQ(heap.stats().hole_count, 1u);
}

TEST(relocatable_heap_test, what_is_freed_during_a_round_is_found_by_the_next) {
    relocatable_heap heap{64_KiB};
    auto kept = make_holes(heap, 100, 100, 100);
    for (std::size_t i = 0; i < kept.size(); ++i) {
        heap.compact({.steps = 3});
        if (i % 3 == 0) { heap.deallocate(kept[i]); }
        heap.validate();
    }
    EXPECT_TRUE(heap.compact(everything).one_piece);
}

TEST(relocatable_heap_test, a_small_object_below_many_large_ones_is_found) {
    relocatable_heap heap{64_KiB};
    const handle hole = heap.allocate(64);
    const pinned<void> lid = heap.pin(heap.allocate(64));  // nothing slides into the hole
    const handle small = heap.allocate(64);
    for (int i = 0; i < 40; ++i) { ASSERT_TRUE(heap.allocate(1000)); }
    const std::uintptr_t low = address(heap, hole);
    heap.deallocate(hole);
    EXPECT_TRUE(heap.compact(everything).one_piece);
    EXPECT_EQ(address(heap, small), low);
}

TEST(relocatable_heap_test, a_pinned_object_stays_and_the_others_move_around_it) {
    relocatable_heap heap{64_KiB};
    const auto kept = make_holes(heap, 100, 100, 100);
    const pinned<void> still = heap.pin(kept[20]);
    ASSERT_TRUE(still);
    EXPECT_TRUE(heap.is_pinned(kept[20]));
    EXPECT_EQ(heap.stats().pinned_count, 1u);
    EXPECT_EQ(heap.stats().pinned_size, (heap.size(kept[20]) + 15) / 16 * 16);
    const std::uintptr_t before = address(heap, kept[20]);
    const auto report = heap.compact(everything);
    EXPECT_TRUE(report.settled);
    EXPECT_EQ(address(heap, kept[20]), before);
    EXPECT_EQ(still.get(), heap.get(kept[20]));
    EXPECT_LE(heap.stats().hole_count, 2u) << "a hole below it, and the end";
    EXPECT_GT(report.moves, 20u);
    heap.validate();
}

TEST(relocatable_heap_test, what_is_freed_wakes_a_settled_heap) {
    relocatable_heap heap{4_KiB};
    const handle low = heap.allocate(64);
    const pinned<void> lid = heap.pin(heap.allocate(64));
    const handle middle = heap.allocate(128);
    const handle high = heap.allocate(128);
    heap.deallocate(low);
    const auto report = heap.compact(everything);
    EXPECT_TRUE(report.settled);
    EXPECT_FALSE(report.one_piece) << "nothing is small enough for the hole below the pin";
    EXPECT_EQ(heap.compact(everything).steps, 0u);
    heap.deallocate(middle);
    EXPECT_EQ(heap.compact(everything).moves, 1u);
    EXPECT_TRUE(heap.contains(high));
    const handle fits = heap.allocate(64);
    EXPECT_LT(address(heap, fits), reinterpret_cast<std::uintptr_t>(lid.get()));
}

TEST(relocatable_heap_test, the_last_pin_of_an_object_lets_it_go) {
    relocatable_heap heap{64_KiB};
    const handle low = heap.allocate(100);
    const handle h = heap.allocate(100);
    heap.deallocate(low);
    const std::uintptr_t before = address(heap, h);
    pinned<void> first = heap.pin(h);
    {
        pinned<void> second = heap.pin(h);
        pinned<void> third = std::move(second);
        first = std::move(third);  // ends the first pin, takes the third
        EXPECT_FALSE(second);
    }
    heap.compact(everything);
    EXPECT_EQ(address(heap, h), before);
    first.reset();
    EXPECT_FALSE(heap.is_pinned(h));
    EXPECT_EQ(heap.stats().pinned_count, 0u);
    EXPECT_TRUE(heap.compact(everything).one_piece);
    EXPECT_LT(address(heap, h), before);
    heap.deallocate(h);
    EXPECT_FALSE(heap.pin(h)) << "a stale handle pins nothing";
    EXPECT_FALSE(heap.pin(handle{}));
}
}  // namespace
