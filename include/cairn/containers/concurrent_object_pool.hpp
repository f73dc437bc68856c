// cairn/containers/concurrent_object_pool.hpp - objects built once, for any number of threads.
//
//      slot:  | object | mark | next |     mark: 0 no object yet; idle; live
//
//      acquire   a slot from the concurrent_pool; its mark says whether an object is built in it
//      release   the slot goes back; the object in it stays as it is
//
//      thread A                     thread B                   depot of the concurrent_pool
//      +------------------+         +------------------+       +--------------------------+
//      | idle [o o o . .] |         | idle [o . . . .] | <---> | magazines of idle slots, |
//      +------------------+         +------------------+       | slots never used yet     |
//                                                              +--------------------------+
//
// A concurrent_pool never touches the slots that it keeps. So an object stays built while its slot
// is free, and the thread that is given the slot next finds it there. That is all: this class adds
// the mark, the hooks and the leases.
//
// Use it for: what object_pool is for, where threads hand objects to each other (messages).
// Look elsewhere for: one thread at a time (object_pool: no atomic, trim(), surplus destroyed);
//   a pool for each thread (per_thread<object_pool<T>>) when none is handed over.
//
// Invariant: an object is destroyed only by the pool's destructor.
// Callbacks: hooks, constructors and destructors may acquire and release other objects. While the
//            pool ends, a destructor gets an empty lease, or an object that ends, too.
// Cost:      acquire: concurrent_pool's, one atomic exchange, the hooks. release: the same. 16
//            bytes a slot. A thread may build an object although other threads keep idle ones at
//            hand.
// Threads:   acquire, release, prewarm and the counts: any; an object may be released by another
//            thread than acquired it. Hooks and constructors run on the calling thread, at the same
//            time on several. All else: while no other thread uses the pool.
// fork():    at any moment: docs/gotchas.md.
// Errors:    exhausted or full: an empty lease, nullptr (a thread may be refused while others keep
//            idle objects: concurrent_pool::slack()). A release of an object that is not live here
//            stops the program in every build. A second release after the object was acquired again
//            is one of the new owner's: the pool cannot tell, and a lease cannot do it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <utility>

#include <cairn/alloc/concurrent_pool.hpp>
#include <cairn/containers/concurrent_object_pool/zeroed_memory.hpp>
#include <cairn/containers/inside/object_slots.hpp>
#include <cairn/containers/pool_hooks.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/inside/atomic.hpp>
#include <cairn/core/inside/element.hpp>
#include <cairn/core/inside/other_names.hpp>
#include <cairn/core/inside/rollback.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/os/system_allocator.hpp>
#include <cairn/owners/lease.hpp>
#include <cairn/storage/work_limit.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

struct concurrent_object_pool_options {
    /// A pool of this many objects refuses to build more.
    std::size_t object_count_max = SIZE_MAX;
};

struct concurrent_object_pool_stats {
    std::size_t live;    // acquired now
    std::size_t idle;    // built and waiting
    std::size_t peak;    // most that there were, live and idle: a count of the live is too dear
    std::size_t misses;  // acquires that built an object, or were refused
};

}  // namespace detail

template <detail::element T, class Hooks = pool_hooks<>, hook_rules Rules = hook_rules::all>
class concurrent_object_pool : public detail::other_names_of_object_pools {
public:
    using value_type = T;
    using lease_type = lease<concurrent_object_pool>;

    using options = detail::concurrent_object_pool_options;
    using stats_type = detail::concurrent_object_pool_stats;

    concurrent_object_pool() noexcept : concurrent_object_pool{system_memory()} {}
    explicit concurrent_object_pool(allocator_ref upstream, const options& how = {}) noexcept
        : concurrent_object_pool{Hooks{}, upstream, how} {}
    explicit concurrent_object_pool(const options& how) noexcept
        : concurrent_object_pool{Hooks{}, system_memory(), how} {}
    explicit concurrent_object_pool(Hooks hooks, allocator_ref upstream = system_memory(),
                                    const options& how = {}) noexcept
        : upstream_{upstream},
          slots_{sizeof(slot),
                 alignment::of<slot>(),
                 upstream_,
                 {.slot_count_max = how.object_count_max}},
          hooks_{std::move(hooks)},
          object_count_max_{how.object_count_max} {}
    explicit concurrent_object_pool(std::size_t, ...) = delete;  // objects: prewarm(32)
    concurrent_object_pool(const concurrent_object_pool&) = delete;
    concurrent_object_pool& operator=(const concurrent_object_pool&) = delete;

    /// Requires: every lease has ended, but for those of threads that a fork left behind. Destroys
    /// all objects.
    ~concurrent_object_pool() {
        static_assert(sizeof(detail::concrete_rules<T>) != 0);
        CAIRN_ASSERT(count().live == 0 || slots_.stats().has_lost_threads,
                     "every object comes back before the pool ends");
        // A destructor that acquires gets none of these; what it lets the pool build ends, too.
        while (slot* const first = built_.exchange(nullptr, detail::memory_order::acquire)) {
            for (slot* s = first; s != nullptr; s = s->next) {
                detail::unpoison_defined(s, sizeof(slot));
                s->mark.store(ended_mark, detail::memory_order::relaxed);
            }
            for (slot* s = first; s != nullptr; s = s->next) { s->object()->~T(); }
        }
    }

    /// An object, built if the slot has none; its hook for leaving the pool runs.
    /// Returns: an empty lease when the pool is full or the allocator exhausted.
    /// Throws:  what T's constructor throws; the slot is free again then. What the hooks throw; the
    ///          object is idle again then.
    [[nodiscard]] lease_type acquire() { return lease_type{*this, acquire_raw()}; }

    /// As acquire(), for callers who call release(). Returns: nullptr as above.
    [[nodiscard]] T* acquire_raw() {
        slot* const s = take_slot();
        if (s == nullptr) [[unlikely]] {
            misses_.fetch_add(1, detail::memory_order::relaxed);
            return nullptr;
        }
        detail::rollback undo{[&]() noexcept { give_slot(s); }};
        if (const std::uint32_t mark = s->mark.load(detail::memory_order::relaxed);
            mark <= ended_mark) [[unlikely]] {
            misses_.fetch_add(1, detail::memory_order::relaxed);
            if (mark == ended_mark) { return nullptr; }
            build(s);
        }
        detail::tell_acquired<Rules>(hooks_, *s->object());
        s->mark.store(live_mark(), detail::memory_order::relaxed);
        undo.cancel();
        return s->object();
    }

    /// Gives an object back, from any thread. Its hook runs, and it stays built.
    /// Requires: `object` is live in this pool; anything else stops the program in every build.
    void release(T* object, call_site from = call_site::current()) noexcept {
        CAIRN_ASSERT(object != nullptr, "an object is released once, to the pool it came from");
        slot* const s = reinterpret_cast<slot*>(object);
        // Relaxed: which of two threads wins is all that it decides; the pool hands the object on.
        if (s->mark.exchange(idle_mark(), detail::memory_order::relaxed) != live_mark())
            [[unlikely]] {
            detail::refuse_release(this, "concurrent_object_pool", from);
        }
        detail::tell_released<Rules>(hooks_, *object);
        give_slot(s);
    }
    void release(T& object, call_site from = call_site::current()) noexcept {
        release(compiler::address_of(object), from);
    }

    /// Builds until the pool has `count` objects in all, on `thread_count` threads. Each builds in
    /// slots of its own; they share no cache line. Other threads may work meanwhile.
    /// Returns: false when the pool would exceed its maximum: nothing has changed then. False when
    ///          the allocator is exhausted, or up to concurrent_pool::slack() of the slots that are
    ///          left lie in the hands of threads that were there before: what was built stays,
    ///          idle.
    /// Cost:    8 bytes of memory for each of `count`, given back at the end.
    /// Throws:  what the first constructor that threw has thrown, after all threads have ended; the
    ///          objects that were built stay, idle, and the pool works on.
    [[nodiscard]] bool prewarm(std::size_t count, std::size_t thread_count = 1);

    /// Objects that are built, live and idle.
    [[nodiscard]] std::size_t object_count() const noexcept {
        return built_count_.load(detail::memory_order::relaxed);
    }
    /// Objects that were built in acquire(), because none was idle.
    [[nodiscard]] std::size_t miss_count() const noexcept {
        return misses_.load(detail::memory_order::relaxed);
    }
    /// Gives up the idle objects that the calling thread keeps at hand: before it goes idle.
    void release_this_thread() noexcept { slots_.release_this_thread(); }

    /// Destroys the idle objects of chunks in which none is live, and gives the chunks back. As
    /// concurrent_pool::trim(), idle objects in the caches of other threads keep their chunks.
    /// Requires: one thread at a time. Returns: bytes that went back.
    /// Cost:     O(objects) for each chunk that goes.
    std::size_t trim(work_limit limit = {}) noexcept {
        return slots_.trim_objects(
            limit,
            [](void* pool, void* first, std::size_t count) noexcept {
                static_cast<concurrent_object_pool*>(pool)->end_objects(static_cast<slot*>(first),
                                                                        count);
            },
            this);
    }

    /// O(objects). Requires: no other thread uses the pool.
    [[nodiscard]] stats_type stats() const noexcept {
        const counts now = count();
        return {now.live, now.built - now.live, now.built, miss_count()};
    }
    /// O(slots). Requires: no other thread uses the pool.
    void validate() const noexcept {
        slots_.validate();
        [[maybe_unused]] const counts now = count();
        [[maybe_unused]] const concurrent_pool::stats_type s = slots_.stats();
        CAIRN_ASSERT(
            s.has_lost_threads || (now.live == s.live_count && now.built == object_count()),
            "each object is live or its slot is free");
    }

private:
    struct slot {
        alignas(T) std::byte bytes[sizeof(T)];  // first: a T* is the slot's address
        detail::atomic<std::uint32_t> mark;     // 0 in fresh memory: no object
        slot* next;                             // of all slots with an object; written once
        [[nodiscard]] T* object() noexcept { return std::launder(reinterpret_cast<T*>(bytes)); }
    };

    struct counts {
        std::size_t built = 0;
        std::size_t live = 0;
    };
    /// By the marks: what the slots' pool counts as live includes what a fork has put out of reach.
    [[nodiscard]] counts count() const noexcept {
        counts c;
        for (const slot* s = built_.load(detail::memory_order::acquire); s != nullptr;
             s = s->next) {
            ++c.built;
            c.live += s->mark.load(detail::memory_order::relaxed) == live_mark() ? 1u : 0u;
        }
        return c;
    }

    /// From the pool's address, so that a foreign object does not match.
    [[nodiscard]] std::uint32_t idle_mark() const noexcept {
        return (static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(this) >> 3) | 2u) & ~1u;
    }
    static constexpr std::uint32_t ended_mark = 1;  // the pool ends; 0: no object; others: above
    [[nodiscard]] std::uint32_t live_mark() const noexcept { return idle_mark() | 1u; }

    [[nodiscard]] slot* take_slot() noexcept {
        void* const memory = slots_.allocate();
        if (memory == nullptr) [[unlikely]] { return nullptr; }
        detail::unpoison_defined(memory, sizeof(slot));  // who gave it back left an object in it
        return static_cast<slot*>(memory);
    }
    void give_slot(slot* s) noexcept {
        slots_.deallocate(s);
        if constexpr (detail::poison_is_watched) {  // for release() and count()
            detail::unpoison_defined(&s->mark, sizeof s->mark);
            detail::unpoison_defined(&s->next, sizeof s->next);
        }
    }

    void build(slot* s) {
        detail::construct_pooled<T>(hooks_, static_cast<void*>(s->bytes));
        s->mark.store(idle_mark(), detail::memory_order::relaxed);
        s->next = built_.load(detail::memory_order::relaxed);
        // Release: the destructor, which walks this list, sees the object and the link.
        while (!built_.compare_exchange_weak(s->next, s, detail::memory_order::release,
                                             detail::memory_order::relaxed)) {}
        built_count_.fetch_add(1, detail::memory_order::relaxed);
    }

    /// Destroys what is built in `count` slots, none of which is live or known to another thread.
    void end_objects(slot* first, std::size_t count) noexcept {
        detail::unpoison_defined(first, count * sizeof(slot));
        // Others add in front of the first link meanwhile; the links behind it are this thread's.
        const auto goes = [&](const slot* s) noexcept {
            return std::less_equal<>{}(first, s) && std::less<>{}(s, first + count);
        };
        slot* s = built_.load(detail::memory_order::acquire);
        while (s != nullptr && goes(s)) {
            if (built_.compare_exchange_weak(s, s->next, detail::memory_order::acq_rel,
                                             detail::memory_order::acquire)) {
                s = s->next;
            }
        }
        for (; s != nullptr; s = s->next) {
            while (s->next != nullptr && goes(s->next)) { s->next = s->next->next; }
        }
        for (std::size_t i = 0; i < count; ++i) {
            if (first[i].mark.load(detail::memory_order::relaxed) == 0) { continue; }
            first[i].object()->~T();
            built_count_.fetch_sub(1, detail::memory_order::relaxed);
        }
    }

    /// The pool of the slots, whose chunks are watched.
    struct slot_pool : concurrent_pool {
        using concurrent_pool::concurrent_pool;
        std::size_t trim_objects(work_limit limit, void (*goes)(void*, void*, std::size_t) noexcept,
                                 void* context) noexcept {
            return trim_watched(limit, {goes, context});
        }
    };

    detail::zeroed_memory upstream_;
    slot_pool slots_;
    [[CAIRN_NO_UNIQUE_ADDRESS]] Hooks hooks_;
    std::size_t object_count_max_;
    detail::atomic<slot*> built_{nullptr};
    detail::atomic<std::size_t> built_count_{0};
    detail::atomic<std::size_t> misses_{0};
};

// ------- cold

template <detail::element T, class Hooks, hook_rules Rules>
bool concurrent_object_pool<T, Hooks, Rules>::prewarm(std::size_t count, std::size_t thread_count) {
    const std::size_t built = object_count();
    if (count <= built) { return true; }
    if (count > object_count_max_ || count > PTRDIFF_MAX / sizeof(slot*)) { return false; }
    struct work {
        concurrent_object_pool* pool;
        slot** held;  // what all parts have taken: objects that were there come up too, and may not
        std::size_t held_max;  // come up again
        detail::atomic<std::size_t> held_count{0};

        /// Builds `missing` objects. Returns: false when it is given no slot for one.
        bool build(std::size_t missing) {
            while (missing != 0) {
                slot* const s = pool->take_slot();
                if (s == nullptr) { return false; }
                const std::size_t place = held_count.fetch_add(1, detail::memory_order::relaxed);
                if (place >= held_max) {  // others have built meanwhile: there are enough
                    pool->give_slot(s);
                    return true;
                }
                held[place] = s;
                if (s->mark.load(detail::memory_order::relaxed) == 0) {
                    pool->build(s);
                    --missing;
                }
            }
            return true;
        }
        ~work() {
            // Relaxed: the threads that counted have ended, and were waited for.
            const std::size_t claimed = held_count.load(detail::memory_order::relaxed);
            for (std::size_t i = 0; i < claimed && i < held_max; ++i) { pool->give_slot(held[i]); }
            pool->slots_.with_upstream([this](allocator_ref) {
                pool->upstream_.unzeroed().deallocate(held, held_max * sizeof(slot*),
                                                      default_alignment);
            });
        }
    };
    void* const held = slots_.with_upstream([this, count](allocator_ref) {
        return upstream_.unzeroed().allocate(count * sizeof(slot*), default_alignment);
    });
    if (held == nullptr) { return false; }
    work job{this, static_cast<slot**>(held), count};
    detail::run_in_parts(
        count - built, thread_count, 1,
        [](void* context, std::size_t, std::size_t first, std::size_t last) {
            auto& j = *static_cast<work*>(context);
            if (j.build(last - first)) { j.pool->release_this_thread(); }
        },
        compiler::address_of(job));
    // A part may have been refused while others had the last slots at hand. They have ended.
    return object_count() >= count || job.build(count - object_count());
}

}}  // namespace cairn::CAIRN_FLAVOUR
