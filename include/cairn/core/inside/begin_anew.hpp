// cairn/core/inside/begin_anew.hpp - an assignment that takes memory over: what was there ends
// first.
//
//      T& operator=(T&& from) noexcept { return detail::begin_anew(*this, from); }
//
// So a class that owns memory lists its members once, in the constructor that moves; where these
// are moved<> (moved.hpp), nowhere.
//
// Cost: that of the destructor and of the constructor.
#pragma once

#include <new>

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// `object` ends, and begins anew as what `from` was; where both are one, nothing happens.
/// `from` may lie in memory that `object` owns, and end with it: it is moved out first.
/// Requires: `object` is complete, or a member; not a base.
template <class T>
T& begin_anew(T& object, T& from) noexcept {
    if (&object != &from) {
        T kept(static_cast<T&&>(from));
        object.~T();
        ::new (static_cast<void*>(&object)) T(static_cast<T&&>(kept));
    }
    return object;
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
