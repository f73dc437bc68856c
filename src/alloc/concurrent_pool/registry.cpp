// Threads and pools finding and leaving each other; see registry.hpp.
#include "registry.hpp"

#include <bit>
#include <cstdlib>
#include <new>

#include <cairn/alloc/inside/cache_links.hpp>
#include <cairn/os/inside/fork.hpp>
#include <cairn/os/inside/thread_exit.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

#if CAIRN_SHARED
constinit thread_local detail::thread_caches detail::my_caches{};
#endif

namespace {

using detail::pool_cache;
using detail::pool_home;
using detail::second_table;
using detail::thread_caches;
using detail::thread_record;

thread_caches& caches_here() noexcept { return detail::my_caches; }
bool watch_exit_here(thread_record& record) noexcept;

// The one of this module; functions get at it through the pool that they are called for.
constinit pool_home this_module{.caches = &caches_here, .watch_exit = &watch_exit_here};

constinit detail::thread_exit caches_ending{[](void* record) noexcept {
    concurrent_pool_registry::exit_thread(this_module, *static_cast<thread_record*>(record));
}};

bool watch_exit_here(thread_record& record) noexcept { return caches_ending.watch(&record); }

//     serial = (number * 32 + entry) * 16             what each thread's table compares
//     number = address of the home / 8 * 2^11 + pools made by it so far
/// No two pools of a process have the same, whichever modules they are of: a module's numbers begin
/// at the address of its home, whose bytes are no other module's. Numbers of two modules meet after
/// 256 pools for each byte between their homes: millions.
std::uint64_t pool_number(const pool_home& home) noexcept {
    static_assert(alignof(pool_home) == 8);
    return (reinterpret_cast<std::uintptr_t>(&home) / alignof(pool_home) << 11) + home.pool_count;
}
static_assert(thread_caches::make_serial(std::uint64_t{1} << 54, 0) != 0, "44 + 11 bits fit");

/// Returns: nullptr when the thread is ending or there is no memory.
thread_record* record_of(const pool_home& home, thread_caches& mine) noexcept {
    if (mine.record == nullptr && !mine.exiting) {
        void* const memory = std::malloc(sizeof(thread_record));
        if (memory == nullptr) { return nullptr; }
        // Watched before it is used: a thread whose end is not reported would keep its caches
        // for ever. It works through the lock instead.
        auto* const record = ::new (memory) thread_record;
        if (!home.watch_exit(*record)) {
            std::free(memory);
            return nullptr;
        }
        mine.record = record;
    }
    return mine.record;
}

}  // namespace

void concurrent_pool_registry::enter(concurrent_pool& pool) noexcept {
    pool_home& home = this_module;
    const lock_scope held{home.lock};
    // With the first pool, once for the module: there is no way to take it back. Asked again where
    // the system had no room for it.
    if (!home.forks_are_watched) {
        home.forks_are_watched = detail::around_fork([] { before_fork(this_module); },
                                                     [] { after_fork_in_parent(this_module); },
                                                     [] { after_fork_in_child(this_module); });
    }
    ++home.pool_count;
    // Where more pools live than there are entries, pools share entries. A thread that changes from
    // one such pool to another then looks into its second table (find()).
    constexpr std::size_t count = thread_caches::entry_count;
    static_assert(count == 32, "a bit for each in taken_entries");
    const auto lowest = static_cast<std::size_t>(std::countr_one(home.taken_entries));
    const std::size_t at = lowest < count ? lowest : home.pool_count % count;
    pool.home_ = &home;
    pool.serial_ = thread_caches::make_serial(pool_number(home), at);
    home.taken_entries |= std::uint32_t{1} << at;
    // Last: from here on fork() and ending threads find the pool, complete.
    pool.next_live_ = home.live_pools;
    pool.live_link_ = &home.live_pools;
    if (home.live_pools != nullptr) { home.live_pools->live_link_ = &pool.next_live_; }
    home.live_pools = &pool;
}

void concurrent_pool_registry::leave(concurrent_pool& pool) noexcept {
    pool_home& home = *pool.home_;
    const lock_scope held{home.lock};
    *pool.live_link_ = pool.next_live_;
    if (pool.next_live_ != nullptr) { pool.next_live_->live_link_ = pool.live_link_; }
    // The entry is free for another pool when no live one has it. What threads have in it stays:
    // its serial never comes again.
    bool entry_is_shared = false;
    for (const concurrent_pool* p = home.live_pools; p != nullptr; p = p->next_live_) {
        entry_is_shared = entry_is_shared || p->entry() == pool.entry();
    }
    if (!entry_is_shared) { home.taken_entries &= ~(std::uint32_t{1} << pool.entry()); }
    // Threads that hold caches of this pool keep their records, from which the caches go: a thread
    // that ends later finds nothing of it. One that is ending now waits for the lock, or has it and
    // is finished with this pool before it lets go.
    for (auto* c = pool.depot_.first_cache(); c != nullptr; c = c->next) {
        if (auto& mine = static_cast<pool_cache&>(*c); mine.owner != nullptr) {
            detail::unlink_cache(mine);
        }
    }
}

bool concurrent_pool_registry::attach(concurrent_pool& pool, pool_cache& c) noexcept {
    thread_caches& mine = pool.home_->caches();
    thread_record* const record = record_of(*pool.home_, mine);
    // Outside of the lock: it allocates, and calls the system. The record is this thread's own.
    if (record == nullptr) { return false; }
    const lock_scope held{pool.home_->lock};
    detail::link_cache(*record, c);
    mine.entries[pool.entry()] = {pool.serial_, &c};
    return true;
}

pool_cache* concurrent_pool_registry::find(const concurrent_pool& pool) noexcept {
    thread_caches& mine = pool.home_->caches();
    thread_caches::entry& entry = mine.entries[pool.entry()];
    if (entry.serial == pool.serial_) { return entry.cache; }  // asked by another module
    if (mine.record == nullptr) { return nullptr; }
    // Another pool has the entry, or none has. The entry is this pool's from now on.
    if (second_table* const second = mine.record->second; second != nullptr) {
        if (second->of(pool.serial_).serial == pool.serial_) {
            entry = second->of(pool.serial_);
            return entry.cache;
        }
    }
    pool_cache* const c = find_in_list(pool, *mine.record);
    if (c == nullptr) { return nullptr; }
    entry = {pool.serial_, c};
    // Two pools share an entry of the first table. Without memory the list is searched again.
    if (mine.record->second == nullptr) {
        mine.record->second = static_cast<second_table*>(std::calloc(1, sizeof(second_table)));
    }
    if (mine.record->second != nullptr) { mine.record->second->of(pool.serial_) = entry; }
    return c;
}

pool_cache* concurrent_pool_registry::find_in_list(const concurrent_pool& pool,
                                                   const thread_record& record) noexcept {
    const lock_scope held{pool.home_->lock};  // a pool may be dying on another thread
    for (pool_cache* c = record.first; c != nullptr; c = c->next_of_thread) {
        if (c->serial == pool.serial_) { return c; }
    }
    return nullptr;
}

void concurrent_pool_registry::detach(concurrent_pool& pool) noexcept {
    pool_cache* const c = find(pool);
    if (c != nullptr) {
        const lock_scope held{pool.home_->lock};  // for both: a fork in between would lose it
        detail::unlink_cache(*c);
        thread_caches& mine = pool.home_->caches();
        mine.entries[pool.entry()] = {0, nullptr};
        if (second_table* const second = mine.record->second; second != nullptr) {
            second->of(pool.serial_) = {0, nullptr};
        }
        pool.give_cache_back(*c);
    }
}

bool concurrent_pool_registry::is_exiting(const concurrent_pool& pool) noexcept {
    return pool.home_->caches().exiting;
}

void concurrent_pool_registry::exit_thread(home& of, thread_record& record) noexcept {
    {
        // Order of locks: home, then shared_lock_ in give_cache_back(). A pool that is ending waits
        // in leave() until its caches are back; the destructor then frees their memory.
        const lock_scope held{of.lock};
        while (pool_cache* const c = record.first) {
            detail::unlink_cache(*c);
            c->pool->give_cache_back(*c);
        }
    }
    thread_caches& mine = of.caches();
    // From here on every operation of this thread takes the cold way, and `exiting` makes it the
    // locked one: a cache made now would never be given back.
    for (auto& e : mine.entries) { e = {0, nullptr}; }
    mine.record = nullptr;
    mine.exiting = true;
    std::free(record.second);
    std::free(&record);
}

mutex& concurrent_pool_registry::lock_of(const concurrent_pool& pool) noexcept {
    return pool.home_->lock;
}

detail::pool_cache* concurrent_pool::find_or_make_cache() noexcept {
    if (concurrent_pool_registry::is_exiting(*this)) { return nullptr; }
    cache* c = concurrent_pool_registry::find(*this);
    if (c != nullptr) { return c; }
    c = take_idle_cache();
    c = c != nullptr ? c : make_cache();
    // The cache goes to the idle ones: the next thread has it without a request to upstream.
    if (c != nullptr && !concurrent_pool_registry::attach(*this, *c)) {
        give_cache_back(*c);
        return nullptr;
    }
    return c;
}

void concurrent_pool::release_this_thread() noexcept { concurrent_pool_registry::detach(*this); }

}}  // namespace cairn::CAIRN_FLAVOUR
