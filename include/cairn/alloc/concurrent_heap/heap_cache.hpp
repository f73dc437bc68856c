// cairn/alloc/concurrent_heap/heap_cache.hpp - free slots of one thread.
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
// Where the bound is reached, a class that grows takes from the next one in turn. A stack that runs
// full grows to 128 slots at most, two batches: a thread that only frees needs no more.
//
// A cache of a thread that sleeps keeps the chunks of its slots from going back: at most as many as
// it has slots, slot_count_max(cache_size_max), which are 4,156 for the default of 1 MiB.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/concurrent_heap/slot_sizes.hpp>
#include <cairn/alloc/inside/thread_caches.hpp>
#include <cairn/core/inside/compiler.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Never written: a stack here is full.
CAIRN_DETAIL_MODULE_LOCAL inline constinit void* no_slots[2] = {};

/// Ends of one stack. Only its owner writes; stats() reads beside it. In arrays of their own: the
/// number of a class is then an index that the processor scales, without an instruction.
struct slot_stack_top {
    atomic<void**> value{no_slots + 1};
};
struct slot_stack_ceiling {
    void** value = no_slots + 1;
};

struct heap_cache : thread_cache {
    static constexpr unsigned class_count = slot_sizes::class_count;
    static constexpr unsigned first_limit = 8;
    static constexpr unsigned limit_of_full = 128;  // to which a stack that is full grows
    static constexpr std::size_t first_page = 4096;

    /// Slots to which the stack of class `c` may grow.
    [[nodiscard]] static constexpr unsigned limit_max(unsigned c) noexcept {
        const std::size_t fitting = (std::size_t{64} << 10) / slot_sizes::size_of(c);
        return static_cast<unsigned>(fitting < 4 ? 4 : fitting > 256 ? 256 : fitting);
    }

    /// Slots that fit into a cache of `size` bytes: the smallest classes at their limits.
    [[nodiscard]] static constexpr std::size_t slot_count_max(std::size_t size) noexcept {
        std::size_t count = 0;
        for (unsigned c = 0; c < class_count; ++c) {
            const std::size_t fitting = size / slot_sizes::size_of(c);
            const std::size_t more = fitting < limit_max(c) ? fitting : limit_max(c);
            count += more;
            size -= more * slot_sizes::size_of(c);
        }
        return count;
    }

    slot_stack_top tops[class_count] = {};
    slot_stack_ceiling ceilings[class_count] = {};
    atomic<void**> floors[class_count] = {};
    std::uint16_t limits[class_count] = {};

    std::size_t size_left = 0;  // bytes by which the limits may still grow
    unsigned next_victim = 0;   // class that gives up room next

    [[nodiscard]] void** top(std::size_t c) const noexcept {
        return tops[c].value.load(memory_order::relaxed);
    }
    void set_top(std::size_t c, void** top) noexcept {
        tops[c].value.store(top, memory_order::relaxed);
    }
    [[nodiscard]] void** ceiling(std::size_t c) const noexcept { return ceilings[c].value; }
    [[nodiscard]] unsigned count(unsigned c) const noexcept {
        return static_cast<unsigned>(top(c) - floors[c].load(memory_order::relaxed));
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
static_assert(heap_cache::slot_count_max(std::size_t{1} << 20) == 4156, "as the first screen says");
static_assert(cache_layout.first_part <= heap_cache::first_page, "the first page has all of it");

// In a program they are an offset from the thread pointer. No initial-exec: dlopen()
// refuses a plugin with more thread-local memory of any kind than glibc keeps free, about 1.5 KiB.
using heap_thread = cache_table<8>;
static_assert(sizeof(void*) != 8 || sizeof(heap_thread) == 152);
#if CAIRN_SHARED
extern constinit thread_local heap_thread this_heap_thread;
#else  // defined where it is used: the compiler then knows its offset from the thread pointer
CAIRN_DETAIL_MODULE_LOCAL inline constinit thread_local heap_thread this_heap_thread{};
#endif

/// Stand for "no cache": stacks that are empty and full at once, so that every operation takes the
/// cold path. Known by their content: their addresses differ from module to module.
CAIRN_DETAIL_MODULE_LOCAL inline constinit heap_cache no_heap_cache{};
CAIRN_DETAIL_MODULE_LOCAL inline constinit heap_cache no_heap_view{{.is_view = true}};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
