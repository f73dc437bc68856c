// cairn/containers/table/split_ref.hpp - a small vector as components, each in its own column.
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
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <type_traits>

#include <cairn/containers/inside/row_fields.hpp>
#include <cairn/core/inside/compiler.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

template <class T>
struct component_values {
    typename components_of<T>::type at[components_of<T>::count];
};

}  // namespace detail

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

    [[nodiscard]] T load() const noexcept {
        return [this]<std::size_t... I>(std::index_sequence<I...>) {
            return std::bit_cast<T>(detail::component_values<T>{{*components_[I]...}});
        }(std::make_index_sequence<component_count>{});
    }
    operator T() const noexcept { return load(); }

    void store(const T& value) const noexcept
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
    const split_ref<T>& first = a;
    const split_ref<T>& second = b;
    swap(first, second);
}

namespace detail {

template <class T>
inline constexpr bool is_split_ref = false;
template <class T, bool C>
inline constexpr bool is_split_ref<split_ref<T, C>> = true;

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
    explicit local_copy(const split_ref<T, C>& from) noexcept
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

template <class T, class F>
const split_ref<T>& change(const split_ref<T>& stored, F f) {
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

template <class A, class B>
    requires detail::one_is_split<A, B>
[[nodiscard]] auto operator+(const A& a, const B& b)
    requires requires { detail::plain(a) + detail::plain(b); }
{
    return detail::plain(a) + detail::plain(b);
}
template <class A, class B>
    requires detail::one_is_split<A, B>
[[nodiscard]] auto operator-(const A& a, const B& b)
    requires requires { detail::plain(a) - detail::plain(b); }
{
    return detail::plain(a) - detail::plain(b);
}
template <class A, class B>
    requires detail::one_is_split<A, B>
[[nodiscard]] auto operator*(const A& a, const B& b)
    requires requires { detail::plain(a) * detail::plain(b); }
{
    return detail::plain(a) * detail::plain(b);
}
template <class A, class B>
    requires detail::one_is_split<A, B>
[[nodiscard]] auto operator/(const A& a, const B& b)
    requires requires { detail::plain(a) / detail::plain(b); }
{
    return detail::plain(a) / detail::plain(b);
}
template <detail::split_reference A>
[[nodiscard]] auto operator-(const A& a)
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
const split_ref<T>& operator+=(const split_ref<T>& a, const B& b)
    requires requires(T value) { value += detail::plain(b); }
{
    return detail::change(a, [&](T& value) { value += detail::plain(b); });
}
template <class T, class B>
const split_ref<T>& operator-=(const split_ref<T>& a, const B& b)
    requires requires(T value) { value -= detail::plain(b); }
{
    return detail::change(a, [&](T& value) { value -= detail::plain(b); });
}
template <class T, class B>
const split_ref<T>& operator*=(const split_ref<T>& a, const B& b)
    requires requires(T value) { value *= detail::plain(b); }
{
    return detail::change(a, [&](T& value) { value *= detail::plain(b); });
}
template <class T, class B>
const split_ref<T>& operator/=(const split_ref<T>& a, const B& b)
    requires requires(T value) { value /= detail::plain(b); }
{
    return detail::change(a, [&](T& value) { value /= detail::plain(b); });
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

}}  // namespace cairn::CAIRN_FLAVOUR
