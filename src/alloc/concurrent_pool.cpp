// Cold half of cairn/alloc/concurrent_pool.hpp: magazines used up, caches taken and given back,
// fork(). Growth is in concurrent_pool/growth.cpp, questions and checks in
// concurrent_pool/checks.cpp; threads coming and going in inside/cache_registry.cpp.
#include <cairn/alloc/concurrent_pool.hpp>

#include <algorithm>

#include <cairn/core/inside/bits.hpp>

#include "concurrent_pool/pool_place.hpp"
#include "pool_rules.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR {

#if CAIRN_SHARED
constinit thread_local detail::pool_caches detail::my_pool_caches{};
#endif

namespace {

detail::thread_tables pool_tables_here() noexcept {
    return {detail::my_pool_caches.state, detail::my_pool_caches.entries};
}

// After a fork, magazines that threads of the parent had are no one's: their caches are forgotten.
constexpr detail::cache_kind pool_kind{
    .make = &concurrent_pool_caches::make,
    .empty = &concurrent_pool_caches::empty,
    .lock = &concurrent_pool_caches::lock,
    .unlock = &concurrent_pool_caches::unlock,
    .mend = [](detail::cache_owner&, detail::thread_cache&) noexcept { return false; },
    .after_fork = &concurrent_pool_caches::after_fork};

constinit detail::cache_home pools_home{
    .kind = &pool_kind,
    .entry_count = detail::pool_caches::entry_count,
    .thread = &pool_tables_here,
    .watch_exit = &detail::home_hooks<pools_home>::watch_exit,
    .watch_forks = &detail::home_hooks<pools_home>::watch_forks};

unsigned magazine_size_for(std::size_t stride, const detail::concurrent_pool_options& o) noexcept {
    std::size_t size =
        std::min(o.magazine_size, std::size_t{1} << 20);  // more is absurd, and wraps
    if (size == 0) {
        // 2 KiB of pointers at most: a transfer that both sides can hold in their first-level
        // cache.
        size = std::clamp<std::size_t>((std::size_t{16} << 10) / stride, 8, 256);
        size = std::clamp<std::size_t>(o.slot_count_max / 16, 1, size);
    }
    if (o.whole_cache_lines) {
        // stride = odd * even, so every (line / even)-th slot begins a cache line: a magazine of a
        // multiple of that many slots, carved from a line's begin, ends at a line's end. Chunks
        // begin at a line, and are carved a magazine at a time.
        const std::size_t even = std::size_t{1}
                                 << detail::lowest_bit(stride);  // stride is a multiple of it
        const std::size_t period = even < cache_line_size ? cache_line_size / even : 1;
        size = detail::round_up(size, alignment{period});
    }
    return static_cast<unsigned>(size);
}

}  // namespace

concurrent_pool::concurrent_pool(std::size_t slot_size, alignment align, allocator_ref upstream,
                                 options how) noexcept
    : stride_{detail::stride_of(slot_size, align)},
      align_{align},
      depot_{magazine_size_for(stride_, how)},
      upstream_{upstream},
      options_{how} {
    if (options_.slots_per_chunk == 0) {
        options_.slots_per_chunk = detail::saturating_multiply(4, depot_.magazine_size());
    }
    next_chunk_slots_ = options_.slots_per_chunk;
    detail::cache_registry::enter(*this, pools_home);
    if (options_.name != nullptr) { set_name(options_.name); }
}

// ------------------------------------------------------------------------------------------------
// when a magazine is used up

concurrent_pool::cache* concurrent_pool::usable(cache& which) noexcept {
    expect_not_ended();
    return static_cast<cache*>(
        detail::cache_registry::usable(*this, which, detail::my_pool_caches));
}

void* concurrent_pool::take_cold(cache& which) noexcept {
    // Callers: a thread that has no cache of this pool, or has it in its second table (it got
    // no_cache); a view without one (no_view, for ever); the owner of a cache whose loaded magazine
    // is empty.
    cache* const c = usable(which);
    if (c == nullptr) { return take_shared(which); }
    return c->top != c->floor || fill(*c) ? take(*c) : nullptr;
}

void concurrent_pool::give_cold(cache& which, void* p) noexcept {
    cache* const c = usable(which);
    if (c == nullptr) {
        depot_.give_to_chunks(&p, 1, place{*this});
        return;
    }
    // A cache that was just found or made may have room; else both its magazines change places or
    // one goes to the depot, and an empty one is loaded.
    if (c->top == c->ceiling) {
        heed_trim(*c);
        if (c->top == c->ceiling) { depot_.drain_cache(*c, place{*this}); }
    }
    *c->top++ = p;
}

/// Gets slots into `c`, whose loaded magazine is empty: its own spare, the depot's, those of
/// chunks, of a new chunk, and at last the spare of another cache.
/// Returns: false, with both magazines empty, when there is nothing in reach.
bool concurrent_pool::fill(cache& c) noexcept {
    heed_trim(c);
    if (!refill(c)) { return false; }
    // Those that take() does not fetch ahead: its view ends at the magazine.
    for (std::size_t i = 2; i <= lookahead; ++i) {
        compiler::prefetch_from_other_core(c.top[-static_cast<std::ptrdiff_t>(i)]);
    }
    return true;
}

bool concurrent_pool::refill(cache& c) noexcept {
    while (true) {
        // Looked at before the search: grow() notices a thread that grows after this look.
        const std::size_t seen = slot_count_.load(detail::memory_order::relaxed);
        if (depot_.refill(c)) { return true; }
        const bool has_grown = grow(seen);
        if (c.top != c.floor) { return true; }  // the upstream has come back and freed slots
        if (!has_grown) { break; }
    }
    c.unload();
    magazine* mine = c.loaded;
    const bool has_slots = steal(mine, &c);
    c.load(mine, depot_.magazine_size());
    return has_slots;
}

/// Takes the spare of another cache than `thief` for `mine`, which is empty.
bool concurrent_pool::steal(magazine*& mine, const cache* thief) noexcept {
    const lock_scope held{home->lock};
    for (auto* c = caches; c != nullptr; c = c->next_of_owner) {
        auto* const victim = static_cast<cache*>(c);
        if (victim != thief && detail::magazine_depot::steal(mine, *victim)) { return true; }
    }
    return false;
}

/// For those without a cache.
bool concurrent_pool::steal_into_depot() noexcept {
    magazine* m = nullptr;
    {
        const lock_scope held{depot_.lock()};
        m = depot_.pop_empty();
    }
    if (m == nullptr) { return false; }
    const bool has_slots = steal(m, nullptr);
    const lock_scope held{depot_.lock()};
    if (has_slots) {
        depot_.push_full(*m);
    } else {
        depot_.push_empty(*m);
    }
    return has_slots;
}

/// For those without a cache.
void* concurrent_pool::take_shared([[maybe_unused]] cache& which) noexcept {
    void* p = nullptr;
    while (true) {
        const std::size_t seen = slot_count_.load(detail::memory_order::relaxed);
        if (depot_.take(0, &p, 1, place{*this}) != 0) { break; }
        if (grow(seen)) { continue; }
        if (depot_.take(0, &p, 1, place{*this}) != 0) { break; }  // the upstream has freed one
        if (!steal_into_depot()) { return nullptr; }
    }
    if constexpr (asserts_enabled) { note_taken(which, p); }
    unpoison(p, stride_);
    return p;
}

void concurrent_pool::heed_trim(cache& c) noexcept {
    if (epoch.is_new(c.epoch)) { depot_.pour_out(c, true, place{*this}); }
}

std::size_t concurrent_pool::allocate_n(slice<void*> out) noexcept {
    return detail::allocate_each(*this, out);
}

void concurrent_pool::deallocate_n(slice<void* const> freed) noexcept {
    for (void* const p : freed) { deallocate(p); }
}

// ------------------------------------------------------------------------------------------------
// caches

/// Only empty magazines stay: no slot is out of reach in a cache that no thread has.
void concurrent_pool_caches::empty(detail::cache_owner& o, detail::thread_cache& c) noexcept {
    concurrent_pool& pool = pool_of(o);
    pool.depot_.pour_out(static_cast<cache&>(c), false, concurrent_pool::place{pool});
}

concurrent_pool::local_view concurrent_pool::local() noexcept {
    expect_not_ended();
    auto* const c = static_cast<cache*>(detail::cache_registry::make(*this));
    return local_view{*this, c != nullptr ? *c : detail::no_view};
}

concurrent_pool::local_view::~local_view() {
    if (cache_->owner != nullptr) { detail::cache_registry::give_back(*pool_, *cache_); }
}

void concurrent_pool::release_this_thread() noexcept {
    // refill() goes on with the cache when the upstream returns.
    if (!grow_lock_.is_mine()) { detail::cache_registry::detach(*this); }
}

std::size_t concurrent_pool::slack() const noexcept {
    const lock_scope held{home->lock};
    return cache_count == 0 ? 0 : (cache_count - 1) * depot_.magazine_size();
}

void concurrent_pool_caches::after_fork(detail::cache_owner& o, bool had_other_threads) noexcept {
    concurrent_pool& pool = pool_of(o);
    pool.depot_.lock().forget_holder();
    pool.grow_lock_.forget_holder();
    pool.has_lost_threads_ = pool.has_lost_threads_ || had_other_threads;
    pool.lost_count_ = 0;
    // Checked builds know of each slot whether it is live: the difference is what validate() allows
    // for.
    const std::size_t live = pool.known_live_count();
    if (live != concurrent_pool::unknown) { pool.lost_count_ = pool.count().live_count - live; }
}

}}  // namespace cairn::CAIRN_FLAVOUR
