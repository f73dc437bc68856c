// Behaviours of cairn/debug/failing.hpp.
#include <cairn/alloc/arena.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/debug/failing.hpp>
#include <cairn/os/page_allocator.hpp>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/allocator_contract.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;

namespace {

/// Which of `count` requests are refused: '.' given, 'X' refused.
template <class A>
std::string pattern(A& memory, int count) {
    std::string seen;
    std::vector<void*> blocks;
    for (int i = 0; i < count; ++i) {
        void* const p = memory.allocate(8);
        seen += p != nullptr ? '.' : 'X';
        if (p != nullptr) { blocks.push_back(p); }
    }
    for (void* p : blocks) { memory.deallocate(p, 8); }
    return seen;
}

}  // namespace

TEST(failing, keeps_the_shared_contract_and_refuses_nothing_unless_told) {
    test_upstream heap;
    failing memory{heap};
    check_allocator_contract(memory, 1);
    EXPECT_EQ(memory.refused_count(), 0u);
    EXPECT_EQ(memory.live_size(), 0u);
    EXPECT_GT(memory.request_count(), 300u);
}

TEST(failing, refuses_as_the_drawing_says) {
    test_upstream heap;
    {
        failing memory{heap};
        memory.refuse_from(3);
        EXPECT_EQ(pattern(memory, 10), "...XXXXXXX");
        EXPECT_EQ(memory.refused_count(), 7u);
    }
    {
        failing memory{heap};
        memory.refuse_from(3, 2);
        EXPECT_EQ(pattern(memory, 10), "...XX.....");
    }
    {
        failing memory{heap};
        memory.refuse_every(4);
        EXPECT_EQ(pattern(memory, 10), "...X...X..");
        memory.refuse_nothing();
        EXPECT_EQ(pattern(memory, 10), "..........");
    }
    EXPECT_EQ(heap.live_count(), 0u);
}

TEST(failing, a_refused_request_never_reaches_the_allocator_inside) {
    test_upstream heap;
    failing memory{heap};
    memory.refuse_from(0);
    EXPECT_EQ(memory.allocate(1), nullptr);
    EXPECT_EQ(heap.request_count(), 0u);
}

TEST(failing, random_refusals_repeat_with_their_seed) {
    test_upstream heap;
    const auto run = [&](std::uint64_t seed) {
        failing memory{heap};
        memory.refuse_randomly(3, seed);
        return pattern(memory, 300);
    };
    const std::string one = run(1);
    EXPECT_EQ(one, run(1));
    EXPECT_NE(one, run(2));
    const auto refused = std::count(one.begin(), one.end(), 'X');
    EXPECT_GT(refused, 60);
    EXPECT_LT(refused, 140);
}

TEST(failing, live_size_stays_within_the_budget) {
    test_upstream heap;
    failing memory{heap};
    memory.limit_size(100);
    void* const a = memory.allocate(60);
    EXPECT_EQ(memory.allocate(41), nullptr);
    void* const b = memory.allocate(40);
    ASSERT_TRUE(a != nullptr && b != nullptr);
    EXPECT_EQ(memory.allocate(1), nullptr);
    memory.deallocate(a, 60);
    void* const c = memory.allocate(60);
    EXPECT_NE(c, nullptr);
    EXPECT_EQ(memory.live_size(), 100u);
    EXPECT_EQ(memory.allocate(SIZE_MAX), nullptr);
    memory.deallocate(b, 40);
    memory.deallocate(c, 60);
}

TEST(failing, growing_in_place_is_a_request_and_shrinking_is_not) {
    page_allocator pages;
    failing memory{pages};
    void* const p = memory.allocate(100);
    memory.refuse_from(1);
    EXPECT_FALSE(memory.try_resize(p, 100, 200));
    EXPECT_TRUE(memory.try_resize(p, 100, 50));
    EXPECT_EQ(memory.live_size(), 50u);
    EXPECT_EQ(memory.request_count(), 2u);
    EXPECT_EQ(memory.good_size(1), page_memory::size());
    memory.refuse_nothing();
    EXPECT_TRUE(memory.try_resize(p, 50, 200));
    memory.deallocate(p, 200);
    static_assert(!resizes_in_place<failing<test_upstream&>>, "only what the inside can");
    static_assert(!has_owns<failing<test_upstream&>> && !markable<failing<test_upstream&>>);
}

TEST(failing, markers_and_reset_pass_through_and_keep_the_count_right) {
    failing<arena> memory{64_KiB};
    static_assert(markable<failing<arena>> && resettable<failing<arena>> &&
                  has_owns<failing<arena>>);
    void* const first = memory.allocate(100);
    EXPECT_TRUE(memory.owns(first));
    const auto here = memory.mark();
    (void)memory.allocate(200);
    EXPECT_EQ(memory.live_size(), 300u);
    memory.rewind(here);
    EXPECT_EQ(memory.live_size(), 100u);
    memory.reset();
    EXPECT_EQ(memory.live_size(), 0u);
    memory.validate();
}

TEST(failing, random_refusals_are_as_many_as_asked_for) {
    test_upstream heap;
    failing memory{heap};
    memory.refuse_randomly(10, 1);
    for (int i = 0; i < 10000; ++i) {
        if (void* const p = memory.allocate(1)) { memory.deallocate(p, 1); }
    }
    EXPECT_GT(memory.refused_count(), 850u);
    EXPECT_LT(memory.refused_count(), 1150u);
}

TEST(failing, markers_and_reset_reach_the_arena_inside) {
    failing<arena> memory{1_KiB};
    (void)memory.allocate(16);
    const auto here = memory.mark();
    (void)memory.allocate(16);
    memory.rewind(here);
    EXPECT_EQ(memory.inner().used_size(), 16u);
    memory.reset();
    EXPECT_EQ(memory.inner().used_size(), 0u);
}
