// Sentences of cairn/owners/destruction_report.hpp. What each store does with a limit is in the
// store's own test.
#include <cairn/os/inside/clock.hpp>
#include <cairn/owners/destruction_report.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

using namespace cairn;

namespace {

void pass(std::uint64_t nanoseconds) {
    const std::uint64_t begin = detail::monotonic_nanoseconds();
    while (detail::monotonic_nanoseconds() - begin < nanoseconds) {}
}

/// Destroys objects that take `nanoseconds` each.
destruction_report destroy(const work_limit& limit, std::size_t waiting,
                           std::uint64_t nanoseconds = 0) {
    return detail::destroy_within(
        limit, [&] { return waiting != 0; },
        [&] {
            --waiting;
            pass(nanoseconds);
        });
}

}  // namespace

TEST(destruction_report, without_limits_all_are_destroyed) {
    const destruction_report r = destroy({}, 1000);
    EXPECT_EQ(r.objects, 1000u);
    EXPECT_EQ(r.nanoseconds, 0u);
    EXPECT_TRUE(r.settled);
}

TEST(destruction_report, a_call_destroys_as_many_as_it_may_and_one_at_least) {
    EXPECT_EQ(destroy({.steps = 64}, 1000).objects, 64u);
    EXPECT_FALSE(destroy({.steps = 64}, 1000).settled);
    EXPECT_EQ(destroy({.steps = 0}, 1000).objects, 1u);
    EXPECT_GE(destroy({.microseconds = 0}, 1000).objects, 1u);
    EXPECT_LE(destroy({.microseconds = 0}, 1000).objects, 8u);
    EXPECT_EQ(destroy({.steps = 64}, 10).objects, 10u);
    EXPECT_EQ(destroy({.microseconds = 60'000'000}, 1000).objects, 1000u);
    EXPECT_TRUE(destroy({.steps = 10}, 10).settled);
    EXPECT_EQ(destroy({.steps = 10}, 0).objects, 0u);
}

TEST(destruction_report, a_time_is_passed_by_the_eight_objects_that_were_under_way) {
    // Each takes longer than all may.
    EXPECT_EQ(destroy({.microseconds = 10}, 1000, 20'000).objects, 8u);
    EXPECT_EQ(destroy({.microseconds = 10, .steps = 3}, 1000, 20'000).objects, 3u);
    EXPECT_GE(destroy({.microseconds = 10, .steps = 3}, 1000, 20'000).nanoseconds, 60'000u);
}

#if CAIRN_ASSERTS
TEST(destruction_report, a_limit_of_bytes_stops_a_checked_build) {
    EXPECT_DEATH(destroy({.bytes = 100}, 1000), "bytes are not counted");
}
#endif
