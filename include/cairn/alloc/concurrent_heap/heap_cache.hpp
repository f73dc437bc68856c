// cairn/alloc/concurrent_heap/heap_cache.hpp - free slots of one thread, and its way there.
//
//      thread   serial of a heap --> entry (8) --> cache
//                                     `--other serial: second table (1,024), then the list
//
//      cache    one piece of pages of its own; untouched ones take no memory
//      +--------------------------------------------+------------------------------------------+
//      | top, ceiling of 40 classes | 40 stacks of 8 |  40 stacks of their full capacity        |
//      +--------------------------------------------+------------------------------------------+
//      |<--------------- 4 KiB -------------------->|
//
//      stack    [ null | slot | slot | slot | .... ]      allocate: the slot below top; null: empty
//                                    ^top      ^ceiling   deallocate: to top; at the ceiling: full
//
// A class begins with a stack of at most 8 slots in the first page. Each time its stack runs empty
// or full, its limit doubles and it moves to its place behind the first page. The limits, in bytes
// of slots, stay below the bound of the cache:
//
//      sum over classes of  limit * bytes of a slot  <=  cache_size_max
//      limit of a class                              <=  64 KiB / bytes of a slot, 4 to 256
//
// Where the bound is reached, a class that grows takes from the next one in turn.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/concurrent_heap/slot_bin.hpp>
#include <cairn/core/inside/compiler.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

class concurrent_heap;

namespace detail {

struct heap_thread_record;
struct heap_home;

/// Never written: a stack here is full.
CAIRN_DETAIL_MODULE_LOCAL inline constinit void* no_slots[2] = {};

/// Top and ceiling of one stack. Only its owner writes; stats() reads beside it.
struct slot_stack {
    atomic<void**> top{no_slots + 1};
    void** ceiling = no_slots + 1;
};

struct heap_cache {
    static constexpr unsigned class_count = slot_sizes::class_count;
    static constexpr unsigned first_limit = 8;
    static constexpr std::size_t first_page = 4096;

    /// Slots to which the stack of class `c` may grow.
    [[nodiscard]] static constexpr unsigned limit_max(unsigned c) noexcept {
        const std::size_t fitting = (std::size_t{64} << 10) / slot_sizes::size_of(c);
        return static_cast<unsigned>(fitting < 4 ? 4 : fitting > 256 ? 256 : fitting);
    }

    slot_stack stacks[class_count] = {};
    atomic<void**> floors[class_count] = {};
    std::uint16_t limits[class_count] = {};

    concurrent_heap* heap = nullptr;  // nullptr: no cache; see below
    std::uint64_t serial = 0;
    std::size_t size_left = 0;            // bytes by which the limits may still grow
    unsigned epoch = 0;                   // of the last trim() that was heeded
    unsigned next_victim = 0;             // class that gives up room next
    heap_thread_record* owner = nullptr;  // nullptr: of a view, or idle
    heap_cache* next_of_heap = nullptr;
    heap_cache* next_of_thread = nullptr;
    heap_cache** link = nullptr;  // what points here in the thread's list
    heap_cache* next_idle = nullptr;
    bool is_view = false;  // of no_heap_view alone

    [[nodiscard]] unsigned count(unsigned c) const noexcept {
        return static_cast<unsigned>(stacks[c].top.load(memory_order::relaxed) -
                                     floors[c].load(memory_order::relaxed));
    }
    void set_top(unsigned c, void** top) noexcept {
        stacks[c].top.store(top, memory_order::relaxed);
    }
};

/// Where the stacks lie, in pointers from the begin of the cache; a null lies below each.
struct heap_cache_layout {
    std::uint32_t at_first[heap_cache::class_count] = {};
    std::uint32_t full[heap_cache::class_count] = {};
    std::size_t size = 0;  // bytes in all

    constexpr heap_cache_layout() noexcept {
        std::uint32_t at = sizeof(heap_cache) / sizeof(void*);
        for (unsigned c = 0; c < heap_cache::class_count; ++c) {
            at_first[c] = ++at;
            const unsigned most = heap_cache::limit_max(c);
            at += most < heap_cache::first_limit ? most : heap_cache::first_limit;
        }
        size = at * sizeof(void*);
        at = heap_cache::first_page / sizeof(void*);
        for (unsigned c = 0; c < heap_cache::class_count; ++c) {
            full[c] = ++at;
            at += heap_cache::limit_max(c);
        }
        first_part = size;
        size = at * sizeof(void*);
    }
    std::size_t first_part = 0;
};
inline constexpr heap_cache_layout cache_layout{};
static_assert(cache_layout.first_part <= heap_cache::first_page, "the first page has all of it");

/// A thread's way to its caches. Trivial and constant-initialized: no guard, no wrapper function.
struct heap_thread {
    static constexpr unsigned entry_count = 8;
    struct entry {
        std::uint64_t serial;  // valid for the heap with this serial; 0: none
        heap_cache* cache;
    };
    /// A serial is a number that is never used again, and below it the entry.
    static constexpr std::uint64_t make_serial(std::uint64_t number, std::size_t at) noexcept {
        return (number * entry_count + at) * sizeof(entry);
    }
    static constexpr std::size_t entry_of(std::uint64_t serial) noexcept {
        return serial / sizeof(entry) % entry_count;
    }
    static constexpr std::uint64_t number_of(std::uint64_t serial) noexcept {
        return serial / sizeof(entry) / entry_count;
    }
    entry entries[entry_count];
    heap_thread_record* record;  // all its caches; nullptr: none yet
    bool is_attaching;           // its end is being watched, which may allocate
    bool is_ending;              // the caches have gone back already
};

// 152 bytes. The way to them is no call, which may allocate in a thread's first use.
#if CAIRN_SHARED
CAIRN_INITIAL_EXEC extern constinit thread_local heap_thread this_heap_thread;
#else  // defined where it is used: the compiler then knows its offset from the thread pointer
CAIRN_INITIAL_EXEC CAIRN_DETAIL_MODULE_LOCAL inline constinit thread_local heap_thread
    this_heap_thread{};
#endif

/// Stand for "no cache": stacks that are empty and full at once, so that every operation takes the
/// cold path. Known by their content: their addresses differ from module to module.
CAIRN_DETAIL_MODULE_LOCAL inline constinit heap_cache no_heap_cache{};
CAIRN_DETAIL_MODULE_LOCAL inline constinit heap_cache no_heap_view{.is_view = true};

}  // namespace detail

}}  // namespace cairn::CAIRN_FLAVOUR
