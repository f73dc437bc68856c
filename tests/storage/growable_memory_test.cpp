// Sentences of cairn/storage/inside/growable_memory.hpp.
#include <cairn/alloc/arena.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/os/page_allocator.hpp>
#include <cairn/storage/inside/growable_memory.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "support/test_upstream.hpp"

using namespace cairn;
using namespace cairn::detail;

TEST(growable_memory, grows_by_copying_through_the_upstream) {
    test_upstream upstream;
    growable_memory memory{cache_line_alignment, upstream};
    EXPECT_EQ(memory.data(), nullptr);
    ASSERT_TRUE(memory.grow(100, 0));
    std::memset(memory.data(), 7, 100);
    ASSERT_TRUE(memory.grow(1000, 100));
    EXPECT_GE(memory.size(), 1000u);
    for (int i = 0; i < 100; ++i) { EXPECT_EQ(memory.data()[i], std::byte{7}); }
    EXPECT_TRUE(is_aligned(memory.data(), cache_line_alignment));
    EXPECT_EQ(upstream.live_count(), 1u);
}

TEST(growable_memory, is_unchanged_when_the_upstream_refuses) {
    test_upstream upstream;
    growable_memory memory{cache_line_alignment, upstream};
    ASSERT_TRUE(memory.grow(100, 0));
    std::byte* const before = memory.data();
    upstream.refuse_from(upstream.request_count());
    EXPECT_FALSE(memory.grow(200, 100));
    EXPECT_FALSE(memory.grow(SIZE_MAX, 100));
    EXPECT_EQ(memory.data(), before);
    EXPECT_EQ(memory.size(), 100u);
}

TEST(growable_memory, stays_where_it_is_inside_reserved_addresses) {
    test_upstream upstream;
    growable_memory memory{cache_line_alignment, upstream};
    ASSERT_TRUE(memory.reserve_address_space(16_MiB));
    std::byte* const before = memory.data();
    ASSERT_TRUE(memory.grow(1, 0));
    for (std::size_t size = 1_MiB; size <= 16_MiB; size += 1_MiB) {
        ASSERT_TRUE(memory.grow(size, 1));
        memory.data()[size - 1] = std::byte{1};
    }
    EXPECT_EQ(memory.data(), before);
    EXPECT_FALSE(memory.grow(17_MiB, 1));
    EXPECT_EQ(memory.begin_move(17_MiB), nullptr);
    EXPECT_EQ(upstream.request_count(), 0u);
    growable_memory moved{std::move(memory)};
    EXPECT_EQ(moved.data(), before);
    EXPECT_EQ(memory.data(), nullptr);
}

TEST(growable_memory, grows_in_place_where_the_upstream_can) {
    arena upstream{64_KiB};
    growable_memory memory{cache_line_alignment, upstream};
    ASSERT_TRUE(memory.grow(1000, 0));
    std::byte* const before = memory.data();
    ASSERT_TRUE(memory.try_grow_in_place(2000));
    EXPECT_GE(memory.size(), 2000u);
    for (std::size_t size = 4000; size <= 40000; size += 4000) {
        ASSERT_TRUE(memory.grow(size, 1000));
        EXPECT_EQ(memory.data(), before) << size;
    }
    EXPECT_LT(upstream.used_size(), 45000u) << "no second block was taken";
    ASSERT_NE(upstream.allocate(16), nullptr);
    EXPECT_FALSE(memory.try_grow_in_place(memory.size() + 1000)) << "something follows it now";
}

#if defined(__linux__)
TEST(growable_memory, pages_move_from_128_KiB_on_and_are_not_copied) {
    // A mark that the caller did not announce shows it: where pages move, the old bytes are lost.
    const auto grow_to = [](growable_memory& memory, std::size_t size, std::size_t used,
                            std::size_t made) {
        std::byte* const block = memory.begin_move(size);
        std::memset(block + used, 2, made);
        block[size - 1] = std::byte{3};
        memory.finish_copy(block, size, used, made);
        EXPECT_EQ(memory.data(), block);
        EXPECT_EQ(std::count(block + used, block + used + made, std::byte{2}),
                  static_cast<std::ptrdiff_t>(made));
        return block[size - 1] != std::byte{3};
    };
    page_allocator with_options{{.name = "cairn options"}};
    growable_memory pages{cache_line_alignment, system_pages()};
    growable_memory copied{cache_line_alignment, with_options};
    for (growable_memory* const memory : {&pages, &copied}) {
        ASSERT_TRUE(memory->grow(64_KiB, 0));
        std::size_t used = 0;
        for (std::size_t size = 128_KiB; size <= 2_MiB; size *= 2) {
            for (; used + 256 <= size / 2; used += 256) {
                std::memset(memory->data() + used, static_cast<int>(used / 256 % 251), 256);
            }
            // A row on the edge of a page and across it, as large as may be put aside or larger.
            const std::size_t at = used - (size / 128_KiB) * 20;
            const std::size_t made = size == 1_MiB ? 513 : 512;
            EXPECT_EQ(grow_to(*memory, size, at, made),
                      memory == &pages && size > 256_KiB && made == 512)
                << size;
            used = at / 256 * 256;
        }
        for (std::size_t i = 0; i < used; i += 256) {
            ASSERT_EQ(memory->data()[i], static_cast<std::byte>(i / 256 % 251)) << i;
            ASSERT_EQ(memory->data()[i + 255], memory->data()[i]) << i;
        }
    }
}
#endif

TEST(growable_memory, reserved_addresses_are_touched_ahead_of_need_where_that_is_asked_for) {
    growable_memory lazy;
    growable_memory eager;
    ASSERT_TRUE(lazy.reserve_address_space(16_MiB));
    ASSERT_TRUE(eager.reserve_address_space(16_MiB, {.prefault = true, .name = "cairn rows"}));
    ASSERT_TRUE(lazy.grow(1_MiB, 0));
    ASSERT_TRUE(eager.grow(1_MiB, 0));
    EXPECT_EQ(page_memory::resident_bytes(lazy.data(), lazy.size()), 0u);
    EXPECT_EQ(page_memory::resident_bytes(eager.data(), eager.size()), eager.size());
    growable_memory moved{std::move(eager)};
    ASSERT_TRUE(moved.grow(3_MiB, 0));
    EXPECT_EQ(page_memory::resident_bytes(moved.data(), moved.size()), moved.size());
}

TEST(growable_memory, huge_pages_come_whole) {
    growable_memory memory;
    ASSERT_TRUE(memory.reserve_address_space(9_MiB, {.huge_pages = true}));
    EXPECT_TRUE(is_aligned(memory.data(), alignment{page_memory::huge_size()}));
    for (const std::size_t size : {1_MiB, 2_MiB, 3_MiB, 9_MiB}) {
        ASSERT_TRUE(memory.grow(size, 0));
        EXPECT_TRUE(memory.size() % page_memory::huge_size() == 0 || memory.size() == 9_MiB);
        memory.data()[size - 1] = std::byte{1};
    }
    growable_memory small;  // less than a huge page has no use for one
    ASSERT_TRUE(small.reserve_address_space(1_MiB, {.huge_pages = true}));
    ASSERT_TRUE(small.grow(1, 0));
    EXPECT_LT(small.size(), 1_MiB);
}

TEST(growable_memory, addresses_that_nobody_has_are_refused) {
    growable_memory memory;
    EXPECT_FALSE(memory.reserve_address_space(SIZE_MAX));
    EXPECT_FALSE(memory.is_reserved());
    EXPECT_TRUE(memory.grow(10, 0));
}

TEST(growable_memory, shrinks_through_the_upstream_by_a_copy) {
    test_upstream upstream;
    growable_memory memory{cache_line_alignment, upstream};
    ASSERT_TRUE(memory.grow(10'000, 0));
    for (int i = 0; i < 100; ++i) { memory.data()[i] = static_cast<std::byte>(i); }
    EXPECT_FALSE(memory.try_shrink_in_place(100));
    upstream.refuse_from(upstream.request_count(), 1);
    EXPECT_FALSE(memory.shrink(100));
    EXPECT_EQ(memory.size(), 10'000u);
    EXPECT_TRUE(memory.shrink(100));
    EXPECT_EQ(upstream.live_size(), 100u);
    for (int i = 0; i < 100; ++i) { ASSERT_EQ(memory.data()[i], static_cast<std::byte>(i)); }
    EXPECT_TRUE(memory.shrink(200)) << "there is nothing to give back";
    EXPECT_EQ(memory.size(), 100u);
    EXPECT_TRUE(memory.shrink(0));
    EXPECT_EQ(upstream.live_count(), 0u);
    EXPECT_EQ(memory.data(), nullptr);
    EXPECT_TRUE(memory.grow(10, 0));
}

TEST(growable_memory, the_last_block_goes_back_after_its_owner_has_looked) {
    test_upstream upstream;
    growable_memory memory{cache_line_alignment, upstream};
    ASSERT_TRUE(memory.grow(100, 0));
    {
        growable_memory::left_block old;
        EXPECT_TRUE(memory.shrink(0, &old));
        EXPECT_EQ(memory.data(), nullptr);
        EXPECT_EQ(memory.size(), 0u);
        EXPECT_EQ(upstream.live_count(), 1u);
    }
    EXPECT_EQ(upstream.live_count(), 0u);
    EXPECT_TRUE(memory.shrink(0)) << "there is nothing to give back";
}

TEST(growable_memory, shrinks_where_it_stands_over_pages_and_in_reserved_addresses) {
    growable_memory pages{cache_line_alignment, system_pages()};
    ASSERT_TRUE(pages.grow(4_MiB, 0));
    const std::byte* const where = pages.data();
    pages.data()[0] = std::byte{7};
    ASSERT_TRUE(pages.shrink(100'000));
    EXPECT_EQ(pages.data(), where);
    EXPECT_EQ(pages.data()[0], std::byte{7});

    growable_memory reserved;
    ASSERT_TRUE(reserved.reserve_address_space(8_MiB));
    ASSERT_TRUE(reserved.grow(6_MiB, 0));
    for (std::size_t i = 0; i < 6_MiB; i += 4096) { reserved.data()[i] = std::byte{1}; }
    const std::byte* const there = reserved.data();
    ASSERT_TRUE(reserved.shrink(1_MiB + 1));
    EXPECT_LT(reserved.size(), 2_MiB);
    EXPECT_TRUE(reserved.is_reserved());
    ASSERT_TRUE(reserved.shrink(0));
    EXPECT_EQ(reserved.size(), 0u);
    ASSERT_TRUE(reserved.grow(8_MiB, 0));
    EXPECT_EQ(reserved.data(), there);
    EXPECT_EQ(reserved.data()[4096], std::byte{0}) << "the pages went and came back";
}
