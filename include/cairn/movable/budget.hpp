// cairn/movable/budget.hpp - how much compaction a frame can afford, and what it got.
//
//      heap.compact({.microseconds = 50});                    at the safe point of each frame
//      heap.compact({.bytes = 256_KiB, .steps = 64});         the same on every machine: replays
//      heap.compact(compaction_budget::unlimited());          on the loading screen
//
// Steps bound the planning, and who does not name them is given some: 40, or four for each five
// microseconds, which is about a tenth of the time. So 50 microseconds are 5 of planning and up to
// 45 of copying; a heap of small objects stops at its steps long before. (Without a limit on steps
// the soak of `cairn lab defrag` copies twice as much, and no request more succeeds.)
//
// A limit is passed by one object at most: bytes and time are looked at before each move, and a
// move that would not end in time, at the speed of the last ones, is left for the next call, unless
// it would be the first of this one (or an object larger than the budget would never move). How
// large one object can be is an option of the heap (largest_movable).
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

struct compaction_budget {
    std::size_t bytes = SIZE_MAX;         // copied
    std::uint32_t microseconds = no_end;  // from the call to the return
    std::size_t steps = by_time;          // looked at, each O(log n), 40 in about 5 us

    /// As a time: no end. As a number of steps: what the time is good for.
    static constexpr std::uint32_t no_end = 0xFFFF'FFFF;
    static constexpr std::size_t by_time = SIZE_MAX - 1;

    /// `steps`, or what the time is good for.
    [[nodiscard]] constexpr std::size_t step_count() const noexcept {
        constexpr std::size_t least = 40;
        if (steps != by_time) { return steps; }
        const std::size_t part = microseconds == no_end ? 0 : std::size_t{microseconds} * 4 / 5;
        return part < least ? least : part;
    }

    /// Until nothing can move any more: a loading screen, or what lies between unloading a level
    /// and loading the next. Each object moves once, unless pins or alignments above 16 leave holes
    /// that are worth a second round. One that cannot slide over its own bytes may be copied twice.
    [[nodiscard]] static constexpr compaction_budget unlimited() noexcept {
        return {SIZE_MAX, no_end, SIZE_MAX};
    }
    /// True for unlimited().
    [[nodiscard]] constexpr bool is_unlimited() const noexcept {
        return bytes == SIZE_MAX && microseconds == no_end && steps == SIZE_MAX;
    }
};

/// What the budget went into. (What stress_relocate copies comes on top: see the heap's stats.)
struct compaction_report {
    std::size_t bytes = 0;          // copied
    std::size_t moves = 0;          // objects that stand elsewhere now
    std::size_t steps = 0;          // objects and holes looked at
    std::uint64_t nanoseconds = 0;  // 0 when the budget has no time
    bool one_piece = false;         // the free memory is one hole, or none
    bool settled = false;  // nothing can move until something is freed, allocated or unpinned
};

}}  // namespace cairn::CAIRN_FLAVOUR
