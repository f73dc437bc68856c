// cairn/movable/relocatable_heap/stats.hpp - what a relocatable heap is told, and what it tells.
//
//      options  before the first allocation: what may move, room for how many, the debug mode
//      stats    any time, O(1): fragmentation and progress as numbers
//      range    a piece of the map: an object or a hole
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/handle.hpp>
#include <cairn/core/sizes.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

class relocatable_heap;

struct relocatable_heap_options {
    /// Larger objects do not move. Moving one of this size is what a frame's budget may be passed
    /// by: about 25 to 60 microseconds for 256 KiB. Unlimited: SIZE_MAX.
    std::size_t largest_movable = 256_KiB;
    /// So many objects find room in the tables without growth; more make them double.
    std::size_t object_count = 0;
    /// The debug mode: every compact() moves every unpinned object to another address and destroys
    /// the bytes it left (0xF0, and poisoned), so that a pointer kept too long is found at its
    /// first use. (Not what is larger than largest_movable, or aligned to more than 4096.) Takes
    /// the region twice: capacity() is half of it, less a page at most.
    bool stress_relocate = false;
    /// The first life of every slot; see slot_map_options. 0: a number of the heap's own.
    std::uint32_t first_generation = 0;
};

struct relocatable_heap_stats {
    std::size_t capacity;      // bytes
    std::size_t free_size;     // bytes in holes
    std::size_t largest_free;  // bytes of the largest hole
    std::size_t hole_count;
    std::size_t object_count;
    std::size_t pinned_count;
    std::size_t pinned_size;   // bytes that cannot move now because of a pin
    std::uint64_t moved_size;  // bytes copied since the heap was made, those of stress_relocate too
    std::uint64_t move_count;
    std::uint64_t compact_count;  // calls
    std::uint64_t round_count;    // in a round an object moves once at most
    std::uint64_t
        calls_to_converge;  // the last time: from the first call with several holes to the
                            // one that left one piece, or nothing more to move

    /// External fragmentation: the part of the free memory that is not in the largest hole.
    [[nodiscard]] double fragmentation() const noexcept {
        return free_size == 0
                   ? 0.0
                   : 1.0 - static_cast<double>(largest_free) / static_cast<double>(free_size);
    }
};

/// A piece of the map, for for_each_range().
struct relocatable_range {
    std::size_t offset;
    std::size_t size;
    handle<relocatable_heap> object;  // null for holes
    bool is_pinned;
    bool is_fixed;  // too large to move
    bool is_free;
};

}}  // namespace cairn::CAIRN_FLAVOUR
