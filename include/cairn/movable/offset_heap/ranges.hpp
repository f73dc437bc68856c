// cairn/movable/offset_heap/ranges.hpp - offset_heap: the name of a range, and reports
// about ranges and moves.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// Names a range of an offset heap: eight bytes, checked. Default: no range.
/// The generations of each heap begin at a number of its own, so that names of another heap, or of
/// of this one before it was moved from or assigned to, are detected: the figures of 64-bit
/// handles in generations.hpp, with one bit more.
struct offset_allocation {
    /// Which node, and in which of its lives.
    std::uint32_t index = 0xFFFF'FFFF;
    std::uint32_t generation = 0;

    [[nodiscard]] explicit operator bool() const noexcept { return index != 0xFFFF'FFFF; }
    friend bool operator==(offset_allocation, offset_allocation) = default;
};

static_assert(sizeof(offset_allocation) == 8);

namespace detail {

struct offset_heap_options {
    static constexpr std::uint32_t unlimited = 0xFFFF'FFFF;

    /// Allocations that may live at a time; below 2^29, or unlimited. With a number the heap takes
    /// all nodes when it is built: nothing but plan(), whose moves in flight need nodes too, asks
    /// the upstream again. Otherwise the nodes grow by doubling.
    std::uint32_t allocation_count_max = unlimited;
    /// The first generation of all names. 0: a number of the heap's own. A number makes equal names
    /// on two machines that do the same; see slot_map::options.
    std::uint32_t first_generation = 0;
};

/// One move that plan() proposes: copy `size` bytes from `from` to `to`, then commit() it; or
/// cancel() it. `overlaps`: the copy must behave as memmove.
template <class Offset>
struct offset_move {
    offset_allocation what;
    Offset from;
    Offset to;
    Offset size;
    std::uint32_t reserved;  // for commit() and cancel()
    bool overlaps;
};

/// How much of the work one call of plan() may do.
template <class Offset>
struct plan_limits {
    std::size_t move_count_max;
    Offset size_max;
    std::size_t step_count_max;  // nodes looked at
    bool allow_overlap = true;   // propose slides over the allocation's own bytes
};

template <class Offset>
struct offset_range {
    offset_allocation allocation;  // none for free ranges
    Offset offset;
    Offset size;
    std::uint64_t user_data;  // 0 for free ranges
    bool is_free;
};

template <class Offset>
struct offset_heap_stats {
    Offset capacity;
    Offset free_size;
    Offset largest_free;
    std::size_t allocation_count;
    std::size_t free_range_count;
};

}  // namespace detail

}}  // namespace cairn::CAIRN_FLAVOUR
