// Behaviours of cairn/alloc/arena_scope.hpp and scratch.hpp.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/arena_scope.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/scratch.hpp>
#include <cairn/alloc/virtual_arena.hpp>
#include <cairn/core/sizes.hpp>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "support/test_upstream.hpp"

using namespace cairn;

namespace {

struct noisy {
    std::string* log;
    char name;
    noisy(std::string* l, char n) : log{l}, name{n} {}
    noisy(const noisy&) = delete;
    ~noisy() { log->push_back(name); }
};

struct counted {
    static inline int alive = 0;
    counted() { ++alive; }
    ~counted() { --alive; }
    int payload = 5;
};

#if defined(__cpp_exceptions)
struct thrower {
    explicit thrower(int n) {
        if (n == 3) { throw n; }
    }
    ~thrower() { --alive; }
    static inline int alive = 0;
};
struct throws_on_third {
    throws_on_third() {
        if (built == 2) { throw 1; }
        ++built;
    }
    ~throws_on_third() { --built; }
    static inline int built = 0;
};
#endif

}  // namespace

TEST(arena_scope, rewinds_at_its_end) {
    arena a{1_KiB};
    (void)a.allocate(16);
    {
        arena_scope scope{a};
        (void)scope.make_array<int>(100);
        EXPECT_GT(a.used_size(), 400u);
    }
    EXPECT_EQ(a.used_size(), 16u);
}

TEST(arena_scope, runs_destructors_in_reverse_order) {
    arena a{4_KiB};
    std::string log;
    {
        arena_scope scope{a};
        (void)scope.make<noisy>(&log, 'a');
        (void)scope.make<int>(5);
        (void)scope.make<noisy>(&log, 'b');
        {
            arena_scope inner{a};
            (void)inner.make<noisy>(&log, 'x');
        }
        EXPECT_EQ(log, "x");
        (void)scope.make<noisy>(&log, 'c');
    }
    EXPECT_EQ(log, "xcba");
}

TEST(arena_scope, destroys_arrays_and_over_aligned_objects) {
    struct alignas(128) wide : counted {};
    growing_arena a{256};
    {
        arena_scope scope{a};
        auto objects = scope.make_array<counted>(50);
        ASSERT_EQ(objects.size(), 50u);
        EXPECT_EQ(objects[49].payload, 5);
        wide* const w = scope.make<wide>();
        EXPECT_TRUE(is_aligned(w, alignment{128}));
        EXPECT_EQ(counted::alive, 51);
    }
    EXPECT_EQ(counted::alive, 0);
}

TEST(arena_scope, an_object_costs_itself_and_one_node) {
    std::string log;  // outlives the object that writes to it as it ends
    arena a{1_KiB};
    arena_scope scope{a};
    (void)scope.make<noisy>(&log, 'a');
    EXPECT_EQ(a.used_size(), round_up(3 * sizeof(void*) + sizeof(noisy), alignment{16}));
}

TEST(arena_scope, an_exhausted_arena_constructs_nothing) {
    arena a{64};
    arena_scope scope{a};
    EXPECT_TRUE(scope.make_array<counted>(1000).empty());
    EXPECT_TRUE(scope.make_array<counted>(SIZE_MAX / 2).empty());
    EXPECT_EQ(counted::alive, 0);
}

#if defined(__cpp_exceptions)
TEST(arena_scope, a_throwing_constructor_leaves_what_was_there) {
    arena a{4_KiB};
    {
        arena_scope scope{a};
        EXPECT_THROW((void)scope.make<thrower>(3), int);
        EXPECT_THROW((void)scope.make_array<throws_on_third>(5), int);
        EXPECT_EQ(throws_on_third::built, 0) << "what was built is destroyed";
    }
    EXPECT_EQ(thrower::alive, 0) << "what was never built is never destroyed";
}
#endif

TEST(arena_scope, works_on_every_arena_and_as_an_upstream) {
    virtual_arena a{1_MiB};
    {
        arena_scope scope{a};
        growing_arena inner{1_KiB, scope};
        EXPECT_NE(inner.allocate(5000), nullptr);
    }
    EXPECT_EQ(a.used_size(), 0u);
}

TEST(arena_scope, marks_and_rewinds_in_it_are_its_own) {
    arena a{4_KiB};
    const auto in_front = a.mark();
    {
        arena_scope outer{a};
        (void)outer.allocate(16);
        {
            arena_scope inner{a};
            const auto begin = a.mark();
            (void)inner.allocate(64);
            const auto later = a.mark();
            (void)inner.allocate(64);
            a.rewind(later);
            a.rewind(begin);
            (void)inner.allocate(32);
        }
        EXPECT_EQ(a.used_size(), 16u);
        (void)outer.allocate(16);
        a.rewind(in_front);  // the place where `outer` began: nothing in front of it is lost
        (void)outer.allocate(16);
    }
    EXPECT_EQ(a.used_size(), 0u);
    a.rewind(in_front);
}

TEST(arena_scope, destructors_may_allocate_from_it_and_open_scopes_of_its_arena) {
    struct careful {
        arena_scope<arena>* scope;
        ~careful() {
            EXPECT_NE(scope->allocate(16), nullptr);
            arena_scope inner{scope->arena()};
            EXPECT_NE(inner.allocate(16), nullptr);
        }
    };
    arena a{4_KiB};
    {
        arena_scope scope{a};
        (void)scope.make<careful>(&scope);
        (void)scope.make<careful>(&scope);
    }
    EXPECT_EQ(a.used_size(), 0u);
}

TEST(arena_scope_misuse, a_scope_that_died_is_named_at_its_end) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    arena a{1_KiB};
    EXPECT_DEATH(
        {
            arena_scope scope{a};
            a.reset();
        },
        "a marker does not outlive reset");
    EXPECT_DEATH(
        {
            const auto in_front = a.mark();
            (void)a.allocate(16);
            arena_scope scope{a};
            a.rewind(in_front);
        },
        "died with an older one");
    EXPECT_DEATH(
        {
            const auto in_front = a.mark();
            (void)a.allocate(16);
            arena_scope outer{a};
            (void)outer.allocate(16);
            {
                arena_scope first{a};
                (void)first.allocate(16);
                arena_scope second{a};
                (void)second.allocate(16);
            }
            auto* const inner = new arena_scope{a};
            a.rewind(in_front);
            { arena_scope after{a}; }  // began after the rewind: it ends as it should
            delete inner;
        },
        "died with an older one");
    // In front of the outer one, at the begin of the inner one: that lives, the outer one does not.
    EXPECT_DEATH(
        {
            const auto in_front = a.mark();
            void* const p = a.allocate(16);
            auto* const outer = new arena_scope{a};
            a.deallocate(p, 16);
            auto* const inner = new arena_scope{a};
            a.rewind(in_front);
            delete inner;
            delete outer;
        },
        "died with an older one");
}

TEST(arena_scope_misuse, a_marker_does_not_outlive_the_scope_that_it_was_taken_in) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    arena a{1_KiB};
    EXPECT_DEATH(
        {
            arena_scope outer{a};
            auto in_scope = a.mark();
            {
                arena_scope scope{a};
                (void)scope.allocate(16);
                in_scope = a.mark();
            }
            (void)outer.allocate(64);
            a.rewind(in_scope);
        },
        "died with an older one");
    EXPECT_DEATH(
        {
            arena_scope scope{a};
            arena b{std::move(a)};
        },
        "does not move while a scope is open");
}

TEST(arena_scope_misuse, is_named_in_checked_builds) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    arena a{1_KiB};
    EXPECT_DEATH(
        {
            arena_scope outer{a};
            arena_scope inner{a};
            (void)outer.make<int>(1);
        },
        "innermost open scope");
    EXPECT_DEATH(
        {
            auto* const outer = new arena_scope{a};
            auto* const inner = new arena_scope{a};
            delete outer;
            delete inner;
        },
        "reverse order");
}

TEST(scratch, is_never_the_arena_that_the_caller_returns_into) {
    auto outer = scratch();
    auto inner = scratch(outer);
    EXPECT_NE(&outer.arena(), &inner.arena());
    auto third = scratch(inner);
    EXPECT_EQ(&third.arena(), &outer.arena());
    growing_arena mine;
    auto fourth = scratch(mine);
    EXPECT_NE(&fourth.arena(), &mine);
}

TEST(scratch, a_result_survives_the_callees_scope) {
    const auto join = [](auto& result, int count) {
        auto temporary = scratch(result);
        auto pieces = temporary.template make_array<int>(static_cast<std::size_t>(count));
        for (int i = 0; i < count; ++i) { pieces[static_cast<std::size_t>(i)] = i; }
        int* const sum = result.template make<int>(0);
        for (const int piece : pieces) { *sum += piece; }
        return sum;
    };
    auto caller = scratch();
    int* const sum = join(caller, 1000);
    EXPECT_EQ(*sum, 499500);
    (void)join(caller, 10);
    EXPECT_EQ(*sum, 499500);
}

TEST(scratch, each_thread_has_its_own_and_takes_nothing_before_first_use) {
    test_upstream upstream;
    std::thread{[&] {
        configure_scratch(4_KiB, upstream);
        EXPECT_EQ(upstream.request_count(), 0u);
        {
            auto temporary = scratch();
            (void)temporary.allocate(100);
            EXPECT_EQ(upstream.live_count(), 1u);
        }
        EXPECT_EQ(upstream.live_count(), 1u) << "kept for the next scope";
        release_scratch();
        EXPECT_EQ(upstream.live_count(), 0u);
        auto again = scratch();
        (void)again.allocate(100);
    }}.join();
    EXPECT_EQ(upstream.live_count(), 0u) << "the thread's end gives everything back";
}

TEST(scratch, both_arenas_of_a_thread_take_from_the_upstream_and_give_back) {
    test_upstream upstream;
    std::thread{[&] {
        configure_scratch(4_KiB, upstream);
        {
            auto outer = scratch();
            auto inner = scratch(outer);
            (void)outer.allocate(100);
            (void)inner.allocate(100);
            EXPECT_EQ(upstream.live_count(), 2u);
        }
        release_scratch();
        EXPECT_EQ(upstream.live_count(), 0u);
    }}.join();
}

template <class A>
concept can_be_avoided = requires(A& allocator) { scratch(allocator); };

TEST(scratch, is_not_asked_to_avoid_what_cannot_say_which_arena_it_is) {
    static_assert(can_be_avoided<arena> && can_be_avoided<growing_arena> &&
                  can_be_avoided<arena_scope<growing_arena>>);
    static_assert(!can_be_avoided<allocator_ref>);
}
