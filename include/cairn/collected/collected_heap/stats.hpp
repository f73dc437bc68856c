// cairn/collected/collected_heap/stats.hpp - what a collected heap is told, and what it tells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// One cycle: from its snapshot to the end of its sweep.
struct collection_cycle {
    std::uint64_t number = 0;      // 1 is the first; 0: none has ended
    std::uint64_t bytes = 0;       // of work, see budget.hpp
    std::uint64_t kept_count = 0;  // objects that it left, newly made ones too
    std::uint64_t kept_size = 0;   // bytes of their slots
    std::uint64_t freed_count = 0;
    std::uint64_t freed_size = 0;
    std::uint64_t destructor_count = 0;  // that were run
    std::uint64_t allocated_size = 0;    // bytes that were taken while it ran
    std::uint64_t root_count = 0;        // when it began
    std::uint64_t work_in_make = 0;      // of `bytes`: what make() had to do
    std::uint64_t work_by_worker = 0;    // of `bytes`: what a marking_worker has done
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

/// What a heap is told when it is made.
struct collected_heap_options {
    /// Bytes of work that make() may do between two steps, when memory is short: what it takes of
    /// time is bounded by that. Beyond it make() returns null. 0: it never helps.
    std::size_t work_in_make_max = SIZE_MAX;
    /// Called at the end of each cycle, in the step that ends it; it makes and steps nothing.
    void (*cycle_ended)(void* context, const collection_cycle& cycle) = nullptr;
    void* cycle_ended_context = nullptr;
    /// Objects that wait to be traced, in memory taken at the start. 0: one for each 64 bytes of
    /// the heap. What exceeds it is set aside in bitmaps and found again: slower, never lost.
    std::size_t mark_stack_count = 0;
    /// The debug mode: every step() collects all, so that an object that only a raw pointer kept
    /// over a safe point is gone, and step() and collect() move what compact() may move, as far as
    /// chunks are free. Where objects were is poisoned; checked builds name a ref that is used
    /// there, and a T* from there that becomes a ref, root or weak_ref.
    bool stress = false;
    /// The debug mode: when marking ends, a second, simple walk compares, and each object is asked
    /// whether it tells all of the references that began with it. In checked builds.
    bool verify = false;
};

/// What stats() tells.
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

}}  // namespace cairn::CAIRN_FLAVOUR
