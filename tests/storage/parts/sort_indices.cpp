// Sentences of cairn/containers/inside/sort_rows.hpp. Sorted tables are in table/ranges.cpp.
#include <cairn/containers/inside/sort_rows.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace {

TEST(sort_indices, is_stable_at_every_length_around_its_runs_of_eight) {
    std::mt19937 random{7};
    for (std::size_t count = 0; count < 200; ++count) {
        std::vector<int> keys(count);
        for (int& key : keys) { key = static_cast<int>(random() % 10); }
        std::vector<std::uint32_t> order(count);
        std::vector<std::uint32_t> scratch(count);
        cairn::detail::sort_indices(
            order.data(), scratch.data(), count,
            [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; });
        for (std::size_t i = 1; i < count; ++i) {
            const std::uint32_t a = order[i - 1];
            const std::uint32_t b = order[i];
            ASSERT_TRUE(keys[a] < keys[b] || (keys[a] == keys[b] && a < b)) << count;
        }
    }
}

TEST(sort_indices, the_look_at_an_order_writes_to_nothing_behind_it) {
    std::uint32_t order[] = {1, 3, 0, 0};
    EXPECT_FALSE(cairn::detail::names_each_once(order, 2));
    EXPECT_EQ(order[3], 0u);
    order[1] = 0;
    EXPECT_TRUE(cairn::detail::names_each_once(order, 2));
    EXPECT_EQ(order[0], 1u) << "as it was";
    order[1] = 1;
    EXPECT_FALSE(cairn::detail::names_each_once(order, 2));
}

}  // namespace
