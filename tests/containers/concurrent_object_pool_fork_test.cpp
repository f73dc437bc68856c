// What cairn/containers/concurrent_object_pool.hpp promises about fork(): at any moment.
#include <gtest/gtest.h>

#if !defined(_WIN32)

#    include <cstdio>
#    include <memory>
#    include <optional>
#    include <thread>
#    include <utility>
#    include <vector>

#    include <cairn/containers/concurrent_object_pool.hpp>
#    include <cairn/core/poison.hpp>

#    include "support/forking.hpp"
#    include "support/sanitizers.hpp"

namespace {

struct object {
    static inline int alive = 0;  // of this process; one thread counts at a time
    object() { ++alive; }
    object(const object&) = delete;
    ~object() { --alive; }
    int value = 7;
};
using pool_type = cairn::concurrent_object_pool<object>;

constexpr std::size_t object_count = 12;

/// In a child: all but `lost_max` objects can be had, with what they were left with; the pool ends
/// with every object that was built.
bool goes_on(pool_type& pool, std::size_t lost_max) {
    bool good = pool.stats().live <= lost_max;
    for (int round = 0; round < 2; ++round) {
        std::vector<object*> held;
        while (object* const o = pool.acquire_raw()) {
            good = good && o->value == 7;
            held.push_back(o);
        }
        good = good && held.size() <= object_count && held.size() + lost_max >= object_count &&
               pool.stats().live >= held.size();
        for (object* const o : held) { pool.release(o); }
        pool.validate();
        good = good && pool.stats().idle >= held.size();
    }
    const std::size_t built = pool.stats().idle + pool.stats().live;
    const int before = object::alive;
    pool.~concurrent_object_pool();  // the child ends without looking at it again
    return good && before - object::alive == static_cast<int>(built);
}

TEST(concurrent_object_pool_fork, what_another_thread_keeps_at_hand_is_not_live_in_the_child) {
    if (under_tsan) { GTEST_SKIP() << "TSan does not follow a fork of many threads"; }
    std::optional<pool_type> pool;
    pool.emplace();
    std::atomic<int> step{0};
    std::thread other{[&] {
        pool->acquire().give_back();
        step = 1;
        while (step != 2) { std::this_thread::yield(); }
        object* const kept = pool->acquire_raw();
        step = 3;
        while (step != 4) { std::this_thread::yield(); }
        pool->release(kept);
    }};
    while (step != 1) { std::this_thread::yield(); }
    EXPECT_EQ(pool->stats().live, 0u);
    EXPECT_TRUE(child_finds([&] {
        const auto s = pool->stats();
        const bool good = s.live == 0 && s.idle == 1 && s.peak == 1;
        pool.reset();
        return good && object::alive == 0;
    }));
    step = 2;
    while (step != 3) { std::this_thread::yield(); }
    EXPECT_TRUE(child_finds([&] {
        const bool good = pool->stats().live == 1 && pool->stats().idle == 0;
        pool.reset();  // although one is live: its owner does not exist here
        return good && object::alive == 0;
    }));
    step = 4;
    other.join();
    EXPECT_EQ(pool->stats().live, 0u);
}

TEST(concurrent_object_pool_fork, a_leak_of_the_child_itself_is_named) {
    if (!cairn::asserts_enabled) { GTEST_SKIP() << "checked builds only"; }
    EXPECT_FALSE(child_finds([] {
        pool_type pool;  // made in the child, where the owners of its objects exist
        object* const leaked = pool.acquire_raw();
        return leaked != nullptr;
    }));
}

TEST(concurrent_object_pool_fork, the_child_goes_on_while_another_thread_waits_for_the_upstream) {
    if (under_tsan) { GTEST_SKIP() << "TSan does not follow a fork of many threads"; }
    for (int request = 0;; ++request) {
        SCOPED_TRACE(request);
        auto upstream = std::make_unique<stopping_upstream>();
        upstream->requests_left = request;
        pool_type pool{*upstream, {.object_count_max = object_count}};
        std::atomic<bool> ended{false};
        std::thread other{[&] {
            (void)pool.prewarm(3);  // asks for memory of its own first
            ended = true;
        }};
        while (!upstream->stopped && !ended) { std::this_thread::yield(); }
        if (!upstream->stopped) {
            other.join();
            EXPECT_GE(request, 4) << "requests: prewarm's own, a chunk and its magazines, a cache";
            break;
        }
        EXPECT_TRUE(child_finds([&] {
            upstream->requests_left = -1;
            return goes_on(pool, 2 * 8);
        }));
        upstream->may_go_on = true;
        other.join();
        pool.validate();
        EXPECT_EQ(pool.stats().live, 0u);
    }
}

#    if defined(__linux__) && defined(__x86_64__)

TEST(concurrent_object_pool_fork, the_child_goes_on_from_every_instruction_of_another_thread) {
    if (under_tsan || cairn::detail::poison_is_queryable) {
        GTEST_SKIP() << "steps through the library";
    }
    auto upstream = std::make_unique<stopping_upstream>();
    std::optional<pool_type> pool;
    pool.emplace(*upstream, pool_type::options{.object_count_max = object_count});
    const forks done = forks_at_each_change(
        *pool, *upstream,
        [&] {
            object* const first = pool->acquire_raw();
            object* const second = pool->acquire_raw();
            pool->release(first);
            pool->release(second);
            (void)pool->prewarm(4);
            pool->release_this_thread();
        },
        [&] { return goes_on(*pool, object_count); });
    EXPECT_TRUE(done.all_good) << "at fork " << done.count;
    EXPECT_GT(done.count, 50);
    std::printf("%d forks\n", done.count);
    pool->validate();
    EXPECT_EQ(pool->stats().live, 0u);
}

#    endif

}  // namespace

#endif
