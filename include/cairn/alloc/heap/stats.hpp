// cairn/alloc/heap/stats.hpp - what a heap is told at its beginning, and what it says of itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// Says that a heap takes blocks of at least `block_size` bytes from its upstream as it needs them.
/// Each is also at least a quarter of what the heap already has, so that 64 blocks reach anywhere.
/// A block that becomes empty goes back; one spare and the first stay until trim(). With good_fit a
/// block of which some part waits unmerged (heap/deferred.hpp) is not empty before that part
/// merges: trim() between two levels gives all of it back.
struct grow_by {
    std::size_t block_size;
};

struct heap_options {
    /// For reports of checked builds and the memory checkers; not copied. nullptr: none.
    const char* name = nullptr;
    /// The end of this heap (and of the one that it is moved to) with live blocks is a broken
    /// promise: for a subsystem that frees what it takes. Off at first, because leaving everything
    /// at once is a use of a heap. Checked builds count the blocks then, O(blocks); others do not
    /// look.
    bool all_back_at_end = false;
};

/// What a block is: given out, freed and waiting unmerged, free.
enum class block_state : std::uint8_t { used, deferred, free };

/// What for_each_block shows.
struct heap_block {
    void* payload;
    std::size_t size;  // of the payload, in bytes
    block_state state;
};

struct heap_stats {
    std::size_t capacity;        // bytes that blocks and their headers can take
    std::size_t free_size;       // bytes that are free and merged, headers included
    std::size_t deferred_size;   // bytes that wait unmerged, headers included
    std::size_t deferred_count;  // blocks that wait
    std::size_t region_count;
};

}}  // namespace cairn::CAIRN_FLAVOUR
