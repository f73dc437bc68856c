// Sentences of cairn/alloc/heap.hpp about region_size_for.
#include <cairn/alloc/heap.hpp>
#include <cairn/os/page_memory.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "alloc/heap/pieces.hpp"
#include "support/heap_model.hpp"

using namespace cairn;
using namespace heap_tests;

TYPED_TEST(heap_test, region_size_for_is_enough_at_every_size) {
    std::vector<std::byte> memory(heap<TypeParam>::region_size_for(5000 * 16) + 1);
    for (std::size_t granules = 1; granules <= 5000; granules += 1 + granules / 300) {
        const std::size_t size = granules * 16 - 8;
        heap<TypeParam> h{byte_slice{memory.data() + 1, heap<TypeParam>::region_size_for(size)}};
        ASSERT_NE(h.allocate(size), nullptr) << granules;
    }
}

TYPED_TEST(heap_test, region_size_for_has_room_for_one_block) {
    for (const std::size_t payload : {0u, 1u, 8u, 9u, 100u, 4096u, 100'000u, 3'000'000u}) {
        test_region memory{heap<TypeParam>::region_size_for(payload)};
        heap<TypeParam> h{memory.span()};
        void* const p = h.allocate(payload);
        EXPECT_NE(p, nullptr) << payload;
        h.deallocate(p, payload);
    }
}

TEST(heap, region_size_for_says_what_no_region_has) {
    static_assert(heap<>::region_size_for(SIZE_MAX) == SIZE_MAX);
    static_assert(heap<half_fit>::region_size_for(std::size_t{1} << 36) == SIZE_MAX);
    EXPECT_EQ(heap<>::region_size_for(std::size_t{1} << 34), SIZE_MAX);
    EXPECT_EQ(heap<first_fit>::region_size_for_granules(std::size_t{1} << 30), SIZE_MAX);
    EXPECT_GT(heap<>::region_size_for(heap<>::size_max), heap<>::size_max);
    EXPECT_LT(heap<>::region_size_for(heap<>::size_max), std::size_t{1} << 34);
    EXPECT_GT(heap<half_fit>::region_size_for(heap<half_fit>::size_max), heap<half_fit>::size_max);
    const std::size_t all = detail::granule_count_max;
    EXPECT_GT(heap<best_fit>::region_size_for_granules(all), all * 16);
}

TYPED_TEST(heap_test, a_region_of_region_size_for_granules_has_them_wherever_it_begins) {
    using heap_type = heap<TypeParam>;
    std::vector<std::byte> bytes(heap_type::region_size_for_granules(2200) + 16);
    std::byte* const begin =
        bytes.data() +
        detail::padding_to(reinterpret_cast<std::uintptr_t>(bytes.data()), default_alignment);
    for (std::size_t granules = 1; granules <= 2200; granules += granules < 1900 ? 7 : 1) {
        for (const std::size_t skipped : {0u, 1u}) {
            const std::size_t size = heap_type::region_size_for_granules(granules);
            const heap_type h{byte_slice{begin + skipped, size}};
            ASSERT_GE(h.stats().capacity, granules * 16) << granules << " at " << skipped;
        }
    }
}
