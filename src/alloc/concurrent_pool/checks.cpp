// Questions to cairn/alloc/concurrent_pool.hpp, and what checked builds look at: a byte a slot, in
// memory of their own.
#include <cairn/alloc/concurrent_pool.hpp>

#include <algorithm>
#include <bit>
#include <functional>

#include "checks.hpp"
#include "pool_place.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR {
namespace {

constexpr auto relaxed = detail::memory_order::relaxed;

}  // namespace

// ------------------------------------------------------------------------------------------------
// while no other thread uses the pool

void concurrent_pool::reset() noexcept {
    const lock_scope held{home->lock};
    const lock_scope depot_held{depot_.lock()};
    // No cache moves, so the threads that have one need no message: its magazines are empty.
    for (auto* i = caches; i != nullptr; i = i->next_of_owner) {
        auto& c = static_cast<cache&>(*i);
        c.top = c.floor;
        c.spare.load(relaxed)->count = 0;
    }
    depot_.forget_slots();
    for (std::size_t i = 0; i < chunk_count_; ++i) {
        chunk& c = *chunks_[i];
        c.cut(stride_, c.slot_count, c.free_bits);
        depot_.add_chunk(c);
        poison(c.begin, c.slot_count * stride_);
        for (std::size_t k = 0; c.live != nullptr && k < c.slot_count; ++k) {
            c.live[k].store(false, relaxed);
        }
    }
    lost_count_ = 0;
}

/// From here on each call of the user stops: no thread finds its cache, and growth meets its own
/// lock. What only looks finds no slot.
void concurrent_pool::begin_end() noexcept {
    serial = ended_serial;
    depot_.forget_slots();
}

/// Requires: the depot is locked.
concurrent_pool::chunk* concurrent_pool::find_held(const void* p) const noexcept {
    // The last chunk that begins at or below `p`.
    chunk** const behind =
        std::upper_bound(chunks_, chunks_ + chunk_count_, p,
                         [](const void* a, const chunk* c) { return std::less<>{}(a, c->begin); });
    if (behind == chunks_) { return nullptr; }
    chunk* const c = behind[-1];
    const auto distance =
        reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(c->begin);
    return distance < c->slot_count * stride_ ? c : nullptr;
}

concurrent_pool::chunk* concurrent_pool::find_chunk(const void* p) const noexcept {
    const lock_scope held{depot_.lock()};
    return find_held(p);
}

detail::concurrent_pool_stats concurrent_pool::stats() const noexcept {
    const lock_scope held{home->lock};
    const lock_scope depot_held{depot_.lock()};
    return count();
}

detail::concurrent_pool_stats concurrent_pool::count() const noexcept {
    detail::concurrent_pool_stats s;
    s.slot_count = slot_count_.load(relaxed);
    s.cache_count = cache_count;
    s.has_lost_threads = has_lost_threads_;
    s.magazine_size = depot_.magazine_size();
    s.upstream_size = upstream_size_;
    //     slot_count = live + free by their bits + in magazines  (what a fork has lost counts as
    //     live)
    std::size_t free_count = 0;
    visit_chunks([&](const chunk& c) { free_count += c.free_count; });
    for (auto* m = depot_.first_batch(); m != nullptr; m = m->next) { free_count += m->count; }
    for (const auto* i = caches; i != nullptr; i = i->next_of_owner) {
        const auto& c = static_cast<const cache&>(*i);
        s.cached_count += static_cast<std::size_t>(c.top - c.floor) +
                          c.spare.load(detail::memory_order::acquire)->count;
        s.depot_operations += c.depot_operations;
    }
    s.live_count = s.slot_count - free_count - s.cached_count;
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
    const lock_scope held{home->lock};
    const lock_scope depot_held{depot_.lock()};
    for (const auto* i = caches; i != nullptr; i = i->next_of_owner) {
        [[maybe_unused]] const auto& c = static_cast<const cache&>(*i);
        CAIRN_ASSERT(c.floor == c.loaded->first_slot && c.floor <= c.top && c.top <= c.ceiling,
                     "a cache works inside its loaded magazine");
        [[maybe_unused]] const std::size_t spare =
            c.spare.load(detail::memory_order::acquire)->count;
        CAIRN_ASSERT(spare == 0 || spare == depot_.magazine_size(),
                     "a spare magazine is entirely full or entirely empty");
    }
    [[maybe_unused]] const chunk* before = nullptr;
    visit_chunks([&](const chunk& c) {
        CAIRN_ASSERT(before == nullptr || std::less<>{}(before->begin, c.begin),
                     "the table of chunks is sorted by address");
        before = &c;
        [[maybe_unused]] std::size_t bits = 0;
        for (std::size_t w = 0; w < chunk::word_count(c.slot_count); ++w) {
            bits += static_cast<std::size_t>(std::popcount(c.free_bits[w]));
        }
        CAIRN_ASSERT(bits == c.free_count, "a chunk counts its free slots");
    });
    [[maybe_unused]] const std::size_t live = known_live_count();
    CAIRN_ASSERT(live == unknown || live + lost_count_ == count().live_count,
                 "each slot is live, in one magazine, or free in its chunk");
}

/// In every build. Requires: the depot is locked; reports look for addresses in it.
void concurrent_pool::freed_wrongly(const void* p, bool has_chunk) const noexcept {
    const chunk* c = nullptr;
    if (has_chunk) {
        const lock_scope held{depot_.lock()};
        c = find_held(p);
    }
    if (c != nullptr) {
        detail::assert_failed(
            "the bit of the slot is clear (checked in every build)", "a slot is freed once",
            concurrent_pool_checks::about(*this, misuse_kind::double_free, {}, c, p));
    }
    detail::assert_failed("the slot has a chunk (checked in every build)",
                          "a slot comes back to the pool that gave it out",
                          concurrent_pool_checks::about(*this, misuse_kind::foreign_pointer, {}));
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
                     concurrent_pool_checks::about(*this, misuse_kind::corrupted, {}, c, p));
        live.store(true, relaxed);
        remember(which, *c);
    }
}

void concurrent_pool::check_freed(cache& which, void* p, call_site from) noexcept {
    expect_not_ended();
    if (which.seen.take_back(p, number_)) { return; }
    const chunk* const c = find_chunk(p);
    CAIRN_ASSERT(c != nullptr, "a slot comes back to the pool that gave it out",
                 concurrent_pool_checks::about(*this, misuse_kind::foreign_pointer, from));
    const std::size_t i = concurrent_pool_checks::index(*this, *c, p);
    CAIRN_ASSERT(c->begin + i * stride_ == p,
                 "a slot comes back by the address it was given out with",
                 concurrent_pool_checks::about(*this, misuse_kind::foreign_pointer, from, c, p));
    if (c->live != nullptr) {
        CAIRN_ASSERT(c->live[i].load(relaxed), "a slot is freed once",
                     concurrent_pool_checks::about(*this, misuse_kind::double_free, from, c, p));
        c->live[i].store(false, relaxed);
        remember(which, *c);
    }
}

/// The next slots are looked for in `c` first. Threads without a cache share one, and cannot
/// remember.
void concurrent_pool::remember(cache& which, const chunk& c) noexcept {
    if (which.owner != nullptr) { which.seen.remember(c); }
}

#endif

detail::evidence concurrent_pool::about_size(std::size_t freed, call_site from) const noexcept {
    detail::evidence known = concurrent_pool_checks::about(*this, misuse_kind::wrong_size, from);
    known.values[1] = {"bytes freed", freed};
    return known;
}

detail::evidence concurrent_pool::about_alignment(alignment freed, call_site from) const noexcept {
    detail::evidence known = concurrent_pool_checks::about(*this, misuse_kind::wrong_size, from);
    known.values[0] = {"alignment of a slot", align_.bytes()};
    known.values[1] = {"alignment freed", freed.bytes()};
    return known;
}

// ------------------------------------------------------------------------------------------------
// names

void concurrent_pool::set_name(const char* name) noexcept {
    options_.name = name;
    if constexpr (asserts_enabled) {
        static constexpr detail::allocator_type type{"concurrent_pool",
                                                     &concurrent_pool_checks::place_of};
        watch_.set_name(name, this, type);
        const lock_scope held{grow_lock_};  // chunks come and go under it
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
                                               (c->begin + i * pool.stride_)),
            .size = pool.stride_,
            .state = live ? "live" : "free"};
}

}}  // namespace cairn::CAIRN_FLAVOUR
