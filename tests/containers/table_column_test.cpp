// Sentences of cairn/containers/table/column.hpp and of the padding in
// table/memory.hpp, without a table; with one they are in table/columns.cpp.
#include <cairn/containers/table/column.hpp>
#include <cairn/containers/table/table_memory.hpp>
#include <gtest/gtest.h>

#include <vector>

namespace {

using namespace cairn;

struct point {
    float x;
    float y;
};

TEST(table_column, strides_and_blocks_are_walked_from_the_first_element_to_the_last) {
    int numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    const strided_span<int> strided{numbers, 3 * sizeof(int), 4};
    EXPECT_EQ((std::vector<int>(strided.begin(), strided.end())), (std::vector<int>{0, 3, 6, 9}));
    const blocked_span<int, 2> blocked{numbers, 4 * sizeof(int), 5};
    EXPECT_EQ((std::vector<int>(blocked.begin(), blocked.end())),
              (std::vector<int>{0, 1, 4, 5, 8}));
    EXPECT_EQ(blocked.block_count(), 3u);
    EXPECT_EQ(blocked.block(1).data(), numbers + 4);
    EXPECT_EQ(blocked.block(2)[0], 8);
}

TEST(table_column, is_empty_without_elements_and_only_then) {
    int number = 1;
    EXPECT_TRUE((strided_span<int>{}.empty()));
    EXPECT_FALSE((strided_span<int>{&number, 4, 1}.empty()));
    EXPECT_TRUE((blocked_span<int, 4>{}.empty()));
    EXPECT_FALSE((blocked_span<int, 4>{&number, 16, 1}.empty()));
    float x = 1;
    float y = 2;
    EXPECT_TRUE((split_span<point>{}.empty()));
    EXPECT_TRUE((split_span<point>{0, &x, &y}.empty()));
    EXPECT_FALSE((split_span<point>{1, &x, &y}.empty()));
}

TEST(table_memory, rows_are_padded_to_whole_tails) {
    detail::layout_desc desc{};
    desc.tail = 16;
    EXPECT_EQ(detail::padded_rows(desc, 0), 0u);
    EXPECT_EQ(detail::padded_rows(desc, 1), 16u);
    EXPECT_EQ(detail::padded_rows(desc, 16), 16u);
    EXPECT_EQ(detail::padded_rows(desc, 17), 32u);
}

}  // namespace
