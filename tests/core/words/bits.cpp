// Sentences of cairn/core/inside/bits.hpp.
#include <cairn/core/inside/bits.hpp>
#include <gtest/gtest.h>

#include <cstdint>

using namespace cairn;

TEST(bits, logarithms_round_down_and_up_at_every_power_of_two) {
    for (unsigned n = 1; n < 64; ++n) {
        const std::uint64_t power = std::uint64_t{1} << n;
        ASSERT_EQ(detail::floor_log2(power), n);
        ASSERT_EQ(detail::ceil_log2(power), n);
        ASSERT_EQ(detail::floor_log2(power - 1), n - 1);
        ASSERT_EQ(detail::ceil_log2(power - 1), n == 1 ? 0 : n);
        ASSERT_EQ(detail::ceil_log2(power + 1), n + 1);
        ASSERT_EQ(detail::lowest_bit(power | (power << 1)), n);
    }
    EXPECT_EQ(detail::ceil_log2(UINT64_MAX), 64u);
}

TEST(bits, of_small_types_too) {
    EXPECT_EQ(detail::floor_log2(std::uint8_t{200}), 7u);
    EXPECT_EQ(detail::ceil_log2(std::uint8_t{200}), 8u);
    EXPECT_EQ(detail::lowest_bit(std::uint16_t{0x300}), 8u);
}

TEST(bits, what_does_not_fit_is_a_size_that_every_allocator_refuses) {
    EXPECT_EQ(detail::saturating_add(SIZE_MAX - 1, 1), SIZE_MAX);
    EXPECT_EQ(detail::saturating_add(SIZE_MAX - 1, 2), SIZE_MAX);
    EXPECT_EQ(detail::saturating_add(2, 3), 5u);
    EXPECT_EQ(detail::saturating_multiply(SIZE_MAX / 8, 8), SIZE_MAX - 7);
    EXPECT_EQ(detail::saturating_multiply(SIZE_MAX / 8 + 1, 8), SIZE_MAX);
    EXPECT_EQ(detail::saturating_multiply(SIZE_MAX, 0), 0u);
    EXPECT_EQ(detail::saturating_multiply(0, SIZE_MAX), 0u);
}

TEST(bits, zero_has_none) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    EXPECT_DEATH((void)detail::floor_log2(0u), "zero has no highest bit");
    EXPECT_DEATH((void)detail::ceil_log2(0u), "zero has no logarithm");
    EXPECT_DEATH((void)detail::lowest_bit(0u), "zero has no lowest bit");
}
