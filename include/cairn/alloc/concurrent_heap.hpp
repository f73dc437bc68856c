// cairn/alloc/concurrent_heap.hpp - any size, any order, any number of threads.
//
//      thread A                  thread B                 shared, a lock for each class
//      +-------------------+     +-------------------+    class 3 (64 B)   batches of slots
//      | class 0 [###....] |     | class 0 [#......] |                     chunks with free slots
//      | class 3 [#####..] |     | class 3 [##.....] |
//      |  ...              |     |  ...              |    units of 64 KiB: chunks, large blocks
//      +-------------------+     +-------------------+    segments, from the upstream
//
// Each thread has a stack of free slots for each class of sizes: no atomic, no lock, no owner to
// look up. A block may be freed by any thread; its slot then belongs to that thread's stack. A full
// stack leaves a batch of slots to the others, an empty one takes a batch. Where enough batches
// wait, slots go to their chunks, and an empty chunk serves any class. Free memory is not touched.
//
// Use it for: any size in any order, from one thread or from many; job systems whose workers free
//             what others made.
// Look elsewhere for: bounded time, or a fixed region (heap.hpp); one size (concurrent_pool.hpp);
//             one lifetime (arena.hpp).
//
// Sizes:     16-byte steps to 128 bytes, then four to a doubling up to 32 KiB. Larger blocks, and
//            alignments above 4 KiB, are whole units of 64 KiB; untouched pages take no memory.
// Cost:      a load, a compare and a store beside the way to the thread's cache: two loads and a
//            compare. A constant size costs no more, another one a load from a table of 2 KiB;
//            deallocate(p) two loads from the map. Slow path: 60 slots move in or out, or 8 to
//            their chunks, under the lock of the class. The system is called by trim() and by an
//            allocation that needs a new segment; no lock is held meanwhile.
// Memory:    heap_cache.hpp has the bound of a cache. A class keeps 128 KiB in waiting batches, or
//            two batches. A slot in a cache keeps its chunk (64 KiB; above 4 KiB of size 256 KiB)
//            from serving other classes: trim() and release_this_thread() undo that. Records take
//            1 %, a thread 4 to 48 KiB; the bookkeeping of threads is pages, not from upstream.
// Bounds:    a thread is refused only when upstream refuses, or growth is forbidden, and the free
//            slots of the class lie in caches of other threads.
// Threads:   any, but for construction and destruction. A thread that ends gives its cache back.
// fork():    at any moment; the child may use the heap at once. What other threads of the parent
//            had in their caches is lost to it and counts as used.
// Misuse:    every build stops when a slot comes back twice to its chunk, or twice in a row to a
//            cache, and at deallocate(p) of memory that went back. Checked builds know of each
//            slot whether it is live, and of each address which heap has it.
//            hardened<concurrent_heap> (hardened.hpp) knows more in every build.
// Source:    Bonwick and Adams, "Magazines and Vmem", 2001; snmalloc's page map.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/concurrent_heap/heap_cache.hpp>
#include <cairn/alloc/concurrent_heap/units.hpp>
#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/inside/compiler.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/core/slice.hpp>
#include <cairn/os/mutex.hpp>
#include <cairn/os/page_allocator.hpp>
#include <cairn/storage/allocator_watch.hpp>
#include <cairn/storage/work_limit.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

template <byte_allocator A>
class concurrent_budget;

namespace detail {

template <class Atoms>
class basic_byte_credits;

struct concurrent_heap_options {
    /// Bytes of free slots that one thread, or view, may have.
    std::size_t cache_size_max = std::size_t{1} << 20;
    /// For reports of checked builds; not copied. nullptr: none.
    const char* name = nullptr;
};

struct concurrent_heap_stats {
    std::size_t segment_size = 0;  // bytes taken from upstream
    std::size_t used_size = 0;     // bytes of chunks and large blocks
    std::size_t live_size = 0;     // bytes that callers have, rounded up to slots and units
    std::size_t cached_size = 0;   // bytes of free slots in the caches of threads and views
    std::size_t waiting_size = 0;  // bytes of free slots in batches
    std::size_t cache_count = 0;   // threads and views that have a cache now
};

}  // namespace detail

/// Not movable. Ends with all its blocks; none need be freed before. A heap works in all modules
/// of a program, as a concurrent_pool does, and ends before its own module is unloaded.
class concurrent_heap : private detail::cache_owner {
public:
    using options = detail::concurrent_heap_options;
    using stats_type = detail::concurrent_heap_stats;

    /// Takes no memory yet. Segments come from `upstream`, at multiples of 64 KiB, and only whole
    /// ones go back. Any thread may call it; one at a time, unless it is the system's.
    explicit concurrent_heap(allocator_ref upstream, options how = {}) noexcept;
    /// The same from system_pages().
    concurrent_heap() noexcept : concurrent_heap{system_pages()} {}
    explicit concurrent_heap(options how) noexcept : concurrent_heap{system_pages(), how} {}
    /// Gives every segment back. Blocks need not be freed before.
    ~concurrent_heap();
    concurrent_heap(const concurrent_heap&) = delete;
    concurrent_heap& operator=(const concurrent_heap&) = delete;

    // -------------------------------------------------------------------- allocate, deallocate

    /// `size` bytes at a multiple of `align`, uninitialized.
    /// Returns: nullptr when exhausted (Bounds, above); the heap is unchanged then.
    /// Size 0:  allowed; the pointer may be compared but not read through.
    [[nodiscard, CAIRN_FORCE_INLINE]] void* allocate(std::size_t size,
                                                     alignment align = default_alignment) noexcept {
        if constexpr (CAIRN_CALLER_IS_OPTIMIZED) {
            return allocate_here(my_cache(), size, align);
        } else {
            return allocate_called(size, align);
        }
    }
    /// `size` bytes that are zero. Clears of a large block only units that were used before.
    [[nodiscard]] void* allocate_zeroed(std::size_t size,
                                        alignment align = default_alignment) noexcept;

    /// Requires: `p` came from allocate(size, align) of this heap or a view of it, or was resized
    ///           to `size`, and is live; nullptr is allowed.
    [[CAIRN_FORCE_INLINE]] void deallocate(void* p, std::size_t size,
                                           alignment align = default_alignment,
                                           call_site from = call_site::current()) noexcept {
        if constexpr (CAIRN_CALLER_IS_OPTIMIZED) {
            deallocate_here(my_cache(), p, size, align, from);
        } else {
            deallocate_called(p, size, align, from);
        }
    }
    /// As above, for callers that do not know the size.
    [[CAIRN_FORCE_INLINE]] void deallocate(void* p,
                                           call_site from = call_site::current()) noexcept {
        deallocate_here(my_cache(), p, from);
    }

    /// Makes a live block `new_size` bytes long where it stands.
    /// Returns: false when it would need another class, or the units behind a large block are in
    ///          use; nothing has changed then. After true, the block is freed with `new_size`.
    [[nodiscard]] bool try_resize(void* p, std::size_t old_size, std::size_t new_size,
                                  alignment align = default_alignment) noexcept;

    void(free)(...) const = delete;       // deallocate(p, size), or deallocate(p)
    void reallocate(...) const = delete;  // try_resize(p, old, new), resize_or_move, or a new block
    template <class T>
    void make(...) const = delete;  // cairn::make<T>(heap, args...)

    /// As try_resize, for a large block. One above 4 MiB may move: its pages get other addresses,
    /// and no byte is copied (Linux, where upstream is the system).
    /// Returns: where the block is now; nullptr: nothing has changed.
    [[nodiscard]] void* resize_or_move(void* p, std::size_t old_size,
                                       std::size_t new_size) noexcept;

    /// From now on a thread gets the slots of a batch, up to 60, in an order that depends on `seed`
    /// and on where they lie. The order stays random as long as the heap lives.
    /// Requires: seed != 0.
    void give_in_random_order(std::uint64_t seed) noexcept {
        order_seed_.store(seed, detail::memory_order::relaxed);  // nothing else depends on it
    }

    /// Fills `out` from the front with blocks of `size` bytes.
    /// Returns: how many it got; fewer only when exhausted.
    [[nodiscard]] std::size_t allocate_n(slice<void*> out, std::size_t size,
                                         alignment align = default_alignment) noexcept;
    void deallocate_n(slice<void* const> freed, std::size_t size,
                      alignment align = default_alignment) noexcept;

    class local_view;

    /// A view with a cache of its own, to be carried along: in a worker's context, a fibre, a job.
    /// Without memory for a cache it works through the locks as long as it lives.
    [[nodiscard]] local_view local() noexcept;

    // -------------------------------------------------------------------- giving back

    /// Gives up what the calling thread holds: before it sleeps, at the end of a job.
    /// Does nothing in a call of upstream, which may come in the middle of an allocation.
    void release_this_thread() noexcept;

    /// Gives waiting batches back to their chunks, and free memory to upstream or the system. Each
    /// thread empties its cache when it next needs or leaves a batch.
    /// `limit`:  a step is a batch, an empty segment or a run of free units; bytes are those that
    ///           went back. It passes the limit by one step, of at most 64 MiB.
    /// Returns:  bytes that went back.
    std::size_t trim(work_limit limit = {}) noexcept;

    /// For programs that call it about once a second: gives units of 64 KiB back to upstream or the
    /// system, at most as many as were free at every moment since the last call. Which of the free
    /// units they are is left open; a segment goes as a whole only if it has no more than these.
    /// Caches and batches stay as they are.
    /// Returns: bytes that went back; of a whole segment all, also what was never touched.
    /// Cost: as trim(), without its batches.
    std::size_t trim_idle() noexcept;

    /// Makes sure that units for `size` bytes are free, in segments that upstream has given.
    /// Returns: false when upstream refuses.
    [[nodiscard]] bool reserve(std::size_t size) noexcept;
    /// `false`: upstream is asked for nothing more, and trim() keeps the segments.
    void allow_growth(bool allowed) noexcept { units_.allow_growth(allowed); }

    // -------------------------------------------------------------------- queries

    /// Bytes that a request of `size` bytes really gets; asking for this much costs no more.
    [[nodiscard]] std::size_t good_size(std::size_t size,
                                        alignment align = default_alignment) const noexcept;
    /// Bytes that the live block `p` may use.
    [[nodiscard]] std::size_t usable_size(const void* p) const noexcept;
    /// True when `p` lies in a chunk or large block of this heap. Cost: three loads.
    [[nodiscard]] bool owns(const void* p) const noexcept;

    /// Beside other threads at work the figures are of slightly different moments.
    [[nodiscard]] stats_type stats() const noexcept;
    /// Checks every invariant. Requires: no other thread is in the heap.
    void validate() const noexcept;

    /// As options::name. Requires: no other thread uses the heap.
    void set_name(const char* name) noexcept;
    [[nodiscard]] const char* name() const noexcept { return options_.name; }

private:
    friend struct concurrent_heap_registry;
    friend struct concurrent_heap_checks;
    template <byte_allocator A>
    friend class concurrent_budget;
    using cache = detail::heap_cache;
    using sizes = detail::slot_sizes;
    using record = detail::unit_record;
    struct place;

    [[CAIRN_FORCE_INLINE]] cache& my_cache() noexcept {
        const detail::cache_entry& e = detail::this_heap_thread.at(serial);
        if (e.serial == serial) [[likely]] { return static_cast<cache&>(*e.cache); }
        return detail::no_heap_cache;
    }
    [[CAIRN_FORCE_INLINE]] void* allocate_here(cache& c, std::size_t size,
                                               alignment align) noexcept;
    [[CAIRN_FORCE_INLINE]] void deallocate_here(cache& c, void* p, std::size_t size,
                                                alignment align, call_site from) noexcept;
    [[CAIRN_FORCE_INLINE]] void deallocate_here(cache& c, void* p, call_site from) noexcept;
    [[CAIRN_FORCE_INLINE]] void put(cache& c, unsigned k, void* p) noexcept;
    [[nodiscard]] void* allocate_called(std::size_t size, alignment align) noexcept;
    void deallocate_called(void* p, std::size_t size, alignment align, call_site from) noexcept;
    void deallocate_unsized(cache& c, void* p, call_site from) noexcept;

    // Slow paths of slots: concurrent_heap.cpp.
    [[nodiscard]] void* take_cold(cache& c, unsigned k) noexcept;
    void put_cold(cache& c, unsigned k, void* p) noexcept;
    [[nodiscard]] void* take_shared(unsigned k) noexcept;
    void fill(cache& c, unsigned k) noexcept;
    void spill(cache& c, unsigned k, unsigned count) noexcept;
    void empty(cache& c) noexcept;
    void heed_trim(cache& c) noexcept;
    void grow_limit(cache& c, unsigned k, unsigned highest) noexcept;
    void take_room(cache& c, unsigned for_class, std::size_t size) noexcept;
    void move_stack(cache& c, unsigned k, unsigned limit) noexcept;
    void drain_batches() noexcept;
    void drain_batches(detail::work_meter& work) noexcept;
    [[nodiscard]] unsigned admitted(unsigned k, unsigned wanted) const noexcept;
    void refund(std::size_t size) const noexcept;
    [[nodiscard]] unsigned batch_count_max(unsigned k) const noexcept;

    // Large blocks: concurrent_heap/large.cpp.
    [[nodiscard]] void* allocate_large(std::size_t size, alignment align) noexcept;
    void deallocate_large(record& r) noexcept;
    [[nodiscard]] bool resize_large(record& r, std::size_t new_size) noexcept;
    void clear_large(record& r, void* p, std::size_t size) noexcept;

    // Caches: concurrent_heap/heap_registry.cpp.
    [[nodiscard]] cache* usable(cache& which) noexcept;

    // Reports, and what checked builds look at: concurrent_heap/heap_checks.cpp.
    void note_taken(void* p, unsigned k) noexcept;
    void note_freed(void* p, unsigned k, call_site from) noexcept;
    [[nodiscard]] record& expect_own(const void* p, call_site from) const noexcept;
    void expect_large(const record& r, const void* p, std::size_t size,
                      call_site from) const noexcept;
    [[noreturn]] void freed_twice(const void* p, call_site from) const noexcept;
    [[noreturn]] void freed_elsewhere(const void* p, call_site from) const noexcept;

    // Every operation reads these and the serial in the base; none writes them.
    detail::unit_map* map_ = nullptr;
    options options_;
    // Counts live and cached bytes; nullptr: no limit.
    detail::basic_byte_credits<detail::std_atoms>* limit_ = nullptr;
    // Read once a fill. 0: lowest address first.
    detail::atomic<std::uint64_t> order_seed_{0};

    alignas(cache_line_size) detail::unit_store units_;
    struct alignas(cache_line_size) padded_bin : detail::slot_bin {};
    padded_bin bins_[sizes::class_count];

    [[CAIRN_NO_UNIQUE_ADDRESS]] detail::allocator_watch watch_;
};

static_assert(sizeof(concurrent_heap) <= 4096, "an unused heap is small");

/// A cache that belongs to this object; one thread at a time.
/// Lifetimes: must die before its heap.
class concurrent_heap::local_view {
public:
    local_view(local_view&& other) noexcept : heap_{other.heap_}, cache_{other.cache_} {
        other.cache_ = &detail::no_heap_view;
    }
    local_view& operator=(local_view&&) = delete;
    ~local_view();

    [[nodiscard]] void* allocate(std::size_t size, alignment align = default_alignment) noexcept {
        return heap_->allocate_here(*cache_, size, align);
    }
    void deallocate(void* p, std::size_t size, alignment align = default_alignment,
                    call_site from = call_site::current()) noexcept {
        heap_->deallocate_here(*cache_, p, size, align, from);
    }
    void deallocate(void* p, call_site from = call_site::current()) noexcept {
        heap_->deallocate_unsized(*cache_, p, from);
    }
    [[nodiscard]] concurrent_heap& heap() const noexcept { return *heap_; }

private:
    friend class concurrent_heap;
    local_view(concurrent_heap& heap, detail::heap_cache& cache) noexcept
        : heap_{&heap}, cache_{&cache} {}

    concurrent_heap* heap_;
    detail::heap_cache* cache_;
};

static_assert(byte_allocator<concurrent_heap> && byte_allocator<concurrent_heap::local_view> &&
              resizes_in_place<concurrent_heap> && has_good_size<concurrent_heap> &&
              has_owns<concurrent_heap> && validatable<concurrent_heap>);

// ------------------------------------------------------------------------------------------------
// what is inlined into callers

inline void* concurrent_heap::allocate_here(cache& c, std::size_t size, alignment align) noexcept {
    if (!sizes::has(size, align)) [[unlikely]] { return allocate_large(size, align); }
    const unsigned k = sizes::class_of(size, align);
    void** const top = c.top(k);
    void* p = top[-1];
    if (p != nullptr) [[likely]] {
        c.set_top(k, top - 1);
    } else {
        p = take_cold(c, k);
        if (p == nullptr) [[unlikely]] { return nullptr; }
    }
    if constexpr (asserts_enabled) { note_taken(p, k); }
    unpoison(p, size);
    return p;
}

inline void concurrent_heap::deallocate_here(cache& c, void* p, std::size_t size, alignment align,
                                             [[maybe_unused]] call_site from) noexcept {
    if (p == nullptr) [[unlikely]] { return; }
    if (!sizes::has(size, align)) [[unlikely]] {
        if constexpr (asserts_enabled) { expect_large(expect_own(p, from), p, size, from); }
        deallocate_unsized(c, p, from);
        return;
    }
    const unsigned k = sizes::class_of(size, align);
    if constexpr (asserts_enabled) { note_freed(p, k, from); }
    put(c, k, p);
}

[[CAIRN_FORCE_INLINE]] inline void concurrent_heap::deallocate_here(cache& c, void* p,
                                                                    call_site from) noexcept {
    if constexpr (CAIRN_CALLER_IS_OPTIMIZED && !asserts_enabled) {
        if (p == nullptr) [[unlikely]] { return; }
        const std::size_t k = map_->kind(p) - std::size_t{1};
        if (k < sizes::class_count) [[likely]] { return put(c, static_cast<unsigned>(k), p); }
    }
    deallocate_unsized(c, p, from);
}

inline void concurrent_heap::put(cache& c, unsigned k, void* p) noexcept {
    poison(p, sizes::size_of(k));
    void** const top = c.top(k);
    // A full stack, or the newest slot once more, which is a block that is freed twice.
    if (top == c.ceiling(k) || top[-1] == p) [[unlikely]] {
        put_cold(c, k, p);
        return;
    }
    *top = p;
    c.set_top(k, top + 1);
}

}}  // namespace cairn::CAIRN_FLAVOUR
