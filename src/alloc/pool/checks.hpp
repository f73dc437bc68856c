// What checked builds of pool remember: a byte a slot, outside the memory of the pool, so that
// checked and release builds ask the upstream for the same blocks. Without memory for it, nothing
// is checked. Private to the library.
#pragma once

#include <cstdlib>
#include <cstring>

#include <cairn/alloc/pool.hpp>
#include <cairn/storage/inside/address_place.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

struct pool_checks {
    static bool* make_live(std::size_t slot_count) noexcept {
        if constexpr (asserts_enabled) {
            // calloc, so that all slots begin as not live; behind them the bytes of Valgrind's
            // number.
            return static_cast<bool*>((std::calloc)(slot_count + sizeof(unsigned), 1));
        }
        return nullptr;
    }
    /// Valgrind calls the chunk by the pool's name. The number lies behind the states.
    static void describe(const pool& p, const pool::chunk& c) noexcept {
        if (c.live == nullptr) { return; }
        forget_description(c);
        const unsigned number = p.watch_.describe(c.first, c.slot_count * p.stride_);
        std::memcpy(c.live + c.slot_count, &number, sizeof number);
    }
    static void forget_description(const pool::chunk& c) noexcept {
        if (c.live == nullptr) { return; }
        unsigned number;
        std::memcpy(&number, c.live + c.slot_count, sizeof number);
        detail::forget_description(number);
        std::memset(c.live + c.slot_count, 0, sizeof number);
    }
    static void expect_no_upstream(const pool& p) noexcept {
        CAIRN_ASSERT(!p.upstream_runs_,
                     "an allocator or container neither grows nor shrinks while it calls its "
                     "upstream",
                     {.object = &p, .type = "pool", .name = p.name()});
    }
    static void clear_live(const pool::chunk& c) noexcept {
        if (c.live != nullptr) { std::memset(c.live, 0, c.slot_count); }
    }
    static std::size_t count(const pool::chunk& c) noexcept {
        std::size_t live = 0;
        for (std::size_t i = 0; i < c.slot_count; ++i) { live += c.live[i] ? 1u : 0u; }
        return live;
    }
    static std::size_t index(const pool& p, const pool::chunk& c, const void* slot) noexcept {
        return static_cast<std::size_t>(static_cast<const std::byte*>(slot) - c.first) / p.stride_;
    }
    /// Of a slot: slots are numbered by address, over all chunks.
    static std::size_t number(const pool& p, const pool::chunk& c, const void* slot) noexcept {
        std::size_t before = 0;
        for (const pool::chunk* i = p.chunks_; i != &c; ++i) { before += i->slot_count; }
        return before + index(p, c, slot);
    }
    /// What reports say of a pool, and of a slot of it.
    static detail::evidence about(const pool& p, misuse_kind kind,
                                  std::source_location from = {}) noexcept {
        return {.kind = kind,
                .object = &p,
                .type = "pool",
                .name = p.name(),
                .caller = from,
                .values = {{"bytes of a slot", p.stride_}}};
    }
    static detail::evidence about(const pool& p, misuse_kind kind, std::source_location from,
                                  const pool::chunk* c, const void* slot) noexcept {
        detail::evidence known = about(p, kind, from);
        known.values[1] = known.values[0];
        known.values[0] = {"slot", number(p, *c, slot)};
        return known;
    }
    static detail::address_place place_of(const void* object, const void* address) noexcept;

    static void forget_live(const pool& p, const pool::chunk& c, const void* slot) noexcept {
        if (c.live != nullptr) { c.live[index(p, c, slot)] = false; }
    }
    static bool is_live(const pool::chunk& c, std::size_t i) noexcept { return c.live[i]; }

    /// The state of the slot that begins at `slot`.
    static bool* live_of(pool& p, const void* slot) noexcept;
    static const pool::chunk& expect_live(pool& p, const void* slot, call_site from) noexcept;
    static void take(pool& p, void* slot, bool recycled) noexcept;
    static void give(pool& p, void* slot, call_site from) noexcept;
    static void remember(pool& p, const pool::chunk& c, const void* slot) noexcept;
    static void forget_chunks([[maybe_unused]] pool& p) noexcept {
#if CAIRN_ASSERTS
        p.seen_ = detail::seen_chunks{p.stride_};
#endif
    }
};

}}  // namespace cairn::CAIRN_FLAVOUR
