// Sentences of cairn/alloc/concurrent_pool.hpp about many threads at once.
#include <cairn/alloc/concurrent_pool.hpp>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "alloc/concurrent_pool_threads/take_all.hpp"
#include "support/test_upstream.hpp"

using namespace concurrent_pool_threads_tests;

namespace {

using cairn::alignment;
using cairn::concurrent_pool;

TEST(concurrent_pool, a_thread_gives_back_what_it_held_when_it_exits) {
    test_upstream upstream;
    concurrent_pool p{64, alignment{64}, upstream, {.slot_count_max = 100, .magazine_size = 8}};
    for (int generation = 0; generation < 50; ++generation) {
        std::thread{[&] {
            auto slots = take_all(p, 60);
            EXPECT_EQ(slots.size(), 60u);
            for (void* s : slots) { p.deallocate(s); }
        }}.join();
    }
    EXPECT_EQ(p.stats().live_count, 0u);
    EXPECT_EQ(p.stats().cache_count, 0u);
    const std::size_t requests = upstream.request_count();
    EXPECT_LE(requests, 20u) << "caches of exited threads are used again";
    EXPECT_EQ(take_all(p).size(), 100u);
}

TEST(concurrent_pool, a_thread_can_give_up_what_it_holds) {
    test_upstream upstream;
    concurrent_pool p{64, alignment{64}, upstream, {.slot_count_max = 16, .magazine_size = 8}};
    for (void* s : take_all(p)) { p.deallocate(s); }
    p.release_this_thread();
    p.release_this_thread();
    EXPECT_EQ(p.slack(), 0u);
    std::thread{[&] { EXPECT_EQ(take_all(p).size(), 16u); }}.join();
    p.reset();
    EXPECT_EQ(take_all(p).size(), 16u);
}

TEST(concurrent_pool, a_slot_may_be_freed_by_any_thread) {
    test_upstream upstream;
    concurrent_pool p{64, alignment{64}, upstream, {.magazine_size = 4}};
    auto slots = take_all(p, 500);
    std::thread{[&] {
        for (void* s : slots) { p.deallocate(s); }
    }}.join();
    p.validate();
    EXPECT_EQ(p.stats().live_count, 0u);
    const std::size_t size = p.stats().slot_count;
    EXPECT_EQ(take_all(p, 500).size(), 500u);
    EXPECT_EQ(p.stats().slot_count, size) << "nothing new was needed";
}

TEST(concurrent_pool, threads_outlive_pools_and_a_new_pool_at_the_old_address_is_a_new_pool) {
    alignas(concurrent_pool) std::byte place[sizeof(concurrent_pool)];
    std::atomic<int> step{0};
    auto* p = new (place) concurrent_pool{64, alignment{64}};
    std::thread other{[&] {
        p->deallocate(p->allocate());
        step = 1;
        while (step != 2) { std::this_thread::yield(); }
        // The pool this thread knew is dead; this is another one.
        auto* const q = reinterpret_cast<concurrent_pool*>(place);
        void* const s = q->allocate();
        EXPECT_TRUE(q->owns(s));
        q->deallocate(s);
        step = 3;
        while (step != 4) { std::this_thread::yield(); }
    }};  // exits after both are gone
    while (step != 1) { std::this_thread::yield(); }
    p->~concurrent_pool();
    auto* const q = new (place) concurrent_pool{64, alignment{64}};
    step = 2;
    while (step != 3) { std::this_thread::yield(); }
    q->validate();
    EXPECT_EQ(q->stats().live_count, 0u);
    q->~concurrent_pool();
    step = 4;
    other.join();
}

TEST(concurrent_pool, any_number_of_pools_live_side_by_side) {
    std::vector<std::unique_ptr<concurrent_pool>> pools;
    for (int i = 0; i < 70; ++i) {
        pools.push_back(std::make_unique<concurrent_pool>(
            std::size_t{16}, alignment{16}, cairn::system_memory(),
            cairn::concurrent_pool::options{.slot_count_max = 10}));
    }
    for (int round = 0; round < 5; ++round) {
        std::vector<void*> slots;
        for (auto& p : pools) {
            slots.push_back(p->allocate());
            EXPECT_TRUE(p->owns(slots.back()));
        }
        for (std::size_t i = 0; i < pools.size(); ++i) { pools[i]->deallocate(slots[i]); }
    }
    for (auto& p : pools) {
        EXPECT_EQ(p->stats().cache_count, 1u);
        p->validate();
    }
}

// Threads come and go, slots change hands, and each slot knows its owner: being given out twice is
// seen at once. (The shape of mimalloc's test-stress.)
TEST(concurrent_pool, a_slot_has_one_owner_under_stress) {
    struct slot {
        std::atomic<std::uint32_t> owner;
        std::uint32_t cookie;
    };
    constexpr int operation_count = 8'000;
    for (const std::size_t magazine_size : {1u, 2u, 16u}) {
        test_upstream upstream;
        concurrent_pool p{sizeof(slot),
                          alignment{8},
                          upstream,
                          {.slots_per_chunk = 64,
                           .slot_count_max = 600,
                           .magazine_size = magazine_size,
                           .whole_cache_lines = false}};
        std::array<std::atomic<slot*>, 64> exchange{};
        std::atomic<std::uint32_t> next_cookie{1};
        std::atomic<bool> broken{false};
        const auto allocate = [&](std::uint32_t me) {
            auto* const s = static_cast<slot*>(p.allocate());
            if (s != nullptr) {
                ::new (static_cast<void*>(s)) slot{{}, 0};
                s->owner.store(me, std::memory_order_relaxed);
                s->cookie = next_cookie.fetch_add(1, std::memory_order_relaxed);
            }
            return s;
        };
        const auto release = [&](slot* s, std::uint32_t me) {
            std::uint32_t expected = me;
            if (!s->owner.compare_exchange_strong(expected, 0, std::memory_order_relaxed)) {
                broken = true;
            }
            p.deallocate(s);
        };
        const auto work = [&](std::uint32_t me, unsigned seed) {
            std::mt19937 random{seed};
            std::vector<slot*> mine;
            for (int op = 0; op < operation_count && !broken; ++op) {
                const auto dice = random() % 100;
                if (dice < 45) {
                    if (slot* const s = allocate(me)) { mine.push_back(s); }
                } else if (dice < 80 || mine.size() > 120) {
                    if (!mine.empty()) {
                        const std::size_t i = random() % mine.size();
                        release(mine[i], me);
                        mine[i] = mine.back();
                        mine.pop_back();
                    }
                } else if (!mine.empty()) {  // hand one over, take what lies there
                    slot* const given = mine.back();
                    mine.pop_back();
                    given->owner.store(0xFFFF, std::memory_order_relaxed);
                    slot* const got = exchange[random() % exchange.size()].exchange(
                        given, std::memory_order_acq_rel);
                    if (got != nullptr) {
                        std::uint32_t expected = 0xFFFF;
                        if (!got->owner.compare_exchange_strong(expected, me,
                                                                std::memory_order_relaxed)) {
                            broken = true;
                        }
                        mine.push_back(got);
                    }
                }
            }
            for (slot* s : mine) { release(s, me); }
        };
        std::uint32_t me = 1;
        for (int generation = 0; generation < 4; ++generation) {
            std::vector<std::thread> threads;
            for (int t = 0; t < 4; ++t, ++me) {
                threads.emplace_back([&work, id = me] { work(id, id); });
            }
            for (auto& t : threads) { t.join(); }
        }
        ASSERT_FALSE(broken) << "a slot had two owners";
        for (auto& e : exchange) {
            if (slot* const s = e.load()) { p.deallocate(s); }
        }
        p.validate();
        EXPECT_EQ(p.stats().live_count, 0u);
        EXPECT_EQ(p.stats().cache_count, 1u);
        EXPECT_EQ(take_all(p).size(), 600u) << "nothing was lost";
    }
}
}  // namespace
