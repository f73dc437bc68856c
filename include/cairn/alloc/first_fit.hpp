// cairn/alloc/first_fit.hpp - the free block with the lowest address that fits, in O(log n).
//
// Use it for: compaction, trimming, and the smallest guaranteed region of the four: address-ordered
//             first fit keeps the high end free.
// Look elsewhere for: raw speed (good_fit).
//
// Exact: the block is the lowest that fits. Over-aligned requests count as size + alignment - 16.
// Cost:  alloc/inside/first_fit_index.hpp has the index: one cache line a level of a tree, then the
//        headers of at most 32 blocks. It takes 10.1 bytes per KiB of region.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/inside/first_fit_index.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

struct first_fit {
    static constexpr const char* name = "first_fit";
    static constexpr std::uint32_t deferred_max = 0;
    /// Steps (step_counter.hpp) of one operation in one region: eight levels and the 32 free blocks
    /// of a stretch, three times each.
    static constexpr std::uint32_t allocate_steps_max = 3 * (8 + 32) + 20;
    static constexpr std::uint32_t deallocate_steps_max = 3 * (8 + 32) + 20;

    [[nodiscard]] static constexpr std::uint32_t block_size(std::uint32_t granules) noexcept {
        return granules;
    }

    /// The index of the free blocks of one region.
    using index = detail::first_fit_index;
};

// Compiled once, in src/alloc/heap/other_fits.cpp.
extern template class heap<first_fit>;

}}  // namespace cairn::CAIRN_FLAVOUR
