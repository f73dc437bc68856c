// Sentences of cairn/alloc/heap.hpp about regions that are adopted.
#include <cairn/alloc/heap.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/os/page_memory.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>

#include "alloc/heap/pieces.hpp"
#include "support/heap_model.hpp"

using namespace cairn;
using namespace cairn::literals;
using namespace heap_tests;

TEST(heap, adopts_no_fewer_bytes_than_it_reads) {
    const std::size_t page = page_memory::size();
    auto* const pages = static_cast<std::byte*>(page_memory::reserve(2 * page, alignment{page}));
    ASSERT_NE(pages, nullptr);
    ASSERT_TRUE(page_memory::commit(pages, page));  // a look behind it faults
    EXPECT_EQ(heap<>::adopt(byte_slice{pages + page - 16, 16}).stats().region_count, 0u);
    page_memory::release(pages, 2 * page);
}

TEST(heap, adopts_no_region_of_a_fit_of_another_shape) {
    test_region memory{64_KiB};
    heap<best_fit> h{memory.span()};
    EXPECT_EQ(heap<best_fit>::adopt(memory.span()).stats().region_count, 1u);
    EXPECT_EQ(heap<detail::basic_best_fit<1000>>::adopt(memory.span()).stats().region_count, 0u);
}

TEST(heap, adopting_bytes_that_are_no_heap_reads_only_these_bytes) {
    alignas(16) static std::uint32_t bytes[1024] = {};
    const byte_slice memory{reinterpret_cast<std::byte*>(bytes), sizeof bytes};
    for (const std::uint32_t extra : {0u, 8u, 60u, 4096u, 0xFFFF'FFF0u}) {
        bytes[0] = 1;      // granules
        bytes[2] = 64;     // offset of the blocks
        bytes[3] = extra;  // offset of the bins
        heap<> h = heap<>::adopt(memory);
        EXPECT_EQ(h.allocate(8), nullptr);
    }
    std::mt19937 random{7};
    for (int i = 0; i < 1000; ++i) {
        for (int word = 0; word < 4; ++word) {
            bytes[word] = static_cast<std::uint32_t>(random()) >> random() % 32;
        }
        EXPECT_EQ(heap<>::adopt(memory).allocate(8), nullptr);
    }
}
