// cairn/alloc/pool/checked.hpp - what a pool inlines into its callers in checked builds.
//
// A free slot is filled with a pattern, which is compared when the slot is given out:
//
//      freed       DD DD DD DD DD DD DD DD DD DD DD DD ...
//      written to  DD DD DD DD 00 00 80 3F DD DD DD DD ...    reported when it is given out
//      given out   CD CD CD CD DD DD DD DD DD DD DD DD ...    until the user writes to it
//
// Short slots, of 16 to 256 bytes, are filled and compared inline: a call of memset() or memcmp()
// costs as much as all else that a checked build does with them.
//
//      16 bytes at a time:   | 0 | 16 | size - 32 | size - 16 |     all of 32, 48 or 64: no loop
//
// The inlined functions handle a short slot of a chunk that was found before. They change nothing
// when a check fails or the chunk is another one: checks.cpp then handles the request anew, and
// reports what is wrong.
//
// Cost: of 64 bytes, 4 stores, or 4 loads, 4 compares and a branch.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/pool.hpp>
#include <cairn/core/inside/compiler.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

/// What a free slot is filled with.
inline constexpr unsigned char freed_slot_byte = 0xDD;

/// What a slot begins with that is given out. A slot that stands in the stack twice then lacks the
/// pattern when it is taken for the second time, whatever the user has written to it.
inline constexpr unsigned given_out_word = 0xCDCD'CDCD;

[[CAIRN_FORCE_INLINE]] inline void mark_given_out(void* slot) noexcept {
    compiler::copy_bytes<sizeof given_out_word>(slot, &given_out_word);
}

struct freed_pattern {
    using chunk16 = compiler::bytes16;
    static constexpr unsigned long long word = freed_slot_byte * 0x0101'0101'0101'0101ull;
    static constexpr chunk16 pattern = compiler::two_words(word, word);

    [[CAIRN_FORCE_INLINE]] static void write(std::byte* at,
                                             const chunk16& value = pattern) noexcept {
        compiler::copy_bytes<sizeof value>(at, &value);
    }
    [[nodiscard]] [[CAIRN_FORCE_INLINE]] static bool is_word(const std::byte* at) noexcept {
        unsigned long long seen;
        compiler::copy_bytes<sizeof seen>(&seen, at);
        return seen == word;
    }
    /// In each byte: all bits where it is as in a free slot, none where it is not.
    [[nodiscard]] [[CAIRN_FORCE_INLINE]] static chunk16 same(const std::byte* at) noexcept {
        chunk16 seen;
        compiler::copy_bytes<sizeof seen>(&seen, at);
        return compiler::equal_bytes(seen, pattern);
    }
};

// `tail` is the size less 32 of slots of 32, 48 and 64 bytes; above 32: a slot of another size.
// Each piece is read as it was written: a load that needs the bytes of two stores waits until both
// have left the processor, twice what all the rest costs.
//
//      any size:   | 0 | 16 | ... | size - 16, or 8 bytes at size - 8 |
//
// The size is a reference: gcc loads it only where it is asked for then.

[[CAIRN_FORCE_INLINE]] inline void fill_short_slot(void* slot, std::size_t tail,
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
    auto pattern = freed_pattern::pattern;
    compiler::hide(pattern);  // or gcc loads the constant for each piece of the loop
    const bool ends_in_word = size % 16 == 8;
    const std::size_t end = size - (ends_in_word ? 8 : 16);
    for (std::size_t i = 16; i < end; i += 16) {
        freed_pattern::write(bytes + i, pattern);
        compiler::hide(i);  // or gcc makes a call of memset()
    }
    if (ends_in_word) { return compiler::copy_bytes<8>(bytes + end, &freed_pattern::word); }
    freed_pattern::write(bytes + end, pattern);
}

/// True when no byte of a short slot has changed since it was filled.
[[nodiscard]] [[CAIRN_FORCE_INLINE]] inline bool is_short_slot_as_filled(
    const void* slot, std::size_t tail, const std::size_t& size) noexcept {
    const auto* const bytes = static_cast<const std::byte*>(slot);
    auto same = freed_pattern::same(bytes);
    if (tail <= 32) [[likely]] {
        same &= freed_pattern::same(bytes + 16) & freed_pattern::same(bytes + tail) &
                freed_pattern::same(bytes + tail + 16);
        return compiler::all_equal(same);
    }
    const bool ends_in_word = size % 16 == 8;
    const std::size_t end = size - (ends_in_word ? 8 : 16);
    if (ends_in_word && !freed_pattern::is_word(bytes + end)) { return false; }
    if (!ends_in_word) { same &= freed_pattern::same(bytes + end); }
    for (std::size_t i = 16; i < end; i += 16) { same &= freed_pattern::same(bytes + i); }
    return compiler::all_equal(same);
}

}  // namespace detail

/// Returns: nullptr when the slot on top of the stack is not handled here.
[[CAIRN_FORCE_INLINE]] inline void* pool::allocate_short() noexcept {
    void** const top = top_;
    if (top == floor_) [[unlikely]] { return nullptr; }
    void* const slot = top[-1];
    bool* live = seen_.last_live;
    if (slot != seen_.last) {
        const detail::seen_chunk& seen = seen_.at(slot);
        const std::size_t distance = reinterpret_cast<std::uintptr_t>(slot) - seen.first;
        if (distance >= seen.short_size) [[unlikely]] { return nullptr; }
        seen_.last = slot;
        // The stack lies outside of the slots, so a user cannot overwrite it: a slot begins here.
        seen_.last_live = live = seen.live + seen_.number(distance);
    }
    if (!detail::is_short_slot_as_filled(slot, seen_.tail, stride_)) [[unlikely]] {
        return nullptr;
    }
    *live = true;
    detail::mark_given_out(slot);
    top_ = top - 1;
    return slot;
}

/// Returns: false when the slot is not handled here.
[[CAIRN_FORCE_INLINE]] inline bool pool::deallocate_short(void* p) noexcept {
    bool* live = seen_.last_live;
    if (p != seen_.last) {
        const detail::seen_chunk& seen = seen_.at(p);
        const std::size_t distance = reinterpret_cast<std::uintptr_t>(p) - seen.first;
        // distance = q * stride + r: the product is q * 2^64 + q * e + r * inverse, where e is
        // below the stride. So its lower half is below the inverse where r is 0: q * e is below
        // 2^52, the inverse of a short stride at least 2^56.
        const compiler::product number{distance, seen_.number.inverse};
        if (distance >= seen.short_size || number.low >= seen_.number.inverse) [[unlikely]] {
            return false;
        }
        seen_.last = p;
        seen_.last_live = live = seen.live + number.high;
    }
    if (!*live) [[unlikely]] { return false; }
    *live = false;
    detail::fill_short_slot(p, seen_.tail, stride_);
    *top_++ = p;
    return true;
}

[[CAIRN_FORCE_INLINE]] inline void* pool::allocate() noexcept {
    if constexpr (CAIRN_CALLER_IS_OPTIMIZED) {
        if (void* const slot = allocate_short(); slot != nullptr) [[likely]] { return slot; }
    }
    return allocate_checked();
}

[[CAIRN_FORCE_INLINE]] inline void pool::deallocate(void* p, call_site from) noexcept {
    if (CAIRN_CALLER_IS_OPTIMIZED && deallocate_short(p)) [[likely]] { return; }
    deallocate_checked(p, from);
}

[[CAIRN_FORCE_INLINE]] inline void pool::deallocate(void* p, std::size_t size, alignment align,
                                                    call_site from) noexcept {
    if (CAIRN_CALLER_IS_OPTIMIZED && size <= stride_ && align <= align_) [[likely]] {
        return deallocate(p, from);
    }
    deallocate_checked(p, size, align, from);
}

}}  // namespace cairn::CAIRN_FLAVOUR
