// cairn/alloc/concurrent_pool.hpp - slots of one size for any number of threads.
//
//      thread A                    thread B                 depot (one lock)
//      +----------------+          +----------------+       full magazines,  empty magazines
//      | loaded [###..] |          | loaded [#....] |  <--> chunks with free slots
//      | spare  [#####] |          | spare  [.....] |       one magazine for another,
//      +----------------+          +----------------+       every few hundred operations
//
// Each thread allocates from and frees into its own magazine, an array of pointers: no atomic, no
// lock, no owner to look up. A slot may be freed by any thread; it then belongs to that thread's
// magazine. Freed memory is not touched. magazines.hpp moves magazines, with its proof.
//
// Use it for: messages, jobs, nodes that one thread makes and another one frees.
// Look elsewhere for: one thread (pool.hpp); rare allocations (locked.hpp).
//
// Bounds:    a thread is refused only when the upstream (or slot_count_max) allows no more slots
//            and every free slot lies in the loaded magazine of another thread: at most slack() of
//            them. Spare magazines are taken from idle threads. release_this_thread() gives up what
//            is held.
// Cost:      allocate and deallocate: those of a pool plus two loads from thread-local memory;
//            every magazine_size operations the lock of the depot. O(1) but for growth (upstream
//            calls, under a mutex), exhaustion (O(threads)), and slots that go back to chunks in
//            trim() and from ending threads: O(log chunks) each.
//            Memory beyond the slots: 8 bytes and a bit a slot, and for each thread two magazines,
//            from the upstream. trim() gives chunks back; magazines stay until the pool ends.
// Threads:   any. Construction, destruction, reset(), stats() and validate(): one, while no other
//            thread uses the pool; threads that used it may outlive it.
// Thread exit: what a thread held goes back to the pool, after the destructors of its thread-local
//            objects (thread_exit.hpp). In later destructors of pthread keys, allocation works
//            through a lock. stats(), validate(), reset() may run beside threads that are ending.
// Modules:   a program and its plugins may each contain a cairn. A pool that one of them made can
//            be used in all of them: in the others through a call (docs/plugins.md). It ends before
//            the module that made it is unloaded.
// fork():    at any moment; the child may use the pool at once. What the other threads of the
//            parent had in their caches is lost to it and counts as live: at most two magazines for
//            each. A growth that another thread was in the middle of has not happened there (its
//            upstream blocks are lost); the upstream itself must work in the child, as malloc does.
//            A view that another thread was using then must not be used in the child.
// Misuse:    every build stops when a slot comes back to its chunk twice, or has no chunk. Checked
//            builds know of each slot whether it is live.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <cairn/alloc/concurrent_pool/magazines.hpp>
#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/inside/compiler.hpp>
#include <cairn/core/inside/other_names.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/core/slice.hpp>
#include <cairn/os/inside/upstream_mutex.hpp>
#include <cairn/os/system_allocator.hpp>
#include <cairn/storage/allocator_watch.hpp>
#include <cairn/storage/work_limit.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

struct concurrent_pool_options {
    std::size_t slots_per_chunk = 0;  // slots in the first chunk; 0: four magazines
    std::size_t chunk_size_max = std::size_t{4} << 20;  // bytes up to which chunks double
    std::size_t slot_count_max = SIZE_MAX;              // of all chunks together
    /// Slots; 0: 16 KiB of them, 8 to 256, at most 1/16 of slot_count_max.
    std::size_t magazine_size = 0;
    /// Untouched slots are handed out in whole cache lines, so that what two threads allocate first
    /// never shares one. Rounds magazine_size up.
    bool whole_cache_lines = true;
    /// For reports of checked builds and the memory checkers; not copied. nullptr: none.
    const char* name = nullptr;
};

struct concurrent_pool_stats {
    std::size_t live_count = 0;        // slots given out and not yet freed
    std::size_t slot_count = 0;        // slots in all chunks
    std::size_t cache_count = 0;       // threads and views that hold magazines now
    std::size_t magazine_size = 0;     // slots
    std::size_t cached_count = 0;      // free slots in the magazines of threads and views
    std::size_t depot_operations = 0;  // exchanges of magazines since construction
    std::size_t upstream_size = 0;     // bytes taken from the upstream
    bool has_lost_threads = false;     // in the child of a fork: who may hold slots, is gone
};

}  // namespace detail

/// Not movable. A new pool at an old address is not mistaken for the old one by its threads.
class concurrent_pool : private detail::cache_owner, public detail::other_names_of_pools {
public:
    using options = detail::concurrent_pool_options;
    using stats_type = detail::concurrent_pool_stats;

    concurrent_pool() = delete;  // it needs the size of a slot: concurrent_pool{64}
    explicit concurrent_pool(allocator_ref) = delete;  // it needs a slot's size: {64, upstream}

    /// A pool of slots of `slot_size` bytes at multiples of `align`; takes no memory yet.
    /// Slots lie slot_size bytes apart, rounded up to a multiple of `align`; 0 counts as 1.
    /// `upstream` is called by one thread at a time.
    explicit concurrent_pool(std::size_t slot_size, alignment align = default_alignment,
                             allocator_ref upstream = system_memory(), options how = {}) noexcept;
    concurrent_pool(std::size_t slot_size, allocator_ref upstream, options how = {}) noexcept
        : concurrent_pool{slot_size, default_alignment, upstream, how} {}
    concurrent_pool(std::size_t, std::size_t, ...) = delete;  // {64, cairn::alignment{16}}
    ~concurrent_pool();
    concurrent_pool(const concurrent_pool&) = delete;
    concurrent_pool& operator=(const concurrent_pool&) = delete;

    /// One slot, uninitialized.
    /// Returns: nullptr when exhausted up to slack(); the pool is unchanged then.
    [[nodiscard]] void* allocate() noexcept { return take(my_cache()); }

    /// Gives a slot back, from any thread; nullptr does nothing. Never fails, never touches it.
    /// Requires: `p` came from allocate() of this pool or a view of it and is live.
    void deallocate(void* p, call_site from = call_site::current()) noexcept {
        give(my_cache(), p, from);
    }

    /// As a byte_allocator: a slot, when `size` bytes at `align` fit into one; else nullptr.
    [[nodiscard]] void* allocate(std::size_t size, alignment align) noexcept {
        return take(my_cache(), size, align);
    }
    void deallocate(void* p, std::size_t size, alignment align,
                    call_site from = call_site::current()) noexcept {
        give(my_cache(), p, size, align, from);
    }

    /// Fills `out` from the front. Returns: how many slots it got; fewer only when exhausted.
    [[nodiscard]] std::size_t allocate_n(slice<void*> out) noexcept;
    void deallocate_n(slice<void* const> freed) noexcept;

    class local_view;

    /// A view with magazines of its own, to be carried along: in a worker's context, a fibre, a
    /// job. No thread-local memory is looked at. When there is no memory for its magazines, the
    /// view works through a lock as long as it lives.
    [[nodiscard]] local_view local() noexcept;

    /// Gives up what the calling thread holds: before it goes idle, at the end of a job.
    /// Does nothing in a call of the upstream, which may come in the middle of an allocation.
    void release_this_thread() noexcept;

    /// Makes sure that `slot_count` slots exist in all, and magazines for `caches_wanted` threads
    /// and views at once: then nothing is asked of the upstream until those are used up, or lie in
    /// the magazines of other threads (two magazines for each).
    /// Returns: false when the upstream or slot_count_max refuses, and, before anything is taken,
    ///          for more than four million caches.
    [[nodiscard]] bool reserve(std::size_t slot_count, std::size_t caches_wanted = 0) noexcept;

    /// Gives chunks without a live slot back to the upstream; none in a call of the upstream. Free
    /// slots in the caches of other threads keep theirs: each thread empties its cache when it next
    /// needs or leaves a magazine; release_this_thread() does it at once.
    /// `limit`:  a step is a magazine or a chunk; bytes are those that went back.
    /// Returns:  bytes that went back.
    std::size_t trim(work_limit limit = {}) noexcept { return trim_watched(limit, {}); }

    /// Frees every slot at once and keeps the memory. Requires: no other thread uses the pool;
    /// those that did may still be ending.
    /// Cost: O(chunks + magazines).
    void reset() noexcept;

    /// Calls f(upstream) while the pool does not: for an owner who shares an upstream that only one
    /// thread may call. `f` must not come back to this pool. Returns: what f returns.
    template <class F>
    decltype(auto) with_upstream(F&& f) {
        const lock_scope held{grow_lock_};
        return std::forward<F>(f)(upstream_);
    }

    /// True when `p` lies in a slot of this pool, live or free. Cost: O(log chunks), and a lock.
    [[nodiscard]] bool owns(const void* p) const noexcept { return find_chunk(p) != nullptr; }

    /// How many free slots may be out of reach for a thread that is refused: the loaded magazines
    /// of the others. Twice as many while they are in the middle of an exchange; one magazine more
    /// for a thread that has none of its own, because it is ending or there was no memory for one.
    [[nodiscard]] std::size_t slack() const noexcept;

    [[nodiscard]] std::size_t slot_size() const noexcept { return stride_; }
    [[nodiscard]] alignment slot_alignment() const noexcept { return align_; }
    /// Slots that a thread takes from the depot at a time.
    [[nodiscard]] std::size_t magazine_size() const noexcept { return depot_.magazine_size(); }
    [[nodiscard]] std::size_t good_size(std::size_t size, alignment) const noexcept {
        return size <= stride_ ? stride_ : size;
    }

    /// As options::name. Requires: no other thread uses the pool.
    void set_name(const char* name) noexcept;
    [[nodiscard]] const char* name() const noexcept { return options_.name; }

    /// Requires: no other thread uses the pool; those that did may still be ending.
    [[nodiscard]] stats_type stats() const noexcept;
    void validate() const noexcept;

protected:
    /// Called for a chunk that goes, while no lock is held: nothing else knows its slots.
    struct chunk_watch {
        void (*goes)(void* context, void* first, std::size_t slot_count) noexcept = nullptr;
        void* context = nullptr;
    };
    std::size_t trim_watched(work_limit limit, chunk_watch watch) noexcept;

private:
    friend struct concurrent_pool_caches;
    friend struct concurrent_pool_checks;
    using cache = detail::pool_cache;
    using magazine = detail::slot_batch;
    using chunk = detail::pool_chunk;
    struct place;
    struct growth;
    struct block {  // head of the upstream blocks with caches and magazines
        block* next;
        std::size_t size;
    };
    static constexpr std::size_t cache_count_max = std::size_t{1} << 22;
    static constexpr std::uint64_t ended_serial = 1;  // no table of a thread has it
    // See pool.hpp; as many null entries lie below the slots.
    static constexpr std::size_t lookahead = 8;

    cache& my_cache() noexcept {
        const detail::cache_entry& e = detail::my_pool_caches.at(serial);
        if (e.serial == serial) [[likely]] { return static_cast<cache&>(*e.cache); }
        return detail::no_cache;
    }
    void* take(cache& c) noexcept;
    void give(cache& c, void* p, call_site from) noexcept;
    void* take(cache& c, std::size_t size, alignment align) noexcept;
    void give(cache& c, void* p, std::size_t size, alignment align, call_site from) noexcept;

    void* take_cold(cache& c) noexcept;
    void give_cold(cache& c, void* p) noexcept;
    void* take_shared(cache& c) noexcept;
    [[nodiscard]] cache* usable(cache& which) noexcept;
    [[nodiscard]] [[CAIRN_NOINLINE]] bool fill(cache& c) noexcept;
    [[nodiscard]] bool refill(cache& c) noexcept;
    [[nodiscard]] bool steal(magazine*& mine, const cache* thief) noexcept;
    [[nodiscard]] bool steal_into_depot() noexcept;
    void heed_trim(cache& c) noexcept;
    void begin_end() noexcept;  // checked builds
    void expect_not_ended() const noexcept {
        CAIRN_ASSERT(serial != ended_serial,
                     "an allocator is not used while it ends, by its upstream, nor after its end",
                     {.kind = misuse_kind::outlived, .object = this, .type = "concurrent_pool"});
    }

    // Growth: concurrent_pool/growth.cpp.
    bool grow(std::size_t seen_slot_count) noexcept;
    bool add_chunk(std::size_t slot_count) noexcept;
    [[nodiscard]] std::size_t magazine_bytes() const noexcept;
    magazine* make_magazine(std::byte*& memory) noexcept;
    [[nodiscard]] std::byte* take_block(std::size_t size) noexcept;
    void link_block(std::byte* memory, std::size_t size) noexcept;
    void give_chunk_back(chunk& c) noexcept;
    [[nodiscard]] chunk* take_empty_chunk() noexcept;

    [[nodiscard]] chunk* find_held(const void* p) const noexcept;
    [[nodiscard]] chunk* find_chunk(const void* p) const noexcept;
    template <class F>
    void visit_chunks(F&& f) const noexcept;
    [[noreturn]] void freed_wrongly(const void* p, bool has_chunk) const noexcept;
    [[nodiscard]] [[CAIRN_COLD]] detail::evidence about_size(std::size_t freed,
                                                             call_site from) const noexcept;
    [[nodiscard]] [[CAIRN_COLD]] detail::evidence about_alignment(alignment freed,
                                                                  call_site from) const noexcept;

    static constexpr std::size_t unknown = SIZE_MAX;
    std::size_t known_live_count() const noexcept;
    detail::concurrent_pool_stats count() const noexcept;  // stats(), with the locks held
    void remember(cache& which, const chunk& c) noexcept;
    // Checked builds: each slot is live or free. concurrent_pool/checked.hpp.
    void note_taken(cache& c, void* p) noexcept;
    void note_freed(cache& c, void* p, call_site from) noexcept;
    void check_taken(cache& c, void* p) noexcept;
    void check_freed(cache& c, void* p, call_site from) noexcept;

    // Read by every operation, written never. (The serial of the base holds the place in every
    // thread's table, too: a load less than a word of its own.)
    std::size_t stride_;
    alignment align_;
#if CAIRN_ASSERTS
    detail::slot_numbers number_{stride_};
#endif

    //  slot_count = live + in magazines + free by their bits; live includes lost_count_
    // Under the lock of the depot, so that the child of a fork finds all of a growth or nothing.
    detail::atomic<std::size_t> slot_count_{0};
    static constexpr std::size_t first_chunks_max = 4;
    chunk* first_chunks_[first_chunks_max] = {};
    chunk** chunks_ = first_chunks_;  // sorted by address
    std::size_t chunk_count_ = 0;
    std::size_t chunk_capacity_ = first_chunks_max;
    std::size_t magazine_count_ = 0;    // those that caches did not bring along
    std::size_t magazines_wanted_ = 0;  // for the slots that there are
    std::size_t upstream_size_ = 0;     // bytes, slots included
    block* blocks_ = nullptr;
    alignas(cache_line_size) mutable detail::magazine_depot depot_;

    // Growth: under grow_lock_, which is held while the upstream works.
    mutable detail::upstream_mutex grow_lock_;
    allocator_ref upstream_;
    options options_;
    std::size_t next_chunk_slots_;
    std::size_t next_number_ = 0;  // of the first slot of the next chunk, in reports

    // In the child of a fork.
    std::size_t lost_count_ = 0;  // slots in the hands of threads that are not there
    bool has_lost_threads_ = false;

    // Of the name alone: any thread may be inside.
    [[CAIRN_NO_UNIQUE_ADDRESS]] detail::allocator_watch watch_;
};

/// A cache that belongs to this object; one thread at a time.
/// Lifetimes: must die before its pool.
class concurrent_pool::local_view {
public:
    local_view(local_view&& other) noexcept : pool_{other.pool_}, cache_{other.cache_} {
        other.cache_ = &detail::no_view;
    }
    local_view& operator=(local_view&&) = delete;
    ~local_view();

    [[nodiscard]] void* allocate() noexcept { return pool_->take(*cache_); }
    void deallocate(void* p, call_site from = call_site::current()) noexcept {
        pool_->give(*cache_, p, from);
    }
    [[nodiscard]] void* allocate(std::size_t size, alignment align) noexcept {
        return pool_->take(*cache_, size, align);
    }
    void deallocate(void* p, std::size_t size, alignment align,
                    call_site from = call_site::current()) noexcept {
        pool_->give(*cache_, p, size, align, from);
    }

    [[nodiscard]] concurrent_pool& pool() const noexcept { return *pool_; }

private:
    friend class concurrent_pool;
    local_view(concurrent_pool& pool, detail::pool_cache& cache) noexcept
        : pool_{&pool}, cache_{&cache} {}

    concurrent_pool* pool_;
    detail::pool_cache* cache_;
};

static_assert(byte_allocator<concurrent_pool> && byte_allocator<concurrent_pool::local_view> &&
              has_owns<concurrent_pool> && has_good_size<concurrent_pool> &&
              resettable<concurrent_pool> && validatable<concurrent_pool>);

}}  // namespace cairn::CAIRN_FLAVOUR

#include <cairn/alloc/concurrent_pool/hot_path.hpp>
#if CAIRN_ASSERTS
#    include <cairn/alloc/concurrent_pool/checked.hpp>
#endif
