// What reports of checked builds say of a concurrent_pool, and of a slot of it. Private to the
// library.
#pragma once

#include <cstdlib>
#include <cstring>
#include <utility>

#include <cairn/alloc/concurrent_pool.hpp>
#include <cairn/storage/inside/address_place.hpp>

#include "../inside/cache_registry.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// Calls f(chunk) for each, by address. Requires: chunks do not come or go.
template <class F>
void concurrent_pool::visit_chunks(F&& f) const noexcept {
    for (std::size_t i = 0; i < chunk_count_; ++i) { f(*chunks_[i]); }
}

struct concurrent_pool_checks {
    using chunk = concurrent_pool::chunk;

    static std::size_t index(const concurrent_pool& p, const chunk& c, const void* slot) noexcept {
        return static_cast<std::size_t>(static_cast<const std::byte*>(slot) - c.begin) / p.stride_;
    }
    /// Of a slot: slots are numbered in the order in which their chunks were taken.
    static std::size_t number(const concurrent_pool& p, const chunk& c, const void* slot) noexcept {
        return c.first_number + index(p, c, slot);
    }
    /// `c`: the chunk of `slot`; nullptr: the report is about no slot.
    static detail::evidence about(const concurrent_pool& p, misuse_kind kind,
                                  std::source_location from, const chunk* c = nullptr,
                                  const void* slot = nullptr) noexcept {
        detail::evidence known{.kind = kind,
                               .object = &p,
                               .type = "concurrent_pool",
                               .name = p.name(),
                               .caller = from,
                               .values = {{"bytes of a slot", p.stride_}}};
        if (c != nullptr) {
            known.values[1] = std::exchange(known.values[0], {"slot", number(p, *c, slot)});
        }
        return known;
    }
    /// For a chunk of so many slots: none is live, and Valgrind does not know it by name.
    /// Returns: nullptr when there is no memory; the chunk is not checked then.
    static detail::slot_state* make_live(std::size_t slot_count) noexcept {
        if constexpr (asserts_enabled) {
            return static_cast<detail::slot_state*>(
                (std::calloc)(slot_count + sizeof(unsigned), sizeof(detail::slot_state)));
        }
        return nullptr;
    }
    /// Valgrind calls the chunk by the pool's name. The number lies behind the states.
    static void describe(const concurrent_pool& p, const chunk& c) noexcept {
        if (c.live == nullptr) { return; }
        void* const place = c.live + c.slot_count;
        unsigned number;
        std::memcpy(&number, place, sizeof number);
        detail::forget_description(number);
        number = p.watch_.describe(c.begin, c.slot_count * p.stride_);
        std::memcpy(place, &number, sizeof number);
    }
    /// What is known of a chunk that goes.
    static void forget(const concurrent_pool& p, const chunk& c) noexcept {
        {
            const lock_scope held{p.home->lock};
            for (auto* i = p.caches; i != nullptr; i = i->next_of_owner) {
                static_cast<detail::pool_cache*>(i)->seen.forget();
            }
        }
        if (c.live == nullptr) { return; }
        unsigned number;
        std::memcpy(&number, c.live + c.slot_count, sizeof number);
        detail::forget_description(number);
        (std::free)(c.live);
    }
    static detail::address_place place_of(const void* object, const void* address) noexcept;
};

}}  // namespace cairn::CAIRN_FLAVOUR
