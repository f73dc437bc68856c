// Sentences of cairn/storage/work_limit.hpp.
#include <cairn/os/inside/clock.hpp>
#include <cairn/storage/work_limit.hpp>
#include <gtest/gtest.h>

#include <cstdint>

using cairn::work_limit;
using cairn::detail::monotonic_nanoseconds;
using cairn::detail::work_meter;

namespace {

TEST(work_limit, limits_nothing_that_is_not_set) {
    static_assert(work_limit{}.is_none());
    static_assert(!work_limit{}.is_timed());
    static_assert(!work_limit{.bytes = 1}.is_none());
    static_assert(!work_limit{.steps = 1}.is_none());
    static_assert(!work_limit{.microseconds = 1}.is_none());
    static_assert(work_limit{.microseconds = 0}.is_timed());
}

TEST(work_meter, ends_at_the_limit_that_is_reached_first) {
    work_meter by_steps{{.bytes = 100, .steps = 2}};
    EXPECT_TRUE(by_steps.goes_on());
    by_steps.pay(1, 10);
    EXPECT_TRUE(by_steps.goes_on());
    by_steps.pay(1, 10);
    EXPECT_FALSE(by_steps.goes_on());
    EXPECT_EQ(by_steps.steps(), 2u);
    EXPECT_EQ(by_steps.bytes(), 20u);

    work_meter by_bytes{{.bytes = 100, .steps = 20}};
    by_bytes.pay(1, 99);
    EXPECT_TRUE(by_bytes.goes_on());
    EXPECT_TRUE(by_bytes.has_bytes_for(1));
    EXPECT_FALSE(by_bytes.has_bytes_for(2));
    by_bytes.pay(1, 50);
    EXPECT_FALSE(by_bytes.goes_on());
    EXPECT_FALSE(by_bytes.has_bytes_for(0)) << "it was passed";

    EXPECT_FALSE(work_meter{{.steps = 0}}.goes_on());
    EXPECT_FALSE(work_meter{{.bytes = 0}}.goes_on());
    EXPECT_FALSE(work_meter{{.microseconds = 0}}.goes_on());
}

TEST(work_meter, reads_the_clock_where_the_limit_has_a_time) {
    work_meter untimed{{.steps = 5}};
    EXPECT_EQ(untimed.look(), 0u);
    EXPECT_EQ(untimed.nanoseconds(), 0u);
    EXPECT_TRUE(untimed.has_time_for(UINT64_MAX));

    work_meter timed{{.microseconds = 100}};
    const std::uint64_t begin = monotonic_nanoseconds();
    while (monotonic_nanoseconds() - begin < 1000) {}
    EXPECT_TRUE(timed.goes_on());
    EXPECT_GE(timed.look(), 1000u);
    EXPECT_GE(timed.nanoseconds(), 1000u);
    EXPECT_FALSE(timed.has_time_for(100'000));
    while (monotonic_nanoseconds() - begin < 101'000) {}
    EXPECT_TRUE(timed.nanoseconds() >= 100'000 || timed.goes_on()) << "it has not looked again";
    (void)timed.look();
    EXPECT_FALSE(timed.goes_on());
}

TEST(work_meter, work_between_two_looks_is_bounded_where_there_is_a_time) {
    work_meter untimed{{.bytes = 1000, .steps = 10}};
    EXPECT_EQ(untimed.bytes_until_look(64), 1000u);
    EXPECT_EQ(untimed.steps_until_look(3), 10u);
    untimed.pay(4, 2000);
    EXPECT_EQ(untimed.bytes_until_look(64), 0u);
    EXPECT_EQ(untimed.steps_until_look(3), 6u);

    work_meter timed{{.bytes = 1000, .microseconds = 100, .steps = 10}};
    EXPECT_EQ(timed.bytes_until_look(64), 64u);
    EXPECT_EQ(timed.steps_until_look(3), 3u);
    timed.pay(9, 990);
    EXPECT_EQ(timed.bytes_until_look(64), 10u);
    EXPECT_EQ(timed.steps_until_look(3), 1u);
}

}  // namespace
