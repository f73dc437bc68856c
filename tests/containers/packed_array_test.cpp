// Sentences of cairn/containers/packed_array.hpp and chunks.hpp.
#include <cairn/containers/packed_array.hpp>
#include <gtest/gtest.h>

using namespace cairn;

TEST(packed_array, erase_moves_the_last_one_into_the_hole_and_says_so) {
    packed_array<int> a;
    for (int i = 0; i < 5; ++i) { ASSERT_NE(a.emplace(i), nullptr); }
    const moved_row moved = a.erase_at(1);
    EXPECT_EQ(moved.from, 4u);
    EXPECT_EQ(moved.to, 1u);
    EXPECT_TRUE(moved.any());
    EXPECT_EQ(a[1], 4);
    EXPECT_FALSE(a.erase_at(3).any());
    EXPECT_EQ(a.size(), 3u);
}
