// cairn/containers/inside/sort_indices.hpp - sorts row numbers, so that each row moves only once
// afterwards.
//
//      rows:    d  a  c  b          order: 1 3 2 0      row r becomes what row order[r] was
//
// A stable merge sort over 32-bit numbers. std::sort lives in <algorithm>, one of the heaviest
// headers there are; this is thirty lines, and a stable order is the same on every platform.
//
// Cost: n log2 n comparisons at most, 4 bytes a row twice. No allocation here.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Fills `order` with the permutation that sorts 0 ... count - 1 by `less(a, b)`.
/// `scratch` holds `count` more. What `less` throws passes through; only order/scratch have
/// changed.
template <class Less>
void sort_indices(std::uint32_t* order, std::uint32_t* scratch, std::size_t count, Less&& less) {
    constexpr std::size_t run = 8;  // short runs by insertion, then merged
    for (std::size_t first = 0; first < count; first += run) {
        const std::size_t last = count - first < run ? count : first + run;
        for (std::size_t i = first; i < last; ++i) {
            const auto moving = static_cast<std::uint32_t>(i);
            std::size_t hole = i;
            for (; hole > first && less(moving, order[hole - 1]); --hole) {
                order[hole] = order[hole - 1];
            }
            order[hole] = moving;
        }
    }
    std::uint32_t* from = order;
    std::uint32_t* to = scratch;
    for (std::size_t width = run; width < count; width *= 2) {
        for (std::size_t first = 0; first < count; first += 2 * width) {
            const std::size_t middle = count - first < width ? count : first + width;
            const std::size_t last = count - middle < width ? count : middle + width;
            std::size_t a = first;
            std::size_t b = middle;
            for (std::size_t out = first; out < last; ++out) {
                // The right one only when it is really less: equal rows keep their order.
                const bool right = a == middle || (b != last && less(from[b], from[a]));
                to[out] = right ? from[b++] : from[a++];
            }
        }
        std::uint32_t* const swapped = from;
        from = to;
        to = swapped;
    }
    if (from != order) {
        for (std::size_t i = 0; i < count; ++i) { order[i] = from[i]; }
    }
}

/// True when order[0 ... count - 1] names each of 0 ... count - 1 once: for asserts. The highest
/// bit of order[r] says meanwhile that r was named; it is as before afterwards. Beyond 2^31 rows
/// nothing is looked at.
[[nodiscard]] inline bool names_each_once(std::uint32_t* order, std::size_t count) noexcept {
    constexpr std::uint32_t named = std::uint32_t{1} << 31;
    if (count > named) { return true; }
    for (std::size_t i = 0; i < count; ++i) {
        if (order[i] >= count) { return false; }
    }
    for (std::size_t i = 0; i < count; ++i) { order[order[i] & ~named] |= named; }
    bool all = true;
    for (std::size_t i = 0; i < count; ++i) {
        all = all && (order[i] & named) != 0;
        order[i] &= ~named;
    }
    return all;
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
