// cairn/alloc/inside/size_class.hpp - numbers for sizes: exact when small, a fixed ratio apart
// above.
//
//      2^M = 16 steps to an octave (M = 4):
//
//      size    1  2  3 ... 31 | 32  34  36 ... 62 | 64  68  72 ... 124 | 128 136 ...
//      class   1  2  3 ... 31 | 32  33  34 ... 47 | 48  49  50 ...  63 |  64  65 ...
//              exact          | steps of 2        | steps of 4         | steps of 8
//
// A class is the top M + 1 bits of the size, so that both directions are a shift and an add, and
// rounding a size up to its class wastes less than 1 / 2^M of it.
//
// Units: whatever the caller counts in: granules in the heap, bytes in the offset heap.
// Cost:  about five instructions each way; all constexpr.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

template <unsigned MantissaBits, std::unsigned_integral Size = std::uint32_t>
struct size_class {
    static constexpr std::uint32_t steps_per_octave = 1u << MantissaBits;

    /// The class whose sizes reach from class_size(c) up to, not including, class_size(c + 1).
    [[nodiscard]] static constexpr std::uint32_t floor(Size size) noexcept {
        // `| steps` makes the small sizes fall into the first, exact, octave without a branch.
        constexpr unsigned width = sizeof(Size) * 8;
        const auto zeros = static_cast<unsigned>(std::countl_zero(size | steps_per_octave));
        if constexpr (width < 64) {
            // Shifted up first, so that the number of the highest bit serves as it is: 8
            // instructions.
            const unsigned highest = (width - 1) ^ zeros;
            const auto top =
                static_cast<std::uint32_t>((std::uint64_t{size} << MantissaBits) >> highest);
            return top + (highest << MantissaBits) - (MantissaBits << MantissaBits);
        } else {
            // The top bits, counted from the left: two instructions less than shifting right by
            // width - 1 - MantissaBits - zeros.
            const auto top = static_cast<std::uint32_t>(static_cast<Size>(size << zeros) >>
                                                        (width - 1 - MantissaBits));
            return top + ((width - 1 - MantissaBits - zeros) << MantissaBits);
        }
    }

    /// The first class all of whose sizes are >= `size`. Requires: the sum does not wrap.
    [[nodiscard]] static constexpr std::uint32_t ceil(Size size) noexcept {
        const unsigned width = static_cast<unsigned>(std::bit_width(size | steps_per_octave));
        const unsigned shift = width - 1 - MantissaBits;
        // A carry out of the octave lands on the first class of the next: the numbering goes on.
        const Size up = static_cast<Size>(size + ((Size{1} << shift) - 1));
        return (shift << MantissaBits) + static_cast<std::uint32_t>(up >> shift);
    }

    /// The smallest size of a class.
    [[nodiscard]] static constexpr Size size_of(std::uint32_t c) noexcept {
        if (c < 2 * steps_per_octave) { return c; }
        const unsigned shift = (c >> MantissaBits) - 1;
        return static_cast<Size>(static_cast<Size>((c & (steps_per_octave - 1)) + steps_per_octave)
                                 << shift);
    }

    /// `size` rounded up to the smallest size of a class.
    [[nodiscard]] static constexpr Size round_up(Size size) noexcept { return size_of(ceil(size)); }
};

static_assert(size_class<4>::floor(1) == 1 && size_class<4>::floor(31) == 31);
static_assert(size_class<4>::floor(32) == 32 && size_class<4>::floor(33) == 32);
static_assert(size_class<4>::ceil(33) == 33 && size_class<4>::size_of(33) == 34);
static_assert(size_class<4>::ceil(63) == 48 && size_class<4>::ceil(0) == 0);
static_assert(size_class<4>::round_up(65) == 68 && size_class<4>::round_up(64) == 64);

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
