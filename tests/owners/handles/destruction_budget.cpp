// Sentences of cairn/owners/destruction_budget.hpp. What each store does with one is in its own test.
#include <cairn/os/clock.hpp>
#include <cairn/owners/destruction_budget.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

using namespace cairn;

namespace {

/// How many objects of `nanoseconds` each are destroyed.
std::size_t destroyed(const destruction_budget& budget, std::size_t waiting,
                      std::uint64_t nanoseconds = 0) {
    detail::destruction_meter meter{budget};
    std::size_t count = 0;
    for (; count < waiting && meter.goes_on(); ++count) {
        const std::uint64_t begin = monotonic_nanoseconds();
        while (monotonic_nanoseconds() - begin < nanoseconds) {}
        meter.count();
    }
    EXPECT_EQ(meter.report(true).objects, count);
    return count;
}

}  // namespace

TEST(destruction_budget, without_limits_all_go) { EXPECT_EQ(destroyed({}, 1000), 1000u); }

TEST(destruction_budget, a_call_destroys_as_many_as_it_may_and_one_at_least) {
    EXPECT_EQ(destroyed({.objects = 64}, 1000), 64u);
    EXPECT_EQ(destroyed({.objects = 0}, 1000), 1u);
    EXPECT_GE(destroyed({.microseconds = 0}, 1000), 1u);
    EXPECT_EQ(destroyed({.objects = 64}, 10), 10u);
}

TEST(destruction_budget, a_time_is_passed_by_the_eight_objects_that_were_under_way) {
    // Each takes longer than all may.
    EXPECT_EQ(destroyed({.microseconds = 10}, 1000, 20'000), 8u);
    EXPECT_EQ(destroyed({.objects = 3, .microseconds = 10}, 1000, 20'000), 3u);
}

TEST(destruction_budget, the_clock_is_asked_where_there_is_a_time) {
    EXPECT_EQ(detail::destruction_meter{{}}.report(false).nanoseconds, 0u);
    detail::destruction_meter timed{{.microseconds = 100}};
    const std::uint64_t begin = monotonic_nanoseconds();
    while (monotonic_nanoseconds() - begin < 1000) {}
    const destruction_report told = timed.report(false);
    EXPECT_GE(told.nanoseconds, 1000u);
    EXPECT_FALSE(told.settled);
}
