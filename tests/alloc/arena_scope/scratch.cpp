// Sentences of cairn/alloc/scratch.hpp.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/arena_scope.hpp>
#include <cairn/alloc/array_recycler.hpp>
#include <cairn/alloc/budget.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/locked.hpp>
#include <cairn/alloc/monotonic.hpp>
#include <cairn/alloc/scratch.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/debug/failing.hpp>
#include <cairn/debug/guarded.hpp>
#include <cairn/debug/tracked.hpp>
#include <cairn/std/std_allocator.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <source_location>
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

TEST(scratch, memory_of_an_open_scope_is_not_released_or_configured) {
    if (!asserts_enabled) { GTEST_SKIP() << "asserts are off"; }
    const auto outer = scratch();
    const auto inner = scratch(outer);  // in the other arena
    const unsigned line = std::source_location::current().line();
    const auto released = expect_broken_promise([] { release_scratch(); });
    const auto configured = expect_broken_promise([] { configure_scratch(1024, system_memory()); });
    EXPECT_TRUE(released.says("scratch scopes end before")) << released;
    EXPECT_EQ(released.kind(), misuse_kind::out_of_order);
    EXPECT_EQ(released.line(), line + 1);
    EXPECT_EQ(released.value("open scopes"), 2u);
    EXPECT_TRUE(configured.says("scratch scopes end before")) << configured;
    EXPECT_EQ(configured.line(), line + 2);
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

template <class Result>
void expect_other_arena(const arena_scope<growing_arena>& mine, const Result& result) {
    auto temporary = scratch(result);
    EXPECT_NE(&temporary.arena(), &mine.arena());
}

TEST(scratch, finds_the_arena_of_the_result_through_wrappers) {
    auto mine = scratch();
    budget limited{1_MiB, mine};
    expect_other_arena(mine, limited);
    tracked counted{mine, {.report_leaks = false}};
    expect_other_arena(mine, counted);
    array_recycler recycled{mine};
    expect_other_arena(mine, recycled);
    monotonic growing{mine};
    expect_other_arena(mine, growing);
    locked shared{mine};
    expect_other_arena(mine, shared);
    failing refused{mine};
    expect_other_arena(mine, refused);
    guarded fenced{mine};
    expect_other_arena(mine, fenced);
    budget both{1_MiB, recycled};
    expect_other_arena(mine, both);
    expect_other_arena(mine, std_allocator<int, arena_scope<growing_arena>>{mine});
}

struct uses_scratch_at_the_end {
    void* got = &got;
    void** to = nullptr;
    test_upstream* upstream = nullptr;  // which the destructor configures, too
    ~uses_scratch_at_the_end() {
        if (upstream != nullptr) { configure_scratch(1024, *upstream); }
        auto late = scratch();
        *to = late.allocate(100);
    }
};

TEST(scratch, has_no_memory_in_destructors_that_run_after_its_own_end) {
    test_upstream upstream;
    void* late = &upstream;
    std::thread{[&] {
        thread_local uses_scratch_at_the_end first;
        first.to = &late;
        configure_scratch(1024, upstream);
        auto s = scratch();
        EXPECT_NE(s.allocate(100), nullptr);
    }}.join();
    EXPECT_EQ(late, nullptr);
    EXPECT_EQ(upstream.live_count(), 0u) << "all memory of the thread went back";
}

TEST(scratch, is_not_configured_after_its_own_end) {
    test_upstream upstream;
    void* late = &upstream;
    std::thread{[&] {
        thread_local uses_scratch_at_the_end first;
        first.to = &late;
        first.upstream = &upstream;
        auto s = scratch();
    }}.join();
    EXPECT_EQ(late, nullptr);
    EXPECT_EQ(upstream.request_count(), 0u) << "nothing would give that memory back";
}
