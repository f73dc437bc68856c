// Sentences of cairn/alloc/concurrent_pool.hpp about threads that end.
#include <cairn/alloc/concurrent_pool.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "alloc/concurrent_pool_threads/take_all.hpp"
#include "support/ending_thread.hpp"
#include "support/sanitizers.hpp"
#include "support/test_upstream.hpp"

using namespace concurrent_pool_threads_tests;

namespace {

using cairn::alignment;
using cairn::concurrent_pool;

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
}  // namespace
