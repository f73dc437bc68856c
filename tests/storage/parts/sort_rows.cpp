// Sentences of cairn/containers/inside/sort_rows.hpp. What containers do with the order: table/ranges.cpp,
// slot_map/sorting.cpp.
#include <cairn/containers/inside/sort_rows.hpp>
#include <cairn/core/null_allocator.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "support/test_upstream.hpp"

using namespace cairn;
using detail::compared_order;
using detail::sort_rows;

namespace {

constexpr auto less = [](const int& a, const int& b) { return a < b; };

}  // namespace

TEST(sort_rows, says_what_each_row_becomes_and_moves_none) {
    test_upstream memory;
    const std::vector<int> rows{40, 10, 30, 10, 20};
    std::vector<std::uint32_t> order;
    const auto keep = [&](std::span<std::uint32_t> found, void* spare) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(spare) % 64, 0u);
        std::memset(spare, 1, 100);
        order.assign(found.begin(), found.end());
        return true;
    };
    EXPECT_TRUE(
        sort_rows(rows.size(), memory, compared_order{rows.data(), less, rows.size()}, 100, keep));
    EXPECT_EQ(order, (std::vector<std::uint32_t>{1, 3, 4, 2, 0})) << "equal rows keep their order";
    EXPECT_EQ(memory.request_count(), 1u) << "one allocation, at the beginning";
    EXPECT_EQ(memory.live_count(), 0u);
}

TEST(sort_rows, what_its_user_answers_is_its_answer) {
    test_upstream memory;
    const int rows[] = {2, 1};
    const auto no = [](std::span<std::uint32_t>, void*) { return false; };
    EXPECT_FALSE(sort_rows(2, memory, compared_order{&rows[0], less, 2}, 0, no));
}

TEST(sort_rows, one_row_is_sorted_and_exhausted_is_a_false_before_anything) {
    const int rows[] = {2, 1};
    bool is_called = false;
    const auto use = [&](std::span<std::uint32_t>, void*) { return is_called = true; };
    EXPECT_TRUE(sort_rows(1, no_memory(), compared_order{&rows[0], less, 1}, 0, use));
    EXPECT_TRUE(sort_rows(0, no_memory(), compared_order{&rows[0], less, 0}, 0, use));
    EXPECT_FALSE(sort_rows(2, no_memory(), compared_order{&rows[0], less, 2}, 0, use));
    EXPECT_FALSE(is_called);
}
