// cairn/storage/inside/store_traits.hpp - what an owner asks of a store that is not complete yet.
//
//      struct door { unique_handle<deferred_store<slot_map<door>>> behind; };
//
// Here neither door nor its map is complete, but the owner has the map's handle as a member: each
// store says it by a specialization, which instantiates no map.
#pragma once

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// What owners know of a store. The stores of this library say it without being instantiated: an
/// object may hold owners of others of its kind, and is incomplete there.
template <class Store>
struct store_traits {
    using handle_type = typename Store::handle_type;
    /// False where an object that owns another of its own store would be erased within an erase().
    static constexpr bool may_own_its_kind = true;
    /// Objects are found by their address until they are erased.
    static constexpr bool keeps_addresses = false;
};

/// The index of every handle of `map` is below it, until the map has more slots.
template <class Map>
[[nodiscard]] auto slot_count_of(const Map& map) noexcept {
    if constexpr (requires { map.slot_count(); }) {
        return map.slot_count();
    } else {
        return map.capacity();
    }
}

/// Of the maps.
template <class T, class Policy>
struct map_traits {
    using handle_type = typename Policy::template handle_type<T>;
    static constexpr bool may_own_its_kind = requires { sizeof(T); };  // not one of its members
    static constexpr bool keeps_addresses = false;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
