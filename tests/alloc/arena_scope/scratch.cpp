// Sentences of cairn/alloc/scratch.hpp.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/arena_scope.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/scratch.hpp>
#include <cairn/core/sizes.hpp>
#include <gtest/gtest.h>

#include <thread>

#include "support/test_upstream.hpp"

using namespace cairn;

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
