// cairn/storage/inside/growth.hpp - how much more a container asks for, and what it settles for.
//
//      now      needed                    wish
//      |--------|-|-----------------------|      twice as much ...
//      |--------|-|----------|                   half of the surplus ...
//      |--------|-|---|                          half of that: down to an eighth of what there is
//      refused                                   and not one element at a time
//
// This is the one way in which containers grow: grow_room() chooses how much, the container's
// `attempt` takes the memory and moves the elements.
//
// A container that grows by copying asks for an eighth more at least. It refuses when the upstream
// has less: taking the rest one element at a time would copy all elements at each of the last
// insertions, O(n^2). Memory that grows in place is taken as it is needed, since nothing is copied.
// What reserve() asks for is taken exactly.
//
// Cost: with a wish of twice `now` at most five attempts, each a request to an upstream.
#pragma once

#include <cstddef>

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

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

/// Room for `needed` elements or more where `now` have room, and `max` at most.
/// `is_in_place`: growth copies nothing, so that exactly `needed` will do.
/// Returns: false when needed > max, or when every attempt failed; true without an attempt when
///          needed <= now.
template <class Attempt>
constexpr bool grow_room(std::size_t now, std::size_t needed, std::size_t max, bool is_in_place,
                         Attempt attempt) {
    if (needed <= now) { return true; }
    if (needed > max) { return false; }
    const std::size_t wish = is_in_place ? needed : grown_count(now, needed);
    return detail::grow_by_halves(now, needed, wish < max ? wish : max, attempt) != 0;
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
