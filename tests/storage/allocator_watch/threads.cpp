// Threads that take turns at one allocator, and an allocator that is used from inside its own calls:
// checked builds stop none of them. (ThreadSanitizer reports threads that overlap.)
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/locked.hpp>
#include <cairn/alloc/pool.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

using namespace cairn;

namespace {

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
