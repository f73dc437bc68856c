// What cairn/alloc/pool.hpp promises of sizes and buffers at the edge of what can be served.
#include <cairn/alloc/pool.hpp>
#include <cairn/core/slice.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "support/test_upstream.hpp"

namespace {

using cairn::alignment;
using cairn::pool;

TEST(pool, sizes_that_cannot_be_counted_are_refused_before_the_upstream_is_asked) {
    constexpr std::size_t most = SIZE_MAX;
    EXPECT_EQ(pool::required_size(1, most, alignment{16}), most);
    EXPECT_EQ(pool::required_size(1, most - 20, alignment{4096}), most);
    EXPECT_EQ(pool::required_size(most, 1, alignment{1}), most);
    EXPECT_EQ(pool::required_size(most / 16, 8, alignment{8}), most);
    test_upstream upstream;
    upstream.refuse_from(0);
    for (const std::size_t size : {1u, 7u, 8u, 24u}) {
        // Slots that just can be counted; the side block behind them is what makes the sum wrap.
        const std::size_t count = std::min(most / 2 / size, most / 16);
        pool p{size, alignment{1}, upstream, {.slots_per_chunk = count}};
        EXPECT_EQ(p.allocate(), nullptr);
        EXPECT_FALSE(p.reserve(count));
        EXPECT_FALSE(p.reserve(count - 1));
        p.validate();
    }
    pool p{8, alignment{8}, upstream};
    EXPECT_FALSE(p.reserve((std::size_t{1} << 60) - 1));
    EXPECT_EQ(upstream.request_count(), 0u);
}

TEST(pool, a_buffer_too_small_for_a_slot_gives_an_empty_pool) {
    std::array<std::byte, 64> buffer{};
    for (std::size_t size = 0; size <= buffer.size(); ++size) {
        pool p{{buffer.data(), size}, 64};
        EXPECT_EQ(p.allocate(), nullptr);
        EXPECT_FALSE(p.reserve(1));
        p.reset();
        p.validate();
    }
}

TEST(pool, a_buffer_of_any_size_is_used_inside_its_bytes) {
    alignas(16) std::byte memory[600];
    for (std::size_t size = 0; size < 500; ++size) {
        std::memset(memory, 0x5A, sizeof memory);
        {
            cairn::pool p{cairn::slice<std::byte>{memory, size}, 16};
            std::size_t count = 0;
            while (void* const slot = p.allocate()) {
                std::memset(slot, 0, 16);
                ++count;
            }
            EXPECT_EQ(count, p.stats().slot_count);
            EXPECT_EQ(p.stats().live_count, count);
        }
        for (std::size_t i = size; i < sizeof memory; ++i) {
            ASSERT_EQ(memory[i], std::byte{0x5A}) << size << " " << i;
        }
    }
}

TEST(pool, the_byte_behind_its_last_slot_is_not_its_own) {
    test_upstream upstream;
    cairn::pool p{64, cairn::alignment{64}, upstream, {.slots_per_chunk = 4}};
    std::byte* last = nullptr;
    for (int i = 0; i < 4; ++i) { last = static_cast<std::byte*>(p.allocate()); }
    EXPECT_TRUE(p.owns(last + 63));
    EXPECT_FALSE(p.owns(last + 64));
}

TEST(pool, requests_that_do_not_fit_a_slot_are_refused) {
    test_upstream upstream;
    pool p{48, alignment{16}, upstream};
    EXPECT_EQ(p.allocate(49, alignment{16}), nullptr);
    EXPECT_EQ(p.allocate(16, alignment{32}), nullptr);
    EXPECT_EQ(upstream.request_count(), 0u);
    EXPECT_EQ(p.good_size(1, alignment{1}), 48u);
    void* const s = p.allocate(1, alignment{1});
    p.deallocate(s, 1, alignment{1});
    pool absurd{SIZE_MAX, alignment{64}, upstream};
    EXPECT_EQ(absurd.allocate(), nullptr);
    pool many{64, alignment{64}, upstream, {.slots_per_chunk = SIZE_MAX / 2}};
    EXPECT_EQ(many.allocate(), nullptr);
    EXPECT_FALSE(p.reserve(SIZE_MAX));
    EXPECT_EQ(p.stats().slot_count, 256u * 4 / 3);
}
}  // namespace
