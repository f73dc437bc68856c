// lab/peers/boost.hpp - what Boost has: pools, a heap in a buffer, a stack without locks, an
// allocator, a small vector.
#pragma once

#if defined(__GNUC__) && !defined(__clang__)  // gcc 12 sees a length that small_vector has not
#    pragma GCC diagnostic ignored "-Wstringop-overread"
#endif
#include <boost/container/small_vector.hpp>
#include <boost/interprocess/managed_external_buffer.hpp>
#include <boost/lockfree/queue.hpp>
#include <boost/lockfree/stack.hpp>
#include <boost/pool/object_pool.hpp>
#include <boost/pool/pool.hpp>
#include <boost/pool/pool_alloc.hpp>

#include "lab/harness/experiment.hpp"
#include "lab/peers/kinds.hpp"

namespace lab::peers {

struct boost {
    template <std::size_t Size>
    struct pool {
        static constexpr bool is_told_the_count = true;
        ::boost::pool<> slots;
        explicit pool(std::size_t count) : slots{Size, count} {}
        void* allocate() { return slots.malloc(); }
        void deallocate(void* p) { slots.free(p); }
    };

    /// Frees walk the list of free slots: 5 microseconds each in a burst.
    template <std::size_t Size>
    struct ordered_pool {
        static constexpr bool walks_on_free = true;
        ::boost::pool<> slots;
        explicit ordered_pool(std::size_t count) : slots{Size, count} {}
        void* allocate() { return slots.ordered_malloc(); }
        void deallocate(void* p) { slots.ordered_free(p); }
    };

    template <std::size_t Size>
    struct lockfree_stack {
        std::vector<std::byte> memory;
        ::boost::lockfree::stack<void*> free;
        explicit lockfree_stack(std::size_t count) : memory(count * Size + 64), free{count} {
            std::byte* first =
                memory.data() + 64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64;
            for (std::size_t i = 0; i + 1 < count; ++i) free.bounded_push(first + i * Size);
        }
        void* allocate() {
            void* p = nullptr;
            free.pop(p);
            return p;
        }
        void deallocate(void* p) { free.bounded_push(p); }
    };

    template <std::size_t Capacity>
    struct lockfree_queue {
        ::boost::lockfree::queue<void*> q{Capacity};
        bool push(void* m) { return q.bounded_push(m); }
        bool pop(void*& m) { return q.pop(m); }
    };

    template <std::size_t RegionSize>
    struct rbtree_best_fit {
        std::unique_ptr<std::byte, void (*)(void*)> memory{
            static_cast<std::byte*>(std::malloc(RegionSize)), std::free};
        ::boost::interprocess::managed_external_buffer buffer{::boost::interprocess::create_only,
                                                              memory.get(), RegionSize};
        void* allocate(std::size_t size) { return buffer.allocate(size, std::nothrow); }
        void deallocate(void* p, std::size_t) { buffer.deallocate(p); }
    };

    template <class T>
    struct objects {
        ::boost::object_pool<T> pool;
        T* construct() { return pool.construct(); }
        void destroy(T* object) { pool.destroy(object); }
    };

    template <class T>
    using node_allocator =
        ::boost::fast_pool_allocator<T, ::boost::default_user_allocator_new_delete,
                                     ::boost::details::pool::null_mutex>;

    // ---- what it offers to which family: see lab/peers/offers.hpp ----

    template <std::size_t Size>
    static void offer(kinds::pools<Size>, auto visit) {
        visit.template operator()<pool<Size>>("boost::pool");
        visit.template operator()<ordered_pool<Size>>("boost::pool, ordered");
    }
    template <std::size_t Size>
    static void offer(kinds::thread_pools<Size>, auto visit) {
        visit.template operator()<lockfree_stack<Size>>("boost::lockfree::stack");
    }
    template <std::size_t Capacity>
    static void offer(kinds::queues<Capacity>, auto visit) {
        visit.template operator()<lockfree_queue<Capacity>>("boost::lockfree::queue");
    }
    template <std::size_t RegionSize>
    static void offer(kinds::heaps<RegionSize>, auto visit) {
        visit.template operator()<rbtree_best_fit<RegionSize>>("boost rbtree_best_fit");
    }
    template <class T>
    static void offer(kinds::object_pools<T>, auto visit) {
        visit.template operator()<objects<T>>("boost::object_pool, last in first out");
    }
    template <class T>
    static void offer(kinds::small_vectors<T>, auto visit) {
        visit.template operator()<::boost::container::small_vector<T, 8>>(
            "boost::container::small_vector of 8");
    }
    static void offer(kinds::node_allocators, auto visit) {
        visit.template operator()<node_allocator>("boost::fast_pool_allocator");
    }
};

}  // namespace lab::peers
