// Sentences of cairn/storage/allocator_watch.hpp about threads: which uses of one allocator are
// named, and which are legal.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/locked.hpp>
#include <cairn/alloc/pool.hpp>
#include <cairn/storage/allocator_watch.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include "support/death_words.hpp"
#include "support/sanitizers.hpp"
#include "support/stopping_upstream.hpp"

using namespace cairn;

namespace {

void enter_pool_twice() {
    static stopping_upstream upstream;
    upstream.requests_left = 0;
    pool slots{64, default_alignment, upstream, {.name = "shared"}};
    std::thread other{[&] { (void)slots.allocate(); }};
    while (!upstream.stopped) { std::this_thread::yield(); }
    (void)slots.allocate();
}

// Slots of which all is well go a short way, which has no word of its own.
void enter_pool_on_its_short_way() {
    static stopping_upstream upstream;
    upstream.requests_left = 1;
    pool slots{64, default_alignment, upstream, {.slots_per_chunk = 2, .name = "shared"}};
    void* const one = slots.allocate();
    slots.deallocate(slots.allocate());
    (void)slots.allocate();
    std::thread other{[&] { (void)slots.allocate(); }};
    while (!upstream.stopped) { std::this_thread::yield(); }
    slots.deallocate(one);
}

void enter_arena_twice() {
    static stopping_upstream upstream;
    upstream.requests_left = 0;
    growing_arena frames{1024, upstream};
    std::thread other{[&] { (void)frames.allocate(64); }};
    while (!upstream.stopped) { std::this_thread::yield(); }
    frames.reset();
}

// What fits into the current block takes the hot path, which has no word of its own.
void enter_arena_in_its_hot_path(bool frees) {
    static stopping_upstream upstream;
    upstream.requests_left = 1;
    growing_arena frames{1024, upstream};
    void* const last = frames.allocate(16);
    std::thread other{[&] { (void)frames.allocate(4000); }};
    while (!upstream.stopped) { std::this_thread::yield(); }
    if (frees) {
        frames.deallocate(last, 16);
    } else {
        (void)frames.allocate(16);
    }
}

void race_for_an_arena() {
    arena memory{1024};
    const auto work = [&] {
        for (;;) { memory.deallocate(memory.allocate(16), 16); }
    };
    std::thread other{work};
    work();
}

TEST(two_threads_at_once, are_named_while_one_waits_for_the_upstream) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(enter_pool_twice(),
                 in_this_order({"one thread at a time uses an allocator", "pool 'shared' at"}));
    EXPECT_DEATH(enter_pool_on_its_short_way(),
                 in_this_order({"one thread at a time uses an allocator", "pool 'shared' at"}));
    EXPECT_DEATH(enter_arena_twice(),
                 in_this_order({"one thread at a time uses an allocator", "growing_arena at"}));
    for (const bool frees : {false, true}) {
        EXPECT_DEATH(enter_arena_in_its_hot_path(frees),
                     in_this_order({"one thread at a time uses an allocator", "growing_arena at"}));
    }
}

TEST(two_threads_at_once, are_named_when_they_collide_on_an_arena) {
    if (!asserts_enabled || under_tsan) { GTEST_SKIP(); }  // ThreadSanitizer names it first
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    // Whatever the race breaks first: in most runs it is the overlap itself.
    EXPECT_DEATH(race_for_an_arena(), "broken promise");
}

#if CAIRN_ASSERTS
TEST(two_threads_at_once, are_named_by_the_one_that_leaves_when_both_came_in_unseen) {
    if (under_tsan) { GTEST_SKIP() << "death tests fork"; }
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto both_inside = [] {
        using detail::allocator_watch;
        alignas(allocator_watch) std::byte memory[sizeof(allocator_watch)];
        auto* const watch = ::new (memory) allocator_watch;
        const allocator_watch::use mine{*watch, memory, "arena", {}};
        ::new (memory) allocator_watch;  // as the other thread saw it when it came in
        std::thread{[&] { new allocator_watch::use{*watch, memory, "arena", {}}; }}.join();
    };
    EXPECT_DEATH(both_inside(), "one thread at a time uses an allocator");
}
#endif

TEST(threads_that_take_turns, are_legal_under_a_lock) {
    locked<pool> slots{std::size_t{64}};
    locked<growing_arena> memory{std::size_t{1024}};
    locked<heap<>> level{std::size_t{64} << 10};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 2000; ++i) {
                void* const p = slots.allocate(64, alignment{16});
                void* const q = memory.allocate(16, alignment{16});
                memory.deallocate(q, 16, alignment{16});
                slots.deallocate(p, 64, alignment{16});
                void* const r = level.allocate(100, alignment{16});
                level.deallocate(r, 100, alignment{16});
            }
        });
    }
    for (std::thread& t : threads) { t.join(); }
    slots.validate();
    level.validate();
    memory.validate();
}

TEST(threads_that_take_turns, are_legal_by_handing_over) {
    pool slots{64};
    arena memory{1024};
    heap<> level{std::size_t{16} << 10};
    std::atomic<int> turn{0};
    const auto work = [&](int mine) {
        for (int i = 0; i < 200; ++i) {
            while (turn.load(std::memory_order_acquire) != mine) { std::this_thread::yield(); }
            slots.deallocate(slots.allocate());
            memory.deallocate(memory.allocate(16), 16);
            level.deallocate(level.allocate(16), 16);
            turn.store(1 - mine, std::memory_order_release);
        }
    };
    std::thread other{work, 1};
    work(0);
    other.join();
}

TEST(one_thread, may_come_back_through_an_upstream_and_from_its_own_slots) {
    arena memory{64 << 10};
    pool slots{64, default_alignment, memory, {.slots_per_chunk = 2}};
    for (int i = 0; i < 20; ++i) { ASSERT_NE(slots.allocate(), nullptr); }
    slots.for_each_live([&](void* p) { slots.deallocate(p); });
    EXPECT_EQ(slots.stats().live_count, 0u);
}
}  // namespace
