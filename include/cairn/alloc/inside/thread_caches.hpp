// cairn/alloc/inside/thread_caches.hpp - the caches that a thread has of heaps and pools, and its
// way to them.
//
//      serial of a heap or pool --> entry of the thread's table --> cache
//                                   `--other serial: second table (1,024 entries), then the list
//
//      record of a thread     cache              cache
//      +-------+              +---------+        +---------+
//      | first |------------->| next ---+------->| next    |
//      +---^---+              | link ---+--+     | link ---+--> the word that points here
//          +------------------+---------+--+     +---------+
//
// A serial is never used again: a new heap at an old address is not mistaken for the old one. Each
// module of a program has tables of its own, for the heaps and pools that were made in it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/inside/atoms.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

struct cache_owner;
struct cache_home;
struct thread_cache;

/// Head of the list of a thread's caches, guarded by the lock of the home. Not in thread-local
/// memory: an owner that ends takes its caches out of the lists, also of a thread that ended
/// unseen.
struct thread_record {
    thread_cache* first = nullptr;
};

/// What a thread or view holds of one heap or pool; its slots are in the derived class.
struct thread_cache {
    cache_owner* owner = nullptr;     // nullptr: stands for "no cache"
    std::uint64_t serial = 0;         // of the owner
    thread_record* thread = nullptr;  // nullptr: of a view, or idle
    thread_cache* next_of_owner = nullptr;
    thread_cache* next_of_thread = nullptr;
    thread_cache** link = nullptr;  // what points here in the thread's list
    thread_cache* next_idle = nullptr;
    unsigned epoch = 0;    // of the last trim() that was heeded
    bool is_view = false;  // of the view that has no cache
};

struct cache_entry {
    std::uint64_t serial;  // valid for the owner with this serial; 0: none
    thread_cache* cache;
};

/// For a thread that uses more owners than its first table has entries: owners that were made one
/// after the other have different entries here. Read and written by the thread alone.
struct second_cache_table {
    static constexpr std::size_t entry_count = 1024;

    /// The number in the serial selects the entry; below it lies the entry of the first table.
    [[nodiscard]] cache_entry& at(std::uint64_t serial, std::size_t first_table_count) noexcept {
        return entries[serial / (sizeof(cache_entry) * first_table_count) % entry_count];
    }
    cache_entry entries[entry_count];
};

struct thread_state {
    thread_record* record;       // all caches of the thread; nullptr: none yet
    second_cache_table* second;  // nullptr: not needed yet
    bool is_attaching;           // its end is being watched, which may allocate
    bool is_ending;              // the caches have gone back already
};

/// A thread's way to its caches. Trivial and constant-initialized: no guard, no wrapper function.
template <unsigned EntryCount>
struct cache_table {
    static constexpr unsigned entry_count = EntryCount;

    /// A serial is a number that is never used again, and below it the entry: a byte offset, so
    /// that the way there is one `and`.
    static constexpr std::uint64_t make_serial(std::uint64_t number, std::size_t at) noexcept {
        return (number * entry_count + at) * sizeof(cache_entry);
    }
    static constexpr std::size_t entry_of(std::uint64_t serial) noexcept {
        return serial / sizeof(cache_entry) % entry_count;
    }
    /// The entry that the owner with this serial may have. The offset is in bytes: gcc otherwise
    /// keeps the address of the table in two registers.
    [[nodiscard, CAIRN_FORCE_INLINE]] const cache_entry& at(std::uint64_t serial) const noexcept {
        constexpr std::size_t offsets = (entry_count - 1) * sizeof(cache_entry);
        const void* const entry = reinterpret_cast<const char*>(entries) + (serial & offsets);
        return *static_cast<const cache_entry*>(entry);
    }
    /// The cache of an owner whose entry another one has. The entry is this owner's from now on.
    /// Returns: nullptr when the second table does not have it either.
    [[nodiscard]] thread_cache* find_second(std::uint64_t serial) noexcept {
        if (state.second == nullptr) { return nullptr; }
        const cache_entry& known = state.second->at(serial, entry_count);
        if (known.serial != serial) { return nullptr; }
        entries[entry_of(serial)] = known;
        return known.cache;
    }

    cache_entry entries[entry_count];
    thread_state state;
};

/// Rises with each trim(). A thread that finds it new in its slow path empties its cache.
template <class Atoms>
class basic_trim_epoch {
public:
    void raise() noexcept { value_.fetch_add(1, memory_order::relaxed); }
    /// relaxed: the number alone is looked at; the slots go through the locks of the bins.
    [[nodiscard]] bool is_new(unsigned& seen) const noexcept {
        const unsigned now = value_.load(memory_order::relaxed);
        const bool differs = now != seen;
        seen = now;
        return differs;
    }

private:
    typename Atoms::template atomic<unsigned> value_{0};
};

/// Base of a heap or pool of which threads have caches. The members behind `home` are guarded by
/// its lock.
struct cache_owner {
    std::uint64_t serial = 0;
    cache_home* home = nullptr;  // of the module that made it
    basic_trim_epoch<std_atoms> epoch{};
    cache_owner* next_live = nullptr;  // in the home's list
    cache_owner** live_link = nullptr;
    thread_cache* caches = nullptr;  // all of them
    thread_cache* idle = nullptr;    // those that no thread and no view has
    std::size_t cache_count = 0;     // those of threads and views
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
