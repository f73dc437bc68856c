#include <cairn/alloc/relocatable_heap.hpp>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/test_upstream.hpp"

namespace {

using namespace cairn::literals;
using cairn::compaction_budget;
using cairn::relocatable_heap;
using handle = relocatable_heap::handle_type;

TEST(relocatable_heap_test, get_finds_the_bytes_and_a_stale_handle_nothing) {
    relocatable_heap heap{64_KiB};
    const handle h = heap.allocate(100);
    ASSERT_TRUE(h);
    EXPECT_NE(heap.get(h), nullptr);
    EXPECT_EQ(heap.size(h), 100u);
    heap.deallocate(h);
    EXPECT_EQ(heap.get(h), nullptr);
    EXPECT_EQ(heap.get(handle{}), nullptr);
    EXPECT_FALSE(heap.contains(handle::make(77777, 3)));
    const handle again = heap.allocate(100);
    EXPECT_EQ(heap.get(h), nullptr);
    EXPECT_NE(heap.get(again), nullptr);
}

TEST(relocatable_heap_test, unlimited_compaction_makes_one_piece_of_the_free_memory) {
    relocatable_heap heap{64_KiB};
    std::vector<handle> all;
    while (const handle h = heap.allocate(200 + all.size() % 7 * 100)) { all.push_back(h); }
    for (std::size_t i = 0; i < all.size(); i += 2) { heap.deallocate(all[i]); }
    EXPECT_GT(heap.stats().hole_count, 5u);
    const auto report = heap.compact(compaction_budget::unlimited());
    EXPECT_TRUE(report.one_piece);
    EXPECT_EQ(heap.stats().largest_free, heap.free_size());
    EXPECT_EQ(heap.stats().fragmentation(), 0.0);
}

}  // namespace
