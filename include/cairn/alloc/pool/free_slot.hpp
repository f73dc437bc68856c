// cairn/alloc/pool/free_slot.hpp - the bytes of a free slot, which checked builds fill and compare.
//
//      freed       DD DD DD DD DD DD DD DD DD DD DD DD ...
//      written to  DD DD DD DD 00 00 80 3F DD DD DD DD ...    named when it is given out
//      given out   CD CD CD CD DD DD DD DD DD DD DD DD ...    until the user writes to it
//
// For short slots, of 16 to 256 bytes: a call of memset() or memcmp() costs as much as all else
// that a checked build does with them.
//
//      16 bytes at a time:   | 0 | 16 | size - 32 | size - 16 |     all of 32, 48 or 64: no loop
//
// Cost: of 64 bytes, 4 stores, or 4 loads, 4 compares and a branch.
#pragma once

#include <cstddef>

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

inline constexpr std::size_t short_slot_min = 16;
inline constexpr std::size_t short_slot_max = 256;

/// What a free slot is filled with.
inline constexpr unsigned char freed_slot_byte = 0xDD;

/// What a slot begins with that is given out: one that stands among the free slots twice is written
/// to when it comes for the second time, whatever the user has done with it.
inline constexpr unsigned given_out_word = 0xCDCD'CDCD;

[[gnu::always_inline]] inline void mark_given_out(void* slot) noexcept {
    __builtin_memcpy(slot, &given_out_word, sizeof given_out_word);
}

struct freed_pattern {
    using chunk16 = unsigned char __attribute__((vector_size(16)));

    static constexpr chunk16 pattern{
        freed_slot_byte, freed_slot_byte, freed_slot_byte, freed_slot_byte,
        freed_slot_byte, freed_slot_byte, freed_slot_byte, freed_slot_byte,
        freed_slot_byte, freed_slot_byte, freed_slot_byte, freed_slot_byte,
        freed_slot_byte, freed_slot_byte, freed_slot_byte, freed_slot_byte};

    [[gnu::always_inline]] static void write(std::byte* at) noexcept {
        __builtin_memcpy(at, &pattern, sizeof pattern);
    }
    static constexpr unsigned long long word = freed_slot_byte * 0x0101'0101'0101'0101ull;
    [[gnu::always_inline]] static void write_word(std::byte* at) noexcept {
        __builtin_memcpy(at, &word, sizeof word);
    }
    [[nodiscard]] [[gnu::always_inline]] static bool is_word(const std::byte* at) noexcept {
        unsigned long long seen;
        __builtin_memcpy(&seen, at, sizeof seen);
        return seen == word;
    }
    /// In each byte: all bits where it is as in a free slot, none where it is not.
    [[nodiscard]] [[gnu::always_inline]] static chunk16 same(const std::byte* at) noexcept {
        chunk16 seen;
        __builtin_memcpy(&seen, at, sizeof seen);
        return reinterpret_cast<chunk16>(seen == pattern);
    }
    [[nodiscard]] [[gnu::always_inline]] static bool is_all(chunk16 same) noexcept {
#if defined(__SSE2__)
        using signed16 = char __attribute__((vector_size(16)));
        return __builtin_ia32_pmovmskb128(reinterpret_cast<signed16>(same)) == 0xFFFF;
#else
        unsigned long long halves[2];
        __builtin_memcpy(halves, &same, sizeof halves);
        return (halves[0] & halves[1]) == ~0ull;
#endif
    }
};

/// For slots of 32, 48 and 64 bytes: their size less 32. All others go the way for any size.
inline constexpr std::size_t no_tail = 33;
[[nodiscard]] constexpr std::size_t tail_of_slot(std::size_t size) noexcept {
    return size == 32 || size == 48 || size == 64 ? size - 32 : no_tail;
}

// Each piece is read as it was written: a load that needs the bytes of two stores waits until both
// have left the processor, twice what all the rest costs.
//
//      any size:   | 0 | 16 | ... | size - 16, or 8 bytes at size - 8 |
//
// The size is a reference: gcc loads it only where it is asked for then.

[[gnu::always_inline]] inline void fill_short_slot(void* slot, std::size_t tail,
                                                   const std::size_t& size) noexcept {
    auto* const bytes = static_cast<std::byte*>(slot);
    freed_pattern::write(bytes);
    if (tail <= 32) [[likely]] {
        freed_pattern::write(bytes + 16);
        freed_pattern::write(bytes + tail);
        freed_pattern::write(bytes + tail + 16);
        return;
    }
    // An odd 8 bytes at the end are a piece of their own; other ends are 16 bytes that may overlap.
    const bool ends_in_word = size % 16 == 8;
    const std::size_t end = size - (ends_in_word ? 8 : 16);
    for (std::size_t i = 16; i < end; i += 16) {
        freed_pattern::write(bytes + i);
        __asm__("" : "+r"(i));  // or gcc makes a call of memset()
    }
    if (ends_in_word) { return freed_pattern::write_word(bytes + end); }
    freed_pattern::write(bytes + end);
}

/// True when no byte of a short slot has changed since it was filled.
[[nodiscard]] [[gnu::always_inline]] inline bool is_short_slot_as_filled(
    const void* slot, std::size_t tail, const std::size_t& size) noexcept {
    const auto* const bytes = static_cast<const std::byte*>(slot);
    auto same = freed_pattern::same(bytes);
    if (tail <= 32) [[likely]] {
        same &= freed_pattern::same(bytes + 16) & freed_pattern::same(bytes + tail) &
                freed_pattern::same(bytes + tail + 16);
        return freed_pattern::is_all(same);
    }
    const bool ends_in_word = size % 16 == 8;
    const std::size_t end = size - (ends_in_word ? 8 : 16);
    if (ends_in_word && !freed_pattern::is_word(bytes + end)) { return false; }
    if (!ends_in_word) { same &= freed_pattern::same(bytes + end); }
    for (std::size_t i = 16; i < end; i += 16) { same &= freed_pattern::same(bytes + i); }
    return freed_pattern::is_all(same);
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
