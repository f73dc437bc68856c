// cairn/storage/growth.hpp - how much more a container asks for, and what it settles for.
//
//      now      needed                    wish
//      |--------|-|-----------------------|      twice as much ...
//      |--------|-|----------|                   half of the surplus ...
//      |--------|-|---|                          half of that: down to an eighth of what there is
//      refused                                   and not one element at a time
//
// A container that grows by copying and takes whatever is left, one element at a time, copies
// everything for each of the last insertions: O(n^2) where memory ends. It refuses instead, when
// less than an eighth is to be had. What reserve() asks for is taken exactly.
//
// Cost: with a wish of twice `now` at most five attempts, each a request to an upstream.
#pragma once

#include <cstddef>

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// Geometric growth: at least `needed`, at least twice `now`, and not absurdly little at first.
[[nodiscard]] constexpr std::size_t grown_count(std::size_t now, std::size_t needed) noexcept {
    const std::size_t twice = now > 8 ? now * 2 : 16;
    return twice > needed ? twice : needed;
}

/// Calls attempt(count) with `wish`, then with `now` and a half, a quarter ... of the surplus,
/// until one succeeds; last with `now` and an eighth of it, or with `needed` where that is more
/// (`wish` at most).
/// Requires: now < needed <= wish.
/// Returns:  the count that succeeded; 0: none did.
template <class Attempt>
constexpr std::size_t grow_by_halves(std::size_t now, std::size_t needed, std::size_t wish,
                                     Attempt attempt) {
    const std::size_t eighth = now + now / 8;
    std::size_t least = needed > eighth ? needed : eighth;
    least = least < wish ? least : wish;
    for (;;) {
        if (attempt(wish)) { return wish; }
        if (wish == least) { return 0; }
        wish = now + (wish - now) / 2;
        wish = wish > least ? wish : least;
    }
}

}}  // namespace cairn::CAIRN_FLAVOUR
