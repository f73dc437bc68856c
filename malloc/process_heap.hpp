// malloc/process_heap.hpp - the heap below malloc, and the paths to it that have no cold code in them.
//
//      malloc(n)   thread --> cache --> stack of the class of n     --> the slot below its top
//      free(p)     map: the byte of p's unit --> class --> stack    --> p becomes the top
//      all else    *_cold(): no cache yet, an empty or full stack, large blocks, foreign pointers
//
// This copy of cairn has one heap, which is never destroyed: a thread's first entry is always its
// cache of that heap. The heap is made by the first call, which comes from the loader, before any
// constructor has run. So nothing here has a constructor, and no symbol is looked up at run time.
//
// Giving back: once a second at most, a slow path gives as many free units to the system as were
// free at every moment of that second. malloc_trim() gives back all of them.
//
// fork():  the heap's handlers are the first that a process registers. So they are the last to run
//          before a fork and the first after it, and other handlers may allocate. The next ones
//          lock the list of all files before the heap, as fflush(nullptr) does.
#pragma once

#include <cstddef>

#include <cairn/alloc/concurrent_heap.hpp>

#include "../src/alloc/concurrent_heap/heap_registry.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace below_malloc {

using detail::heap_cache;
using detail::slot_sizes;
using detail::unit_map;

/// Made by the first call. Returns: nullptr to the thread that is making it.
[[nodiscard]] concurrent_heap* process_heap() noexcept;

/// As concurrent_heap::allocate. Sets errno to ENOMEM with nullptr.
[[nodiscard]] void* allocate_cold(std::size_t size, alignment align) noexcept;
/// `p` is any pointer. Keeps errno.
void deallocate_cold(void* p) noexcept;

/// Says on stderr, for the first 16 of a process, that `p` is no block; nothing else happens to it.
void report_foreign(const void* p, const char* function) noexcept;
/// Says on stderr, for the first one of a process, that a block has another size than was told.
void report_wrong_size(const void* p, std::size_t told, std::size_t real) noexcept;

/// What happened in this process, for its statistics.
struct event_counts {
    detail::atomic<std::size_t> foreign_pointers{0};
    detail::atomic<std::size_t> wrong_sizes{0};
    detail::atomic<std::size_t> trims{0};
    detail::atomic<std::size_t> trimmed_size{0};
};
inline constinit event_counts events{};

/// Returns: nullptr: the calling thread has none yet, or has none any more.
[[nodiscard, CAIRN_FORCE_INLINE]] inline heap_cache* cache_here() noexcept {
    return static_cast<heap_cache*>(detail::this_heap_thread.entries[0].cache);
}

/// Returns: 0 for what is no block of ours; else the class + 1, or unit_map::large.
[[nodiscard, CAIRN_FORCE_INLINE]] inline unsigned kind_of(const void* p) noexcept {
    return concurrent_heap_registry::map_here().kind_of_any(p);
}
[[nodiscard]] inline bool is_slot(unsigned kind) noexcept {
    return kind - 1u < slot_sizes::class_count;
}
[[nodiscard]] inline unsigned kind_for(std::size_t size, alignment align) noexcept {
    return slot_sizes::has(size, align) ? slot_sizes::class_of(size, align) + 1u : unit_map::large;
}

/// Returns: nullptr: the cold path has to be asked.
[[nodiscard, CAIRN_FORCE_INLINE]] inline void* try_take(unsigned k) noexcept {
    heap_cache* const c = cache_here();
    if (c == nullptr) [[unlikely]] { return nullptr; }
    void** const top = c->top(k);
    void* const p = top[-1];
    if (p != nullptr) [[likely]] { c->set_top(k, top - 1); }
    return p;
}

[[nodiscard, CAIRN_FORCE_INLINE]] inline void* allocate(std::size_t size) noexcept {
    if (size <= slot_sizes::small_max) [[likely]] {
        void* const p = try_take(slot_sizes::class_of(size));
        if (p != nullptr) [[likely]] { return p; }
    }
    return allocate_cold(size, default_alignment);
}

[[nodiscard]] inline void* allocate(std::size_t size, alignment align) noexcept {
    if (slot_sizes::has(size, align)) {
        void* const p = try_take(slot_sizes::class_of(size, align));
        if (p != nullptr) [[likely]] { return p; }
    }
    return allocate_cold(size, align);
}

/// Requires: kind == kind_of(p).
[[CAIRN_FORCE_INLINE]] inline void deallocate(void* p, unsigned kind) noexcept {
    heap_cache* const c = cache_here();
    if (is_slot(kind) && c != nullptr) [[likely]] {
        void** const top = c->top(kind - 1);
        // A full stack, or the newest slot once more, which is a block that is freed twice.
        if (top != c->ceiling(kind - 1) && top[-1] != p) [[likely]] {
            *top = p;
            c->set_top(kind - 1, top + 1);
            return;
        }
    }
    deallocate_cold(p);
}

[[CAIRN_FORCE_INLINE]] inline void deallocate(void* p) noexcept { deallocate(p, kind_of(p)); }

/// As deallocate(p). Reports a size whose blocks are of another class: a derived class that was
/// deleted through a base without a virtual destructor.
[[CAIRN_FORCE_INLINE]] inline void deallocate_sized(void* p, std::size_t size,
                                                    alignment align) noexcept {
    const unsigned kind = kind_of(p);
    if (kind != kind_for(size, align) && kind != unit_map::nothing) [[unlikely]] {
        report_wrong_size(p, size, process_heap()->usable_size(p));
    }
    deallocate(p, kind);
}

}}}  // namespace cairn::CAIRN_FLAVOUR::below_malloc
