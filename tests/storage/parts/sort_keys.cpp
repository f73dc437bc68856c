// Sentences of cairn/containers/inside/sort_rows.hpp. Sorted tables are in table/ranges.cpp.
#include <cairn/containers/inside/key_order.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace {

using cairn::detail::sort_pair;

template <class Bits>
void expect_sorted_stably(Bits mask, std::size_t count) {
    std::mt19937_64 random{count};
    std::vector<sort_pair<Bits>> pairs;
    for (std::size_t i = 0; i < count; ++i) {
        pairs.push_back({static_cast<Bits>(random()) & mask, static_cast<std::uint32_t>(i)});
    }
    std::vector<sort_pair<Bits>> expected = pairs;
    // What a stable sort gives, since the rows are ascending. (std::stable_sort uses something
    // deprecated, which clang mentions.)
    std::sort(expected.begin(), expected.end(), [](const auto& a, const auto& b) {
        return a.key != b.key ? a.key < b.key : a.row < b.row;
    });
    std::vector<sort_pair<Bits>> spare(count);
    cairn::detail::radix_sort(pairs.data(), spare.data(), count);
    for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(pairs[i].key, expected[i].key) << i;
        ASSERT_EQ(pairs[i].row, expected[i].row) << i;
    }
}

TEST(radix_sort, sorts_stably_whatever_bytes_differ) {
    for (const std::uint64_t mask :
         {~std::uint64_t{0}, std::uint64_t{0xFF}, std::uint64_t{0xFF00}, std::uint64_t{0},
          std::uint64_t{0xFF00'0000'0000'00FF}, std::uint64_t{0x00FF'FFFF'0000'0000}}) {
        for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{1000}}) {
            expect_sorted_stably<std::uint64_t>(mask, count);
            expect_sorted_stably<std::uint32_t>(static_cast<std::uint32_t>(mask), count);
        }
    }
}

}  // namespace
