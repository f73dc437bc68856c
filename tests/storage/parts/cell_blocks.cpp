// Sentences of cairn/owners/inside/cell_blocks.hpp.
#include <cairn/os/system_allocator.hpp>
#include <cairn/owners/inside/cell_blocks.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "support/test_upstream.hpp"

using namespace cairn;
using detail::cell_blocks;

TEST(cell_blocks, cells_never_move_and_no_two_share_a_byte) {
    test_upstream memory;
    cell_blocks cells{12, memory};
    std::vector<void*> at;
    for (std::size_t i = 0; i < 2000; ++i) {
        void* const cell = cells.find_or_make(i);
        ASSERT_NE(cell, nullptr);
        std::uint32_t before[3];
        std::memcpy(before, cell, sizeof before);
        ASSERT_EQ(before[0] | before[1] | before[2], 0u) << "new ones are zero";
        std::memset(cell, static_cast<int>(i % 255 + 1), 12);
        at.push_back(cell);
    }
    for (std::size_t i = 0; i < at.size(); ++i) {
        ASSERT_EQ(cells.find_or_make(i), at[i]);
        ASSERT_EQ(cells.at(i), at[i]);
        ASSERT_EQ(cells.find(i), at[i]);
        for (int b = 0; b < 12; ++b) {
            ASSERT_EQ(static_cast<unsigned char*>(at[i])[b], i % 255 + 1);
        }
    }
}

TEST(cell_blocks, a_block_comes_with_its_first_cell_and_they_double) {
    test_upstream memory;
    {
        cell_blocks cells{8, memory};
        EXPECT_EQ(memory.request_count(), 0u);
        EXPECT_EQ(cells.find(500), nullptr) << "never made";
        ASSERT_NE(cells.find_or_make(500), nullptr);  // of block 3, which begins at 448
        EXPECT_EQ(memory.request_count(), 1u) << "the blocks before it are not needed";
        EXPECT_NE(cells.find(448), nullptr);
        EXPECT_NE(cells.find(959), nullptr);
        EXPECT_EQ(cells.find(447), nullptr);
        EXPECT_EQ(cells.find(960), nullptr);
        ASSERT_NE(cells.find_or_make(0), nullptr);
        EXPECT_NE(cells.find(63), nullptr);
        EXPECT_EQ(cells.find(64), nullptr);
    }
    EXPECT_EQ(memory.live_count(), 0u);
}

TEST(cell_blocks, without_memory_there_is_no_cell_and_the_others_stay) {
    test_upstream memory;
    cell_blocks cells{8, memory};
    void* const first = cells.find_or_make(3);
    memory.refuse_from(memory.request_count());
    EXPECT_EQ(cells.find_or_make(64), nullptr);
    EXPECT_EQ(cells.find(64), nullptr);
    EXPECT_EQ(cells.find(3), first);
}

TEST(cell_blocks, an_index_behind_the_last_block_has_no_cell) {
    cell_blocks cells{8, system_memory()};
    constexpr std::size_t count =
        ((std::size_t{1} << cell_blocks::block_count_max) - 1) * cell_blocks::first_count;
    EXPECT_EQ(cells.find_or_make(count), nullptr);
    EXPECT_EQ(cells.find(count), nullptr);
    EXPECT_EQ(cells.find(SIZE_MAX), nullptr);
}

TEST(cell_blocks, a_reserve_makes_each_block_once_and_what_was_had_is_kept) {
    test_upstream memory;
    cell_blocks cells{8, memory};
    EXPECT_TRUE(cells.reserve(0));
    EXPECT_EQ(memory.request_count(), 0u);
    EXPECT_TRUE(cells.reserve(64));
    EXPECT_EQ(memory.request_count(), 1u);
    memory.refuse_from(2);
    EXPECT_FALSE(cells.reserve(500));
    EXPECT_NE(cells.find(191), nullptr) << "block 1 was had";
    EXPECT_EQ(cells.find(192), nullptr);
    memory.refuse_nothing();
    EXPECT_TRUE(cells.reserve(500));
    EXPECT_EQ(memory.request_count(), 5u) << "blocks 0 to 3, and the request that was refused";
    EXPECT_EQ(cells.find(960), nullptr);
}
