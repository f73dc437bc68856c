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

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include <cairn/containers/table/split_ref.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/storage/inside/index_iterator.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

template <class T>
class strided_span {
    using bytes = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;

public:
    using value_type = std::remove_cv_t<T>;

    constexpr strided_span() noexcept = default;
    /// `stride` in bytes.
    strided_span(T* first, std::size_t stride, std::size_t count) noexcept
        : first_{reinterpret_cast<bytes*>(first)}, stride_{stride}, count_{count} {}

    [[nodiscard]] std::size_t size() const noexcept { return count_; }
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
    [[nodiscard]] T& operator[](std::size_t i) const noexcept {
        CAIRN_ASSERT(i < count_, "a column is read inside its rows",
                     detail::beyond_end(this, "column", i, count_));
        return *reinterpret_cast<T*>(first_ + i * stride_);
    }
    [[nodiscard]] auto begin() const noexcept { return detail::index_iterator{*this, 0}; }
    [[nodiscard]] auto end() const noexcept { return detail::index_iterator{*this, count_}; }

private:
    bytes* first_ = nullptr;
    std::size_t stride_ = 0;  // bytes
    std::size_t count_ = 0;
};

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
template <class T>
inline constexpr bool std::ranges::enable_view<cairn::strided_span<T>> = true;
template <class T, std::size_t Lanes>
inline constexpr bool std::ranges::enable_view<cairn::blocked_span<T, Lanes>> = true;
template <class T>
inline constexpr bool std::ranges::enable_view<cairn::split_span<T>> = true;
template <class T>
inline constexpr bool std::ranges::enable_borrowed_range<cairn::strided_span<T>> = true;
template <class T, std::size_t Lanes>
inline constexpr bool std::ranges::enable_borrowed_range<cairn::blocked_span<T, Lanes>> = true;
template <class T>
inline constexpr bool std::ranges::enable_borrowed_range<cairn::split_span<T>> = true;
