// Questions to cairn/alloc/concurrent_pool.hpp, and what checked builds look at: a byte a slot, in
// memory of their own.
#include <cairn/alloc/concurrent_pool.hpp>

#include <algorithm>

#include "checks.hpp"
#include "registry.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR {
namespace {

constexpr auto relaxed = detail::memory_order::relaxed;

}  // namespace

// ------------------------------------------------------------------------------------------------
// while no other thread uses the pool

void concurrent_pool::reset() noexcept {
    const lock_scope held{concurrent_pool_registry::lock_of(*this)};
    // Every magazine is dealt out anew, in the order of the table: two to each cache, the others to
    // the depot, all of them empty. What was in them is untouched memory again. So no cache moves,
    // and the threads that have one need no message.
    depot_.forget_magazines();
    const auto& magazines = depot_.magazines();
    std::size_t next = 0;
    const auto take_magazine = [&]() -> magazine& {
        magazine& m = magazines[next++];
        m.count = 0;
        return m;
    };
    for (auto* c = depot_.first_cache(); c != nullptr; c = c->next) {
        c->load(&take_magazine(), depot_.magazine_size());
        c->spare.store(&take_magazine(), relaxed);
    }
    while (next < magazines.size()) { depot_.add(take_magazine()); }
    depot_.untouched().restart();
    lost_count_ = 0;
    visit_chunks([this](const chunk& c) {
        poison(c.first, c.slot_count * stride_);
        for (std::size_t i = 0; c.live != nullptr && i < c.slot_count; ++i) {
            c.live[i].store(false, relaxed);
        }
    });
}

const concurrent_pool::chunk* concurrent_pool::find_chunk(const void* p) const noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    // One subtraction asks for both ends: an address below the chunk wraps to a large number.
    const chunk* c = first_chunk();
    while (c != nullptr &&
           address - reinterpret_cast<std::uintptr_t>(c->first) >= c->slot_count * stride_) {
        c = static_cast<const chunk*>(c->next.load(detail::memory_order::acquire));
    }
    return c;
}

detail::concurrent_pool_stats concurrent_pool::stats() const noexcept {
    const lock_scope held{concurrent_pool_registry::lock_of(*this)};
    return count();
}

detail::concurrent_pool_stats concurrent_pool::count() const noexcept {
    detail::concurrent_pool_stats s;
    s.slot_count = depot_.untouched().slot_count();
    s.cache_count = held_cache_count();
    s.has_lost_threads = has_lost_threads_;
    s.magazine_size = depot_.magazine_size();
    s.upstream_size = upstream_size_;
    std::size_t free_count = 0;
    //     slot_count = live + fresh + in magazines           (what a fork has lost counts as live)
    // claimed may run past the end: threads that asked in vain have added to it.
    visit_chunks([&](const chunk& c) {
        free_count += c.slot_count - std::min(c.claimed.load(relaxed), c.slot_count);
    });
    // All magazines at once, wherever they are: each has the count of its last unloading.
    for (std::size_t i = 0; i < depot_.magazines().size(); ++i) {
        free_count += depot_.magazines()[i].count;
    }
    for (const auto* c = depot_.first_cache(); c != nullptr; c = c->next) {
        // A loaded magazine's own count is that of when it was loaded.
        free_count += static_cast<std::size_t>(c->top - c->floor) - c->loaded->count;
        s.depot_operations += c->depot_operations;
    }
    s.live_count = s.slot_count - free_count;
    return s;
}

/// Returns: unknown when there was no memory to remember it.
std::size_t concurrent_pool::known_live_count() const noexcept {
    std::size_t live = 0;
    bool is_known = true;
    visit_chunks([&](const chunk& c) {
        is_known = is_known && c.live != nullptr;
        for (std::size_t i = 0; is_known && i < c.slot_count; ++i) {
            live += c.live[i].load(relaxed) ? 1u : 0u;
        }
    });
    return is_known ? live : unknown;
}

void concurrent_pool::validate() const noexcept {
    const lock_scope held{concurrent_pool_registry::lock_of(*this)};
    std::size_t cache_total = 0;
    for (const auto* c = depot_.first_cache(); c != nullptr; c = c->next) {
        ++cache_total;
        CAIRN_ASSERT(
            c->floor == c->loaded->first_slot && c->floor <= c->top && c->top <= c->ceiling,
            "a cache works inside its loaded magazine");
        [[maybe_unused]] const std::size_t spare =
            c->spare.load(detail::memory_order::acquire)->count;
        CAIRN_ASSERT(spare == 0 || spare == depot_.magazine_size(),
                     "a spare magazine is entirely full or entirely empty");
    }
    CAIRN_ASSERT(depot_.magazines().size() >= 2 * cache_total, "each cache has two magazines");
    [[maybe_unused]] const std::size_t live = known_live_count();
    CAIRN_ASSERT(live == unknown || live + lost_count_ == count().live_count,
                 "each slot is live, fresh or in one magazine");
    (void)cache_total;
}

// ------------------------------------------------------------------------------------------------
// checked builds: a byte a slot, in memory of their own

#if CAIRN_ASSERTS

void concurrent_pool::check_taken(cache& which, void* p) noexcept {
    if (which.seen.give_out(p, number_)) { return; }
    const chunk* const c = find_chunk(p);
    CAIRN_ASSERT(c != nullptr, "a free slot lies in a chunk of its pool",
                 concurrent_pool_checks::about(*this, misuse_kind::corrupted, {}));
    if (c->live != nullptr) {
        detail::slot_state& live = c->live[concurrent_pool_checks::index(*this, *c, p)];
        CAIRN_ASSERT(!live.load(relaxed), "a slot is given out once",
                     concurrent_pool_checks::about(*this, misuse_kind::corrupted, {}, *c, p));
        live.store(true, relaxed);
        remember(which, *c);
    }
}

void concurrent_pool::check_freed(cache& which, void* p, call_site from) noexcept {
    if (which.seen.take_back(p, number_)) { return; }
    const chunk* const c = find_chunk(p);
    CAIRN_ASSERT(c != nullptr, "a slot comes back to the pool that gave it out",
                 concurrent_pool_checks::about(*this, misuse_kind::foreign_pointer, from));
    const std::size_t i = concurrent_pool_checks::index(*this, *c, p);
    CAIRN_ASSERT(c->first + i * stride_ == p,
                 "a slot comes back by the address it was given out with",
                 concurrent_pool_checks::about(*this, misuse_kind::foreign_pointer, from, *c, p));
    if (c->live != nullptr) {
        CAIRN_ASSERT(c->live[i].load(relaxed), "a slot is freed once",
                     concurrent_pool_checks::about(*this, misuse_kind::double_free, from, *c, p));
        c->live[i].store(false, relaxed);
        remember(which, *c);
    }
}

/// The next slots are looked for in `c` first. Threads without a cache share one, and cannot
/// remember.
void concurrent_pool::remember(cache& which, const chunk& c) noexcept {
    if (which.pool != nullptr) { which.seen.remember(c, stride_); }
}

#endif

detail::evidence concurrent_pool::about_size(std::size_t freed, call_site from) const noexcept {
    return {.kind = misuse_kind::wrong_size,
            .object = this,
            .type = "concurrent_pool",
            .name = options_.name,
            .caller = from,
            .values = {{"bytes of a slot", stride_}, {"bytes freed", freed}}};
}

// ------------------------------------------------------------------------------------------------
// names

void concurrent_pool::set_name(const char* name) noexcept {
    options_.name = name;
    if constexpr (asserts_enabled) {
        static constexpr detail::allocator_type type{"concurrent_pool",
                                                     &concurrent_pool_checks::place_of};
        watch_.set_name(name, this, type);
        const lock_scope held{grow_lock_};
        visit_chunks([this](const chunk& c) { concurrent_pool_checks::describe(*this, c); });
    }
}

detail::address_place concurrent_pool_checks::place_of(const void* object,
                                                       const void* address) noexcept {
    const concurrent_pool& pool = *static_cast<const concurrent_pool*>(object);
    const concurrent_pool::chunk* const c = pool.find_chunk(address);
    if (c == nullptr) { return {}; }
    const std::size_t i = index(pool, *c, address);
    const bool live = c->live == nullptr || c->live[i].load(relaxed);
    return {.inside = true,
            .unit = "slot",
            .index = number(pool, *c, address),
            .offset = static_cast<std::size_t>(static_cast<const std::byte*>(address) -
                                               (c->first + i * pool.stride_)),
            .size = pool.stride_,
            .state = i >= c->claimed.load(relaxed) ? "not given out since the last reset"
                     : live                        ? "live"
                                                   : "free"};
}

}}  // namespace cairn::CAIRN_FLAVOUR
