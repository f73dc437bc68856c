// cairn/core/inside/element.hpp - what a type must be to be the T of a container, pool or store.
//
//      template <detail::element T>        T may be incomplete here: a class has a slot_map of its
//      class pool_of {                     own type as a member
//          ~pool_of() {
//              static_assert(sizeof(detail::concrete_rules<T>) != 0);   T is complete here
//
// The assertion inside the concept says one sentence. The concept then is false, so that the
// compiler does not go on with the class and its hundred errors about pointers to references.
// So a program cannot ask: `requires { typename packed_array<const int>; }` is an error, not false.
//
// Cost: none at run time. It includes <cstddef> alone: fwd.hpp includes it.
#pragma once

#include <cstddef>

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

// Written out: <type_traits> would add 2,300 lines to each file that includes fwd.hpp.
template <class A, class B>
inline constexpr bool is_same_type = false;
template <class A>
inline constexpr bool is_same_type<A, A> = true;
template <class T>
inline constexpr bool is_array_type = false;
template <class T>
inline constexpr bool is_array_type<T[]> = true;
template <class T, std::size_t Count>
inline constexpr bool is_array_type<T[Count]> = true;

template <class T>
struct element_rules {
    // A reference and a function are what they were when const is added.
    static constexpr bool kept = !is_same_type<T, const T> && !is_same_type<T, volatile T> &&
                                 !is_same_type<T, void> && !is_array_type<T>;
    static_assert(kept,
                  "T is the type of an object: not const or volatile, and no reference, array, "
                  "function or void");
};
template <class T>
concept element = element_rules<T>::kept;

/// Const objects are as good as others where nothing has to move or to be assigned.
template <class T>
struct without_const {
    using type = T;
};
template <class T>
struct without_const<const T> : without_const<T> {};
template <class T>
struct without_const<volatile T> : without_const<T> {};
template <class T>
struct without_const<const volatile T> : without_const<T> {};
template <class T>
concept maybe_const_element = element<typename without_const<T>::type>;

/// Where T is complete: in a function, or in a class that has a T. A static_assert that names the
/// size of concrete_rules<T> is true, and lets the compiler say the sentence inside.
template <class T>
inline constexpr bool is_concrete = requires(T& object) { object.~T(); } && !__is_abstract(T);
template <class T>
struct concrete_rules {
    static_assert(is_concrete<T>, "T has a public destructor and is not abstract");
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
