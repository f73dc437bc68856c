// What cairn/alloc/concurrent_pool.hpp promises to threads that come, go and free what others made.
#include <cairn/alloc/concurrent_pool.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "support/allocator_contract.hpp"
#include "support/ending_thread.hpp"
#include "support/sanitizers.hpp"
#include "support/test_upstream.hpp"

namespace {

using cairn::alignment;
using cairn::concurrent_pool;

template <class Pool>
std::vector<void*> take_all(Pool& p, std::size_t count_max = SIZE_MAX) {
    std::vector<void*> slots;
    while (slots.size() < count_max) {
        void* const s = p.allocate();
        if (s == nullptr) { break; }
        slots.push_back(s);
    }
    return slots;
}

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

/// Uses the pool from a destructor that runs while the thread's other thread-local objects die.
struct late_user {
    concurrent_pool* pool = nullptr;
    void* slot = nullptr;
    ~late_user() {
        if (pool != nullptr) {
            pool->deallocate(slot);
            for (int i = 0; i < 20; ++i) { pool->deallocate(pool->allocate()); }
        }
    }
};

TEST(concurrent_pool, works_in_destructors_of_thread_local_objects) {
    test_upstream upstream;
    concurrent_pool p{64, alignment{64}, upstream, {.slot_count_max = 40, .magazine_size = 4}};
    for (const bool pool_first : {false, true}) {
        std::thread{[&] {
            thread_local late_user early;  // constructed before or after the thread's cache
            if (pool_first) { p.deallocate(p.allocate()); }
            thread_local late_user late;
            early.slot = p.allocate();
            early.pool = &p;
            late.slot = p.allocate();
            late.pool = &p;
        }}.join();
        EXPECT_EQ(p.stats().live_count, 0u);
        EXPECT_EQ(p.stats().cache_count, 0u);
        p.validate();
    }
    EXPECT_EQ(take_all(p).size(), 40u);
}

#if defined(HAS_ENDING_THREADS)
TEST(concurrent_pool, may_be_used_for_the_first_time_by_a_thread_that_is_ending) {
    for (int round = 1; round <= key_round_count; ++round) {
        test_upstream upstream;
        {
            concurrent_pool p{64, alignment{64}, upstream, {.slot_count_max = 100}};
            void* const slot = p.allocate();
            in_ending_thread(round, [&] { p.deallocate(slot); });
            EXPECT_EQ(p.stats().live_count, 0u) << "round " << round;
            if (round < key_round_count) {
                EXPECT_EQ(p.stats().cache_count, 1u) << "round " << round;
            }
            p.validate();
        }  // takes its caches out of the lists of threads: also of those that ended unseen
        EXPECT_EQ(upstream.live_count(), 0u);
    }
}

TEST(concurrent_pool, a_thread_that_gave_back_what_it_held_works_through_a_lock) {
    test_upstream upstream;
    concurrent_pool p{64, alignment{64}, upstream, {.slot_count_max = 100}};
    in_ending_thread(
        key_round_count,
        [&] {
            void* const late = p.allocate();
            EXPECT_NE(late, nullptr);
            p.deallocate(late);
        },
        [&] { p.deallocate(p.allocate()); });
    EXPECT_EQ(p.stats().cache_count, 0u);
    EXPECT_EQ(p.stats().live_count, 0u);
}

TEST(concurrent_pool, a_thread_that_gave_back_what_it_held_may_give_it_back_again) {
    concurrent_pool p{64, alignment{64}};
    in_ending_thread(
        key_round_count, [&] { p.release_this_thread(); }, [&] { p.deallocate(p.allocate()); });
    EXPECT_EQ(p.stats().cache_count, 0u);
    p.validate();
}

void use_without_keys() {
    pthread_key_t key;
    while (pthread_key_create(&key, nullptr) == 0) {}  // all that the process can have
    test_upstream upstream;
    bool is_whole = true;
    {
        concurrent_pool p{64, alignment{64}, upstream, {.slot_count_max = 100}};
        for (int round = 0; round < 3; ++round) {
            const std::vector<void*> slots = take_all(p);
            is_whole = is_whole && slots.size() == 100;
            for (void* s : slots) { p.deallocate(s); }
        }
        is_whole = is_whole && p.stats().live_count == 0 && p.stats().cache_count == 0;
    }
    std::_Exit(is_whole && upstream.live_count() == 0 ? 0 : 1);
}

TEST(concurrent_pool, works_through_a_lock_where_it_cannot_hear_of_the_end_of_threads) {
    if (under_tsan) { GTEST_SKIP() << "death tests fork"; }
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(use_without_keys(), testing::ExitedWithCode(0), "");
    concurrent_pool p{64};  // with keys it has a cache
    p.deallocate(p.allocate());
    EXPECT_EQ(p.stats().cache_count, 1u);
}
#endif

TEST(concurrent_pool, is_asked_and_reset_beside_threads_that_are_ending) {
    for (int i = 0; i < 50; ++i) {
        concurrent_pool p{64, alignment{64}};
        std::atomic<int> done{0};
        std::vector<std::thread> threads;
        for (int t = 0; t < 3; ++t) {
            threads.emplace_back([&] {
                auto slots = take_all(p, 40);
                for (void* s : slots) { p.deallocate(s); }
                done.fetch_add(1, std::memory_order_release);
            });
        }
        while (done.load(std::memory_order_acquire) != 3) { std::this_thread::yield(); }
        EXPECT_EQ(p.stats().live_count, 0u);
        p.validate();
        p.reset();
        EXPECT_EQ(take_all(p, 200).size(), 200u);
        for (auto& t : threads) { t.join(); }
        EXPECT_EQ(p.stats().live_count, 200u);
        p.validate();
    }
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
            cairn::concurrent_pool_options{.slot_count_max = 10}));
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
