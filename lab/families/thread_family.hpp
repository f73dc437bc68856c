// lab/families/thread_family.hpp - memory for several threads, offered alike by everybody: slots of 64
// bytes, or blocks of any size.
//
//      struct my_slots {
//          explicit my_slots(std::size_t slot_count);
//          auto view(unsigned t);                    // what thread t works with:
//          std::size_t depot_operations() const;     //   allocate(size), deallocate(p, size)
//      };
//
// Who has slots of one size does not read the sizes.
#pragma once

#include <atomic>
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
    std::size_t depot_operations() const { return 0; }
};

/// The hand-written limit: two magazines a thread, a depot of magazines under a spin lock.
template <std::size_t M>
struct magazine_limit {
    struct magazine {
        std::size_t count = 0;
        void* slots[M];
    };
    std::vector<std::byte> memory;
    std::atomic_flag lock = ATOMIC_FLAG_INIT;
    std::vector<magazine*> full;
    std::vector<magazine*> empty;
    std::vector<std::unique_ptr<magazine>> all;
    struct alignas(128) thread_view {
        magazine_limit* depot;
        magazine* loaded;
        magazine* spare;
        void* allocate(std::size_t) {
            if (loaded->count == 0) [[unlikely]] {
                if (spare->count != 0) {
                    std::swap(loaded, spare);
                } else {
                    depot->exchange(loaded, depot->empty, depot->full);
                }
            }
            return loaded->slots[--loaded->count];
        }
        void deallocate(void* p, std::size_t) {
            if (loaded->count == M) [[unlikely]] {
                if (spare->count == 0) {
                    std::swap(loaded, spare);
                } else {
                    depot->exchange(loaded, depot->full, depot->empty);
                }
            }
            loaded->slots[loaded->count++] = p;
        }
    };
    explicit magazine_limit(std::size_t count) : memory((count + 64 * M) * slot_size + 64) {
        std::size_t next = 64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64;
        for (std::size_t m = 0; m != count / M + 32; ++m) {
            full.push_back(make());
            while (full.back()->count != M) {
                full.back()->slots[full.back()->count++] = memory.data() + next;
                next += slot_size;
            }
        }
        for (int i = 0; i != 64; ++i) empty.push_back(make());
    }
    magazine* make() { return all.emplace_back(std::make_unique<magazine>()).get(); }
    [[gnu::noinline]] void exchange(magazine*& mine, std::vector<magazine*>& to,
                                    std::vector<magazine*>& from) {
        wait_until([&] { return !lock.test_and_set(std::memory_order_acquire); });
        to.push_back(mine);
        mine = from.back();
        from.pop_back();
        lock.clear(std::memory_order_release);
    }
    thread_view view(unsigned) {  // each thread asks for its own
        wait_until([&] { return !lock.test_and_set(std::memory_order_acquire); });
        const thread_view mine{this, make(), make()};
        lock.clear(std::memory_order_release);
        return mine;
    }
    std::size_t depot_operations() const { return 0; }
};

struct cairn_threads {
    cairn::concurrent_pool slots{slot_size, cairn::alignment{64}};
    explicit cairn_threads(std::size_t) {}
    struct thread_view {
        cairn::concurrent_pool* p;
        void* allocate(std::size_t) { return p->allocate(); }
        void deallocate(void* q, std::size_t) { p->deallocate(q); }
    };
    thread_view view(unsigned) { return {&slots}; }
    std::size_t depot_operations() const { return slots.stats().depot_operations; }
};

/// A heap of any size. Where all blocks have one size, the compiler knows it.
template <class Heap>
struct cairn_heap_of {
    Heap heap;
    explicit cairn_heap_of(std::size_t) {}
    struct thread_view {
        Heap* h;
        void* allocate(std::size_t size) { return h->allocate(size); }
        void deallocate(void* q, std::size_t size) { h->deallocate(q, size); }
    };
    thread_view view(unsigned) { return {&heap}; }
    std::size_t depot_operations() const { return 0; }
};
using cairn_heap_threads = cairn_heap_of<cairn::concurrent_heap>;
using cairn_heap_unsized = shared_by_all<heaps::unsized_thread_heap>;

struct cairn_heap_views : cairn_heap_threads {
    using cairn_heap_threads::cairn_heap_threads;
    cairn::concurrent_heap::local_view view(unsigned) { return heap.local(); }
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
using cairn_limited_threads = cairn_heap_of<limited_heap>;
using cairn_limit_threads = cairn_heap_of<limit_on_a_heap>;

struct cairn_views {
    cairn::concurrent_pool slots{slot_size, cairn::alignment{64}};
    explicit cairn_views(std::size_t) {}
    struct thread_view {
        cairn::concurrent_pool::local_view slots;
        void* allocate(std::size_t) { return slots.allocate(); }
        void deallocate(void* p, std::size_t) { slots.deallocate(p); }
    };
    thread_view view(unsigned) { return {slots.local()}; }
    std::size_t depot_operations() const { return slots.stats().depot_operations; }
};

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
    std::size_t depot_operations() const { return 0; }
};

}  // namespace lab::slots
