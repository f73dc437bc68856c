// Sentences of cairn/containers/object_pool.hpp about growth: limits, prewarming, refusals and
// constructors that fail or acquire.
#include <cairn/containers/object_pool.hpp>
#include <cairn/containers/pool_hooks.hpp>
#include <cairn/core/null_allocator.hpp>
#include <cairn/owners/lease.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "containers/object_pool/counted.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;
using namespace object_pool_tests;

TEST(object_pool, grows_by_doubling_or_refuses_or_destroys_the_surplus) {
    counted::alive = 0;
    object_pool<counted> growing{{.first_block = 4}};
    std::vector<lease<object_pool<counted>>> held;
    for (int i = 0; i < 5; ++i) { held.push_back(growing.acquire()); }
    EXPECT_EQ(growing.capacity(), 8u);
    for (int i = 0; i < 4; ++i) { held.push_back(growing.acquire()); }
    EXPECT_EQ(growing.capacity(), 16u);

    object_pool<counted> fixed{{.first_block = 2, .object_count_max = 2}};
    auto a = fixed.acquire();
    auto b = fixed.acquire();
    EXPECT_FALSE(fixed.acquire());
    EXPECT_EQ(fixed.stats().misses, 3u);
    b.give_back();
    EXPECT_TRUE(fixed.acquire());

    object_pool<counted> lean{{.idle_count_max = 1}};
    const int before = counted::alive;
    {
        auto c = lean.acquire();
        auto d = lean.acquire();
        EXPECT_EQ(counted::alive, before + 2);
    }
    EXPECT_EQ(counted::alive, before + 1);
    EXPECT_EQ(lean.idle_count(), 1u);
    lean.validate();
}

TEST(object_pool, trim_gives_blocks_without_objects_back) {
    test_upstream upstream;
    object_pool<counted> pool{upstream, {.first_block = 4}};
    auto* const first = pool.acquire_raw();
    const std::size_t least = upstream.live_size();
    std::vector<counted*> peak;
    for (int i = 0; i < 1000; ++i) { peak.push_back(pool.acquire_raw()); }
    const std::size_t most = upstream.live_size();
    for (counted* const object : peak) { pool.release(object); }
    EXPECT_EQ(pool.trim(1000), 0u) << "every block has an idle object";
    const std::size_t bytes = pool.trim(0);
    EXPECT_EQ(bytes, most - upstream.live_size());
    EXPECT_LE(upstream.live_size(), least);
    EXPECT_EQ(pool.capacity(), 4u);
    pool.validate();
    // The pool grows again, and each slot is used once.
    std::set<counted*> again;
    for (int i = 0; i < 500; ++i) { again.insert(pool.acquire_raw()); }
    EXPECT_EQ(again.size(), 500u);
    EXPECT_FALSE(again.contains(first));
    pool.validate();
    for (counted* const object : again) { pool.release(object); }
    pool.release(first);
    (void)pool.trim(0);
    EXPECT_EQ(pool.capacity(), 0u);
    EXPECT_EQ(upstream.live_size(), 0u);
    auto later = pool.acquire();
    EXPECT_TRUE(later);
}

TEST(object_pool, trim_keeps_slots_that_were_never_used_beside_an_object) {
    object_pool<counted> pool{{.first_block = 4}};
    ASSERT_TRUE(pool.reserve(64));
    ASSERT_TRUE(pool.reserve(100));
    auto lease = pool.acquire();
    EXPECT_NE(pool.trim(0), 0u) << "the other block has no object";
    pool.validate();
    std::vector<object_pool<counted>::lease_type> held;
    for (int i = 0; i < 200; ++i) { held.push_back(pool.acquire()); }
    pool.validate();
}

namespace {

struct trims_in_its_destructor {
    object_pool<trims_in_its_destructor>* pool = nullptr;
    ~trims_in_its_destructor() {
        if (pool != nullptr) { EXPECT_EQ(pool->trim(0), 0u); }
    }
};

}  // namespace

TEST(object_pool, a_destructor_that_trims_keeps_its_own_block) {
    object_pool<trims_in_its_destructor> pool{{.first_block = 1}};
    auto* const object = pool.acquire_raw();
    object->pool = &pool;
    pool.release(object);
    EXPECT_NE(pool.trim(0), 0u) << "the outer call gives the block back";
    pool.validate();
}

TEST(object_pool, a_refused_smaller_stack_keeps_the_larger_one) {
    test_upstream upstream;
    object_pool<counted> pool{upstream, {.first_block = 4}};
    auto* const first = pool.acquire_raw();
    for (int i = 0; i < 100; ++i) { pool.release(pool.acquire_raw()); }
    ASSERT_TRUE(pool.reserve(500));
    upstream.refuse_from(upstream.request_count());
    EXPECT_NE(pool.trim(0), 0u);
    EXPECT_EQ(pool.capacity(), 4u);
    pool.validate();
    upstream.refuse_nothing();
    ASSERT_TRUE(pool.reserve(500));
    pool.release(first);
    pool.validate();
}

TEST(object_pool, counts_live_idle_peak_and_misses) {
    object_pool<counted> pool;
    EXPECT_TRUE(pool.prewarm(3));
    EXPECT_EQ(pool.stats().misses, 0u);
    {
        auto a = pool.acquire();
        auto b = pool.acquire();
        EXPECT_EQ(pool.stats().live, 2u);
        EXPECT_EQ(pool.stats().idle, 1u);
    }
    EXPECT_EQ(pool.stats().peak, 2u);
    {
        std::vector<lease<object_pool<counted>>> held;
        for (int i = 0; i < 5; ++i) { held.push_back(pool.acquire()); }
        EXPECT_EQ(pool.stats().peak, 5u);
    }
    EXPECT_EQ(pool.stats().peak, 5u);
    EXPECT_EQ(pool.stats().misses, 2u);
    EXPECT_EQ(pool.stats().live, 0u);
    pool.trim(1);
    EXPECT_EQ(pool.stats().idle, 1u);
    EXPECT_EQ(pool.stats().peak, 5u);
}

TEST(object_pool, prewarming_counts_no_miss_even_when_it_fails) {
    {
        test_upstream upstream;
        object_pool<counted> pool{upstream, {.first_block = 4}};
        EXPECT_TRUE(pool.prewarm(1));
        upstream.refuse_from(upstream.request_count());
        EXPECT_FALSE(pool.prewarm(100));
        EXPECT_EQ(pool.stats().misses, 0u);
        upstream.refuse_nothing();
        pool.trim(0);
#if defined(__cpp_exceptions)
        counted::throw_at = 0;
        EXPECT_THROW((void)pool.prewarm(3), int);
#endif
        EXPECT_EQ(pool.stats().misses, 0u);
        pool.validate();
    }
    EXPECT_EQ(counted::alive, 0);
}

TEST(object_pool, no_block_exceeds_the_maximum_and_a_small_one_will_do_when_memory_is_short) {
    object_pool<counted> fixed{{.first_block = 64, .object_count_max = 5}};
    EXPECT_TRUE(fixed.acquire());
    EXPECT_EQ(fixed.capacity(), 5u);
    object_pool<counted> doubled{{.first_block = 4, .object_count_max = 7}};
    EXPECT_TRUE(doubled.prewarm(4));
    EXPECT_TRUE(doubled.prewarm(5));
    EXPECT_EQ(doubled.capacity(), 7u);
    test_upstream upstream;
    object_pool<counted> tight{upstream, {.first_block = 32}};
    EXPECT_TRUE(tight.prewarm(32));
    upstream.refuse_from(upstream.request_count(), 4);  // the larger stacks of 64, 48, 40 and 36
    EXPECT_FALSE(tight.prewarm(33)) << "an eighth is refused, too";
    upstream.refuse_from(upstream.request_count() + 1, 1);  // the block of 32 more
    EXPECT_TRUE(tight.prewarm(33)) << "a block of half as many is taken instead";
    EXPECT_EQ(tight.capacity(), 48u);
}

TEST(object_pool, prewarms_on_several_threads) {
    for (const std::size_t threads : {1u, 2u, 5u, 64u}) {
        counted::built = 0;
        object_pool<counted> pool;
        auto early = pool.acquire();  // the block is partly used already
        EXPECT_TRUE(pool.prewarm(1000, threads));
        EXPECT_EQ(pool.idle_count(), 1000u);
        EXPECT_EQ(counted::built, 1001);
        pool.validate();
        std::set<counted*> distinct;
        std::vector<lease<object_pool<counted>>> held;
        for (int i = 0; i < 1000; ++i) {
            held.push_back(pool.acquire());
            distinct.insert(held.back().get());
        }
        EXPECT_EQ(distinct.size(), 1000u);
        EXPECT_EQ(counted::built, 1001);
        EXPECT_FALSE((object_pool<counted>{{.object_count_max = 5}}.prewarm(6, threads)));
    }
    EXPECT_EQ(counted::alive, 0);
}

namespace {
struct knows_its_builder {
    std::thread::id builder = std::this_thread::get_id();
};
}  // namespace

TEST(object_pool, in_a_prewarm_no_two_threads_build_on_one_cache_line) {
    using pool_type = object_pool<knows_its_builder>;
    pool_type pool{{.first_block = 2000}};
    const auto early = pool.acquire();  // the block goes on within a line
    ASSERT_TRUE(pool.prewarm(1000, 4));
    std::map<std::uintptr_t, std::thread::id> builder_of_line;
    std::vector<lease<pool_type>> held;
    for (int i = 0; i < 1000; ++i) {
        held.push_back(pool.acquire());
        const auto line = reinterpret_cast<std::uintptr_t>(held.back().get()) / cache_line_size;
        const std::thread::id builder = held.back()->builder;
        EXPECT_EQ(builder_of_line.emplace(line, builder).first->second, builder);
    }
    EXPECT_GT(builder_of_line.size(), 1u);
}

TEST(object_pool, every_refused_allocation_leaves_the_pool_unchanged) {
    for (std::size_t refused = 0; refused < 8; ++refused) {
        test_upstream upstream;
        upstream.refuse_from(refused, 1);
        object_pool<counted> pool{upstream, {.first_block = 2}};
        std::vector<lease<object_pool<counted>>> held;
        for (int i = 0; i < 40; ++i) {
            const std::size_t live = pool.live_count();
            auto a = pool.acquire();
            pool.validate();
            EXPECT_EQ(pool.live_count(), live + (a ? 1u : 0u));
            if (a) { held.push_back(std::move(a)); }
        }
        EXPECT_GE(held.size(), 39u);
    }
    EXPECT_EQ(counted::alive, 0);
    object_pool<counted> none{no_memory()};
    EXPECT_FALSE(none.acquire());
    EXPECT_FALSE(none.prewarm(1));
}

#if defined(__cpp_exceptions)
TEST(object_pool, a_constructor_that_throws_leaves_the_pool_unchanged) {
    {
        object_pool<counted> pool;
        auto a = pool.acquire();
        counted::throw_at = 0;
        EXPECT_THROW((void)pool.acquire(), int);
        EXPECT_EQ(pool.live_count(), 1u);
        pool.validate();
        EXPECT_TRUE(pool.acquire());
        for (int at = 0; at < 50; ++at) {
            object_pool<counted> warm;
            counted::throw_at = at;
            EXPECT_THROW((void)warm.prewarm(50, 3), int) << at;
            counted::throw_at = -1;
            warm.validate();
            EXPECT_LT(warm.idle_count(), 50u);
            EXPECT_TRUE(warm.prewarm(50, 3)) << "and works on";
            EXPECT_EQ(warm.idle_count(), 50u);
        }
    }
    EXPECT_EQ(counted::alive, 0);
}

TEST(object_pool, a_hook_that_throws_leaves_the_object_idle) {
    bool armed = true;
    auto hook = [&armed](counted&) {
        if (armed) { throw 1; }
    };
    object_pool<counted, pool_hooks<decltype(hook)>> pool{pool_hooks{hook}};
    EXPECT_THROW((void)pool.acquire(), int);
    EXPECT_EQ(pool.live_count(), 0u);
    armed = false;
    EXPECT_TRUE(pool.acquire());
    pool.validate();
}
#endif

namespace {
/// Its constructor acquires another one, as long as somebody wants more.
struct nest {
    static inline object_pool<nest>* pool = nullptr;
    static inline int wanted = 0;
    static inline int built = 0;
    nest* child = nullptr;
    nest() {
        ++built;
        if (wanted-- > 0) { child = pool->acquire_raw(); }
    }
};
}  // namespace

TEST(object_pool, constructors_that_acquire_are_refused_at_the_maximum_too) {
    for (const std::size_t first_block : {1u, 2u, 64u}) {
        detail::object_pool_options options;
        options.object_count_max = 2;
        options.first_block = first_block;
        object_pool<nest> pool{system_memory(), options};
        nest::pool = &pool;
        nest::wanted = 5;
        nest::built = 0;
        nest* const outer = pool.acquire_raw();
        ASSERT_NE(outer, nullptr);
        ASSERT_NE(outer->child, nullptr);
        EXPECT_EQ(outer->child->child, nullptr) << "the third one";
        EXPECT_EQ(nest::built, 2);
        EXPECT_EQ(pool.capacity(), 2u);
        pool.validate();
        pool.release(outer->child);
        pool.release(outer);
        pool.validate();
    }
}

/// Built, it acquires 20 others of a pool, once, and releases them.
struct greedy {
    greedy() {
        object_pool<greedy>* const from = std::exchange(pool, nullptr);
        if (from == nullptr) { return; }
        greedy* held[20];
        for (greedy*& one : held) { one = from->acquire_raw(); }
        for (greedy* const one : held) { from->release(one); }
    }
    static inline object_pool<greedy>* pool = nullptr;
};

TEST(object_pool, counts_the_peak_of_what_constructors_acquire_in_a_prewarm) {
    object_pool<greedy> all;
    ASSERT_TRUE(all.prewarm(64));
    EXPECT_EQ(all.stats().peak, 0u);
    greedy::pool = &all;
    ASSERT_TRUE(all.prewarm(128));
    EXPECT_EQ(all.stats().peak, 20u);
    all.validate();
}

TEST(object_pool, reserved_room_is_built_when_it_is_needed_and_used_before_newer_room) {
    counted::built = 0;
    {
        object_pool<counted> pool{{.first_block = 4, .object_count_max = 100}};
        counted* const first = pool.acquire_raw();
        EXPECT_TRUE(pool.reserve(50));
        EXPECT_GE(pool.capacity(), 50u);
        EXPECT_LE(pool.capacity(), 100u);
        EXPECT_EQ(counted::built, 1);
        EXPECT_EQ(pool.idle_count(), 0u);
        pool.validate();
        counted* const second = pool.acquire_raw();
        EXPECT_LT(first, second) << "the rest of the first block comes first";
        EXPECT_LT(second, first + 16);
        EXPECT_FALSE(pool.reserve(101)) << "more than the pool may have";
        EXPECT_TRUE(pool.prewarm(30));
        EXPECT_EQ(pool.idle_count(), 30u);
        pool.validate();
        pool.release(first);
        pool.release(second);
    }
    EXPECT_EQ(counted::alive, 0);
}
