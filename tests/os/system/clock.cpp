// Sentences of cairn/os/inside/clock.hpp.
#include <cairn/os/inside/clock.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

TEST(clock, never_says_less_than_before_and_moves_on) {
    const std::uint64_t first = cairn::detail::monotonic_nanoseconds();
    std::uint64_t before = first;
    std::uint64_t now = first;
    while (now - first < 1'000'000) {
        now = cairn::detail::monotonic_nanoseconds();
        ASSERT_GE(now, before);
        before = now;
    }
}

TEST(clock, counts_nanoseconds) {
    const auto begin = std::chrono::steady_clock::now();
    const std::uint64_t first = cairn::detail::monotonic_nanoseconds();
    while (cairn::detail::monotonic_nanoseconds() - first < 5'000'000) {}
    const auto took = std::chrono::steady_clock::now() - begin;
    EXPECT_GE(took, std::chrono::nanoseconds{4'900'000}) << "5 milliseconds, to 2 %";
}
