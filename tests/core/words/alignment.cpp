// Sentences of cairn/core/alignment.hpp.
#include <cairn/core/alignment.hpp>
#include <gtest/gtest.h>

#include <cstddef>

using namespace cairn;

TEST(alignment, rounds_both_ways_and_knows_its_padding) {
    EXPECT_EQ(detail::round_up(0, alignment{64}), 0u);
    EXPECT_EQ(detail::round_up(1, alignment{64}), 64u);
    EXPECT_EQ(detail::round_down(127, alignment{64}), 64u);
    EXPECT_EQ(detail::padding_to(65, alignment{64}), 63u);
    EXPECT_EQ(alignment::of<double>().bytes(), alignof(double));
}

TEST(alignment, anything_but_a_power_of_two_is_named_in_checked_builds) {
    if (asserts_enabled) {
        EXPECT_DEATH((void)alignment{static_cast<std::size_t>(24)},
                     "an alignment is a power of two");
    }
}

TEST(alignment, is_ordered_by_its_bytes) {
    const alignment small{static_cast<std::size_t>(8)};
    const alignment large{static_cast<std::size_t>(16)};
    EXPECT_TRUE(small < large && large > small && small <= large && large >= small);
    EXPECT_FALSE(large < small || small > large || large <= small || small >= large);
    EXPECT_TRUE(small <= small && small >= small);
    EXPECT_FALSE(small < small || small > small);
}
