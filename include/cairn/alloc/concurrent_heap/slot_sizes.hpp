// cairn/alloc/concurrent_heap/slot_sizes.hpp - the sizes of slots, and the numbers of these sizes.
//
//      class   0   1   2 ...   7 |   8   9  10  11 |  12  13  14  15 | ...    36 ...    39
//      bytes  16  32  48     128 | 160 192 224 256 | 320 384 448 512 |     20480     32768
//              steps of 16       | four steps to each doubling
//
// A request above 128 bytes gets a slot that is at most a quarter larger than the request.
//
// A chunk is cut into slots of one class. Classes up to 4 KiB take one unit of 64 KiB a chunk, the
// larger ones four, so that the last bytes of a chunk, which no slot covers, are at most 6 %.
//
// Cost: a class is one load from a table of 2 KiB, and a constant where the size is one.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/alignment.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Bytes of a unit, the step in which segments are divided; chunks and large blocks begin at one.
inline constexpr unsigned unit_log2 = 16;
inline constexpr std::size_t unit_size = std::size_t{1} << unit_log2;

struct slot_sizes {
    static constexpr unsigned class_count = 40;
    static constexpr std::size_t small_max = std::size_t{32} << 10;
    /// Larger alignments are served as large blocks.
    static constexpr std::size_t align_max = 4096;

    /// Bytes of a slot of class `c`.
    [[nodiscard]] static constexpr std::size_t size_of(unsigned c) noexcept {
        return c < 8 ? std::size_t{16} * (c + 1)
                     : std::size_t{5 + (c - 8) % 4} << (5 + (c - 8) / 4);
    }
    /// Units of a chunk of class `c`.
    [[nodiscard]] static constexpr unsigned units_of(unsigned c) noexcept {
        return size_of(c) <= 4096 ? 1 : 4;
    }
    [[nodiscard]] static constexpr unsigned slots_of(unsigned c) noexcept {
        return static_cast<unsigned>(units_of(c) * unit_size / size_of(c));
    }
    /// The smallest class whose slots hold `size` bytes. Requires: size <= small_max.
    [[nodiscard]] static constexpr unsigned class_of(std::size_t size) noexcept;
    /// The same, of the classes whose slots all begin at multiples of `align`.
    /// Requires: size <= small_max, align <= align_max.
    [[nodiscard]] static constexpr unsigned class_of(std::size_t size, alignment align) noexcept;
    /// True when a request is served with a slot, not as a large block.
    [[nodiscard]] static constexpr bool has(std::size_t size, alignment align) noexcept {
        return size <= small_max && align.bytes() <= align_max;
    }
};

/// A byte for each 16 bytes of a request.
struct slot_size_tables {
    std::uint8_t class_of[slot_sizes::small_max / 16 + 1] = {};

    constexpr slot_size_tables() noexcept {
        unsigned c = 0;
        for (std::size_t i = 0; i <= slot_sizes::small_max / 16; ++i) {
            if (i * 16 > slot_sizes::size_of(c)) { ++c; }
            class_of[i] = static_cast<std::uint8_t>(c);
        }
    }
};
inline constexpr slot_size_tables slot_tables{};

constexpr unsigned slot_sizes::class_of(std::size_t size) noexcept {
    return slot_tables.class_of[(size + 15) / 16];
}

constexpr unsigned slot_sizes::class_of(std::size_t size, alignment align) noexcept {
    if (align <= default_alignment) [[likely]] { return class_of(size); }
    // A chunk begins at a multiple of 64 KiB, so each slot begins at a multiple of `align` whose
    // size is one. A power of two is among every four classes.
    unsigned c = class_of(size > align.bytes() ? size : align.bytes());
    while ((size_of(c) & align.mask()) != 0) { ++c; }
    return c;
}

static_assert(slot_sizes::size_of(7) == 128 && slot_sizes::size_of(8) == 160);
static_assert(slot_sizes::size_of(slot_sizes::class_count - 1) == slot_sizes::small_max);
static_assert(slot_sizes::class_of(0) == 0 && slot_sizes::class_of(129) == 8);
static_assert(slot_sizes::class_of(1, alignment{4096}) == slot_sizes::class_of(4096));

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
