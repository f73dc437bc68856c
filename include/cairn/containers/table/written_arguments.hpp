// cairn/containers/table/written_arguments.hpp - which arguments a function object may write.
//
//      [](vec3& p, const vec3& v) {...}               0: written    1: read only
//      [](vec3 p, std::reference_wrapper<vec3> v)     0: read only  1: written
//      [](auto&& p, auto&& v) {...}                   unknown: both count as written
//
// Read only is what takes the field as const T& or as a copy T. Anything else may lead back to the
// field, whatever it looks like: another type may be made from a T& and keep it.
// table::each stores split fields back only where they may have changed.
//
// Cost: compile time only.
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/containers/inside/row_fields.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// The arguments of a function object that is not generic.
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

/// True when argument number I of F, which is given a field of type T, may write it.
template <class F, std::size_t I, class T>
consteval bool writes_argument() {
    if constexpr (argument_list<F>::is_known) {
        using A = type_at<I, typename argument_list<F>::type>;
        return !std::is_same_v<A, const T&> && !std::is_same_v<std::remove_cv_t<A>, T>;
    } else {
        return true;
    }
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
