// cairn/movable/trivial_relocation.hpp - whether an object may be moved by its bytes.
//
//      trivially copyable                         yes
//      enable_trivial_relocation<T> is true       yes: its author says that nothing points into it
//      others                                     no (relocation.hpp: how these move)
#pragma once

#include <type_traits>

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// True for types whose objects may be moved by copying their bytes and forgetting the old ones,
/// although they are not trivially copyable. Say so for your own:
///     template <> inline constexpr bool cairn::enable_trivial_relocation<my_string> = true;
template <class T>
inline constexpr bool enable_trivial_relocation = false;

/// True when memmove relocates a T. (A type whose copies and moves are all deleted counts as
/// trivially copyable, and must stay where it is.)
template <class T>
inline constexpr bool is_trivially_relocatable =
    (std::is_trivially_copyable_v<T> && std::is_move_constructible_v<T>) ||
    enable_trivial_relocation<T>;

namespace detail {

template <class T>
concept relocates_itself = requires(T* to, T* from) { T::relocate(to, from); };
template <class T>
concept hears_of_relocation = requires(T& t, T* from) { t.on_relocated(from); };

}  // namespace detail
}}  // namespace cairn::CAIRN_FLAVOUR
