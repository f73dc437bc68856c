// cairn/alloc/required_size.hpp - how large a region must be so that nothing is ever refused.
//
//    live_max = 1 MiB, requests of 64 B to 4 KiB: the region that never refuses, whatever the order
//
//        first_fit 13 MB        half_fit 29 MB        best_fit, good_fit 69 MB
//
// No allocator that cannot move blocks does with less than about live_max * log2(request_max /
// request_min) / 2 in the worst case (Robson 1971). Real programs need a tenth of these figures;
// who must *prove* that memory suffices needs all of them.
//
// The worst cases, in granules: M of live blocks at a time, each at most n, at most C of them.
//
//      any fit     M + C (n - 1)       a request fails only when every hole is smaller than it, and
//                                      C live blocks have at most C holes between and around them
//      first_fit   M H(n) / ln 2       H(n) = 1 + 1/2 + ... + 1/n; Knuth, TAOCP vol. 1, 2.5, ex. 43
//      half_fit    M (1 + log2 n)      blocks of powers of two; Ogasawara 1995, Herter 2014, o1heap
//
// The smaller of the two that apply. Rounding, headers, index and bins are counted.
//
// Requires:  alignments of at most 16, and that try_resize is not used (a grown block is a request
//            that chose its place).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cairn/alloc/first_fit.hpp>
#include <cairn/alloc/half_fit.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/core/inside/bits.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

struct best_fit;  // makes blocks as large as their requests, as first_fit does

namespace detail {

/// H(n) / ln 2, rounded up, in units of 1/1024.
[[nodiscard]] constexpr std::size_t harmonic_over_ln2(std::size_t n) noexcept {
    if (n > 4096) {  // H(n) <= 1 + ln n, and log2 n <= ceil_log2 n
        return 1478 + std::size_t{detail::ceil_log2(n)} * 1024;
    }
    double sum = 0;
    for (std::size_t i = 1; i <= n; ++i) { sum += 1.0 / static_cast<double>(i); }
    return static_cast<std::size_t>(sum / 0.69314718055994530941 * 1024) + 1;
}

/// How much larger a block of Fit may be than its request of `smallest` to `largest` granules, in
/// units of 1/1024 of the request, rounded up.
template <class Fit>
[[nodiscard]] constexpr std::size_t rounding_of(std::size_t smallest,
                                                std::size_t largest) noexcept {
    std::size_t worst = 0;
    // One by one, then in steps of 1/256: no block is smaller than that of a smaller request. So a
    // step adds its width to the answer at most.
    for (std::size_t first = smallest; first <= largest;) {
        std::size_t last = first < 4096 ? first : first + first / 256;
        last = last < largest ? last : largest;
        const std::size_t more = Fit::block_size(static_cast<std::uint32_t>(last)) - first;
        worst = more * 1024 > worst * first ? (more * 1024 + first - 1) / first : worst;
        first = last + 1;
    }
    return worst;
}

}  // namespace detail

/// Bytes of region with which a heap<Fit> refuses no request, in any order of any requests of
/// request_min to request_max bytes of which at most live_max bytes live at a time, the new one
/// included. SIZE_MAX when no region can promise it.
template <class Fit>
[[nodiscard]] constexpr std::size_t required_size(std::size_t live_max, std::size_t request_max,
                                                  std::size_t request_min = 1) noexcept {
    if (request_min == 0) { request_min = 1; }
    if (request_max > live_max) { request_max = live_max; }
    if (live_max > SIZE_MAX / 4096 || request_max < request_min) {
        return request_max < request_min ? heap<Fit>::region_size_for(0) : SIZE_MAX;
    }
    const std::size_t count = live_max / request_min;
    const std::size_t asked_max = detail::granules_for(request_max);
    if (asked_max > detail::granule_count_max) { return SIZE_MAX; }
    const std::size_t largest = Fit::block_size(static_cast<std::uint32_t>(asked_max));
    // A request of r bytes takes at most (r + 23) / 16 granules, and what the fit rounds up.
    std::size_t live = (live_max + 23 * count + 15) / 16;
    if constexpr (std::is_same_v<Fit, half_fit>) {
        live *= 2;
    } else if constexpr (!std::is_same_v<Fit, first_fit> && !std::is_same_v<Fit, best_fit>) {
        const std::size_t more =
            detail::rounding_of<Fit>(detail::granules_for(request_min), asked_max);
        if (more != 0) {
            live = detail::saturating_add(live, detail::saturating_multiply(live / 1024 + 1, more));
        }
    }
    std::size_t granules =
        detail::saturating_add(live, detail::saturating_multiply(count, largest - 1));
    std::size_t other = SIZE_MAX;
    if constexpr (std::is_same_v<Fit, first_fit>) {
        other = detail::saturating_multiply(live, detail::harmonic_over_ln2(largest)) / 1024 + 1;
    } else if constexpr (std::is_same_v<Fit, half_fit>) {
        other = detail::saturating_multiply(live, 1 + detail::ceil_log2(largest));
    }
    granules = granules < other ? granules : other;
    if (granules > detail::granule_count_max) { return SIZE_MAX; }
    return heap<Fit>::region_size_for_granules(granules);
}

}}  // namespace cairn::CAIRN_FLAVOUR
