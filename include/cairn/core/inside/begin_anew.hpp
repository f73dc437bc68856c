// cairn/core/inside/begin_anew.hpp - a move assignment: the old value of the target ends, and the
// target takes the value of the source.
//
//      T& operator=(T&& from) noexcept { return detail::begin_anew(*this, from); }
//
//      root = std::move(root[0].children);      the source may lie inside of the target
//
//      1. from -> taken      before anything ends
//      2. object ends        and with it `from`, where it was inside
//      3. taken -> object
//
// A class that owns memory lists its members once, in the constructor that moves.
//
// Cost: that of the destructor, and of two moves.
#pragma once

#include <new>

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// `object` takes the value of `from`; where both are one, nothing happens.
/// `from` may lie in memory that `object` owns, and end with it: it is moved out first.
/// Requires: `object` is complete, or a member; not a base.
template <class T>
T& begin_anew(T& object, T& from) noexcept {
    if (compiler::address_of(object) != compiler::address_of(from)) {
        T kept(static_cast<T&&>(from));
        object.~T();
        ::new (static_cast<void*>(compiler::address_of(object))) T(static_cast<T&&>(kept));
    }
    return object;
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
