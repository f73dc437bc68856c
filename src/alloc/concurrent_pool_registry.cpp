// Threads and pools finding and leaving each other; see concurrent_pool_registry.hpp.
#include "concurrent_pool_registry.hpp"

#include <cairn/os/fork.hpp>

namespace cairn {
namespace {

using detail::my_caches;
using detail::pool_cache;

constinit mutex registry_lock;
constinit concurrent_pool* live_pools = nullptr;
constinit std::uint64_t last_serial = 0;
constinit std::uint32_t taken_entries = 0;  // bit set: a live pool has this entry
static_assert(detail::thread_caches::entry_count == 32);
constinit bool forks_are_watched = false;

/// Gives back what a thread holds when it exits. Armed by the thread's first cache; `my_caches`, being
/// trivial, outlives it, so that later destructors see that it is over.
struct keeper {
    bool armed = false;
    ~keeper() {
        if (armed) { concurrent_pool_registry::exit_thread(); }
    }
};
thread_local keeper my_keeper;

void link(pool_cache& c) noexcept {
    c.owner = &my_caches;
    c.next_of_thread = my_caches.first;
    c.link = &my_caches.first;
    if (c.next_of_thread != nullptr) { c.next_of_thread->link = &c.next_of_thread; }
    my_caches.first = &c;
}

void unlink(pool_cache& c) noexcept {
    *c.link = c.next_of_thread;
    if (c.next_of_thread != nullptr) { c.next_of_thread->link = c.link; }
    c.owner = nullptr;
    c.next_of_thread = nullptr;
    c.link = nullptr;
}

}  // namespace

void concurrent_pool_registry::enter(concurrent_pool& pool) noexcept {
    const lock_scope held{registry_lock};
    if (!forks_are_watched) {
        forks_are_watched = around_fork(&before_fork, &after_fork_in_parent, &after_fork_in_child);
    }
    pool.serial_ = ++last_serial;
    // More live pools than entries share them: then a switch between two costs a look into the list.
    const auto lowest = static_cast<unsigned>(std::countr_one(taken_entries));
    pool.entry_ = lowest < detail::thread_caches::entry_count
                      ? lowest
                      : static_cast<unsigned>(pool.serial_ % detail::thread_caches::entry_count);
    taken_entries |= std::uint32_t{1} << pool.entry_;
    pool.next_live_ = live_pools;
    pool.live_link_ = &live_pools;
    if (live_pools != nullptr) { live_pools->live_link_ = &pool.next_live_; }
    live_pools = &pool;
}

void concurrent_pool_registry::leave(concurrent_pool& pool) noexcept {
    const lock_scope held{registry_lock};
    *pool.live_link_ = pool.next_live_;
    if (pool.next_live_ != nullptr) { pool.next_live_->live_link_ = pool.live_link_; }
    bool entry_is_shared = false;
    for (const concurrent_pool* p = live_pools; p != nullptr; p = p->next_live_) {
        entry_is_shared = entry_is_shared || p->entry_ == pool.entry_;
    }
    if (!entry_is_shared) { taken_entries &= ~(std::uint32_t{1} << pool.entry_); }
    for (auto* c = pool.depot_.first_cache(); c != nullptr; c = c->next) {
        if (auto& mine = static_cast<pool_cache&>(*c); mine.owner != nullptr) { unlink(mine); }
    }
}

void concurrent_pool_registry::attach(concurrent_pool& pool, pool_cache& c) noexcept {
    my_keeper.armed = true;
    const lock_scope held{registry_lock};
    link(c);
    my_caches.entries[pool.entry_] = {pool.serial_, &c};
}

/// The calling thread's cache of `pool`, when another pool took its entry; else nullptr.
pool_cache* concurrent_pool_registry::find(const concurrent_pool& pool) noexcept {
    const lock_scope held{registry_lock};  // a pool may be dying on another thread
    for (pool_cache* c = my_caches.first; c != nullptr; c = c->next_of_thread) {
        if (c->serial == pool.serial_) {
            my_caches.entries[pool.entry_] = {pool.serial_, c};
            return c;
        }
    }
    return nullptr;
}

void concurrent_pool_registry::exit_thread() noexcept {
    const lock_scope held{registry_lock};
    while (pool_cache* const c = my_caches.first) {
        unlink(*c);
        c->pool->give_cache_back(*c);
    }
    for (auto& e : my_caches.entries) { e = {0, nullptr}; }
    my_caches.exiting = true;
}

detail::pool_cache* concurrent_pool::find_or_make_cache() noexcept {
    if (my_caches.exiting) { return nullptr; }
    cache* c = concurrent_pool_registry::find(*this);
    if (c != nullptr) { return c; }
    c = take_idle_cache();
    c = c != nullptr ? c : make_cache();
    if (c != nullptr) { concurrent_pool_registry::attach(*this, *c); }
    return c;
}

void concurrent_pool::release_this_thread() noexcept {
    cache* const c = concurrent_pool_registry::find(*this);
    if (c != nullptr) {
        {
            const lock_scope held{registry_lock};
            unlink(*c);
            my_caches.entries[entry_] = {0, nullptr};
        }
        give_cache_back(*c);
    }
}

// ------------------------------------------------------------------------------------------------
// fork: every lock that guards more than the upstream is held, so the child gets whole lists. A
// pool's grow_lock_ is not (an upstream may take as long as it likes): growth publishes last, so a
// half-finished one is only a lost block in the child.

void concurrent_pool_registry::before_fork() noexcept {
    registry_lock.lock();
    for (concurrent_pool* p = live_pools; p != nullptr; p = p->next_live_) {
        p->shared_lock_.lock();
    }
}

void concurrent_pool_registry::after_fork_in_parent() noexcept {
    for (concurrent_pool* p = live_pools; p != nullptr; p = p->next_live_) {
        p->shared_lock_.unlock();
    }
    registry_lock.unlock();
}

void concurrent_pool_registry::after_fork_in_child() noexcept {
    for (concurrent_pool* p = live_pools; p != nullptr; p = p->next_live_) {
        p->shared_lock_.forget_holder();
        p->grow_lock_.forget_holder();
        for (auto* c = p->depot_.first_cache(); c != nullptr; c = c->next) {
            auto& other = static_cast<pool_cache&>(*c);
            if (other.owner != nullptr && other.owner != &my_caches) {
                // Its thread does not exist here. It may have been anywhere, so what it had loaded
                // is given up; the lists of that thread lie in a stack that will be reused.
                other.owner = nullptr;
                other.next_of_thread = nullptr;
                other.link = nullptr;
            }
        }
    }
    registry_lock.forget_holder();
}

}  // namespace cairn
