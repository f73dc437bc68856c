// cairn/storage/inside/store_traits.hpp - what an owner asks of a store that is not complete yet,
// and what checked stores know of their owners.
//
//      struct door { unique_handle<deferred_store<slot_map<door>>> behind; };
//
// Here neither door nor its map is complete, but the owner has the map's handle as a member: each
// store says it by a specialization, which instantiates no map.
#pragma once

#include <cstddef>

#include <cairn/core/assert.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

template <class Store>
class unique_handle;

namespace detail {

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

/// Of the maps.
template <class T, class Policy>
struct map_traits {
    using handle_type = typename Policy::template handle_type<T>;
    static constexpr bool may_own_its_kind = requires { sizeof(T); };  // not one of its members
    static constexpr bool keeps_addresses = false;
};

/// Checked builds: the owners that point to a store. A store that moves leaves them behind, as they
/// point to the old place.
class owner_count {
public:
    constexpr owner_count() noexcept = default;
    constexpr owner_count(owner_count&&) noexcept {}
    constexpr owner_count& operator=(owner_count&&) noexcept { return *this; }

#if CAIRN_ASSERTS
    constexpr void add() noexcept { ++count_; }
    constexpr void remove() noexcept { --count_; }
    /// `store` ends.
    void expect_none(const void* store, const char* type) const noexcept {
        CAIRN_ASSERT(count_ == 0, "every unique_handle ends before its store",
                     {.kind = misuse_kind::out_of_order,
                      .object = store,
                      .type = type,
                      .values = {{"owners", count_}}});
    }

private:
    std::size_t count_ = 0;
#else
    constexpr void add() noexcept {}
    constexpr void remove() noexcept {}
    void expect_none(const void*, const char*) const noexcept {}
#endif
};

}  // namespace detail
}}  // namespace cairn::CAIRN_FLAVOUR
