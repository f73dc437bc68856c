// cairn/containers/table/column.hpp - one field of all rows, as each layout stores it.
//
//      soa        std::span<T>         contiguous, 64-byte aligned
//      aos        strided_span<T>      one element every sizeof(Row) bytes
//      aosoa<N>   blocked_span<T, N>   N together; block(b) is a span of N
//      split      split_span<T>        component(c) is a contiguous span; [i] is a split_ref
//
// All of them have size(), operator[] and random-access iterators, so code that takes `auto column`
// works in every layout. Code that needs contiguous memory takes std::span<T>, which soa gives.
//
// Cost: an index is a multiplication or a shift away. Lifetimes: as a reference into a vector.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include <cairn/containers/inside/row_fields.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/inside/compiler.hpp>
#include <cairn/storage/inside/index_iterator.hpp>

// A small vector as components, each in its own column.
//
//      struct vec3 { float x, y, z; };
//
//      whole:   x y z x y z x y z x y z ...       one column, 12 bytes a row
//      split:   x x x x ...   y y y y ...   z z z z ...       three columns of float
//
// A loop over 12-byte vectors is vectorised by gcc and not by clang, which needs shuffles for the
// stride of three (measured: 1.8 to 3.9 x the limit). Over split columns both load whole registers.
//
// split_ref<vec3> stands for a vec3& there: it converts to a vec3 and assigns component by
// component, so `row.position += row.velocity * dt` reads the same.
//
// Use it for: vectors in loops that must run at the speed of the cache on every compiler.
// Look elsewhere for: fields that functions take as T&: keep those whole.
//
// Cost: loads and stores of the components; the pointers live in registers.

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// Stands for a T& whose components lie in separate columns. Assignment writes through, also on a
/// const split_ref, as it does for a reference.
template <class T, bool IsConst = false>
class split_ref {
public:
    using value_type = T;
    using component_type = std::conditional_t<IsConst, const typename components_of<T>::type,
                                              typename components_of<T>::type>;
    static constexpr std::size_t component_count = components_of<T>::count;

    /// Requires: one pointer per component.
    template <class... P>
        requires(sizeof...(P) == component_count)
    [[CAIRN_FORCE_INLINE]] explicit constexpr split_ref(P*... components) noexcept
        : components_{components...} {}

    split_ref(const split_ref&) = default;

    [[nodiscard, CAIRN_FORCE_INLINE]] T load() const noexcept {
        return [this]<std::size_t... I>(std::index_sequence<I...>) {
            return std::bit_cast<T>(component_values{{*components_[I]...}});
        }(std::make_index_sequence<component_count>{});
    }
    operator T() const noexcept { return load(); }

    [[CAIRN_FORCE_INLINE]] void store(const T& value) const noexcept
        requires(!IsConst)
    {
        // Component by component, not as an array that a function returns (local_copy says why).
        const auto* const bytes = reinterpret_cast<const std::byte*>(compiler::address_of(value));
        for (std::size_t i = 0; i < component_count; ++i) {
            component_type component;
            compiler::copy_bytes<sizeof component>(&component, bytes + i * sizeof component);
            *components_[i] = component;
        }
    }

    const split_ref& operator=(const T& value) const noexcept
        requires(!IsConst)
    {
        store(value);
        return *this;
    }
    split_ref& operator=(const split_ref& other) noexcept
        requires(!IsConst)
    {
        store(other.load());
        return *this;
    }
    const split_ref& operator=(const split_ref& other) const noexcept
        requires(!IsConst)
    {
        store(other.load());
        return *this;
    }

    /// The component at position `index`.
    [[nodiscard]] component_type& component(std::size_t index) const noexcept {
        return *components_[index];
    }

private:
    /// std::bit_cast makes a T of it. (A T is not built from its components one by one, because a
    /// class with constructors has an order of its own.)
    struct component_values {
        std::remove_const_t<component_type> at[component_count];
    };

    component_type* components_[component_count];
};

/// Swaps what they stand for; prvalues and names alike (std::swap would match names better than the
/// first).
template <class T>
void swap(const split_ref<T>& a, const split_ref<T>& b) noexcept {
    const T held = a.load();
    a.store(b.load());
    b.store(held);
}
template <class T>
void swap(split_ref<T>& a, split_ref<T>& b) noexcept {
    cairn::swap(std::as_const(a), std::as_const(b));
}

namespace detail {

template <class T>
inline constexpr bool is_split_ref = false;
template <class T, bool C>
inline constexpr bool is_split_ref<split_ref<T, C>> = true;

/// The value that takes part in an operator: a vector itself, or what a split_ref stands for.
template <class T>
[[nodiscard]] constexpr const T& plain(const T& value) noexcept {
    return value;
}
template <class T, bool C>
[[nodiscard]] T plain(const split_ref<T, C>& value) noexcept {
    return value.load();
}

/// A copy of what a split_ref stands for, made of its components where it lies: clang vectorises no
/// loop with a branch around a function that returns a small vector, as load() is, inlined or not.
template <class T>
struct local_copy {
    template <bool C>
    [[CAIRN_FORCE_INLINE]] explicit local_copy(const split_ref<T, C>& from) noexcept
        : local_copy{from, std::make_index_sequence<split_ref<T, C>::component_count>{}} {}
    T value;

private:
    template <bool C, std::size_t... I>
        requires(std::is_aggregate_v<T>)
    local_copy(const split_ref<T, C>& from, std::index_sequence<I...>) noexcept
        : value{from.component(I)...} {}
    template <bool C, std::size_t... I>
        requires(!std::is_aggregate_v<T>)
    local_copy(const split_ref<T, C>& from, std::index_sequence<I...>) noexcept
        : value{from.load()} {}
};

/// Writes what f leaves in a copy of the vector. Compound assignments of split_refs are this, so
/// that an operator of T, which wants a T&, is called with one. Returns: `stored`.
template <class T, class F>
[[CAIRN_FORCE_INLINE]] inline const split_ref<T>& change(const split_ref<T>& stored, F f) {
    local_copy<T> copy{stored};
    f(copy.value);
    stored.store(copy.value);
    return stored;
}

template <class T>
concept split_reference = is_split_ref<std::remove_cvref_t<T>>;
template <class A, class B>
concept one_is_split = split_reference<A> || split_reference<B>;

}  // namespace detail

// The operators of T, on split_ref. They forward whatever T offers, templates included.
//
//      row.position + row.velocity      a T: both are loaded first
//      row.position += v                the components are loaded, changed and stored
//      row.position == other            a comparison of loaded values
//
// A split_ref on one side is enough. Operators that T does not have do not exist here either, so a
// compiler names the missing operator of T.

template <class A, class B>
    requires detail::one_is_split<A, B>
[[nodiscard, CAIRN_FORCE_INLINE]] inline auto operator+(const A& a, const B& b)
    requires requires { detail::plain(a) + detail::plain(b); }
{
    return detail::plain(a) + detail::plain(b);
}
template <class A, class B>
    requires detail::one_is_split<A, B>
[[nodiscard, CAIRN_FORCE_INLINE]] inline auto operator-(const A& a, const B& b)
    requires requires { detail::plain(a) - detail::plain(b); }
{
    return detail::plain(a) - detail::plain(b);
}
template <class A, class B>
    requires detail::one_is_split<A, B>
[[nodiscard, CAIRN_FORCE_INLINE]] inline auto operator*(const A& a, const B& b)
    requires requires { detail::plain(a) * detail::plain(b); }
{
    return detail::plain(a) * detail::plain(b);
}
template <class A, class B>
    requires detail::one_is_split<A, B>
[[nodiscard, CAIRN_FORCE_INLINE]] inline auto operator/(const A& a, const B& b)
    requires requires { detail::plain(a) / detail::plain(b); }
{
    return detail::plain(a) / detail::plain(b);
}
template <detail::split_reference A>
[[nodiscard, CAIRN_FORCE_INLINE]] inline auto operator-(const A& a)
    requires requires { -detail::plain(a); }
{
    return -detail::plain(a);
}
template <class A, class B>
    requires detail::one_is_split<A, B>
[[nodiscard]] bool operator==(const A& a, const B& b)
    requires requires { detail::plain(a) == detail::plain(b); }
{
    return detail::plain(a) == detail::plain(b);
}
template <class T, class B>
[[CAIRN_FORCE_INLINE]] inline const split_ref<T>& operator+=(const split_ref<T>& a, const B& b)
    requires requires(T value) { value += detail::plain(b); }
{
    return detail::change(a, [&](T& value) CAIRN_INLINE_LAMBDA { value += detail::plain(b); });
}
template <class T, class B>
[[CAIRN_FORCE_INLINE]] inline const split_ref<T>& operator-=(const split_ref<T>& a, const B& b)
    requires requires(T value) { value -= detail::plain(b); }
{
    return detail::change(a, [&](T& value) CAIRN_INLINE_LAMBDA { value -= detail::plain(b); });
}
template <class T, class B>
[[CAIRN_FORCE_INLINE]] inline const split_ref<T>& operator*=(const split_ref<T>& a, const B& b)
    requires requires(T value) { value *= detail::plain(b); }
{
    return detail::change(a, [&](T& value) CAIRN_INLINE_LAMBDA { value *= detail::plain(b); });
}
template <class T, class B>
[[CAIRN_FORCE_INLINE]] inline const split_ref<T>& operator/=(const split_ref<T>& a, const B& b)
    requires requires(T value) { value /= detail::plain(b); }
{
    return detail::change(a, [&](T& value) CAIRN_INLINE_LAMBDA { value /= detail::plain(b); });
}

/// One component of a vector, whole or split: part<&vec3::x>(row.position) is a float& in every
/// layout.
template <auto Member, class V>
[[nodiscard]] constexpr decltype(auto) part(V&& vector) noexcept {
    if constexpr (detail::split_reference<V>) {
        return vector.component(
            detail::own_component<typename std::remove_cvref_t<V>::value_type, Member>());
    } else {
        return (vector.*Member);
    }
}

/// A field of all rows of an aosoa table: `Lanes` elements together in each block.
///
///      first                 block_size bytes               block(1)
///      v                                                    v
///      | x0 x1 x2 x3 | y0 y1 y2 y3 | life0 ... life3 |~pad~| x4 x5 x6 x7 | y4 ...
///
/// A kernel asks for block(b), whose elements are contiguous: one register of 4 or 8 floats.
/// Cost: an index is a shift, a mask and an addition, because Lanes is a power of two.
/// Lifetime: until the table grows or ends, as for a pointer into a vector.
template <class T, std::size_t Lanes>
class blocked_span {
    using bytes = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;

public:
    using value_type = std::remove_cv_t<T>;

    constexpr blocked_span() noexcept = default;
    blocked_span(T* first, std::size_t block_size, std::size_t count) noexcept
        : first_{reinterpret_cast<bytes*>(first)}, block_size_{block_size}, count_{count} {}

    [[nodiscard]] std::size_t size() const noexcept { return count_; }
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
    [[nodiscard]] T& operator[](std::size_t i) const noexcept {
        CAIRN_ASSERT(i < count_, "a column is read inside its rows",
                     detail::beyond_end(this, "column", i, count_));
        return reinterpret_cast<T*>(first_ + i / Lanes * block_size_)[i % Lanes];
    }
    /// How many blocks hold rows; the last one may be partly tail.
    [[nodiscard]] std::size_t block_count() const noexcept { return (count_ + Lanes - 1) / Lanes; }
    /// The N elements of block `b`, tail included.
    [[nodiscard]] std::span<T, Lanes> block(std::size_t b) const noexcept {
        CAIRN_ASSERT(b < block_count(), "a block is read inside the rows");
        return std::span<T, Lanes>{reinterpret_cast<T*>(first_ + b * block_size_), Lanes};
    }
    [[nodiscard]] auto begin() const noexcept { return detail::index_iterator{*this, 0}; }
    [[nodiscard]] auto end() const noexcept { return detail::index_iterator{*this, count_}; }

private:
    bytes* first_ = nullptr;
    std::size_t block_size_ = 0;
    std::size_t count_ = 0;
};

/// A field of all rows of an aos table, where a row is a block of one.
///
///      first
///      v
///      | x y life | x y life | x y life |        sizeof(Row) bytes from one element to the next
///      ^          ^          ^
///
/// Cost: a loop loads a cache line for each row or two, whatever the size of the field.
template <class T>
using strided_span = blocked_span<T, 1>;

/// A small vector of all rows that lies in a column per component.
///
///      component(0)   x0 x1 x2 x3 ...      64-byte aligned, contiguous
///      component(1)   y0 y1 y2 y3 ...
///      component(2)   z0 z1 z2 z3 ...
///      [i]            a split_ref to (xi, yi, zi): reads and writes as a T&
///
/// Cost: one pointer per component and a count; [i] adds i to each pointer.
template <class T>
class split_span {
    static constexpr bool is_const = std::is_const_v<T>;
    using V = std::remove_cv_t<T>;

public:
    using value_type = V;
    using component_type = typename split_ref<V, is_const>::component_type;
    static constexpr std::size_t component_count = components_of<V>::count;

    constexpr split_span() noexcept = default;
    template <class... P>
        requires(sizeof...(P) == component_count)
    constexpr explicit split_span(std::size_t count, P*... components) noexcept
        : components_{components...}, count_{count} {}

    [[nodiscard]] std::size_t size() const noexcept { return count_; }
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
    [[nodiscard]] split_ref<V, is_const> operator[](std::size_t i) const noexcept {
        CAIRN_ASSERT(i < count_, "a column is read inside its rows",
                     detail::beyond_end(this, "column", i, count_));
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return split_ref<V, is_const>{components_[I] + i...};
        }(std::make_index_sequence<component_count>{});
    }
    /// Component number `c` of all rows: contiguous, 64-byte aligned.
    [[nodiscard]] std::span<component_type> component(std::size_t c) const noexcept {
        CAIRN_ASSERT(c < component_count, "a vector has this component");
        return {components_[c], count_};
    }
    /// The component that a member pointer names: part<&vec3::x>().
    template <auto Member>
    [[nodiscard]] std::span<component_type> part() const noexcept {
        return component(detail::own_component<V, Member>());
    }
    [[nodiscard]] auto begin() const noexcept { return detail::index_iterator{*this, 0}; }
    [[nodiscard]] auto end() const noexcept { return detail::index_iterator{*this, count_}; }

private:
    component_type* components_[component_count] = {};
    std::size_t count_ = 0;
};

}}  // namespace cairn::CAIRN_FLAVOUR

// Columns are views, and their iterators outlive them: each has a copy of the column in it.
template <class T, std::size_t Lanes>
inline constexpr bool std::ranges::enable_view<cairn::blocked_span<T, Lanes>> = true;
template <class T>
inline constexpr bool std::ranges::enable_view<cairn::split_span<T>> = true;
template <class T, std::size_t Lanes>
inline constexpr bool std::ranges::enable_borrowed_range<cairn::blocked_span<T, Lanes>> = true;
template <class T>
inline constexpr bool std::ranges::enable_borrowed_range<cairn::split_span<T>> = true;
