// What checked builds of pool remember: one bit a slot, outside the memory of the pool, so that
// checked and release builds ask the upstream for the same blocks. Without memory for it, nothing
// is checked. Private to the library.
#pragma once

#include <bit>
#include <cstdlib>
#include <cstring>

#include <cairn/alloc/pool.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

struct pool_checks {
    static std::size_t words_for(std::size_t slot_count) noexcept { return slot_count / 64 + 1; }
    static std::uint64_t* make_bits(std::size_t slot_count) noexcept {
        if constexpr (asserts_enabled) {
            return static_cast<std::uint64_t*>(
                std::calloc(words_for(slot_count) + 1, sizeof(std::uint64_t)));
        }
        return nullptr;
    }
    /// Valgrind calls the chunk by the pool's name. The number lies behind the bits.
    static void describe(const pool& p, const pool::chunk& c) noexcept {
        if (c.live == nullptr) { return; }
        forget_description(c);
        c.live[words_for(c.slot_count)] = p.watch_.describe(c.first, c.slot_count * p.stride_);
    }
    static void forget_description(const pool::chunk& c) noexcept {
        if (c.live == nullptr) { return; }
        cairn::forget_description(static_cast<unsigned>(c.live[words_for(c.slot_count)]));
        c.live[words_for(c.slot_count)] = 0;
    }
    static void clear_bits(const pool::chunk& c) noexcept {
        if (c.live != nullptr) {
            std::memset(c.live, 0, words_for(c.slot_count) * sizeof(std::uint64_t));
        }
    }
    static std::size_t count(const pool::chunk& c) noexcept {
        std::size_t live = 0;
        for (std::size_t i = 0; i < words_for(c.slot_count); ++i) {
            live += static_cast<std::size_t>(std::popcount(c.live[i]));
        }
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
    static evidence about(const pool& p, misuse_kind kind,
                          std::source_location from = {}) noexcept {
        return {.kind = kind,
                .object = &p,
                .type = "pool",
                .name = p.name(),
                .caller = from,
                .values = {{"bytes of a slot", p.stride_}}};
    }
    static evidence about(const pool& p, misuse_kind kind, std::source_location from,
                          const pool::chunk* c, const void* slot) noexcept {
        evidence known = about(p, kind, from);
        known.values[1] = known.values[0];
        known.values[0] = {"slot", number(p, *c, slot)};
        return known;
    }
    static detail::address_place place_of(const void* object, const void* address) noexcept;

    static bool is_live(const pool::chunk& c, std::size_t i) noexcept {
        return (c.live[i / 64] >> (i % 64) & 1) != 0;
    }
};

}  // namespace cairn::inline CAIRN_FLAVOUR
