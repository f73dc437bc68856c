// Threads and pools finding and leaving each other; see concurrent_pool_registry.hpp.
#include "concurrent_pool_registry.hpp"

#include <cairn/os/fork.hpp>

namespace cairn::inline CAIRN_FLAVOUR {
namespace {

using detail::my_caches;
using detail::pool_cache;

constinit mutex registry_lock;
constinit concurrent_pool* live_pools = nullptr;
constinit std::uint64_t last_serial = 0;
constinit std::uint32_t taken_entries = 0;  // bit set: a live pool has this entry
static_assert(detail::thread_caches::entry_count == 32);
constinit bool forks_are_watched = false;
constinit bool has_others = false;  // at the last fork: other threads than the one that forked

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
    ++last_serial;
    // More live pools than entries share them: then a switch between two costs a look into the list.
    const auto lowest = static_cast<unsigned>(std::countr_one(taken_entries));
    constexpr unsigned count = detail::thread_caches::entry_count;
    const unsigned at = lowest < count ? lowest : static_cast<unsigned>(last_serial % count);
    pool.serial_ = detail::thread_caches::make_serial(last_serial, at);
    taken_entries |= std::uint32_t{1} << at;
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
        entry_is_shared = entry_is_shared || p->entry() == pool.entry();
    }
    if (!entry_is_shared) { taken_entries &= ~(std::uint32_t{1} << pool.entry()); }
    for (auto* c = pool.depot_.first_cache(); c != nullptr; c = c->next) {
        if (auto& mine = static_cast<pool_cache&>(*c); mine.owner != nullptr) { unlink(mine); }
    }
}

void concurrent_pool_registry::attach(concurrent_pool& pool, pool_cache& c) noexcept {
    my_keeper.armed = true;
    const lock_scope held{registry_lock};
    link(c);
    my_caches.entries[pool.entry()] = {pool.serial_, &c};
}

/// The calling thread's cache of `pool`, when another pool took its entry; else nullptr.
pool_cache* concurrent_pool_registry::find(const concurrent_pool& pool) noexcept {
    const lock_scope held{registry_lock};  // a pool may be dying on another thread
    for (pool_cache* c = my_caches.first; c != nullptr; c = c->next_of_thread) {
        if (c->serial == pool.serial_) {
            my_caches.entries[pool.entry()] = {pool.serial_, c};
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
        const lock_scope held{registry_lock};  // for both: a fork in between would lose it
        unlink(*c);
        my_caches.entries[entry()] = {0, nullptr};
        give_cache_back(*c);
    }
}

// ------------------------------------------------------------------------------------------------
// fork: every lock but grow_lock_ is held, so the child gets whole lists. grow_lock_ is not taken: an
// upstream may take as long as it likes, and may be a pool itself. Growth makes each step known when
// it is finished, so what the child finds is a growth that has not happened, plus a lost block.

void concurrent_pool_registry::before_fork() noexcept {
    registry_lock.lock();
    has_others = !detail::is_only_thread();
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
        p->mend_after_fork(&my_caches);
        p->has_lost_threads_ = p->has_lost_threads_ || has_others;
    }
    registry_lock.forget_holder();
}

/// In the child of a fork, where nobody else exists: what was in somebody's hands comes back to its
/// place. `survivor` is the owner of the caches of the thread that forked.
void concurrent_pool::mend_after_fork(const void* survivor) noexcept {
    depot_.untouched().recount();
    const auto& magazines = depot_.magazines();
    const auto is_abandoned = [survivor](const detail::basic_cache<detail::std_atoms>& c) noexcept {
        const void* const owner = static_cast<const pool_cache&>(c).owner;
        return owner != nullptr && owner != survivor;
    };
    for (std::size_t i = 0; i != magazines.size(); ++i) { magazines[i].found = false; }
    depot_.for_each_magazine([](magazine& m) noexcept { m.found = true; });
    for (auto* c = depot_.first_cache(); c != nullptr; c = c->next) {
        c->spare.load(std::memory_order_relaxed)->found = true;
        if (!is_abandoned(*c)) { c->loaded->found = true; }
    }
    // All others were loaded, on their way, or made by a growth that did not end. Their owners may
    // have been anywhere, so what is in them is given up. Exchanges are one for one: there is one
    // for each abandoned cache.
    std::size_t next = 0;
    const auto take_lost = [&]() noexcept -> magazine* {
        while (next != magazines.size() && magazines[next].found) { ++next; }
        if (next == magazines.size()) { return nullptr; }
        magazines[next].found = true;
        magazines[next].count = 0;
        return &magazines[next];
    };
    for (auto* c = depot_.first_cache(); c != nullptr; c = c->next) {
        if (is_abandoned(*c)) { c->load(take_lost(), depot_.magazine_size()); }
    }
    while (magazine* const m = take_lost()) { depot_.add(*m); }
    for (auto* c = depot_.first_cache(); c != nullptr; c = c->next) {
        if (is_abandoned(*c)) {
            auto& abandoned = static_cast<pool_cache&>(*c);
            // Not unlinked: the list of that thread lies in thread-local memory that is gone.
            abandoned.owner = nullptr;
            abandoned.next_of_thread = nullptr;
            abandoned.link = nullptr;
            pour_out(abandoned);
            --cache_count_;
        }
    }
    lost_count_ = 0;
    const std::size_t live = live_bit_count();
    if (live != unknown) { lost_count_ = stats().live_count - live; }
}

}  // namespace cairn::inline CAIRN_FLAVOUR
