// cairn/alloc/concurrent_pool/thread_caches.hpp - what a thread holds of a pool, and its way there.
//
//      serial of a pool --> entry of the thread's table --> cache: two magazines
//                           (32 entries)        `--other serial: the second table (1,024 entries),
//                                                  then the list of all caches of the thread
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/concurrent_pool/magazines.hpp>
#include <cairn/alloc/concurrent_pool/slot_states.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

class concurrent_pool;

namespace detail {

struct thread_record;
struct second_table;

/// What one thread or view holds of one pool.
struct pool_cache : basic_cache<std_atoms> {
    concurrent_pool* pool = nullptr;       // nullptr: no cache; see below
    std::uint64_t serial = 0;              // the pool's
    const thread_record* owner = nullptr;  // nullptr: a view's, or idle
    pool_cache* next_of_thread = nullptr;
    pool_cache** link = nullptr;  // what points here in the thread's list
    pool_cache* next_idle = nullptr;
    bool is_view = false;  // of no_view alone
    [[CAIRN_NO_UNIQUE_ADDRESS]] chunk_lookup seen{};
};

/// Head of the list of a thread's caches, guarded by the lock of the pool's home. Not in
/// thread-local memory: a pool that ends takes its caches out of the lists, also of a thread that
/// ended unseen.
struct thread_record {
    pool_cache* first = nullptr;
    second_table* second = nullptr;  // see thread_caches; nullptr: not needed yet
};

/// Where a pool was made: the module's lock, list of pools and way to its thread-local memory.
struct pool_home;

/// A thread's way to its caches. Trivial and constant-initialized: no guard, no wrapper function.
/// Each module has its own, with the caches of the pools that were made in that module.
struct thread_caches {
    static constexpr unsigned entry_count = 32;
    struct entry {
        std::uint64_t serial;  // valid for the pool with this serial; 0: none
        pool_cache* cache;
    };
    /// A serial is a number that is never used again, and below it the entry: a byte offset, so
    /// that the way there is one `and`.
    static constexpr std::uint64_t make_serial(std::uint64_t number, std::size_t at) noexcept {
        return (number * entry_count + at) * sizeof(entry);
    }
    static constexpr std::size_t entry_of(std::uint64_t serial) noexcept {
        return serial / sizeof(entry) % entry_count;
    }
    static constexpr std::uint64_t number_of(std::uint64_t serial) noexcept {
        return serial / sizeof(entry) / entry_count;
    }
    entry entries[entry_count];
    thread_record* record;  // all of them; nullptr: none yet
    bool exiting;           // they have gone back already
};

/// For a thread that uses more than 32 pools: pools that were made one after the other have
/// different entries here. 16 KiB from malloc(), read and written by the thread alone.
struct second_table {
    static constexpr std::size_t entry_count = 1024;
    thread_caches::entry entries[entry_count];
    [[nodiscard]] thread_caches::entry& of(std::uint64_t serial) noexcept {
        return entries[thread_caches::number_of(serial) % entry_count];
    }
};

#if CAIRN_SHARED
extern constinit thread_local thread_caches my_caches;
#else  // defined where it is used: the compiler then knows its offset from the thread pointer
CAIRN_DETAIL_MODULE_LOCAL inline constinit thread_local thread_caches my_caches{};
#endif

/// Stand for "no cache": empty and full at once, so that every operation takes the cold path. Known
/// by their content: their addresses differ from module to module.
// of a thread: it looks for its own there
CAIRN_DETAIL_MODULE_LOCAL inline constinit pool_cache no_cache{};
// of a view: it works through the lock, and stays so
CAIRN_DETAIL_MODULE_LOCAL inline constinit pool_cache no_view{
    {}, nullptr, 0, nullptr, nullptr, nullptr, nullptr, true, {}};

}  // namespace detail

}}  // namespace cairn::CAIRN_FLAVOUR
