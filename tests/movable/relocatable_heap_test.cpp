// Bytes that move: placement, compaction, pins, stress_relocate, numbers. Objects that move are in
// relocation_test.cpp, random runs in relocatable_heap_model_test.cpp.
#include <cairn/core/poison.hpp>
#include <cairn/movable/relocatable_heap.hpp>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "support/test_upstream.hpp"

namespace {

using namespace cairn::literals;
using cairn::alignment;
using cairn::compaction_budget;
using cairn::pinned;
using cairn::relocatable_heap;
using handle = relocatable_heap::handle_type;

constexpr auto everything = compaction_budget::unlimited();

std::uintptr_t address(const relocatable_heap& heap, handle h) {
    return reinterpret_cast<std::uintptr_t>(heap.get(h));
}

/// Objects of the given sizes, every second one freed.
std::vector<handle> make_holes(relocatable_heap& heap, std::size_t count, std::size_t size_min,
                               std::size_t size_step) {
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

// ------------------------------------------------------------------------------------------------
// handles and placement

TEST(relocatable_heap, gives_its_region_and_its_tables_back) {
    test_upstream upstream;
    {
        relocatable_heap h{1_MiB, upstream};
        (void)h.allocate(100);
        EXPECT_GT(upstream.live_count(), 0u);
    }
    EXPECT_EQ(upstream.live_count(), 0u);
}

TEST(relocatable_heap, a_move_takes_numbers_and_memory_along) {
    test_upstream upstream;
    relocatable_heap a{1_MiB, upstream};
    const handle first = a.allocate(100);
    const handle h = a.allocate(100);
    a.deallocate(first);
    (void)a.compact(everything);
    EXPECT_EQ(a.stats().move_count, 1u);
    const auto before = a.stats();
    relocatable_heap b{std::move(a)};
    relocatable_heap& same = b;
    b = std::move(same);
    ASSERT_TRUE(b.contains(h)) << "assigned to itself it keeps everything";
    EXPECT_EQ(b.stats().move_count, before.move_count);
    relocatable_heap c{64_KiB, upstream};
    c = std::move(b);
    EXPECT_EQ(c.size(h), 100u);
}

TEST(compaction_budget, is_unlimited_when_nothing_limits_it) {
    EXPECT_TRUE(everything.is_unlimited());
    compaction_budget b = everything;
    b.steps = 100;
    EXPECT_FALSE(b.is_unlimited());
    b = everything;
    b.bytes = 100;
    EXPECT_FALSE(b.is_unlimited());
    b = everything;
    b.microseconds = 100;
    EXPECT_FALSE(b.is_unlimited());
}

TEST(relocatable_heap_test, get_finds_the_bytes_and_a_stale_handle_nothing) {
    relocatable_heap heap{64_KiB};
    EXPECT_EQ(heap.get(handle{}), nullptr) << "also before anything was allocated";
    const handle h = heap.allocate(100);
    ASSERT_TRUE(h);
    EXPECT_NE(heap.get(h), nullptr);
    EXPECT_EQ(heap.size(h), 100u);
    EXPECT_TRUE(heap.contains(h));
    heap.deallocate(h);
    EXPECT_EQ(heap.get(h), nullptr);
    EXPECT_EQ(heap.get(handle{}), nullptr);
    EXPECT_FALSE(heap.contains(h));
    EXPECT_FALSE(heap.contains(handle{}));
    EXPECT_FALSE(heap.contains(handle::make(77777, 3)));
    const handle again = heap.allocate(100);
    EXPECT_EQ(heap.get(h), nullptr);
    EXPECT_NE(heap.get(again), nullptr);
}

TEST(relocatable_heap_test, handles_of_a_heap_that_was_replaced_or_of_another_one_are_told) {
    relocatable_heap heap{64_KiB};
    relocatable_heap other{64_KiB};
    std::vector<handle> old;
    for (int i = 0; i < 10; ++i) {
        old.push_back(heap.allocate(100));
        ASSERT_TRUE(other.allocate(100));
    }
    for (const handle h : old) { EXPECT_EQ(other.get(h), nullptr); }
    heap = relocatable_heap{64_KiB};
    for (int i = 0; i < 10; ++i) { ASSERT_TRUE(heap.allocate(100)); }
    for (const handle h : old) {
        EXPECT_FALSE(heap.contains(h));
        EXPECT_EQ(heap.get(h), nullptr);
    }
    heap.validate();
}

TEST(relocatable_heap_test, a_first_generation_makes_equal_handles) {
    relocatable_heap a{64_KiB, cairn::system_memory(), {.first_generation = 7}};
    relocatable_heap b{64_KiB, cairn::system_memory(), {.first_generation = 7}};
    for (int i = 0; i < 10; ++i) { EXPECT_EQ(a.allocate(100), b.allocate(100)); }
    EXPECT_EQ(a.allocate(100).generation(), 7u);
}

TEST(relocatable_heap_test, an_object_goes_into_the_lowest_hole_that_holds_it) {
    relocatable_heap heap{4_KiB};
    const handle a = heap.allocate(64);
    const handle b = heap.allocate(256);
    const handle c = heap.allocate(64);
    const handle d = heap.allocate(128);
    const handle e = heap.allocate(64);
    const std::uintptr_t base = address(heap, a);
    const std::uintptr_t low = address(heap, b);
    const std::uintptr_t high = address(heap, d);
    EXPECT_EQ(low, base + 64) << "no header between objects";
    heap.deallocate(d);
    heap.deallocate(b);
    EXPECT_EQ(address(heap, heap.allocate(100)), low);
    EXPECT_EQ(address(heap, heap.allocate(128)), low + 112);
    EXPECT_EQ(address(heap, heap.allocate(128)), high);
    EXPECT_TRUE(heap.contains(c) && heap.contains(e));
    heap.validate();
}

TEST(relocatable_heap_test, what_is_too_large_to_move_lives_at_the_other_end_and_stays) {
    relocatable_heap heap{64_KiB, cairn::system_memory(), {.largest_movable = 1000}};
    const handle small = heap.allocate(500);
    const handle large = heap.allocate(5000);
    const handle large_2 = heap.allocate(5000);
    EXPECT_EQ(address(heap, large) + 5008, address(heap, small) + heap.capacity());
    EXPECT_EQ(address(heap, large_2) + 5008, address(heap, large));
    const handle more = heap.allocate(1000);
    EXPECT_EQ(address(heap, more), address(heap, small) + 512);
    const std::uintptr_t before = address(heap, large_2);
    heap.deallocate(large);
    heap.deallocate(small);
    heap.compact(everything);
    EXPECT_EQ(address(heap, large_2), before);
    EXPECT_EQ(address(heap, more), before + 5008 + 5008 - heap.capacity());
    heap.validate();
}

TEST(relocatable_heap_test, every_alignment_is_kept_before_and_after_moves) {
    relocatable_heap heap{256_KiB};
    std::vector<std::pair<handle, alignment>> all;
    for (std::size_t i = 0; i < 200; ++i) {
        const alignment align{std::size_t{1} << (i % 13)};
        const handle h = heap.allocate(1 + i * 7 % 400, align);
        ASSERT_TRUE(h);
        all.emplace_back(h, align);
    }
    for (std::size_t i = 0; i < all.size(); i += 2) { heap.deallocate(all[i].first); }
    for (int round = 0; round < 2; ++round) {
        for (std::size_t i = 1; i < all.size(); i += 2) {
            EXPECT_TRUE(cairn::is_aligned(heap.get(all[i].first), all[i].second));
        }
        heap.compact(everything);
        heap.validate();
    }
}

TEST(relocatable_heap_test, what_is_over_aligned_takes_the_last_hole_that_it_just_fits_into) {
    alignas(64) static std::byte memory[4096];
    {
        relocatable_heap heap{cairn::byte_slice{memory}};
        ASSERT_TRUE(heap.allocate(48));
        EXPECT_TRUE(heap.allocate(4096 - 64, alignment{64})) << "from 64 to the end";
    }
    {
        relocatable_heap heap{
            cairn::byte_slice{memory}, cairn::system_memory(), {.largest_movable = 10}};
        for (int i = 0; i < 4; ++i) { ASSERT_TRUE(heap.allocate(10)); }
        ASSERT_TRUE(heap.allocate(4096 - 128, alignment{64}));  // at the other end
        EXPECT_TRUE(heap.allocate(64, alignment{64})) << "from 64 to 128";
        EXPECT_EQ(heap.stats().free_size, 0u);
    }
}

TEST(relocatable_heap_test, size_zero_has_a_handle_and_an_address_of_its_own) {
    relocatable_heap heap{4_KiB};
    const handle a = heap.allocate(0);
    const handle b = heap.allocate(0);
    ASSERT_TRUE(a && b);
    EXPECT_NE(heap.get(a), heap.get(b));
    EXPECT_EQ(heap.size(a), 0u);
    heap.deallocate(a);
    heap.compact(everything);
    EXPECT_NE(heap.get(b), nullptr);
    heap.deallocate(b);
    EXPECT_EQ(heap.free_size(), heap.capacity());
}

TEST(relocatable_heap_test, refuses_what_does_not_fit_and_is_unchanged) {
    relocatable_heap heap{4_KiB};
    const handle all = heap.allocate(heap.capacity());
    ASSERT_TRUE(all) << "the whole region is one object";
    EXPECT_FALSE(heap.allocate(1));
    EXPECT_FALSE(heap.allocate(0));
    heap.deallocate(all);
    for (const std::size_t size : {heap.capacity() + 1, SIZE_MAX, SIZE_MAX - 15, SIZE_MAX / 2}) {
        EXPECT_FALSE(heap.allocate(size));
    }
    EXPECT_FALSE(heap.allocate(16, alignment{std::size_t{1} << 40}));
    EXPECT_EQ(heap.free_size(), heap.capacity());
    EXPECT_EQ(heap.object_count(), 0u);
    heap.validate();
}

TEST(relocatable_heap_test, works_over_any_bytes_of_the_caller) {
    alignas(64) static std::byte memory[5000];
    for (std::size_t skip = 0; skip < 40; ++skip) {
        relocatable_heap heap{cairn::byte_slice{memory + skip, 4900 - 3 * skip}};
        const handle h = heap.allocate(heap.capacity());
        ASSERT_TRUE(h);
        auto* const p = static_cast<std::byte*>(heap.get(h));
        EXPECT_GE(p, memory + skip);
        EXPECT_LE(p + heap.capacity(), memory + skip + 4900 - 3 * skip);
        EXPECT_GE(heap.capacity() + 32, 4900 - 3 * skip);
    }
    for (std::size_t size = 0; size < 32; ++size) {
        relocatable_heap heap{cairn::byte_slice{memory + 1, size}};
        EXPECT_EQ(static_cast<bool>(heap.allocate(16)), size == 31);
    }
    std::memset(memory, 1, sizeof(memory));  // everything is the caller's again
}

TEST(relocatable_heap_test, takes_no_more_than_it_can_manage) {
    struct {  // remembers the largest request, and refuses it
        std::size_t most = 0;
        void* allocate(std::size_t size, alignment) noexcept {
            most = size > most ? size : most;
            return nullptr;
        }
        void deallocate(void*, std::size_t, alignment) noexcept {}
    } upstream;
    for (const std::size_t size : {17_GiB, 1000_GiB}) {
        EXPECT_EQ((relocatable_heap{size, upstream}.capacity()), 0u);
        EXPECT_EQ(upstream.most, 16_GiB - 16);
    }
    EXPECT_EQ((relocatable_heap{17_GiB, upstream, {.stress_relocate = true}}.capacity()), 0u);
    EXPECT_EQ(upstream.most, 32_GiB - 16);
}

TEST(relocatable_heap_test, works_or_refuses_everything_whichever_request_fails) {
    for (std::size_t count : {0u, 100u}) {
        for (std::size_t n = 0;; ++n) {
            test_upstream upstream;
            upstream.refuse_from(n, 1);
            relocatable_heap heap{16_KiB, upstream, {.object_count = count}};
            std::vector<handle> all;
            for (int i = 0; i < 100; ++i) {
                const std::size_t free = heap.free_size();
                if (const handle h = heap.allocate(100)) {
                    all.push_back(h);
                } else {
                    EXPECT_EQ(heap.free_size(), free);
                    for (const handle old : all) { EXPECT_NE(heap.get(old), nullptr); }
                }
                heap.validate();
            }
            EXPECT_TRUE(all.empty() || all.size() >= 99) << "one refusal costs one object";
            EXPECT_EQ(heap.capacity() == 0, all.empty());
            for (const handle h : all) { EXPECT_NE(heap.get(h), nullptr); }
            heap.compact(everything);
            if (upstream.request_count() <= n) { break; }
        }
    }
}

TEST(relocatable_heap_test, half_of_the_tables_is_an_empty_heap) {
    alignas(64) static std::byte memory[4096];
    for (std::size_t n = 0;; ++n) {
        test_upstream upstream;
        upstream.refuse_from(n, 1);
        relocatable_heap heap{cairn::byte_slice{memory}, upstream, {.object_count = 100}};
        if (upstream.request_count() <= n) { break; }
        EXPECT_EQ(heap.capacity(), 0u);
        EXPECT_FALSE(heap.allocate(0));
        for (std::uint32_t i = 0; i < 100; ++i) { EXPECT_FALSE(heap.contains(handle::make(i, 1))); }
        heap.validate();
    }
}

TEST(relocatable_heap_test, what_is_freed_is_served_again_while_upstream_refuses) {
    for (std::size_t n = 0; n < 12; ++n) {
        test_upstream upstream;
        upstream.refuse_from(n);
        relocatable_heap heap{16_KiB, upstream};
        std::vector<handle> all;
        while (const handle h = heap.allocate(16)) { all.push_back(h); }
        for (int i = 0; i < 3 && !all.empty(); ++i) {
            heap.deallocate(all[all.size() / 2]);
            all[all.size() / 2] = heap.allocate(16);
            EXPECT_TRUE(all[all.size() / 2]) << "refused after request " << n;
        }
        heap.validate();
    }
}

TEST(relocatable_heap_test, reserved_tables_do_not_grow) {
    test_upstream upstream;
    relocatable_heap heap{64_KiB, upstream, {.object_count = 1000}};
    const std::size_t requests = upstream.request_count();
    for (int i = 0; i < 1000; ++i) { ASSERT_TRUE(heap.allocate(16)); }
    EXPECT_EQ(upstream.request_count(), requests);
}

TEST(relocatable_heap_test, a_moved_heap_keeps_its_objects_and_the_old_one_is_empty) {
    relocatable_heap first{16_KiB};
    const handle h = first.allocate(100);
    void* const where = first.get(h);
    relocatable_heap second{std::move(first)};
    EXPECT_EQ(second.get(h), where);
    EXPECT_EQ(first.capacity(), 0u);
    EXPECT_FALSE(first.allocate(1));
    EXPECT_EQ(first.get(handle{}), nullptr);
    first = std::move(second);
    EXPECT_EQ(first.get(h), where);
    first.compact(everything);
    first.validate();
}

// ------------------------------------------------------------------------------------------------
// compaction

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

TEST(relocatable_heap_test, a_budget_is_passed_by_one_object_at_most) {
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
    EXPECT_EQ(compaction_budget{}.step_count(), 40u);
    EXPECT_EQ((compaction_budget{.bytes = 1_MiB}.step_count()), 40u);
    EXPECT_EQ((compaction_budget{.microseconds = 20}.step_count()), 40u);
    EXPECT_EQ((compaction_budget{.microseconds = 50}.step_count()), 40u);
    EXPECT_EQ((compaction_budget{.microseconds = 5000}.step_count()), 4000u);
    EXPECT_EQ((compaction_budget{.microseconds = 5000, .steps = 7}.step_count()), 7u);
    EXPECT_EQ(everything.step_count(), SIZE_MAX);
    relocatable_heap heap{1_MiB};
    const auto kept = make_holes(heap, 1000, 100, 100);
    EXPECT_EQ(heap.compact({}).steps, 40u);
    EXPECT_GT(heap.compact({.microseconds = 50'000'000}).moves, 40u);
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

// ------------------------------------------------------------------------------------------------
// pins

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

// ------------------------------------------------------------------------------------------------
// stress_relocate

TEST(relocatable_heap_test, stress_relocate_moves_everything_at_every_safe_point) {
    relocatable_heap heap{
        64_KiB, cairn::system_memory(), {.largest_movable = 4000, .stress_relocate = true}};
    EXPECT_EQ(heap.capacity(), 64_KiB) << "the other side comes on top";
    const auto kept = make_holes(heap, 60, 100, 100);
    const handle large = heap.allocate(5000);
    const pinned<void> still = heap.pin(kept[7]);
    for (int i = 0; i < 5; ++i) {
        std::map<std::uint64_t, std::uintptr_t> before;
        for (const handle h : kept) { before[h.raw()] = address(heap, h); }
        const std::uintptr_t large_before = address(heap, large);
        heap.compact({.steps = 2});
        for (std::size_t k = 0; k < kept.size(); ++k) {
            EXPECT_EQ(address(heap, kept[k]) == before[kept[k].raw()], k == 7);
            EXPECT_EQ(*static_cast<unsigned char*>(heap.get(kept[k])), 2 * k + 1);
        }
        EXPECT_EQ(address(heap, large), large_before);
        heap.validate();
    }
}

TEST(relocatable_heap_test, stress_relocate_destroys_what_it_leaves) {
    relocatable_heap heap{64_KiB, cairn::system_memory(), {.stress_relocate = true}};
    const handle h = heap.allocate(100);
    auto* const old = static_cast<unsigned char*>(heap.get(h));
    std::memset(old, 1, 100);
    heap.compact({});
    EXPECT_EQ(static_cast<unsigned char*>(heap.get(h))[50], 1);
    if (cairn::poison_is_queryable) {
        EXPECT_TRUE(cairn::is_poisoned(old + 8));
        EXPECT_TRUE(cairn::is_poisoned(old + 99));
    } else if (!cairn::poison_is_seen()) {  // Valgrind reports who reads this
        EXPECT_EQ(old[50], 0xF0);
        EXPECT_EQ(old[99], 0xF0);
    }
}

TEST(relocatable_heap_test, stress_relocate_keeps_every_alignment_up_to_a_page_over_any_region) {
    for (std::size_t size = 16; size < 40'000; size += size < 3000 ? 48 : 1136) {
        relocatable_heap heap{size, cairn::system_memory(), {.stress_relocate = true}};
        EXPECT_EQ(heap.capacity(), cairn::round_up(size, alignment{16}));
        for (std::size_t align = 1; align <= 4096; align *= 2) {
            const handle h = heap.allocate(16, alignment{align});
            if (!h) { continue; }
            for (int i = 0; i < 2; ++i) {
                const std::uintptr_t before = address(heap, h);
                heap.compact({.steps = 0});
                EXPECT_NE(address(heap, h), before) << align << " in " << size;
                EXPECT_TRUE(cairn::is_aligned(heap.get(h), alignment{align}));
            }
            heap.deallocate(h);
        }
    }
}

TEST(relocatable_heap_test, stress_relocate_asks_at_the_gate_and_says_where_the_object_is) {
    relocatable_heap heap{64_KiB, cairn::system_memory(), {.stress_relocate = true}};
    const handle moves = heap.allocate(100);
    const handle stays = heap.allocate(100);
    struct seen {
        std::uint32_t stays;
        std::uint32_t told = 0;
        void* address = nullptr;
    } gate{stays.index()};
    heap.set_move_observer({.context = &gate,
                            .before_move =
                                [](void* context, std::uint32_t slot) noexcept {
                                    return slot != static_cast<seen*>(context)->stays;
                                },
                            .after_move =
                                [](void* context, std::uint32_t slot, void* address) noexcept {
                                    auto& g = *static_cast<seen*>(context);
                                    g.told = slot;
                                    g.address = address;
                                }});
    const std::uintptr_t before[] = {address(heap, moves), address(heap, stays)};
    heap.compact({.steps = 0});
    EXPECT_NE(address(heap, moves), before[0]);
    EXPECT_EQ(address(heap, stays), before[1]) << "the gate did not close";
    EXPECT_EQ(gate.told, moves.index());
    EXPECT_EQ(gate.address, heap.get(moves));
    heap.set_move_observer({});
}

TEST(relocatable_heap_test, stress_relocate_counts_what_it_copies) {
    relocatable_heap heap{64_KiB, cairn::system_memory(), {.stress_relocate = true}};
    const handle a = heap.allocate(100);
    const handle b = heap.allocate(50);
    EXPECT_TRUE(a && b);
    const auto report = heap.compact({.steps = 0});
    EXPECT_EQ(report.bytes, 0u) << "nothing that a budget was asked for";
    EXPECT_EQ(heap.stats().moved_size, 150u);
    EXPECT_EQ(heap.stats().move_count, 2u);
}

TEST(relocatable_heap_test, stress_relocate_uses_the_halves_of_a_region_of_the_caller) {
    alignas(64) static std::byte memory[8192];
    relocatable_heap heap{
        cairn::byte_slice{memory}, cairn::system_memory(), {.stress_relocate = true}};
    EXPECT_EQ(heap.capacity(), 4096u);
    const handle h = heap.allocate(4096);
    const std::uintptr_t before = address(heap, h);
    heap.compact({});
    EXPECT_EQ(address(heap, h), before + 4096);
    heap.compact({});
    EXPECT_EQ(address(heap, h), before);
    for (std::size_t size = 32; size <= sizeof(memory); size += 48) {
        relocatable_heap part{
            cairn::byte_slice{memory, size}, cairn::system_memory(), {.stress_relocate = true}};
        EXPECT_GE(part.capacity(), size / 4 - 8);
        EXPECT_LE(part.capacity(), size / 2);
        const handle whole = part.allocate(part.capacity());
        ASSERT_TRUE(whole);
        std::memset(part.get(whole), 1, part.capacity());
        part.compact({});
        std::memset(part.get(whole), 2, part.capacity());
    }
}

// ------------------------------------------------------------------------------------------------
// poison, numbers, map

TEST(relocatable_heap_test, free_memory_is_poisoned_before_and_after_moves) {
    if (!cairn::poison_is_queryable) { GTEST_SKIP() << "needs AddressSanitizer"; }
    relocatable_heap heap{4_KiB};
    const handle a = heap.allocate(40);
    const handle b = heap.allocate(100);
    auto* const p = static_cast<std::byte*>(heap.get(b));
    EXPECT_FALSE(cairn::is_poisoned(p + 99));
    EXPECT_TRUE(cairn::is_poisoned(p + 100)) << "exact at the end";
    heap.deallocate(a);
    heap.compact(everything);  // slides by 48 over its own bytes
    auto* const q = static_cast<std::byte*>(heap.get(b));
    ASSERT_EQ(q, p - 48);
    EXPECT_FALSE(cairn::is_poisoned(q));
    EXPECT_FALSE(cairn::is_poisoned(q + 99));
    EXPECT_TRUE(cairn::is_poisoned(q + 100));
    EXPECT_TRUE(cairn::is_poisoned(p + 99));
    heap.deallocate(b);
    EXPECT_TRUE(cairn::is_poisoned(q + 50));
}

TEST(relocatable_heap_test, numbers_say_what_the_map_shows) {
    relocatable_heap heap{1_KiB};
    const handle a = heap.allocate(64);
    const handle b = heap.allocate(128);
    const handle c = heap.allocate(256);
    heap.deallocate(a);
    const pinned<void> still = heap.pin(c);
    auto s = heap.stats();
    EXPECT_EQ(s.capacity, 1024u);
    EXPECT_EQ(s.free_size, 1024u - 384);
    EXPECT_EQ(s.largest_free, 576u);
    EXPECT_EQ(s.hole_count, 2u);
    EXPECT_EQ(s.object_count, 2u);
    EXPECT_DOUBLE_EQ(s.fragmentation(), 1.0 - 576.0 / 640.0);
    EXPECT_EQ(heap.unusable_for(64), 0u);
    EXPECT_EQ(heap.unusable_for(65), 64u);
    EXPECT_EQ(heap.unusable_for(577), 640u);
    std::string json;
    heap.write_json([&](const char* text, std::size_t length) { json.append(text, length); });
    EXPECT_EQ(json,
              "{\"capacity\":1024,\"ranges\":[{\"offset\":0,\"size\":64},"
              "{\"offset\":64,\"size\":128,\"user\":" +
                  std::to_string(b.index()) + "},{\"offset\":192,\"size\":256,\"user\":" +
                  std::to_string(c.index()) + ",\"pinned\":true},{\"offset\":448,\"size\":576}]}");
    const auto report = heap.compact(everything);
    s = heap.stats();
    EXPECT_EQ(s.moved_size, report.bytes);
    EXPECT_EQ(s.move_count, report.moves);
    EXPECT_EQ(s.compact_count, 1u);
}

// ------------------------------------------------------------------------------------------------
// misuse

TEST(relocatable_heap_death_test, misuse_is_named) {
    if (!cairn::asserts_enabled) { GTEST_SKIP() << "asserts are off"; }
    GTEST_FLAG_SET(death_test_style, "fast");
    relocatable_heap heap{4_KiB};
    const handle h = heap.allocate(64);
    const handle gone = heap.allocate(64);
    heap.deallocate(gone);
    EXPECT_DEATH(heap.deallocate(gone), "an object is freed once, by its handle");
    EXPECT_DEATH(heap.deallocate(handle{}), "an object is freed once, by its handle");
    EXPECT_DEATH((void)heap.size(gone), "an object is used while it lives");
    EXPECT_DEATH((void)heap.get(handle::make(100'000, 1)), "a handle is used with its own heap");
    const pinned<void> still = heap.pin(h);
    EXPECT_DEATH(heap.deallocate(h), "an object is unpinned before it is freed");
}

/// Does what it must not when it is told of its move.
struct meddler {
    relocatable_heap* heap;
    handle other;
    int what;
    void on_relocated(meddler*) noexcept {
        if (what == 0) { heap->deallocate(other); }
        if (what == 1) { (void)heap->allocate(8); }
        if (what == 2) { heap->compact({}); }
        if (what == 3) { heap->pin(other).reset(); }
        EXPECT_TRUE(heap->contains(other)) << "to look is fine";
    }
};

TEST(relocatable_heap_death_test, an_object_that_is_told_of_its_move_changes_nothing) {
    if (!cairn::asserts_enabled) { GTEST_SKIP() << "asserts are off"; }
    GTEST_FLAG_SET(death_test_style, "fast");
    relocatable_heap heap{4_KiB};
    const handle below = heap.allocate(200);
    const auto m = heap.make<meddler>(&heap, heap.allocate(16), 0);
    heap.deallocate(below);
    for (m->what = 0; m->what < 4; ++m->what) {
        EXPECT_DEATH(heap.compact(everything),
                     "an object that is told of its move changes nothing in the heap");
    }
    EXPECT_EQ(heap.compact(everything).moves, 2u);
    heap.validate();
}

TEST(relocatable_heap_death_test, a_heap_neither_ends_nor_moves_under_a_pin) {
    if (!cairn::asserts_enabled) { GTEST_SKIP() << "asserts are off"; }
    GTEST_FLAG_SET(death_test_style, "fast");
    relocatable_heap heap{4_KiB};
    relocatable_heap other{4_KiB};
    const pinned<void> still = heap.pin(heap.allocate(16));
    EXPECT_DEATH(relocatable_heap{std::move(heap)}, "an object is unpinned before its heap moves");
    EXPECT_DEATH(other = std::move(heap), "an object is unpinned before its heap moves");
    EXPECT_DEATH(heap = std::move(other), "an object is unpinned before its heap ends");
    EXPECT_DEATH(
        {
            relocatable_heap brief{4_KiB};
            new pinned<void>{brief.pin(brief.allocate(16))};
        },
        "an object is unpinned before its heap ends");
}

TEST(relocatable_heap_death_test, a_write_into_free_memory_is_noticed) {
    if (!cairn::asserts_enabled || cairn::poison_is_queryable) {
        GTEST_SKIP() << "asserts are off, or a checker is faster";
    }
    GTEST_FLAG_SET(death_test_style, "fast");
    relocatable_heap heap{4_KiB};
    const handle a = heap.allocate(64);
    const handle b = heap.allocate(64);
    void* const old = heap.get(a);
    heap.deallocate(a);
    EXPECT_DEATH((std::memset(old, 7, 16), heap.validate()),
                 "a hole is as the heap left it: nothing wrote into free memory");
    EXPECT_DEATH((std::memset(old, 7, 16), heap.deallocate(b)),
                 "a hole is as the heap left it: nothing wrote into free memory");
}

}  // namespace
