// Who is alive: pools, and the threads that hold caches of them. Private to the library.
//
//      live pools:  P3 -> P1                     (serials never repeat)
//      thread A:    my_caches.first -> c(P3) -> c(P1)
//      thread B:    my_caches.first -> c(P1)
//
// One lock for all lists, taken when a thread first uses a pool, when a thread exits, when a pool is made or dies,
// and around fork(). Order of locks: registry, then a pool's shared_lock_. No upstream is ever called under either.
#pragma once

#include <cairn/alloc/concurrent_pool.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

struct concurrent_pool_registry {
    /// Gives the pool its serial and a place in every thread's table.
    static void enter(concurrent_pool& pool) noexcept;
    /// Detaches the pool from all threads that have caches of it.
    static void leave(concurrent_pool& pool) noexcept;

    static void attach(concurrent_pool& pool, detail::pool_cache& c) noexcept;
    static detail::pool_cache* find(const concurrent_pool& pool) noexcept;
    static void exit_thread() noexcept;

    static void before_fork() noexcept;
    static void after_fork_in_parent() noexcept;
    static void after_fork_in_child() noexcept;
};

}  // namespace cairn::inline CAIRN_FLAVOUR
