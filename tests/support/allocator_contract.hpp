// tests/support/allocator_contract.hpp - what every cairn allocator promises, tested once.
//
// A new allocator joins with one TEST that calls check_allocator_contract() on a fresh object.
// Only promises common to all allocators live here; special ones stay in that allocator's test.
#pragma once

#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/byte_allocator.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

namespace contract {

struct options {
    std::size_t size_max = 200;      // largest request of the random run
    std::size_t align_log2_max = 7;  // largest alignment, as log2
    std::size_t block_count = 300;   // blocks asked for
    bool fixed_size = false;         // pools: every request is exactly size_max at max alignment
    bool sizes_are_refused = true;   // absurd sizes are asked for (pools take no size)
};

struct block {
    std::byte* data;
    std::size_t size;
    cairn::alignment align;
    std::byte fill;
};

inline void expect_filled(const block& b) {
    for (std::size_t i = 0; i < b.size; ++i) {
        ASSERT_EQ(b.data[i], b.fill)
            << "byte " << i << " of a block of " << b.size << " was overwritten by somebody else";
    }
}

/// Random sizes and alignments until full or `block_count` blocks; each block is filled with its
/// own byte and all are re-read at the end: an overlap or a stray write shows as a wrong byte.
/// Returns the blocks, still live.
template <cairn::byte_allocator A>
std::vector<block> allocate_blocks(A& a, unsigned seed, const options& o) {
    std::mt19937 random{seed};
    std::vector<block> blocks;
    for (std::size_t i = 0; i < o.block_count; ++i) {
        const std::size_t size = o.fixed_size ? o.size_max : random() % (o.size_max + 1);
        const cairn::alignment align{std::size_t{1}
                                     << (o.fixed_size ? o.align_log2_max
                                                      : random() % (o.align_log2_max + 1))};
        auto* const data = static_cast<std::byte*>(a.allocate(size, align));
        if (data == nullptr) { break; }
        EXPECT_TRUE(cairn::detail::is_aligned(data, align))
            << "size " << size << ", " << align.bytes();
        const auto fill = static_cast<std::byte>(i * 37 + 11);
        if (size != 0) { std::memset(data, static_cast<int>(fill), size); }
        blocks.push_back({data, size, align, fill});
    }
    EXPECT_FALSE(blocks.empty());
    for (const block& b : blocks) { expect_filled(b); }
    return blocks;
}

template <cairn::byte_allocator A>
void expect_absurd_sizes_refused(A& a) {
    for (const std::size_t size :
         {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 15, SIZE_MAX - 4096, SIZE_MAX / 2 + 1, SIZE_MAX / 2}) {
        for (const std::size_t align : {1u, 16u, 64u, 4096u}) {
            EXPECT_EQ(a.allocate(size, cairn::alignment{align}), nullptr) << size << " " << align;
        }
    }
}

/// deallocate(nullptr, ...) is legal and does nothing, whatever comes with it; in the erased form,
/// too.
template <cairn::byte_allocator A>
void expect_nullptr_does_nothing(A& a, const options& o) {
    const std::size_t align = std::size_t{1} << o.align_log2_max;
    const cairn::allocator_ref ref{a};
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, std::size_t{16}, o.size_max, 100 * o.size_max}) {
        a.deallocate(nullptr, size, cairn::alignment{1});
        a.deallocate(nullptr, size, cairn::alignment{align});
        ref.deallocate(nullptr, size, cairn::alignment{align});
    }
    if constexpr (requires { a.deallocate(nullptr); }) { a.deallocate(nullptr); }
    if constexpr (cairn::validatable<A>) { a.validate(); }
}

}  // namespace contract

/// Aligned, disjoint, stable, size 0 is fine, the absurd is refused, freed blocks can be reused by
/// somebody without harm to the others, nullptr may be freed, and the erased form behaves as the
/// concrete one.
template <cairn::byte_allocator A>
void check_allocator_contract(A& a, unsigned seed, contract::options o = {}) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    if (o.sizes_are_refused) { contract::expect_absurd_sizes_refused(a); }
    contract::expect_nullptr_does_nothing(a, o);
    auto blocks = contract::allocate_blocks(a, seed, o);
    contract::expect_nullptr_does_nothing(a, o);
    if (o.sizes_are_refused) { contract::expect_absurd_sizes_refused(a); }

    // Free every other block, in random order; the rest must not notice.
    std::mt19937 random{seed + 1};
    std::vector<contract::block> kept;
    std::vector<contract::block> doomed;
    for (const contract::block& b : blocks) { (random() % 2 ? kept : doomed).push_back(b); }
    std::shuffle(doomed.begin(), doomed.end(), random);
    for (const contract::block& b : doomed) { a.deallocate(b.data, b.size, b.align); }
    for (const contract::block& b : kept) { contract::expect_filled(b); }

    // Through the erased form, as an upstream would be called.
    cairn::allocator_ref ref{a};
    const std::size_t size = o.fixed_size ? o.size_max : o.size_max / 2;
    const cairn::alignment align{std::size_t{1} << (o.fixed_size ? o.align_log2_max : 4)};
    if (auto* const data = static_cast<std::byte*>(ref.allocate(size, align))) {
        std::memset(data, 0xEE, size);
        for (const contract::block& b : kept) { contract::expect_filled(b); }
        ref.deallocate(data, size, align);
    }

    while (!kept.empty()) {  // newest first, so that stack-like allocators get everything back
        a.deallocate(kept.back().data, kept.back().size, kept.back().align);
        kept.pop_back();
    }
    contract::expect_nullptr_does_nothing(a, o);
    if constexpr (cairn::validatable<A>) { a.validate(); }
}
