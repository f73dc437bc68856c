// Sentences of cairn/storage/allocator_watch.hpp about addresses: how each named allocator describes
// one.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/best_fit.hpp>
#include <cairn/alloc/concurrent_pool.hpp>
#include <cairn/alloc/double_ended_arena.hpp>
#include <cairn/alloc/first_fit.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/half_fit.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/pool.hpp>
#include <cairn/alloc/virtual_arena.hpp>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/allocator_watch/where.hpp"
#include "support/heap_model.hpp"
#include "support/sanitizers.hpp"

using namespace cairn;
using namespace allocator_watch_tests;

namespace {

TEST(a_named_pool, tells_slot_and_state_of_an_address) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    pool slots{48, alignment{16}, system_memory(), {.slots_per_chunk = 4, .name = "enemies"}};
    std::vector<char*> all;
    for (int i = 0; i < 5; ++i) { all.push_back(static_cast<char*>(slots.allocate())); }
    char* const p = all[2];
    slots.deallocate(p);
    EXPECT_TRUE(says(where(p + 5), " lies 5 bytes into slot ")) << where(p + 5);
    EXPECT_TRUE(says(where(p + 5), " of pool 'enemies' (48 bytes, freed)")) << where(p + 5);
    EXPECT_TRUE(says(where(all[1]), "(48 bytes, live)")) << where(all[1]);
    EXPECT_TRUE(says(where(all[4] + 48), "(48 bytes, not given out since the last reset)"));
    EXPECT_EQ(where(&slots), "") << "the object is not its memory";
    slots.reset();
    EXPECT_TRUE(says(where(p), "not given out since the last reset"));
}

/// The number in "into slot 7 of".
std::size_t slot_in(const std::string& text) {
    const std::size_t at = text.find("into slot ");
    return at == std::string::npos ? SIZE_MAX : std::stoul(text.substr(at + 10));
}

TEST(a_named_pool, gives_each_slot_a_number_of_its_own_from_0_on) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    pool slots{48, alignment{16}, system_memory(), {.slots_per_chunk = 4, .name = "slots"}};
    concurrent_pool jobs{
        48, alignment{16}, system_memory(), {.slots_per_chunk = 4, .name = "jobs"}};
    std::array<void*, 200> taken;
    std::array<void*, 200> taken_jobs;
    for (void*& p : taken) { p = slots.allocate(); }
    for (void*& p : taken_jobs) { p = jobs.allocate(); }
    // Once all chunks are there: slots are numbered by address.
    std::set<std::size_t> numbers;
    std::set<std::size_t> job_numbers;
    for (void* const p : taken) { numbers.insert(slot_in(where(p))); }
    for (void* const p : taken_jobs) { job_numbers.insert(slot_in(where(p))); }
    EXPECT_EQ(numbers.size(), 200u);
    EXPECT_LT(*numbers.rbegin(), slots.stats().slot_count);
    EXPECT_EQ(job_numbers.size(), 200u);
    EXPECT_EQ(*job_numbers.begin(), 0u);
    EXPECT_LT(*job_numbers.rbegin(), jobs.stats().slot_count);
}

TEST(a_named_arena, tells_the_side_of_its_top) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    arena level{1024, system_memory(), {.name = "level"}};
    auto* const p = static_cast<char*>(level.allocate(100));
    EXPECT_TRUE(says(where(p + 8), " lies 8 bytes into arena 'level' (1024 bytes, below the top"));
    EXPECT_TRUE(says(where(p + 112), "arena 'level' (1024 bytes, above the top"));
    EXPECT_EQ(where(p + 1024), "");

    std::array<std::byte, 256> buffer;
    arena over_buffer{buffer, {.name = "buffer"}};
    EXPECT_TRUE(says(where(&buffer[100]), "arena 'buffer'"));

    growing_arena frames{
        256, system_memory(), {.on_reset = reset_policy::keep_all(), .name = "frames"}};
    std::vector<char*> blocks;
    for (int i = 0; i < 20; ++i) { blocks.push_back(static_cast<char*>(frames.allocate(100))); }
    for (const char* block : blocks) {
        EXPECT_TRUE(says(where(block + 1), " of growing_arena 'frames' (")) << where(block + 1);
        EXPECT_TRUE(says(where(block + 1), "below the top"));
    }
    frames.reset();
    for (const char* block : blocks) { EXPECT_TRUE(says(where(block + 1), "above the top")); }

    virtual_arena log{std::size_t{1} << 20, {.name = "log"}};
    auto* const q = static_cast<char*>(log.allocate(100));
    EXPECT_TRUE(says(where(q + 16), " lies 16 bytes into virtual_arena 'log' ("));
    EXPECT_TRUE(says(where(q + 500000), "above the top")) << "reserved addresses are its own";
}

TEST(a_named_double_ended_arena, tells_both_ends) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    double_ended_arena level{1024};
    level.set_name("level");
    auto* const low = static_cast<char*>(level.low().allocate(100));
    auto* const high = static_cast<char*>(level.high().allocate(100));
    EXPECT_TRUE(says(where(low + 1), "double_ended_arena 'level' (1024 bytes, at the low end"));
    EXPECT_TRUE(says(where(high + 1), "double_ended_arena 'level' (1024 bytes, at the high end"));
    EXPECT_TRUE(says(where(low + 500), "double_ended_arena 'level' (1024 bytes, between the ends"));
}

template <class Heap>
void expect_blocks_told() {
    Heap level{std::size_t{16} << 10};
    level.set_name("level");
    auto* const first = static_cast<char*>(level.allocate(100));
    auto* const second = static_cast<char*>(level.allocate(1000));
    ASSERT_NE(second, nullptr);
    EXPECT_TRUE(says(where(first + 5), " lies 5 bytes into block ")) << where(first + 5);
    EXPECT_TRUE(says(where(first + 5), " of heap 'level' (")) << where(first + 5);
    EXPECT_TRUE(says(where(first + 5), " bytes, live)")) << where(first + 5);
    EXPECT_TRUE(says(where(second - 3), " lies 3 bytes in front of block ")) << where(second - 3);
    EXPECT_NE(where(first), where(second));
    level.deallocate(first, 100);
    level.deallocate(second, 1000);
    EXPECT_TRUE(says(where(first + 8), "freed)")) << where(first + 8);
    EXPECT_EQ(where(&level), "") << "the object is not its memory";
    Heap other{std::move(level)};
    EXPECT_TRUE(says(where(first + 8), "heap 'level'"));
    other.set_name("other");
    EXPECT_TRUE(says(where(first + 8), "heap 'other'"));
    other = Heap{std::size_t{16} << 10};
    EXPECT_EQ(where(first + 8), "");
}

TEST(a_named_heap, tells_block_and_state_of_an_address) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    expect_blocks_told<heap<>>();
    expect_blocks_told<heap<best_fit>>();
    expect_blocks_told<heap<half_fit>>();

    heap<> grown{grow_by{4096}};
    grown.set_name("grown");
    std::vector<char*> blocks;
    for (int i = 0; i < 20; ++i) { blocks.push_back(static_cast<char*>(grown.allocate(3000))); }
    ASSERT_GT(grown.stats().region_count, 1u);
    for (const char* block : blocks) {
        EXPECT_TRUE(says(where(block + 1), " lies 1 bytes into block ")) << where(block + 1);
        EXPECT_TRUE(says(where(block + 1), "of heap 'grown' (")) << where(block + 1);
    }
    for (char* block : blocks) { grown.deallocate(block, 3000); }
    grown.trim();
    EXPECT_EQ(where(blocks.front()), "");
}

TEST(a_named_heap, numbers_its_blocks_by_address_and_believes_no_header_that_was_overrun) {
    if (!asserts_enabled || checker_is_faster()) { GTEST_SKIP(); }
    test_region memory{4096};
    heap<best_fit> level{memory.span()};
    level.set_name("level");
    char* blocks[4];
    for (char*& block : blocks) { block = static_cast<char*>(level.allocate(104)); }
    for (int i = 0; i < 4; ++i) {
        const std::string number = " block " + std::to_string(i) + " of heap 'level'";
        EXPECT_TRUE(says(where(blocks[i]), number.c_str())) << where(blocks[i]);
    }
    std::memset(blocks[1] + level.usable_size(blocks[1]), 0x3F, 4);  // a size beyond the region
    EXPECT_TRUE(says(where(blocks[1]), " block 1 of heap")) << where(blocks[1]);
    EXPECT_TRUE(says(where(blocks[2]), "or was overrun")) << where(blocks[2]);
    EXPECT_TRUE(says(where(blocks[3]), "or was overrun")) << where(blocks[3]);
}

TEST(a_named_concurrent_pool, tells_slot_and_state_of_an_address) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    const void* address = nullptr;
    {
        concurrent_pool jobs{
            48, alignment{16}, system_memory(), {.slots_per_chunk = 4, .name = "jobs"}};
        std::vector<char*> all;
        for (int i = 0; i < 200; ++i) { all.push_back(static_cast<char*>(jobs.allocate())); }
        address = all[1];
        jobs.deallocate(all[2]);
        EXPECT_TRUE(says(where(all[2] + 5), " lies 5 bytes into slot ")) << where(all[2] + 5);
        EXPECT_TRUE(says(where(all[2] + 5), " of concurrent_pool 'jobs' (48 bytes, free)"));
        for (std::size_t i = 3; i < all.size(); ++i) {
            EXPECT_TRUE(says(where(all[i]), "(48 bytes, live)")) << where(all[i]);
        }
        EXPECT_NE(where(all[0]), where(all[1]));
        EXPECT_EQ(where(&jobs), "");
        jobs.set_name("later");
        EXPECT_TRUE(says(where(address), "concurrent_pool 'later'"));
        jobs.set_name(nullptr);
        EXPECT_EQ(where(address), "");
        jobs.set_name("again");
        jobs.reset();
        EXPECT_TRUE(says(where(address), "(48 bytes, free)")) << where(address);
    }
    EXPECT_EQ(where(address), "");
}
}  // namespace
