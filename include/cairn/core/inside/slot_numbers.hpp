// cairn/core/inside/slot_numbers.hpp - from the address of a slot to its number, without a
// division.
//
//      chunk   | slot 0 | slot 1 | slot 2 | ...      distance = address - first
//                                                    number   = distance / stride
//
//      inverse = floor((2^64 - 1) / stride) + 1      number   = distance * inverse / 2^64
//
// The product rounds down correctly wherever distance * stride < 2^64. For a stride of 1 the
// inverse wraps to 0, and each number is 0.
// Source: Granlund and Montgomery, Division by invariant integers using multiplication, 1994.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

struct slot_numbers {
    explicit constexpr slot_numbers(std::size_t slot_stride) noexcept
        : stride{slot_stride}, inverse{UINT64_MAX / slot_stride + 1} {}

    /// The number of the slot that has the byte at `distance`.
    [[nodiscard]] std::size_t operator()(std::size_t distance) const noexcept {
        return compiler::product{distance, inverse}.high;
    }

    std::size_t stride;
    std::uint64_t inverse;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
