// Sentences of cairn/containers/concurrent_object_pool.hpp about prewarming, its maximum, and
// refusals.
#include <cairn/containers/concurrent_object_pool.hpp>
#include <cairn/owners/lease.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "containers/concurrent_object_pool/counted.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;
using namespace concurrent_object_pool_tests;

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
