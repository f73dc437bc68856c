// cairn/containers/table/view.hpp - the rows of a table by value: what kernels and loops work on.
//
//      +------+----------+-------+------+
//      | base | capacity | first | size |        four words in registers; no pointer to the table,
//      +------+----------+-------+------+        so no store of a loop can make it reload them
//
//      for (std::size_t i = 0; i < v.size(); ++i) { v[i].position += v[i].velocity * dt; }
//      for (auto&& p : v) { p.position += p.velocity * dt; }
//      v.for_each([dt](auto&& p) { p.position += p.velocity * dt; });
//      v.each<&P::position, &P::velocity>([dt](vec3& p, const vec3& v) { p += v * dt; });
//      v.column<&P::position>()                   std::span<vec3> in soa
//      v.for_each_batch(4096, [](auto batch) { batch.each<...>(...); });
//
// for_each and each hand the columns to the compiler as disjoint (table/loop.hpp). In return the
// function object may touch the fields of its own row only through its arguments.
//
// Cost: a row is base + capacity * constant + index * size; loops keep it in registers.
// Threads: as std::span: disjoint parts may be written at the same time. for_each_batch cuts at
//          multiples of 64 rows, so two batches share no cache line in any column (aosoa, soa).
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include <cairn/containers/batches.hpp>
#include <cairn/containers/table/column.hpp>
#include <cairn/containers/table/field_access.hpp>
#include <cairn/containers/table/loop.hpp>
#include <cairn/containers/table/row.hpp>
#include <cairn/containers/table/selected_fields.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/storage/index_iterator.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

/// What t[i] is. (Compilers call it by this name where it is bound to auto&.)
template <class Row, class Layout, bool IsConst>
using row_proxy =
    std::conditional_t<Layout::one_array, std::conditional_t<IsConst, const Row, Row>&,
                       table_row<Row, Layout, IsConst>>;

}  // namespace detail

/// Rows [first, first + size) of a table, by value.
template <class Row, class Layout, bool IsConst = false>
class table_view {
    using layout_of = detail::layout_of<Row, Layout>;
    template <class T>
    using maybe_const = std::conditional_t<IsConst, const T, T>;

public:
    using value_type = Row;
    using layout_type = Layout;
    using reference = detail::row_proxy<Row, Layout, IsConst>;
    using iterator = index_iterator<table_view>;

    constexpr table_view() noexcept = default;
    constexpr table_view(std::byte* base, std::size_t capacity, std::size_t first,
                         std::size_t size) noexcept
        : base_{base}, capacity_{capacity}, first_{first}, size_{size} {}
    /// A view to read from, of one to write to.
    constexpr table_view(const table_view<Row, Layout, false>& other) noexcept
        requires IsConst
        : base_{other.base_},
          capacity_{other.capacity_},
          first_{other.first_},
          size_{other.size_} {}
    table_view(const table_view&) = default;
    table_view& operator=(const table_view&) = default;

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

    /// Row i. Requires: i < size().
    [[nodiscard]] reference operator[](std::size_t i) const noexcept {
        CAIRN_ASSERT(i < size_, "a row is read inside the table",
                     detail::beyond_end(this, "table_view", i, size_));
        if constexpr (Layout::one_array) {
            return *layout_of::template element<0>(base_, capacity_, first_ + i);
        } else if constexpr (layout_of::is_named) {
            return [&]<std::size_t... F>(std::index_sequence<F...>) {
                return reference{detail::from_fields{}, layout_of::template field<F, IsConst>(
                                                            base_, capacity_, first_ + i)...};
            }(typename layout_of::field_numbers{});
        } else {
            return reference{base_, capacity_, first_ + i};
        }
    }

    [[nodiscard]] iterator begin() const noexcept { return {*this, 0}; }
    [[nodiscard]] iterator end() const noexcept { return {*this, size_}; }

    /// The rows [first, first + count).
    [[nodiscard]] table_view subview(std::size_t first, std::size_t count) const noexcept {
        CAIRN_ASSERT(first <= size_ && count <= size_ - first, "a part lies inside the table");
        return {base_, capacity_, first_ + first, count};
    }

    /// How many rows, from the first, may be loaded and stored by kernels: size() rounded up to 16,
    /// or to whole blocks of an aosoa of more than 16 (aos: size() itself). Rows past the end hold
    /// zeros or former values.
    /// Requires: the view ends where the table ends.
    [[nodiscard]] std::size_t padded_size() const noexcept {
        return (size_ + layout_of::desc.tail - 1) & ~(layout_of::desc.tail - 1);
    }

    /// The field that `Member` names, of all rows; see table/column.hpp for the type.
    template <auto Member>
    [[nodiscard]] auto column() const noexcept {
        return column_of<detail::own_field<Row, Member>()>();
    }
    template <std::size_t F>
    [[nodiscard]] auto column_of() const noexcept {
        using T = maybe_const<typename layout_of::template field_type<F>>;
        if constexpr (layout_of::is_split(F)) {
            if (size_ == 0) { return split_span<T>{}; }
            return [&]<std::size_t... I>(std::index_sequence<I...>) {
                return split_span<T>{size_,
                                     layout_of::template element<layout_of::first_column(F) + I>(
                                         base_, capacity_, first_)...};
            }(std::make_index_sequence<layout_of::columns_of(F)>{});
        } else if constexpr (Layout::lanes != 0) {
            CAIRN_ASSERT(first_ % Layout::lanes == 0, "columns of blocks begin at a block");
            using span = blocked_span<T, Layout::lanes>;
            return size_ == 0 ? span{}
                              : span{field_pointer<F>(), layout_of::desc.block_size, size_};
        } else if constexpr (layout_of::is_grouped(F)) {
            constexpr std::size_t stride = sizeof(typename layout_of::template cell<F>);
            using span = strided_span<T>;
            return size_ == 0 ? span{} : span{field_pointer<F>(), stride, size_};
        } else {
            return size_ == 0 ? std::span<T>{} : std::span<T>{field_pointer<F>(), size_};
        }
    }

    /// Some fields of row i, for structured bindings: auto [p, v] = t.row<&P::position, ...>(i).
    template <auto... Members>
    [[nodiscard]] auto row(std::size_t i) const noexcept {
        CAIRN_ASSERT(i < size_, "a row is read inside the table",
                     detail::beyond_end(this, "table_view", i, size_));
        return selected_fields<table_view, detail::own_field<Row, Members>()...>{*this, i};
    }

    /// f(row) for every row, in order.
    /// Requires: f reaches the fields of the rows only through its argument.
    template <class F>
    void for_each(F f) const {
        constexpr bool takes_rows = std::is_invocable_v<F&, reference>;
        static_assert(takes_rows, "the function takes a row: auto&&");
        if constexpr (!takes_rows) {
        } else if constexpr (Layout::one_array) {
            for (std::size_t i = 0; i < size_; ++i) { f((*this)[i]); }
        } else if constexpr (!layout_of::is_named || layout_of::column_count > 64) {
            in_runs([&](std::size_t first, std::size_t count) {
                for (std::size_t i = 0; i < count; ++i) { f((*this)[first + i]); }
            });
        } else {
            loop<detail::call_with_row<layout_of, reference, IsConst>>(
                f, std::make_index_sequence<layout_of::column_count>{});
        }
    }

    /// f(field...) for every row, in order: the fields that `Members` name, as T& or const T&.
    /// A split field is passed as a local copy, which is stored back unless f takes it as const T&
    /// or T.
    /// Requires: f reaches these fields only through its arguments.
    template <auto... Members, class F>
    void each(F f) const {
        each_of<detail::own_field<Row, Members>()...>(f);
    }

    /// The rows in parts of `rows`, rounded up to a multiple of 64: no two of them share a cache
    /// line in any column, so each may be written by another thread. size(), [k], and a range of
    /// views.
    /// Requires: rows != 0.
    [[nodiscard]] row_batches<table_view> batches(std::size_t rows) const noexcept {
        return {*this, rows};
    }
    /// f(view) for each of batches(rows), in order.
    template <class F>
    void for_each_batch(std::size_t rows, F f) const {
        for (auto batch : batches(rows)) { f(batch); }
    }

    /// Field number F of row i: a reference, or a split_ref.
    template <std::size_t F>
    [[nodiscard, gnu::always_inline]] decltype(auto) field(std::size_t i) const noexcept {
        return layout_of::template field<F, IsConst>(base_, capacity_, first_ + i);
    }

private:
    friend class table_view<Row, Layout, true>;

    template <std::size_t F>
    [[nodiscard]] auto* field_pointer() const noexcept {
        return __builtin_addressof(field<F>(0));
    }

    template <std::size_t... Fields, class F>
    void each_of(F& f) const {
        constexpr bool takes_fields =
            std::is_invocable_v<F&,
                                maybe_const<typename layout_of::template field_type<Fields>>&...>;
        static_assert(takes_fields, "the function takes the fields that are named, in order");
        if constexpr (!takes_fields) {
        } else if constexpr (Layout::one_array) {
            for (std::size_t i = 0; i < size_; ++i) { f(field<Fields>(i)...); }
        } else {
            loop<detail::call_with_fields<layout_of, IsConst, Fields...>>(
                f, detail::column_numbers<layout_of, Fields...>{});
        }
    }
    /// use(first, count) for runs of rows that lie together in every column.
    template <class Use>
    void in_runs(Use use) const {
        if constexpr (Layout::lanes == 0) {
            if (size_ != 0) { use(std::size_t{0}, size_); }
        } else {
            std::size_t i = 0;
            const std::size_t lead = (Layout::lanes - first_ % Layout::lanes) % Layout::lanes;
            if (lead != 0 && size_ != 0) {
                i = lead < size_ ? lead : size_;
                use(std::size_t{0}, i);
            }
            for (; size_ - i >= Layout::lanes; i += Layout::lanes) { use(i, Layout::lanes); }
            if (i != size_) { use(i, size_ - i); }
        }
    }
    template <class Call, class F, std::size_t... C>
    void loop(F& f, std::index_sequence<C...>) const {
        in_runs([&](std::size_t first, std::size_t count) {
            detail::run_disjoint<Call>(
                f, count, layout_of::template element<C>(base_, capacity_, first_ + first)...);
        });
    }

    std::byte* base_ = nullptr;
    std::size_t capacity_ = 0;  // rows
    std::size_t first_ = 0;     // row of the table that is row 0 here
    std::size_t size_ = 0;      // rows
};

}}  // namespace cairn::CAIRN_FLAVOUR

// A table's view is one for <ranges> too, and its iterators outlive it: each has a copy of it.
template <class Row, class Layout, bool IsConst>
inline constexpr bool std::ranges::enable_view<cairn::table_view<Row, Layout, IsConst>> = true;
template <class Row, class Layout, bool IsConst>
inline constexpr bool std::ranges::enable_borrowed_range<cairn::table_view<Row, Layout, IsConst>> =
    true;
