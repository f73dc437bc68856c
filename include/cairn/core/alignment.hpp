// cairn/core/alignment.hpp - an alignment is a power of two, and nothing else.
//
// A plain integer makes every function ask again "is it a power of two?". This type asks once,
// where the value is made, and keeps log2 of it: one byte, and rounding needs no division.
//
//      address:  ....abcd efgh   alignment{16}: mask() = 0000 1111
//      round up: (address + mask) & ~mask
//
// Cost: everything here is O(1) and constexpr; with a constant alignment the mask is an immediate.
// Same idea as: llvm::Align, Zig's std.mem.Alignment.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/assert.hpp>
#include <cairn/core/inside/compiler.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

class alignment {
public:
    /// Requires: `bytes` is a power of two.
    explicit constexpr alignment(std::size_t bytes) noexcept
        : log2_{static_cast<std::uint8_t>(bytes == 0 ? 64 : compiler::trailing_zeros(bytes))} {
        CAIRN_ASSERT(bytes != 0 && (bytes & (bytes - 1)) == 0, "an alignment is a power of two");
    }

    /// The alignment that objects of type T need.
    template <class T>
    [[nodiscard]] static constexpr alignment of() noexcept {
        return alignment{alignof(T)};
    }

    /// In bytes; the bits below it; its logarithm.
    [[nodiscard]] constexpr std::size_t bytes() const noexcept { return std::size_t{1} << log2_; }
    [[nodiscard]] constexpr std::size_t mask() const noexcept { return bytes() - 1; }
    [[nodiscard]] constexpr unsigned log2() const noexcept { return log2_; }

    // Written out: <compare> would add 1,100 lines to each file that includes this
    // (tools/header_cost.py).
    friend constexpr bool operator==(alignment, alignment) noexcept = default;
    friend constexpr bool operator<(alignment a, alignment b) noexcept { return a.log2_ < b.log2_; }
    friend constexpr bool operator>(alignment a, alignment b) noexcept { return b < a; }
    friend constexpr bool operator<=(alignment a, alignment b) noexcept { return !(b < a); }
    friend constexpr bool operator>=(alignment a, alignment b) noexcept { return !(a < b); }

private:
    std::uint8_t log2_;
};

/// What malloc and new give, and what every allocator here gives when no alignment is named: 16
/// bytes. (Not that of std::max_align_t, which has 8 bytes in the Microsoft ABI.)
inline constexpr alignment default_alignment{__STDCPP_DEFAULT_NEW_ALIGNMENT__};

/// Size of the unit in which processors share memory; two cores writing within one such line
/// slow each other down. 128 bytes on Apple's arm64, 64 elsewhere.
#if defined(__APPLE__) && defined(__aarch64__)
inline constexpr std::size_t cache_line_size = 128;
#else
inline constexpr std::size_t cache_line_size = 64;
#endif
namespace detail {

/// As an alignment: what begins there shares no line with what lies in front of it.
inline constexpr alignment cache_line_alignment{cache_line_size};

/// Bytes to add to `address` to reach the next multiple of `to` (0 when already there).
[[nodiscard]] constexpr std::size_t padding_to(std::uintptr_t address, alignment to) noexcept {
    return (0 - address) & to.mask();
}

/// `value` rounded up to a multiple of `to`. Wraps to 0 within `to` of SIZE_MAX: compare the
/// unrounded value first.
[[nodiscard]] constexpr std::size_t round_up(std::size_t value, alignment to) noexcept {
    return (value + to.mask()) & ~to.mask();
}

/// `value` rounded down to a multiple of `to`.
[[nodiscard]] constexpr std::size_t round_down(std::size_t value, alignment to) noexcept {
    return value & ~to.mask();
}

/// True when `pointer` is a multiple of `to`.
[[nodiscard]] inline bool is_aligned(const void* pointer, alignment to) noexcept {
    return (reinterpret_cast<std::uintptr_t>(pointer) & to.mask()) == 0;
}

}  // namespace detail

static_assert(sizeof(alignment) == 1 && default_alignment.bytes() == 16);
static_assert(detail::padding_to(0, alignment{16}) == 0);
static_assert(detail::padding_to(1, alignment{16}) == 15);
static_assert(detail::padding_to(16, alignment{16}) == 0);
static_assert(detail::round_up(17, alignment{16}) == 32);
static_assert(detail::round_down(17, alignment{16}) == 16);

}}  // namespace cairn::CAIRN_FLAVOUR
