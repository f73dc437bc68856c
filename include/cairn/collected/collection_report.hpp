// cairn/collected/collection_report.hpp - the figures of a collected heap.
//
//      collection_report     one step(), collect() or compact()
//      collection_cycle      one cycle: options::cycle_ended, stats().last_cycle
//      stats_type            the heap, at any time
//      collected_keeper      one object on the way from a root: who_keeps()
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// What one call did.
struct collection_report {
    std::size_t bytes = 0;          // of work
    std::size_t steps = 0;          // units of work
    std::size_t freed_size = 0;     // bytes of slots that were given back
    std::size_t freed_count = 0;    // objects
    std::size_t moved_count = 0;    // objects, by compact() and where options::stress moves them
    std::uint64_t nanoseconds = 0;  // 0 when the limit has no time
    bool cycle_ended = false;       // garbage of its beginning has been freed
    bool is_idle = false;           // no cycle runs: nothing is owed
};

/// One cycle: from its snapshot to the end of its sweep.
struct collection_cycle {
    std::uint64_t number = 0;      // 1 is the first; 0: none has ended
    std::uint64_t bytes = 0;       // of work, see collected_heap::step()
    std::uint64_t kept_count = 0;  // objects that it left, newly made ones too
    std::uint64_t kept_size = 0;   // bytes of their slots
    std::uint64_t freed_count = 0;
    std::uint64_t freed_size = 0;
    std::uint64_t destructor_count = 0;  // that were run
    std::uint64_t allocated_size = 0;    // bytes that were taken while it ran
    std::uint64_t root_count = 0;        // when it began
    std::uint64_t work_in_make = 0;      // of `bytes`: what make() had to do
    std::uint64_t work_by_worker = 0;    // of `bytes`: the work of a marking_worker
    std::uint64_t step_count = 0;        // calls of step()
    std::uint64_t nanoseconds = 0;       // in steps with a limit of time
    std::uint64_t longest_step = 0;      // of these, nanoseconds
};

/// One object on the way from a root to another: collected_heap::who_keeps().
struct collected_keeper {
    const void* object;
    const char* type_name;  // of its type, of which this many characters:
    std::size_t type_name_length;
    /// Where in it the reference lies that leads on, in bytes. SIZE_MAX: it is the last one, or the
    /// reference lies beside it (traced.hpp).
    std::size_t offset;
    /// Where the root was made that leads to it. line() is 0 behind the first, in unchecked builds.
    std::source_location root_line;
};

namespace detail {

/// The result of stats().
struct collected_heap_stats {
    std::size_t capacity;          // bytes for objects
    std::size_t used_size;         // bytes of slots that are taken, by garbage too
    std::size_t free_size;         // the rest
    std::size_t free_chunk_count;  // of 16 KiB, for any type
    std::size_t object_count;      // garbage too; O(chunks)
    std::size_t root_count;
    std::size_t type_count;
    std::uint64_t allocated_size;   // bytes since the heap was made
    std::uint64_t cycle_count;      // that have ended
    std::uint64_t set_aside_count;  // objects that did not fit the mark stack
    /// Bytes of work that make() had to do because memory was short: 0 where the budget is enough.
    std::uint64_t work_in_make;
    collection_cycle last_cycle;
    /// Bytes of work a microsecond, in the slowest cycle whose steps had a limit of time; 0: none.
    double slowest_speed;
};

}  // namespace detail

}}  // namespace cairn::CAIRN_FLAVOUR
