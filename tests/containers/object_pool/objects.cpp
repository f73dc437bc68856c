// Sentences of cairn/containers/object_pool.hpp about its objects: built once, told when they
// leave and come back, used again, visited.
#include <cairn/containers/object_pool.hpp>
#include <cairn/containers/pool_hooks.hpp>
#include <cairn/owners/lease.hpp>
#include <gtest/gtest.h>

#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include "containers/object_pool/counted.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;
using namespace object_pool_tests;

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
    if constexpr (detail::poison_is_queryable) {
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

namespace {

struct parent {
    object_pool<parent>* pool = nullptr;
    parent* child = nullptr;
    ~parent() {
        if (child != nullptr) { pool->release(child); }
    }
};

}  // namespace

TEST(object_pool, a_destructor_may_release_another_object) {
    object_pool<parent> pool;
    parent* const older = pool.acquire_raw();
    parent* const younger = pool.acquire_raw();
    older->pool = &pool;
    older->child = younger;
    pool.release(older);
    EXPECT_EQ(pool.live_count(), 1u);
    (void)pool.trim(0);  // ends the parent, which releases the child, and then the child
    EXPECT_EQ(pool.live_count(), 0u);
    EXPECT_EQ(pool.idle_count(), 0u);
    pool.validate();
}

#if defined(__cpp_exceptions)
TEST(object_pool, a_function_that_throws_ends_for_each_and_nothing_else) {
    object_pool<int> pool;
    int* const a = pool.acquire_raw();
    int* const b = pool.acquire_raw();
    EXPECT_THROW(pool.for_each([](int&) { throw 1; }), int);
    EXPECT_EQ(pool.live_count(), 2u);
    pool.release(a);
    pool.release(b);
    pool.validate();
}
#endif
