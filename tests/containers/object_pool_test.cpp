// Sentences of cairn/containers/object_pool.hpp, lease.hpp and pool_hooks.hpp.
#include <cairn/containers/object_pool.hpp>
#include <cairn/core/null_allocator.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <map>
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
    int uses = 0;
};

struct told {
    int exits = 0;
    int enters = 0;
    int resets = 0;
    int functions = 0;
    void on_exit_free_list() { ++exits; }
    void on_enter_free_list() { ++enters; }
    void reset() { ++resets; }
};

}  // namespace

TEST(object_pool, objects_are_built_once_and_used_again) {
    counted::built = 0;
    {
        object_pool<counted> pool;
        counted* first = nullptr;
        {
            auto a = pool.acquire();
            ASSERT_TRUE(a);
            first = a.get();
            a->uses = 7;
        }
        auto b = pool.acquire();
        EXPECT_EQ(b.get(), first);
        EXPECT_EQ(b->uses, 7) << "it stays constructed";
        EXPECT_EQ(counted::built, 1);
        pool.validate();
    }
    EXPECT_EQ(counted::alive, 0);
}

TEST(object_pool, a_lease_moves_and_comes_back_once) {
    object_pool<counted> pool;
    auto a = pool.acquire();
    lease<object_pool<counted>> b{std::move(a)};
    EXPECT_FALSE(a);
    EXPECT_EQ(pool.live_count(), 1u);
    a = pool.acquire();
    a = std::move(b);
    EXPECT_EQ(pool.live_count(), 1u);
    auto& same = a;
    a = std::move(same);
    EXPECT_TRUE(a) << "a lease may be moved to itself";
    EXPECT_EQ(pool.live_count(), 1u);
    counted* const raw = a.detach();
    EXPECT_TRUE(a == nullptr);
    EXPECT_EQ(pool.live_count(), 1u);
    pool.release(raw);
    EXPECT_EQ(pool.live_count(), 0u);
    static_assert(!std::is_copy_constructible_v<lease<object_pool<counted>>>);
}

TEST(object_pool, tells_members_and_functions_and_the_rules_switch_either_off) {
    const auto add = [](told& t) { ++t.functions; };
    const auto run = [&]<hook_rules Rules>() {
        object_pool<told, decltype(pool_hooks{add, add}), Rules> pool{pool_hooks{add, add}};
        told* const object = pool.acquire_raw();
        pool.release(object);
        (void)pool.acquire_raw();
        const told seen = *object;
        pool.release(object);
        return seen;
    };
    const told all = run.operator()<hook_rules::all>();
    EXPECT_EQ(all.exits, 2);
    EXPECT_EQ(all.enters, 1);
    EXPECT_EQ(all.resets, 1);
    EXPECT_EQ(all.functions, 3);
    const told members = run.operator()<hook_rules::members>();
    EXPECT_EQ(members.exits, 2);
    EXPECT_EQ(members.functions, 0);
    const told functions = run.operator()<hook_rules::functions>();
    EXPECT_EQ(functions.exits + functions.enters + functions.resets, 0);
    EXPECT_EQ(functions.functions, 3);
    const told none = run.operator()<hook_rules::none>();
    EXPECT_EQ(none.exits + none.enters + none.resets + none.functions, 0);
}

TEST(object_pool, builds_with_a_function_when_there_is_no_default_constructor) {
    struct numbered {
        explicit numbered(int n) : number{n} {}
        int number;
    };
    int next = 10;
    auto create = [&next] { return numbered{next++}; };
    object_pool<numbered, pool_hooks<no_hook, no_hook, decltype(create)>> pool{
        pool_hooks{no_hook{}, no_hook{}, create}};
    auto a = pool.acquire();
    auto b = pool.acquire();
    EXPECT_EQ(a->number, 10);
    EXPECT_EQ(b->number, 11);
}

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

TEST(object_pool, random_operations_agree_with_a_set) {
    for (unsigned seed = 1; seed <= 10; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        std::mt19937 random{seed};
        test_upstream upstream;
        object_pool<counted> pool{upstream,
                                  {.first_block = 3, .object_count_max = 90, .idle_count_max = 20}};
        std::vector<counted*> live;
        for (int op = 0; op < 100000; ++op) {
            const auto what = random() % 100;
            if (what < 50) {
                counted* const c = pool.acquire_raw();
                EXPECT_EQ(c == nullptr, live.size() == 90);
                if (c != nullptr) {
                    c->uses = op;
                    live.push_back(c);
                }
            } else if (what < 98 && !live.empty()) {
                const std::size_t i = random() % live.size();
                pool.release(live[i]);
                live[i] = live.back();
                live.pop_back();
            } else if (what < 99) {
                pool.trim(random() % 10);
            } else {
                (void)pool.prewarm(random() % 10);
            }
            if (op % 500 == 0) {
                pool.validate();
                EXPECT_EQ(pool.live_count(), live.size());
                EXPECT_LE(pool.idle_count(), 20u);
            }
        }
        for (counted* c : live) { pool.release(c); }
    }
    EXPECT_EQ(counted::alive, 0);
}

TEST(object_pool, a_double_or_foreign_release_stops_every_build) {
    object_pool<counted> pool;
    object_pool<counted> other;
    counted* const a = pool.acquire_raw();
    EXPECT_DEATH(other.release(a), "an object is released once, to the pool it came from");
    if (asserts_enabled) {
        EXPECT_DEATH(pool.release(nullptr), "an object is released once, to the pool it came from");
    }
    pool.release(a);
    EXPECT_DEATH(pool.release(a), "an object is released once, to the pool it came from");
}

TEST(object_pool, idle_objects_are_poisoned) {
    if constexpr (poison_is_queryable) {
        struct wide {
            double values[8] = {};
        };
        object_pool<wide> pool;
        wide* const w = pool.acquire_raw();
        EXPECT_FALSE(is_poisoned(w));
        pool.release(w);
        EXPECT_TRUE(is_poisoned(w));
    }
}

namespace {
struct brings_a_child {
    static inline object_pool<brings_a_child>* pool = nullptr;
    static inline bool wants_one = false;
    brings_a_child* child = nullptr;
    void on_exit_free_list() {
        if (std::exchange(wants_one, false)) { child = pool->acquire_raw(); }
    }
};
}  // namespace

TEST(object_pool, a_hook_may_acquire_another_object) {
    object_pool<brings_a_child> pool;
    brings_a_child::pool = &pool;
    for (std::size_t warm = 0; warm != 3; ++warm) {
        (void)pool.prewarm(warm);
        brings_a_child::wants_one = true;
        brings_a_child* const parent = pool.acquire_raw();
        ASSERT_NE(parent->child, nullptr);
        EXPECT_NE(parent->child, parent);
        EXPECT_EQ(pool.live_count(), 2u);
        pool.validate();
        pool.release(std::exchange(parent->child, nullptr));
        pool.release(parent);
        pool.trim(0);
    }
    pool.validate();
}

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
        object_pool_options options;
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

TEST(object_pool, for_each_visits_what_is_live_while_its_function_releases_and_acquires) {
    struct numbered {
        int number = 0;
        int visits = 0;
    };
    object_pool<numbered> pool{{.first_block = 8, .idle_count_max = 5}};
    std::vector<numbered*> live;
    for (int i = 0; i < 100; ++i) {
        live.push_back(pool.acquire_raw());
        *live.back() = {i, 0};
    }
    for (std::size_t i = 0; i < 100; i += 3) { pool.release(std::exchange(live[i], nullptr)); }
    std::vector<numbered*> extra;
    pool.for_each([&](numbered& n) {
        if (n.number < 0) { return; }  // acquired meanwhile
        ++n.visits;
        if (n.number % 2 == 0) {
            live[static_cast<std::size_t>(n.number)] = nullptr;
            pool.release(n);
        } else {
            extra.push_back(pool.acquire_raw());
            *extra.back() = {-1, 0};
        }
    });
    std::size_t count = 0;
    for (numbered* const n : live) {
        if (n == nullptr) { continue; }
        EXPECT_EQ(n->visits, 1);
        EXPECT_EQ(n->number % 2, 1);
        ++count;
        pool.release(n);
    }
    EXPECT_EQ(count, extra.size());
    EXPECT_EQ(pool.live_count(), extra.size());
    for (numbered* const n : extra) { pool.release(n); }
    std::as_const(pool).for_each([](const numbered&) { ADD_FAILURE() << "nothing is live"; });
    pool.validate();
}
