// Sentences of cairn/movable/budget.hpp. What a heap does with one is in its own test.
#include <cairn/movable/budget.hpp>
#include <gtest/gtest.h>

#include <cstdint>

using namespace cairn;

TEST(compaction_budget, steps_that_are_not_named_are_a_tenth_of_the_time_and_40_at_least) {
    EXPECT_EQ(compaction_budget{}.step_count(), 40u);
    EXPECT_EQ(compaction_budget{.microseconds = 10}.step_count(), 40u);
    EXPECT_EQ(compaction_budget{.microseconds = 50}.step_count(), 40u);
    EXPECT_EQ(compaction_budget{.microseconds = 1000}.step_count(), 800u);
    EXPECT_EQ(compaction_budget{.microseconds = 0xFFFF'FFFE}.step_count(),
              std::uint64_t{0xFFFF'FFFE} * 4 / 5);
}

TEST(compaction_budget, steps_that_are_named_are_so_many) {
    EXPECT_EQ((compaction_budget{.microseconds = 1000, .steps = 7}.step_count()), 7u);
    EXPECT_EQ(compaction_budget{.steps = 0}.step_count(), 0u);
    EXPECT_EQ(compaction_budget{.steps = SIZE_MAX}.step_count(), SIZE_MAX);
}

TEST(compaction_budget, unlimited_is_without_any_limit) {
    constexpr compaction_budget all = compaction_budget::unlimited();
    static_assert(all.is_unlimited());
    static_assert(all.step_count() == SIZE_MAX);
    EXPECT_FALSE(compaction_budget{}.is_unlimited()) << "its steps are limited";
    EXPECT_FALSE((compaction_budget{.bytes = 1, .steps = SIZE_MAX}.is_unlimited()));
    EXPECT_FALSE((compaction_budget{.microseconds = 1, .steps = SIZE_MAX}.is_unlimited()));
}
