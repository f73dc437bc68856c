// cairn/containers/written_arguments.hpp - which arguments a function object writes, by its signature.
//
//      [](vec3& p, const vec3& v) {...}      0: written    1: read only
//      [](auto&& p, auto&& v) {...}          unknown: both count as written
//
// table::each stores split fields back only where they may have changed.
//
// Cost: compile time only.
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/containers/row_fields.hpp>

namespace cairn {

namespace detail {

/// Which arguments a function object writes: those it takes as T&. Generic ones: all.
template <class F>
struct argument_list {
    static constexpr bool is_known = false;
};
template <class T>
struct arguments_of_call : argument_list<void> {};
template <class R, class C, class... A>
struct arguments_of_call<R (C::*)(A...)> {
    static constexpr bool is_known = true;
    using type = type_list<A...>;
};
template <class R, class C, class... A>
struct arguments_of_call<R (C::*)(A...) const> : arguments_of_call<R (C::*)(A...)> {};
template <class R, class C, class... A>
struct arguments_of_call<R (C::*)(A...) noexcept> : arguments_of_call<R (C::*)(A...)> {};
template <class R, class C, class... A>
struct arguments_of_call<R (C::*)(A...) const noexcept> : arguments_of_call<R (C::*)(A...)> {};
template <class F>
    requires requires { &F::operator(); }
struct argument_list<F> : arguments_of_call<decltype(&F::operator())> {};

template <class F, std::size_t I>
consteval bool writes_argument() {
    if constexpr (argument_list<F>::is_known) {
        using A = type_at<I, typename argument_list<F>::type>;
        return std::is_lvalue_reference_v<A> && !std::is_const_v<std::remove_reference_t<A>>;
    } else {
        return true;
    }
}

}  // namespace detail

}  // namespace cairn
