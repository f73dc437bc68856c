// Sentences of cairn/containers/slot_map.hpp.
#include <cairn/containers/slot_map.hpp>
#include <gtest/gtest.h>

using namespace cairn;

TEST(slot_map, finds_what_lives_and_nothing_else) {
    slot_map<int> map;
    const auto a = map.emplace(1);
    const auto b = map.emplace(2);
    EXPECT_EQ(*map.find(a), 1);
    EXPECT_TRUE(map.erase(a));
    EXPECT_FALSE(map.erase(a));
    EXPECT_EQ(map.find(a), nullptr);
    EXPECT_EQ(map.find(a), map.end());
    EXPECT_EQ(map[b], 2);
    EXPECT_EQ(map.find({}), nullptr);
    map.validate();
}
