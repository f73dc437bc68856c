// The live pools, and the threads that hold caches of them. Private to the library.
//
//      home of a module    live pools:  P3 -> P1              (serials never repeat)
//                          lock         thread A: record -> c(P3) -> c(P1)
//                                       thread B: record -> c(P1)
//
// A program and its plugins may each contain a copy of this code and of its thread-local memory. A
// pool belongs to the home of the module that made it, in which its serial and all its caches are;
// every function here works on the home of the pool that it gets, whichever module's copy of the
// function runs. (The dynamic linker may let one module's call end in another module's copy.)
//
// One lock a home for all lists, taken when a thread first uses a pool, when a thread exits, when a
// pool is made or ends, and around fork(). Order of locks: home, then a pool's shared_lock_. No
// upstream is ever called under either.
#pragma once

#include <cairn/alloc/concurrent_pool.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

struct CAIRN_DETAIL_MODULE_LOCAL detail::pool_home {
    mutex lock{};
    concurrent_pool* live_pools = nullptr;
    std::uint64_t pool_count = 0;     // that were ever made
    std::uint32_t taken_entries = 0;  // bit set: a live pool has this entry
    bool forks_are_watched = false;
    bool has_others = false;              // at the last fork: other threads than the forking one
    thread_caches& (*caches)() noexcept;  // of the calling thread, in that module
    bool (*watch_exit)(thread_record&) noexcept;  // gives its slots back when the thread ends
};

struct CAIRN_DETAIL_MODULE_LOCAL concurrent_pool_registry {
    using home = detail::pool_home;

    /// Gives the pool its home, its serial and a place in every thread's table.
    static void enter(concurrent_pool& pool) noexcept;
    /// Detaches the pool from all threads that have caches of it.
    static void leave(concurrent_pool& pool) noexcept;

    /// Returns: the calling thread's cache of `pool`, or nullptr.
    static detail::pool_cache* find(const concurrent_pool& pool) noexcept;
    static detail::pool_cache* find_in_list(const concurrent_pool& pool,
                                            const detail::thread_record& record) noexcept;
    /// Makes `c` the calling thread's. Returns: false when it is ending, or there was no memory.
    static bool attach(concurrent_pool& pool, detail::pool_cache& c) noexcept;
    /// The calling thread gives up its cache of `pool`, if it has one.
    static void detach(concurrent_pool& pool) noexcept;
    static bool is_exiting(const concurrent_pool& pool) noexcept;
    static void exit_thread(home& of, detail::thread_record& record) noexcept;

    /// Against threads that are ending.
    static mutex& lock_of(const concurrent_pool& pool) noexcept;

    static void before_fork(home& of) noexcept;
    static void after_fork_in_parent(home& of) noexcept;
    static void after_fork_in_child(home& of) noexcept;
};

}}  // namespace cairn::CAIRN_FLAVOUR
