// lab/families/thread_family.hpp - memory for several threads, offered alike by everybody: slots of 64
// bytes, or blocks of any size.
//
//      struct my_slots {
//          explicit my_slots(std::size_t slot_count);
//          auto view(unsigned t);     // what thread t works with: allocate(size), deallocate(p, size)
//      };
//
// Who has slots of one size does not read the sizes.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include <cairn/alloc/concurrent_budget.hpp>
#include <cairn/alloc/concurrent_heap.hpp>
#include <cairn/alloc/concurrent_pool.hpp>
#include <cairn/alloc/locked.hpp>

#include "lab/families/crew.hpp"
#include "lab/families/heap_family.hpp"
#include "lab/families/pool_family.hpp"

namespace lab::slots {

inline constexpr std::size_t slot_size = 64;

// ---- who gives slots to threads: view(t) is what thread t works with ----------------------------

template <class P>
struct shared_by_all {
    static constexpr bool has_one_size = requires(P& p) { p.allocate(); };
    P inner;
    explicit shared_by_all(std::size_t count)
        requires has_one_size
        : inner{count} {}
    explicit shared_by_all(std::size_t) {}
    struct thread_view {
        P* p;
        void* allocate(std::size_t size) {
            if constexpr (has_one_size) {
                return p->allocate();
            } else {
                return p->allocate(size);
            }
        }
        void deallocate(void* q, std::size_t size) {
            if constexpr (has_one_size) {
                p->deallocate(q);
            } else {
                p->deallocate(q, size);
            }
        }
    };
    thread_view view(unsigned) { return {&inner}; }
};

struct concurrent_slots : cairn::concurrent_pool {
    explicit concurrent_slots(std::size_t)
        : concurrent_pool{slots::slot_size, cairn::alignment{64}} {}
};
using cairn_threads = shared_by_all<concurrent_slots>;
using cairn_heap_threads = shared_by_all<cairn::concurrent_heap>;
using cairn_heap_unsized = shared_by_all<heaps::unsized_thread_heap>;

struct cairn_views : cairn_threads {
    using cairn_threads::cairn_threads;
    struct thread_view {
        cairn::concurrent_pool::local_view slots;
        void* allocate(std::size_t) { return slots.allocate(); }
        void deallocate(void* p, std::size_t) { slots.deallocate(p); }
    };
    thread_view view(unsigned) { return {inner.local()}; }
};
struct cairn_heap_views : cairn_heap_threads {
    using cairn_heap_threads::cairn_heap_threads;
    cairn::concurrent_heap::local_view view(unsigned) { return inner.local(); }
};

/// The same with a limit that is never reached: a budget that owns the heap, and one that refers to it.
inline constexpr std::size_t no_limit = std::size_t{1} << 40;
struct limited_heap : cairn::concurrent_budget<cairn::concurrent_heap> {
    limited_heap() : concurrent_budget{no_limit} {}
};
struct limit_on_a_heap {
    cairn::concurrent_heap heap;
    cairn::concurrent_budget<cairn::concurrent_heap&> limit{no_limit, heap};
    void* allocate(std::size_t size) { return limit.allocate(size); }
    void deallocate(void* p, std::size_t size) { limit.deallocate(p, size); }
};
using cairn_limited_threads = shared_by_all<limited_heap>;
using cairn_limit_threads = shared_by_all<limit_on_a_heap>;

struct cairn_locked {
    cairn::locked<cairn::pool> slots{std::size_t{slot_size}, cairn::alignment{64}};
    explicit cairn_locked(std::size_t) {}
    void* allocate() { return slots.allocate(slot_size, cairn::alignment{64}); }
    void deallocate(void* p) { slots.deallocate(p, slot_size, cairn::alignment{64}); }
};

/// fast-alloc's ThreadSafePool: its pool behind a std::mutex.
struct mutex_pool {
    fast_alloc_pool<slot_size> slots;
    std::mutex mutex;
    explicit mutex_pool(std::size_t count) : slots{count} {}
    void* allocate() {
        const std::lock_guard held{mutex};
        return slots.allocate();
    }
    void deallocate(void* p) {
        const std::lock_guard held{mutex};
        slots.deallocate(p);
    }
};

struct pmr_synchronized {
    std::pmr::synchronized_pool_resource slots;
    void* allocate(std::size_t size) { return slots.allocate(size, 8); }
    void deallocate(void* p, std::size_t size) { slots.deallocate(p, size, 8); }
};

struct locked_heap {
    cairn::locked<cairn::heap<>> heap;
    void* allocate(std::size_t size) { return heap.allocate(size); }
    void deallocate(void* p, std::size_t size) { heap.deallocate(p, size); }
};

/// Objects that were there before, one after the other, and nothing is freed.
struct no_allocator {
    std::vector<std::byte> memory = std::vector<std::byte>(8192 * slot_size + 64);
    explicit no_allocator(std::size_t) {}
    struct thread_view {
        std::byte* first;
        std::size_t next = 0;
        void* allocate(std::size_t) { return first + (next++ % 8192) * slot_size; }
        void deallocate(void*, std::size_t) {}
    };
    thread_view view(unsigned) {
        return {memory.data() + 64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64};
    }
};

}  // namespace lab::slots
