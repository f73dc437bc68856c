// Sentences of cairn/containers/concurrent_object_pool.hpp.
#include <cairn/containers/concurrent_object_pool.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "support/test_upstream.hpp"

using namespace cairn;

namespace {

struct counted {
    static inline std::atomic<int> built = 0;
    static inline std::atomic<int> alive = 0;
    static inline std::atomic<int> throw_at = -1;  // the n-th construction from now throws
    counted() {
#if defined(__cpp_exceptions)
        if (throw_at >= 0 && throw_at-- == 0) { throw 42; }
#endif
        ++built, ++alive;
    }
    counted(const counted&) = delete;
    ~counted() { --alive; }
    void on_exit_free_list() { ++exits; }
    void on_enter_free_list() { ++enters; }
    int value = 7;  // plain: the pool must order its uses
    int exits = 0;
    int enters = 0;
};
using pool_type = concurrent_object_pool<counted>;

}  // namespace

TEST(concurrent_object_pool, objects_are_built_once_and_used_again) {
    counted::built = 0;
    test_upstream upstream;
    {
        pool_type pool{upstream};
        std::set<counted*> seen;
        for (int round = 0; round < 20; ++round) {
            std::vector<lease<pool_type>> held;
            for (int i = 0; i < 50; ++i) {
                held.push_back(pool.acquire());
                ASSERT_TRUE(held.back());
                EXPECT_EQ(held.back()->value, 7) << "it was left so, or built so";
                EXPECT_EQ(held.back()->exits, held.back()->enters + 1);
                seen.insert(held.back().get());
            }
        }
        EXPECT_EQ(static_cast<std::size_t>(counted::built), seen.size());
        EXPECT_EQ(pool.object_count(), seen.size());
        EXPECT_EQ(pool.miss_count(), seen.size()) << "each was built because none was idle";
        EXPECT_EQ(pool.stats().live, 0u);
        EXPECT_EQ(pool.stats().idle, seen.size());
        pool.validate();
    }
    EXPECT_EQ(counted::alive, 0);
}

TEST(concurrent_object_pool, an_object_goes_from_thread_to_thread_as_it_was_left) {
    counted::built = 0;
    {
        pool_type pool;
        std::mutex lock;
        std::deque<counted*> queue;
        std::atomic<int> sent = 0;
        constexpr int each = 4000;
        std::vector<std::thread> threads;
        for (int t = 0; t < 2; ++t) {
            threads.emplace_back([&] {
                for (int i = 0; i < each; ++i) {
                    counted* const c = pool.acquire_raw();
                    c->value = 7;
                    const std::scoped_lock held{lock};
                    queue.push_back(c);
                    ++sent;
                }
            });
            threads.emplace_back([&] {
                for (int i = 0; i < each;) {
                    counted* c = nullptr;
                    {
                        const std::scoped_lock held{lock};
                        if (!queue.empty()) {
                            c = queue.front();
                            queue.pop_front();
                        }
                    }
                    if (c == nullptr) {
                        std::this_thread::yield();
                        continue;
                    }
                    ++c->value;
                    pool.release(c);
                    ++i;
                }
            });
        }
        for (auto& t : threads) { t.join(); }
        EXPECT_EQ(pool.stats().live, 0u);
        EXPECT_EQ(pool.object_count(), static_cast<std::size_t>(counted::built));
        pool.validate();
    }
    EXPECT_EQ(counted::alive, 0);
}

TEST(concurrent_object_pool, random_operations_on_several_threads) {
    for (unsigned round = 0; round < 4; ++round) {
        pool_type pool;
        std::vector<std::thread> threads;
        for (unsigned t = 0; t < 3; ++t) {
            threads.emplace_back([&, seed = round * 10 + t] {
                std::mt19937 random{seed};
                std::vector<counted*> mine;
                for (int op = 0; op < 90000; ++op) {
                    if (random() % 2 == 0 && mine.size() < 100) {
                        counted* const c = pool.acquire_raw();
                        c->value = static_cast<int>(seed);
                        mine.push_back(c);
                    } else if (!mine.empty()) {
                        const std::size_t i = random() % mine.size();
                        if (mine[i]->value != static_cast<int>(seed)) {
                            ADD_FAILURE() << "two threads have one object, seed " << seed;
                        }
                        pool.release(mine[i]);
                        mine[i] = mine.back();
                        mine.pop_back();
                    }
                }
                for (counted* c : mine) { pool.release(c); }
            });
        }
        for (auto& t : threads) { t.join(); }
        pool.validate();
        EXPECT_EQ(pool.stats().live, 0u);
    }
    EXPECT_EQ(counted::alive, 0);
}

TEST(concurrent_object_pool, prewarms_on_several_threads) {
    for (const std::size_t threads : {1u, 2u, 5u}) {
        counted::built = 0;
        test_upstream upstream;
        {
            pool_type pool{upstream};
            auto early = pool.acquire();
            pool.acquire().give_back();
            EXPECT_TRUE(pool.prewarm(1000, threads));
            EXPECT_EQ(pool.object_count(), 1000u);
            EXPECT_EQ(counted::built, 1000);
            EXPECT_EQ(pool.miss_count(), 2u) << "nobody waited for the others";
            EXPECT_TRUE(pool.prewarm(10));
            pool.validate();
            std::set<counted*> distinct;
            std::vector<lease<pool_type>> held;
            for (int i = 0; i < 999; ++i) {
                held.push_back(pool.acquire());
                distinct.insert(held.back().get());
            }
            EXPECT_EQ(distinct.size(), 999u);
            EXPECT_EQ(counted::built, 1000) << "prewarmed objects are used before any is built";
        }
        EXPECT_EQ(counted::alive, 0);
    }
}

namespace {

struct slow {  // so that the threads of a prewarm are all at work at once
    slow() { std::this_thread::sleep_for(std::chrono::microseconds{20}); }
    int value = 0;
};

}  // namespace

TEST(concurrent_object_pool, prewarms_up_to_its_maximum_on_any_number_of_threads) {
    for (const std::size_t count : {100u, 200u, 300u, 1000u}) {
        for (const std::size_t threads : {1u, 2u, 3u, 8u}) {
            concurrent_object_pool<slow> pool{{.object_count_max = count}};
            auto early = pool.acquire();
            EXPECT_TRUE(pool.prewarm(count, threads)) << count << ", " << threads << " threads";
            EXPECT_EQ(pool.object_count(), count) << threads;
            EXPECT_FALSE(pool.prewarm(count + 1, threads));
            pool.validate();
            EXPECT_EQ(pool.stats().live, 1u);
        }
    }
}

namespace {

struct first_calls {  // its first constructor does something else before
    static inline std::function<void()> before_the_first;
    first_calls() {
        if (const auto call = std::exchange(before_the_first, nullptr)) { call(); }
    }
    int value = 0;
};

}  // namespace

TEST(concurrent_object_pool, a_prewarm_keeps_no_slot_when_others_have_built_enough_meanwhile) {
    constexpr std::size_t count = 1000;
    using first_calls_pool = concurrent_object_pool<first_calls>;
    first_calls_pool pool{{.object_count_max = count + 100}};
    first_calls::before_the_first = [&] {
        std::thread{[&] {
            std::vector<lease<first_calls_pool>> held;
            for (int i = 0; i < 100; ++i) { held.push_back(pool.acquire()); }
            held.clear();
            pool.release_this_thread();
        }}.join();
    };
    EXPECT_TRUE(pool.prewarm(count));
    EXPECT_GE(pool.object_count(), count);
    pool.validate();
    std::vector<lease<first_calls_pool>> all;
    while (auto object = pool.acquire()) { all.push_back(std::move(object)); }
    EXPECT_EQ(all.size(), count + 100);
}

TEST(concurrent_object_pool, an_object_is_given_back_by_reference_too) {
    pool_type pool;
    counted* const object = pool.acquire_raw();
    ASSERT_NE(object, nullptr);
    pool.release(*object);
    EXPECT_EQ(pool.stats().live, 0u);
    EXPECT_EQ(object->enters, 1);
}

TEST(concurrent_object_pool, a_prewarm_beyond_its_maximum_asks_for_no_memory) {
    test_upstream upstream;
    pool_type pool{upstream, {.object_count_max = 100}};
    EXPECT_FALSE(pool.prewarm(101));
    EXPECT_FALSE(pool.prewarm(SIZE_MAX, 4));
    EXPECT_EQ(upstream.request_count(), 0u);
    EXPECT_EQ(pool.object_count(), 0u);
    pool_type unbounded{upstream};
    EXPECT_FALSE(unbounded.prewarm(SIZE_MAX));
    EXPECT_EQ(upstream.request_count(), 0u);
}

TEST(concurrent_object_pool, what_other_threads_keep_at_hand_is_out_of_reach_of_a_prewarm) {
    pool_type pool{{.object_count_max = 200}};
    std::atomic<int> step = 0;
    std::thread other{[&] {
        pool.acquire().give_back();
        step = 1;
        while (step != 2) { std::this_thread::yield(); }
        pool.release_this_thread();
        step = 3;
        while (step != 4) { std::this_thread::yield(); }
    }};
    while (step != 1) { std::this_thread::yield(); }
    EXPECT_FALSE(pool.prewarm(200, 2));
    EXPECT_LT(pool.object_count(), 200u);
    EXPECT_GT(pool.object_count(), 100u) << "what was built stays";
    EXPECT_EQ(pool.stats().live, 0u);
    step = 2;
    while (step != 3) { std::this_thread::yield(); }
    EXPECT_TRUE(pool.prewarm(200, 2));
    step = 4;
    other.join();
    pool.validate();
}

TEST(concurrent_object_pool, refuses_beyond_its_maximum_and_when_memory_is_exhausted) {
    pool_type pool{{.object_count_max = 5}};
    std::vector<lease<pool_type>> held;
    for (int i = 0; i < 5; ++i) { held.push_back(pool.acquire()); }
    EXPECT_TRUE(held.back());
    EXPECT_FALSE(pool.acquire());
    EXPECT_EQ(pool.miss_count(), 6u);
    EXPECT_FALSE(pool.prewarm(6));
    held.pop_back();
    EXPECT_TRUE(pool.acquire());

    for (std::size_t refused = 0; refused < 6; ++refused) {
        test_upstream upstream;
        upstream.refuse_from(refused, 1);
        pool_type small{upstream};
        std::vector<lease<pool_type>> got;
        for (int i = 0; i < 40; ++i) {
            if (auto a = small.acquire()) { got.push_back(std::move(a)); }
            EXPECT_EQ(small.stats().live, got.size());
            small.validate();
        }
        EXPECT_GE(got.size(), 39u);
        upstream.refuse_nothing();
        EXPECT_TRUE(small.prewarm(100));
    }
    EXPECT_EQ(counted::alive, 5);
}

#if defined(__cpp_exceptions)
TEST(concurrent_object_pool, a_constructor_or_hook_that_throws_leaves_the_slot_free) {
    {
        pool_type pool;
        auto a = pool.acquire();
        counted::throw_at = 0;
        EXPECT_THROW((void)pool.acquire(), int);
        EXPECT_EQ(pool.stats().live, 1u);
        EXPECT_EQ(pool.acquire()->value, 7) << "built when it was asked for again";
        for (int at = 0; at < 50; ++at) {
            pool_type warm;
            counted::throw_at = at;
            EXPECT_THROW((void)warm.prewarm(50, 3), int) << at;
            counted::throw_at = -1;
            warm.validate();
            EXPECT_EQ(warm.stats().live, 0u);
            EXPECT_LT(warm.object_count(), 50u);
            EXPECT_TRUE(warm.prewarm(50, 3)) << "and works on";
            EXPECT_EQ(warm.object_count(), 50u);
        }
        bool armed = true;
        auto hook = [&armed](counted&) {
            if (armed) { throw 1; }
        };
        concurrent_object_pool<counted, pool_hooks<decltype(hook)>> hooked{pool_hooks{hook}};
        EXPECT_THROW((void)hooked.acquire(), int);
        EXPECT_EQ(hooked.stats().live, 0u);
        EXPECT_EQ(hooked.stats().idle, 1u);
        armed = false;
        EXPECT_TRUE(hooked.acquire());
    }
    EXPECT_EQ(counted::alive, 0);
}
#endif

TEST(concurrent_object_pool, a_double_or_foreign_release_stops_every_build) {
    pool_type pool;
    pool_type other;
    counted* const a = pool.acquire_raw();
    EXPECT_DEATH(other.release(a), "an object is released once, to the pool it came from");
    if (asserts_enabled) {
        EXPECT_DEATH(pool.release(nullptr), "an object is released once, to the pool it came from");
    }
    pool.release(a);
    EXPECT_DEATH(pool.release(a), "an object is released once, to the pool it came from");
}

TEST(concurrent_object_pool, idle_objects_are_poisoned) {
    if constexpr (poison_is_queryable) {
        pool_type pool;
        counted* const a = pool.acquire_raw();
        EXPECT_FALSE(is_poisoned(a));
        pool.release(a);
        EXPECT_TRUE(is_poisoned(a));
    }
}
