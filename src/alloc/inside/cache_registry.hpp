// The live heaps and pools of a module, and the threads that have caches of them. Private to the
// library.
//
//      home of a module    live owners:  H3 -> H1              (serials never repeat)
//                          lock          thread A: record -> c(H3) -> c(H1)
//                                        thread B: record -> c(H1)
//
// A program and its plugins may each contain a copy of this code and of its thread-local memory. An
// owner belongs to the home of the module that made it; every function here works on the home of
// the owner that it gets, whichever module's copy of the function runs. (The dynamic linker may let
// one module's call end in another module's copy.) A module has one home for heaps and one for
// pools.
//
// The lock of a home is taken when a thread first uses an owner, when a thread exits, when an owner
// is made or ends, and around fork(). Order of locks: home, those of an owner, lists of pieces. The
// system and upstreams are called under none of them.
#pragma once

#include <cairn/alloc/inside/thread_caches.hpp>
#include <cairn/os/inside/fork.hpp>
#include <cairn/os/inside/thread_exit.hpp>
#include <cairn/os/mutex.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Free pieces of one size, in pages that never go back: records, tables, batches, caches. Not from
/// malloc, which a heap may be under.
class CAIRN_DETAIL_MODULE_LOCAL piece_list {
public:
    constexpr piece_list(std::size_t piece_size, std::size_t piece_count) noexcept
        : piece_size_{piece_size}, piece_count_{piece_count} {}

    /// Returns: memory of any content; nullptr when there is none and the system refuses.
    [[nodiscard]] void* take() noexcept;
    void give(void* piece) noexcept;
    [[nodiscard]] mutex& lock() noexcept { return lock_; }

private:
    struct link {
        link* next;
    };
    [[nodiscard]] bool add_untouched(void* memory) noexcept;

    mutex lock_;
    link* free_ = nullptr;
    std::byte* untouched_ = nullptr;  // the next one of the pages that were had last
    std::size_t untouched_count_ = 0;
    std::size_t piece_size_;
    std::size_t piece_count_;  // that are asked for at once
};

/// The tables of the calling thread, in the module of a home.
struct thread_tables {
    thread_state& state;
    cache_entry* entries;
};

/// What the registry asks of a heap or pool.
struct cache_kind {
    /// A cache without slots. Returns: nullptr: no memory. No lock is held.
    thread_cache* (*make)(cache_owner&) noexcept;
    /// All slots of a cache go back, and it is as a new one.
    void (*empty)(cache_owner&, thread_cache&) noexcept;
    // Every lock of the owner, around fork().
    void (*lock)(cache_owner&) noexcept;
    void (*unlock)(cache_owner&) noexcept;
    /// In the child of a fork: the cache of a thread that is not there, with any content.
    /// Returns: whether it is as a new one now; else it is forgotten.
    bool (*mend)(cache_owner&, thread_cache&) noexcept;
    /// In the child, when the caches are mended: the locks have no holder.
    void (*after_fork)(cache_owner&, bool had_other_threads) noexcept;
};

struct CAIRN_DETAIL_MODULE_LOCAL cache_home {
    const cache_kind* kind;
    unsigned entry_count;  // of a thread's first table; a power of two
    thread_tables (*thread)() noexcept;
    bool (*watch_exit)(thread_record&) noexcept;
    bool (*watch_forks)() noexcept;
    piece_list* shared_pieces[2] = {};  // of all owners; nullptr: not needed
    mutex lock{};
    cache_owner* live = nullptr;
    std::uint64_t owner_count = 0;    // that were ever made
    std::uint32_t taken_entries = 0;  // bit set: a live owner has this entry
    atomic<bool> forks_are_watched{false};
    bool has_others = false;  // at the last fork: other threads than the forking one
    piece_list records{sizeof(thread_record), 256};
    piece_list tables{sizeof(second_cache_table), 1};
};

struct CAIRN_DETAIL_MODULE_LOCAL cache_registry {
    /// Gives the owner its home, its serial and a place in every thread's table.
    static void enter(cache_owner& o, cache_home& home) noexcept;
    /// Detaches the owner from all threads that have caches of it.
    static void leave(cache_owner& o) noexcept;

    /// Returns: the calling thread's cache of `o`, or nullptr.
    static thread_cache* find(cache_owner& o) noexcept;
    /// Returns: nullptr when the thread is ending, or there is no memory.
    static thread_cache* find_or_make(cache_owner& o) noexcept;
    /// What a thread or view works with that got `which`, which may stand for "no cache". `here`:
    /// the thread's table in the module that calls.
    /// Returns: nullptr: it works through the locks.
    template <class Table>
    [[nodiscard]] static thread_cache* usable(cache_owner& o, thread_cache& which,
                                              Table& here) noexcept {
        if (which.owner != nullptr) { return &which; }
        if (which.is_view) { return nullptr; }
        thread_cache* const known = here.find_second(o.serial);
        return known != nullptr ? known : find_or_make(o);
    }
    /// A cache for a view. Returns: nullptr when there is no memory.
    static thread_cache* make(cache_owner& o) noexcept;
    /// Empties a cache that no thread has.
    static void give_back(cache_owner& o, thread_cache& c) noexcept;
    /// The calling thread gives up its cache of `o`, if it has one.
    static void detach(cache_owner& o) noexcept;
    static void exit_thread(cache_home& home, thread_record& record) noexcept;

    static void before_fork(cache_home& home) noexcept;
    static void after_fork_in_parent(cache_home& home) noexcept;
    static void after_fork_in_child(cache_home& home) noexcept;
};

/// What the system calls for a home: functions without arguments.
template <cache_home& Home>
struct home_hooks {
    static inline constinit thread_exit ending{[](void* record) noexcept {
        cache_registry::exit_thread(Home, *static_cast<thread_record*>(record));
    }};
    static bool watch_exit(thread_record& record) noexcept { return ending.watch(&record); }
    static bool watch_forks() noexcept {
        return around_fork([] { cache_registry::before_fork(Home); },
                           [] { cache_registry::after_fork_in_parent(Home); },
                           [] { cache_registry::after_fork_in_child(Home); });
    }
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
