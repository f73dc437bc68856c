// cairn/collected/trace/shown.hpp - which members a visitor can be shown, and whether what they
// refer to stands in them.
//
//                                     is_shown    lie_elsewhere
//      ref, ref_array                  yes         no: a name in the object
//      traced<container>               yes         yes: names in the container's memory
//      arrays of these, std::array     yes         as their elements
//      anything else                   no
#pragma once

#include <cstddef>

#include <cairn/collected/ref.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

template <class T>
class ref_array;
template <class Container, auto... Fields>
class traced;

namespace detail {

template <class T>
inline constexpr bool is_reference = false;
template <class T>
inline constexpr bool is_reference<ref<T>> = true;
template <class T>
inline constexpr bool is_reference<ref_array<T>> = true;
template <class Container, auto... Fields>
inline constexpr bool is_reference<traced<Container, Fields...>> = true;

/// True when a visitor can be shown a T.
template <class T>
inline constexpr bool is_shown = is_reference<T>;
template <class T, std::size_t Count>
inline constexpr bool is_shown<T[Count]> = is_shown<T>;
template <class T>
    requires requires { typename T::value_type; }
inline constexpr bool is_shown<T> = is_shown<typename T::value_type>;

/// True when the references of a T do not lie in it: a traced container, or an array of such.
template <class T>
inline constexpr bool lie_elsewhere = false;
template <class Container, auto... Fields>
inline constexpr bool lie_elsewhere<traced<Container, Fields...>> = true;
template <class T, std::size_t Count>
inline constexpr bool lie_elsewhere<T[Count]> = lie_elsewhere<T>;
template <class T>
    requires requires { typename T::value_type; }
inline constexpr bool lie_elsewhere<T> = lie_elsewhere<typename T::value_type>;

}  // namespace detail

}}  // namespace cairn::CAIRN_FLAVOUR
