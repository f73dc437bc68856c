// Sentences of cairn/alloc/arena_scope.hpp about misuse: which scope or marker is named.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/arena_scope.hpp>
#include <cairn/core/sizes.hpp>
#include <gtest/gtest.h>

#include <utility>

using namespace cairn;

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
