// cairn/containers/slot_map/found.hpp - a position in packed rows, and the answer of a look-up.
//
//      rows:     +---+---+---+---+
//                | a | b | c | d |
//                +---+---+---+---+
//                  ^           ^   ^
//      begin() ----+   it -----+   +---- end()         found: b, or nothing: null and end() at once
//
// row_iterator is a pointer in a class of its own, so that a look-up that found nothing can be null
// to a caller that wants a pointer and end() to one that wants an iterator.
//
// Cost: none; a register, and two for `found` until the compiler sees which of them is asked for.
#pragma once

#include <compare>
#include <cstddef>
#include <span>  // the iterator tags, at a third of the cost of <iterator>
#include <type_traits>

#include <cairn/core/assert.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

template <class T>
class row_iterator {
public:
    using iterator_concept = std::contiguous_iterator_tag;
    using iterator_category = std::random_access_iterator_tag;
    using value_type = std::remove_cv_t<T>;
    using element_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = T*;
    using reference = T&;

    constexpr row_iterator() noexcept = default;
    explicit constexpr row_iterator(T* row) noexcept : row_{row} {}
    /// To const.
    constexpr operator row_iterator<const T>() const noexcept
        requires(!std::is_const_v<T>)
    {
        return row_iterator<const T>{row_};
    }

    [[nodiscard]] constexpr T& operator*() const noexcept { return *row_; }
    [[nodiscard]] constexpr T* operator->() const noexcept { return row_; }
    [[nodiscard]] constexpr T& operator[](std::ptrdiff_t n) const noexcept { return row_[n]; }

    constexpr row_iterator& operator++() noexcept { return ++row_, *this; }
    constexpr row_iterator& operator--() noexcept { return --row_, *this; }
    constexpr row_iterator operator++(int) noexcept { return row_iterator{row_++}; }
    constexpr row_iterator operator--(int) noexcept { return row_iterator{row_--}; }
    constexpr row_iterator& operator+=(std::ptrdiff_t n) noexcept { return row_ += n, *this; }
    constexpr row_iterator& operator-=(std::ptrdiff_t n) noexcept { return row_ -= n, *this; }
    [[nodiscard]] friend constexpr row_iterator operator+(row_iterator a,
                                                          std::ptrdiff_t n) noexcept {
        return a += n;
    }
    [[nodiscard]] friend constexpr row_iterator operator+(std::ptrdiff_t n,
                                                          row_iterator a) noexcept {
        return a += n;
    }
    [[nodiscard]] friend constexpr row_iterator operator-(row_iterator a,
                                                          std::ptrdiff_t n) noexcept {
        return a -= n;
    }
    [[nodiscard]] friend constexpr std::ptrdiff_t operator-(row_iterator a,
                                                            row_iterator b) noexcept {
        return a.row_ - b.row_;
    }
    friend constexpr auto operator<=>(row_iterator, row_iterator) noexcept = default;

private:
    T* row_ = nullptr;
};

/// What slot_map::find returns. As a pointer it is null when nothing was found; as an iterator, and
/// compared with one, it is end(). (`auto* p = map.find(h)` does not deduce; `T* p` and `auto p`
/// do.)
template <class T>
class found {
public:
    [[gnu::always_inline]] constexpr found(T* object, T* end) noexcept
        : object_{object}, end_{end} {}

    [[nodiscard]] [[gnu::always_inline]] constexpr operator T*() const noexcept { return object_; }
    [[nodiscard]] constexpr operator row_iterator<T>() const noexcept {
        return row_iterator<T>{position()};
    }
    [[nodiscard]] constexpr operator row_iterator<const T>() const noexcept
        requires(!std::is_const_v<T>)
    {
        return row_iterator<const T>{position()};
    }
    /// Requires: something was found.
    [[nodiscard]] [[gnu::always_inline]] constexpr T& operator*() const noexcept {
#if CAIRN_ASSERTS
        if (object_ == nullptr) [[unlikely]] { refuse(); }
#endif
        return *object_;
    }
    [[nodiscard]] [[gnu::always_inline]] constexpr T* operator->() const noexcept {
#if CAIRN_ASSERTS
        if (object_ == nullptr) [[unlikely]] { refuse(); }
#endif
        return object_;
    }
    /// A copy of what was found, or `fallback`.
    [[nodiscard]] constexpr std::remove_cv_t<T> value_or(std::remove_cv_t<T> fallback) const
        requires std::is_copy_constructible_v<T>
    {
        if (object_ == nullptr) { return fallback; }
        return *object_;
    }
    /// The next one; at the end: null.
    constexpr found& operator++() noexcept {
        refuse();
        object_ = object_ + 1 != end_ ? object_ + 1 : nullptr;
        return *this;
    }
    constexpr found operator++(int) noexcept {
        const found here = *this;
        ++*this;
        return here;
    }

    friend constexpr bool operator==(found a, found b) noexcept {
        return a.position() == b.position();
    }
    friend constexpr bool operator==(found a, std::nullptr_t) noexcept {
        return a.object_ == nullptr;
    }
    friend constexpr bool operator==(found a, const T* object) noexcept {
        return a.object_ == object;
    }
    friend constexpr bool operator==(found a, row_iterator<const T> where) noexcept {
        return a.position() == where.operator->();
    }
    friend constexpr bool operator==(found a, row_iterator<T> where) noexcept
        requires(!std::is_const_v<T>)
    {
        return a.position() == where.operator->();
    }

private:
    template <class Object, class Policy>
    friend class slot_map;

    found() noexcept = default;  // the members are still to be set

    /// Stops the program unless something was found. Apart: each use of an object has the question,
    /// and none has the answer.
    [[gnu::cold, gnu::noinline]] constexpr void refuse() const noexcept {
        CAIRN_ASSERT(object_ != nullptr, "an object is used when it was found",
                     {.kind = misuse_kind::null_handle});
    }
    [[nodiscard]] constexpr T* position() const noexcept {
        return object_ != nullptr ? object_ : end_;
    }

    T* object_;
    T* end_;
};

}}  // namespace cairn::CAIRN_FLAVOUR
