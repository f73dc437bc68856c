// Sentences of cairn/containers/concurrent_object_pool.hpp about its objects: built once, passed
// between threads, used again.
#include <cairn/containers/concurrent_object_pool.hpp>
#include <cairn/containers/pool_hooks.hpp>
#include <cairn/owners/lease.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "containers/concurrent_object_pool/counted.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;
using namespace concurrent_object_pool_tests;

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

TEST(concurrent_object_pool, trim_destroys_idle_objects_with_their_chunks) {
    counted::built = 0;
    test_upstream upstream;
    {
        pool_type pool{upstream};
        auto kept = pool.acquire();
        {
            std::vector<lease<pool_type>> held;
            for (int i = 0; i < 20'000; ++i) { held.push_back(pool.acquire()); }
        }
        const std::size_t before = upstream.live_size();
        const std::size_t bytes = pool.trim();
        EXPECT_GT(bytes, 0u);
        EXPECT_EQ(upstream.live_size(), before - bytes);
        EXPECT_EQ(static_cast<std::size_t>(counted::alive), pool.object_count());
        EXPECT_LT(pool.object_count(), 20'001u);
        EXPECT_EQ(pool.stats().live, 1u);
        pool.validate();
        kept->value = 12;
        {
            std::vector<lease<pool_type>> held;
            for (int i = 0; i < 5'000; ++i) { held.push_back(pool.acquire()); }
            EXPECT_EQ(kept->value, 12) << "a live object stays";
            pool.validate();
        }
        kept = {};
        pool.release_this_thread();
        EXPECT_GT(pool.trim(), 0u);
        EXPECT_EQ(counted::alive, 0);
        EXPECT_EQ(pool.object_count(), 0u);
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

TEST(concurrent_object_pool, an_object_is_given_back_by_reference_too) {
    pool_type pool;
    counted* const object = pool.acquire_raw();
    ASSERT_NE(object, nullptr);
    pool.release(*object);
    EXPECT_EQ(pool.stats().live, 0u);
    EXPECT_EQ(object->enters, 1);
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
    if constexpr (detail::poison_is_queryable) {
        pool_type pool;
        counted* const a = pool.acquire_raw();
        EXPECT_FALSE(is_poisoned(a));
        pool.release(a);
        EXPECT_TRUE(is_poisoned(a));
    }
}
