// What reports of checked builds say of a concurrent_pool, and of a slot of it. Private to the
// library.
#pragma once

#include <cairn/alloc/concurrent_pool.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

/// Calls f(chunk) for each, in the order in which they were taken.
template <class F>
void concurrent_pool::visit_chunks(F&& f) const noexcept {
    for (const chunk* c = first_chunk(); c != nullptr;
         c = static_cast<const chunk*>(c->next.load(detail::memory_order::acquire))) {
        f(*c);
    }
}

struct concurrent_pool_checks {
    using chunk = concurrent_pool::chunk;

    static std::size_t index(const concurrent_pool& p, const chunk& c, const void* slot) noexcept {
        return static_cast<std::size_t>(static_cast<const std::byte*>(slot) - c.first) / p.stride_;
    }
    /// Of a slot: slots are numbered in the order in which their chunks were taken.
    static std::size_t number(const concurrent_pool& p, const chunk& c, const void* slot) noexcept {
        std::size_t before = 0;
        for (const chunk* i = p.first_chunk(); i != &c;
             i = static_cast<const chunk*>(i->next.load(detail::memory_order::acquire))) {
            before += i->slot_count;
        }
        return before + index(p, c, slot);
    }
    static evidence about(const concurrent_pool& p, misuse_kind kind,
                          std::source_location from) noexcept {
        return {.kind = kind,
                .object = &p,
                .type = "concurrent_pool",
                .name = p.name(),
                .caller = from,
                .values = {{"bytes of a slot", p.stride_}}};
    }
    static evidence about(const concurrent_pool& p, misuse_kind kind, std::source_location from,
                          const chunk& c, const void* slot) noexcept {
        evidence known = about(p, kind, from);
        known.values[1] = known.values[0];
        known.values[0] = {"slot", number(p, c, slot)};
        return known;
    }
    /// Valgrind calls the chunk by the pool's name. The number lies behind the bits.
    static void describe(const concurrent_pool& p, const chunk& c) noexcept {
        if (c.live == nullptr) { return; }
        chunk::word& number = c.live[chunk::words_for(c.slot_count)];
        forget_description(static_cast<unsigned>(number.load(detail::memory_order::relaxed)));
        number.store(p.watch_.describe(c.first, c.slot_count * p.stride_),
                     detail::memory_order::relaxed);
    }
    static detail::address_place place_of(const void* object, const void* address) noexcept;
};

}  // namespace cairn::inline CAIRN_FLAVOUR
