// cairn/alloc/heap/deferred.hpp - freed blocks that wait in line for the next request of their size.
//
//      class   1   2   3   4   5 ...
//      head   [.] [o] [.] [o] [.]      newest first; a link in the block leads to the next
//                  |       |
//                 [ ]     [ ]          the header says `deferred`: neighbours do not merge with it
//                  |
//                 [ ]                  at most `room` more, then frees go to the exact core
//
// Most programs free and allocate the same few sizes over and over. Merging a block with its
// neighbours and cutting it out again costs five cache misses that nobody needed. So a few blocks of
// each class wait here, whole; the number of them is bounded, and so is what they can withhold.
//
// Bound: at most deferred_max blocks, 8 KiB and 1/2048 of the heap a class. An allocation that the
//        core refuses merges all of them first: the last resort, counted in tests.
// Position: heads and links are byte offsets from the home region.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cairn::detail {

struct deferred_bin {
    std::int64_t head = 0;       // offset of the newest block's payload; 0: none
    std::uint32_t room = 0;      // blocks that may still come
    std::uint32_t granules = 0;  // of each block of this class
};

static_assert(sizeof(deferred_bin) == 16, "four bins are one cache line");

/// In front of the bins, in the home region.
struct deferred_header {
    std::uint64_t magic = 0;       // which kind of heap this is, for adopt()
    std::uint64_t total_size = 0;  // of the region, for adopt()
    std::uint32_t bin_count = 0;   // classes 0 .. bin_count - 1 may wait
    std::uint32_t share = 0;       // granules that one class may withhold
    std::uint64_t padding = 0;
};

static_assert(sizeof(deferred_header) % 16 == 0);

/// How many blocks of `granules` may wait when one class may withhold `share` granules.
[[nodiscard]] constexpr std::uint32_t deferred_cap(std::uint32_t share, std::uint32_t granules,
                                                   std::uint32_t cap_max) noexcept {
    const std::uint32_t fits = share / granules;
    return fits < cap_max ? fits : cap_max;
}

}  // namespace cairn::detail
