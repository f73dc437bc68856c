// cairn/collected/budget.hpp - how much collecting a frame can afford, and what it got.
//
//      heap.step();                                   what is owed for the memory taken since
//      heap.step({.microseconds = 50});               at the safe point of each frame
//      heap.step({.bytes = 64_KiB});                  the same on every machine: replays
//      heap.step(collection_budget::unlimited());     the running cycle, or a new one, to its end
//
// Work is counted in bytes, so that time, memory and the proof of required_budget() share a unit:
//
//      an object is marked                its slot's bytes, or 8 for each reference that it has, if
//                                         that is more (ref_array: 128 references at a time)
//      a root is looked at                32
//      a chunk is swept                   256
//      a destructor, a before_collect     128
//
// A limit is passed by one unit of work at most, in time by about a microsecond more: the clock is
// looked at every 2048 bytes of work. A destructor or a trace() takes what it takes, and a traced
// container (traced.hpp) is one unit.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// What one step may take: whichever limit is reached first ends it.
struct collection_budget {
    std::size_t bytes = SIZE_MAX;         // of work, as above
    std::uint32_t microseconds = no_end;  // from the call to the return
    std::size_t steps = SIZE_MAX;         // units of work

    /// As `microseconds`: no limit of time.
    static constexpr std::uint32_t no_end = 0xFFFF'FFFF;

    /// No limit at all: the running cycle, or a new one, to its end.
    [[nodiscard]] static constexpr collection_budget unlimited() noexcept { return {}; }
};

/// What the budget went into.
struct collection_report {
    std::size_t bytes = 0;          // of work
    std::size_t steps = 0;          // units of work
    std::size_t freed_size = 0;     // bytes of slots that were given back
    std::size_t freed_count = 0;    // objects
    std::size_t moved_count = 0;    // objects, by compact() and where options::stress moves them
    std::uint64_t nanoseconds = 0;  // 0 when the budget has no time
    bool cycle_ended = false;       // what was garbage when it began has been given back
    bool is_idle = false;           // no cycle runs: nothing is owed
};

}}  // namespace cairn::CAIRN_FLAVOUR
