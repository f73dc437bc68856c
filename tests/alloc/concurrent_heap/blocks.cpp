// Sentences of cairn/alloc/concurrent_heap.hpp about blocks: where they lie, and how large they are.
#include <cairn/alloc/concurrent_heap.hpp>
#include <cairn/core/sizes.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "support/allocator_contract.hpp"
#include "support/test_upstream.hpp"

namespace {

using cairn::alignment;
using cairn::concurrent_heap;
using namespace cairn::literals;
using sizes = cairn::detail::slot_sizes;

bool is_zero(const void* p, std::size_t size) {
    const auto* const bytes = static_cast<const unsigned char*>(p);
    return std::all_of(bytes, bytes + size, [](unsigned char b) { return b == 0; });
}

TEST(concurrent_heap, keeps_the_contract_of_all_allocators) {
    for (unsigned seed = 1; seed <= 3; ++seed) {
        test_upstream upstream;
        {
            concurrent_heap h{upstream};
            check_allocator_contract(h, seed,
                                     {.size_max = 1500, .align_log2_max = 13, .block_count = 150});
            check_allocator_contract(h, seed, {.size_max = 100'000, .block_count = 8});
        }
        EXPECT_EQ(upstream.live_count(), 0u);
        concurrent_heap pages;
        check_allocator_contract(pages, seed, {.size_max = 40'000, .block_count = 20});
        auto view = pages.local();
        check_allocator_contract(view, seed);
    }
}

TEST(concurrent_heap, takes_nothing_before_the_first_request) {
    test_upstream upstream;
    const concurrent_heap h{upstream};
    EXPECT_EQ(upstream.request_count(), 0u);
    EXPECT_EQ(h.stats().segment_size, 0u);
    EXPECT_EQ(h.stats().cache_count, 0u);
}

TEST(concurrent_heap, a_slot_is_at_most_a_quarter_larger_than_the_request) {
    const concurrent_heap h;
    for (std::size_t size = 1; size <= 32_KiB; ++size) {
        const std::size_t good = h.good_size(size);
        ASSERT_GE(good, size);
        ASSERT_LE(good, size <= 128 ? (size + 15) / 16 * 16 : size + size / 4) << size;
        ASSERT_EQ(h.good_size(good), good);
    }
    EXPECT_EQ(h.good_size(0), 16u);
    EXPECT_EQ(h.good_size(32_KiB + 1), 64_KiB);
    EXPECT_EQ(h.good_size(SIZE_MAX), SIZE_MAX);
}

TEST(concurrent_heap, the_slot_of_each_byte_of_a_chunk_is_found_without_a_division) {
    for (unsigned k = 0; k < sizes::class_count; ++k) {
        const std::size_t chunk = sizes::units_of(k) * cairn::detail::unit_size;
        const cairn::detail::slot_numbers number{sizes::size_of(k)};
        for (std::size_t at = 0; at < chunk; ++at) {
            ASSERT_EQ(number(at), at / sizes::size_of(k)) << at << " of class " << k;
        }
    }
}

TEST(concurrent_heap, an_over_aligned_request_takes_the_smallest_class_of_multiples) {
    concurrent_heap h;
    for (std::size_t align = 16; align <= 64_KiB; align *= 2) {
        for (const std::size_t size : {1_B, 100_B, 160_B, 1000_B, 5000_B, 20_KiB}) {
            void* const p = h.allocate(size, alignment{align});
            ASSERT_TRUE(cairn::detail::is_aligned(p, alignment{align})) << size << " " << align;
            const std::size_t good = h.good_size(size, alignment{align});
            EXPECT_EQ(h.usable_size(p), good);
            if (align <= 4096) { EXPECT_LE(good, std::max(size + size / 4 + 15, 2 * align)); }
            h.deallocate(p, size, alignment{align});
        }
    }
    EXPECT_EQ(h.good_size(130, alignment{64}), 192u);
    h.validate();
}

TEST(concurrent_heap, answers_which_addresses_are_its_own) {
    concurrent_heap h;
    concurrent_heap other;
    int local = 0;
    EXPECT_FALSE(h.owns(&local));
    EXPECT_FALSE(h.owns(nullptr));
    EXPECT_FALSE(h.owns(reinterpret_cast<void*>(UINTPTR_MAX)));
    for (const std::size_t size : {16_B, 1000_B, 30_KiB, 100_KiB, 5_MiB}) {
        auto* const p = static_cast<std::byte*>(h.allocate(size));
        EXPECT_TRUE(h.owns(p));
        EXPECT_TRUE(h.owns(p + size - 1));
        EXPECT_FALSE(other.owns(p));
        h.deallocate(p);
    }
}

TEST(concurrent_heap, frees_with_the_size_and_without) {
    concurrent_heap h;
    std::vector<void*> blocks;
    for (std::size_t size = 0; size < 300'000; size += 1 + size / 7) {
        for (int i = 0; i < 2; ++i) {
            void* const p = h.allocate(size);
            ASSERT_NE(p, nullptr);
            EXPECT_GE(h.usable_size(p), size);
            std::memset(p, 0xEE, h.usable_size(p));
            if (i == 0) {
                h.deallocate(p, size);
            } else {
                h.deallocate(p);
            }
        }
    }
    h.deallocate(nullptr);
    h.deallocate(nullptr, 100);
    h.validate();
    EXPECT_EQ(h.stats().live_size, 0u);
}

TEST(concurrent_heap, several_blocks_at_once) {
    concurrent_heap h;
    std::vector<void*> blocks(300);
    EXPECT_EQ(h.allocate_n(blocks, 40), 300u);
    EXPECT_EQ(h.stats().live_size, 300u * 48u);
    std::sort(blocks.begin(), blocks.end());
    EXPECT_EQ(std::adjacent_find(blocks.begin(), blocks.end()), blocks.end());
    h.deallocate_n(blocks, 40);
    EXPECT_EQ(h.stats().live_size, 0u);
}

TEST(concurrent_heap, the_records_of_units_lie_directly_behind_the_begin_of_their_segment) {
    using cairn::detail::unit_record;
    using cairn::detail::unit_segment;
    alignas(unit_segment) std::byte memory[sizeof(unit_segment) + 2 * sizeof(unit_record)] = {};
    auto* const s = ::new (memory) unit_segment{.heap = nullptr,
                                                .memory = memory,
                                                .size = sizeof memory,
                                                .align = alignment{16},
                                                .outer = nullptr,
                                                .unit_count = 2};
    EXPECT_EQ(static_cast<void*>(&s->record(0)), memory + sizeof(unit_segment));
    EXPECT_EQ(s->index_of(s->record(1)), 1u);
}

TEST(concurrent_heap, does_not_grow_over_more_units_than_are_free) {
    concurrent_heap h;
    void* const p = h.allocate(64_KiB);
    void* const next = h.allocate(64_KiB);
    void* const behind = h.allocate(64_KiB);
    h.deallocate(next);
    EXPECT_FALSE(h.try_resize(p, 64_KiB, 192_KiB));
    EXPECT_TRUE(h.try_resize(p, 64_KiB, 128_KiB));
    EXPECT_EQ(h.usable_size(p), 128_KiB);
    h.validate();
    h.deallocate(p);
    h.deallocate(behind);
}

TEST(concurrent_heap, resizes_within_a_class_and_over_free_units) {
    concurrent_heap h;
    void* const small = h.allocate(130);
    EXPECT_TRUE(h.try_resize(small, 130, 160));
    EXPECT_FALSE(h.try_resize(small, 160, 161));
    EXPECT_FALSE(h.try_resize(small, 160, 100'000));
    h.deallocate(small, 160);
    auto* const large = static_cast<std::byte*>(h.allocate(100'000));
    std::memset(large, 7, 100'000);
    EXPECT_TRUE(h.try_resize(large, 100'000, 110'000)) << "in the same units";
    EXPECT_TRUE(h.try_resize(large, 110'000, 400'000));
    EXPECT_TRUE(h.owns(large + 400'000 - 1));
    EXPECT_EQ(h.usable_size(large), 448_KiB);
    EXPECT_EQ(large[99'999], std::byte{7});
    std::memset(large, 8, 400'000);
    void* const behind = h.allocate(100'000);
    EXPECT_FALSE(h.try_resize(large, 400'000, 600'000));
    EXPECT_TRUE(h.try_resize(large, 400'000, 70'000));
    EXPECT_TRUE(h.owns(large + 128_KiB - 1));
    EXPECT_FALSE(h.owns(large + 128_KiB));
    EXPECT_FALSE(h.try_resize(large, 70'000, 30'000)) << "a slot is no large block";
    EXPECT_FALSE(h.try_resize(large, 70'000, SIZE_MAX));
    h.deallocate(large, 70'000);
    h.deallocate(behind, 100'000);
    void* const apart = h.allocate(6_MiB);
    EXPECT_EQ(h.stats().live_size, h.good_size(6_MiB));
    EXPECT_TRUE(h.try_resize(apart, 6_MiB, 5_MiB));
    EXPECT_FALSE(h.try_resize(apart, 5_MiB, 7_MiB));
    h.deallocate(apart, 5_MiB);
    h.validate();
    EXPECT_EQ(h.stats().used_size, h.stats().cached_size == 0 ? 0 : 64_KiB);
}

TEST(concurrent_heap, zeroed_blocks_are_zero_fresh_or_used) {
    concurrent_heap h;
    test_upstream dirty;
    concurrent_heap other{dirty};
    for (concurrent_heap* heap : {&h, &other}) {
        for (int round = 0; round < 3; ++round) {
            for (const std::size_t size : {40_B, 5000_B, 200'000_B, 6_MiB}) {
                void* const p = heap->allocate_zeroed(size);
                ASSERT_TRUE(is_zero(p, size)) << size;
                std::memset(p, 0xAB, size);
                heap->deallocate(p, size);
            }
            if (round == 1) { heap->trim(); }
        }
        EXPECT_EQ(heap->allocate_zeroed(SIZE_MAX), nullptr);
    }
}

TEST(concurrent_heap, alignments_above_a_unit_have_segments_of_their_own) {
    concurrent_heap h;
    for (std::size_t align = 128_KiB; align <= 16_MiB; align *= 2) {
        void* const p = h.allocate(100, alignment{align});
        ASSERT_TRUE(cairn::detail::is_aligned(p, alignment{align}));
        std::memset(p, 1, 100);
        EXPECT_TRUE(h.owns(p));
        h.deallocate(p, 100, alignment{align});
        EXPECT_EQ(h.stats().segment_size, 0u);
    }
}

}  // namespace
