// cairn/core/inside/moved.hpp - a number or a pointer that is empty after it was moved from.
//
//      a  [ size 7 ]  ----- b = std::move(a) ----->  b  [ size 7 ]      a  [ size 0 ]
//
// A class whose counts are of this type, and whose other members move as they should, defaults its
// moves: no list of members to keep in step with the members. What owns memory defaults the
// constructor, and assigns by begin_anew().
//
// Cost: a T, and two stores to move; every use is inlined, in unoptimized builds too.
#pragma once

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

template <class T, T Empty = T{}>
class moved {
public:
    constexpr moved() noexcept = default;
    constexpr explicit moved(T value) noexcept : value_{value} {}
    moved(const moved&) = default;
    moved& operator=(const moved&) = default;
    constexpr moved(moved&& other) noexcept : value_{other.value_} { other.value_ = Empty; }
    constexpr moved& operator=(moved&& other) noexcept {
        const T value = other.value_;  // in this order it is right for itself too
        other.value_ = Empty;
        value_ = value;
        return *this;
    }
    [[CAIRN_FORCE_INLINE]] constexpr moved& operator=(T value) noexcept {
        value_ = value;
        return *this;
    }

    // By value: no reference to the plain number leaves.
    [[CAIRN_FORCE_INLINE]] constexpr operator T() const noexcept { return value_; }
    [[CAIRN_FORCE_INLINE]] constexpr T operator++() noexcept { return ++value_; }
    [[CAIRN_FORCE_INLINE]] constexpr T operator++(int) noexcept { return value_++; }
    [[CAIRN_FORCE_INLINE]] constexpr T operator--() noexcept { return --value_; }
    [[CAIRN_FORCE_INLINE]] constexpr T operator+=(T value) noexcept { return value_ += value; }
    [[CAIRN_FORCE_INLINE]] constexpr T operator->() const noexcept { return value_; }  // a pointer

private:
    T value_ = Empty;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
