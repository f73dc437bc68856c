// Sentences of cairn/containers/slot_map.hpp about sorting.
#include <cairn/containers/slot_map.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "support/test_upstream.hpp"

using namespace cairn;

TEST(slot_map, sorting_keeps_handles_valid_and_is_stable) {
    slot_map<std::string> map;
    std::vector<std::pair<slot_map<std::string>::handle_type, std::string>> model;
    for (int i = 0; i < 1000; ++i) {
        const std::string text = std::to_string(i * 7919 % 1000) + (i % 2 ? "odd" : "even");
        model.emplace_back(map.emplace(text), text);
    }
    ASSERT_TRUE(map.sort([](const std::string& a, const std::string& b) { return a < b; }));
    for (std::size_t row = 1; row < map.size(); ++row) {
        EXPECT_LE(map.values()[row - 1], map.values()[row]);
    }
    for (const auto& [h, text] : model) { EXPECT_EQ(map[h], text); }
    const std::vector<std::string> before(map.begin(), map.end());
    ASSERT_TRUE(map.sort([](const std::string&, const std::string&) { return false; }));
    EXPECT_TRUE(std::equal(before.begin(), before.end(), map.begin())) << "equal rows stay put";
    map.validate();
}

TEST(slot_map, a_sort_without_memory_changes_nothing) {
    test_upstream upstream;
    slot_map<int> map{upstream};
    for (int i = 0; i < 10; ++i) { (void)map.emplace(9 - i); }
    upstream.refuse_from(upstream.request_count());
    EXPECT_FALSE(map.sort([](int a, int b) { return a < b; }));
    for (std::size_t i = 0; i < 10; ++i) { EXPECT_EQ(map.values()[i], 9 - static_cast<int>(i)); }
}

TEST(slot_map, sorts_any_number_of_rows_with_handles_of_any_width) {
    slot_map<int, slot_policy<16>> map;
    for (int count = 0; count < 20; ++count) {
        (void)map.emplace(100 - count);
        ASSERT_TRUE(map.sort([](int a, int b) { return a < b; }));
        ASSERT_TRUE(std::is_sorted(map.begin(), map.end()));
        map.validate();
    }
}
