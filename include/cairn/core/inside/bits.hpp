// cairn/core/inside/bits.hpp - the few bit operations and overflow checks that allocators share.
//
// Cost: one to three instructions each (lzcnt, tzcnt, shift); all constexpr.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include <cairn/core/assert.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Position of the highest set bit. Requires: value != 0.
template <std::unsigned_integral T>
[[nodiscard]] constexpr unsigned floor_log2(T value) noexcept {
    CAIRN_ASSERT(value != 0, "zero has no highest bit");
    return static_cast<unsigned>(std::bit_width(value)) - 1;
}

/// Smallest n with value <= 2^n. Requires: value != 0.
template <std::unsigned_integral T>
[[nodiscard]] constexpr unsigned ceil_log2(T value) noexcept {
    CAIRN_ASSERT(value != 0, "zero has no logarithm");
    return static_cast<unsigned>(std::bit_width(static_cast<T>(value - 1)));
}

/// Position of the lowest set bit. Requires: value != 0.
template <std::unsigned_integral T>
[[nodiscard]] constexpr unsigned lowest_bit(T value) noexcept {
    CAIRN_ASSERT(value != 0, "zero has no lowest bit");
    return static_cast<unsigned>(std::countr_zero(value));
}

/// a + b, or SIZE_MAX when it does not fit: a size that every allocator refuses.
[[nodiscard]] constexpr std::size_t saturating_add(std::size_t a, std::size_t b) noexcept {
    const std::size_t sum = a + b;
    return sum < a ? SIZE_MAX : sum;
}

/// a * b, or SIZE_MAX when it does not fit: a size that every allocator refuses.
[[nodiscard]] constexpr std::size_t saturating_multiply(std::size_t a, std::size_t b) noexcept {
    constexpr std::size_t max = SIZE_MAX;
    return (b != 0 && a > max / b) ? max : a * b;
}

static_assert(floor_log2(std::size_t{64}) == 6 && ceil_log2(std::size_t{64}) == 6);
static_assert(floor_log2(std::size_t{65}) == 6 && ceil_log2(std::size_t{65}) == 7);
static_assert(ceil_log2(std::size_t{1}) == 0);
static_assert(saturating_add(SIZE_MAX, 1) == SIZE_MAX);
static_assert(saturating_multiply(SIZE_MAX / 2, 3) == SIZE_MAX);

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
