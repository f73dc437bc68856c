// cairn/containers/table/cells.hpp - the fields of one row, built, moved and destroyed where they
// lie.
//
//      construct(i, args...)
//
//      columns:   | ... | p_i | ...   | ... | v_i | ...   | ... | l_i | ...
//                        ^ 1               ^ 2               ^ 3
//
// The fields are built in order; when one constructor throws, the fields before it are destroyed
// again. `args` are one per field, a row of any kind, or what Row{args...} takes.
//
// Moves of fields are taken as noexcept: a move that throws ends the program.
//
// Cost: the loads and stores of the fields.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include <cairn/containers/inside/sort_rows.hpp>
#include <cairn/containers/table/row.hpp>
#include <cairn/core/inside/compiler.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// The cells of a table: its block, laid out for `capacity` rows.
template <class Row, class Layout>
struct table_cells {
    using layout = layout_for<Row, Layout>;
    using parts = typename layout::parts;  // the fields, or the row of aos
    using each_field = typename layout::field_numbers;

    std::byte* base;
    std::size_t capacity;

    CAIRN_WARNING_OFF("-Wmissing-field-initializers")  // Row{args...} may leave out some
    /// Builds row i. Throws: what a field's constructor throws; row i is not built then.
    template <class... Args>
    [[CAIRN_FORCE_INLINE]] void construct(std::size_t i, Args&&... args) const {
        constexpr bool one_a_field =
            !layout::rows_are_whole && sizeof...(Args) == layout::field_count;
        constexpr bool keeps_rules = fault_of_row<Row> == row_fault::none;
        constexpr bool fits = [] {
            if constexpr (!keeps_rules || is_a_row<Args...>()) {
                return true;
            } else if constexpr (one_a_field) {
                return one_per_field<Args...>(each_field{});
            } else {
                return requires { Row{std::declval<Args>()...}; };
            }
        }();
        static_assert(
            fits, "a row is built from a row, from an argument for each field, or by Row{args...}");
        if constexpr (!fits || !keeps_rules) {
        } else if constexpr (layout::rows_are_whole) {
            auto* const at = static_cast<void*>(layout::template element<0>(base, capacity, i));
            if constexpr (is_a_row<Args...>()) {
                ::new (at) Row(static_cast<Row>(static_cast<Args&&>(args))...);
            } else {
                ::new (at) Row{static_cast<Args&&>(args)...};
            }
        } else if constexpr (is_a_row<Args...>()) {
            construct_from_row(i, static_cast<Args&&>(args)...);
        } else if constexpr (one_a_field) {
            construct_fields(each_field{}, i, static_cast<Args&&>(args)...);
        } else {
            construct_from_row(i, Row{static_cast<Args&&>(args)...});
        }
    }
    CAIRN_WARNING_ON

    /// Destroys the fields of row i.
    void destroy(std::size_t i) const noexcept {
        if constexpr (!std::is_trivially_destructible_v<Row>) {
            for_each_part([&]<std::size_t F>() { destroy_field(field<F>(i)); });
        }
    }
    /// Row `to` becomes what row `from` was.
    [[CAIRN_FORCE_INLINE]] void move(std::size_t to, std::size_t from) const noexcept {
        for_each_part([&]<std::size_t F>() { move_field(field<F>(to), field<F>(from)); });
    }
    /// Exchanges two rows.
    void swap(std::size_t a, std::size_t b) const noexcept {
        for_each_part([&]<std::size_t F>() {
            auto held = take(field<F>(a));
            move_field(field<F>(a), field<F>(b));
            put_back(field<F>(b), held);
        });
    }
    /// Rows [first, last) become rows [first + 1, last], and row `first` what `last` was.
    void rotate_back(std::size_t first, std::size_t last) const noexcept {
        for_each_part([&]<std::size_t F>() {
            auto held = take(field<F>(last));
            for (std::size_t i = last; i > first; --i) { move_field(field<F>(i), field<F>(i - 1)); }
            put_back(field<F>(first), held);
        });
    }

private:
    template <std::size_t F>
    [[nodiscard, CAIRN_FORCE_INLINE]] decltype(auto) field(std::size_t i) const noexcept {
        return field_refs<Row, Layout, false>::template at<F>(base, capacity, i);
    }
    /// f<0>(), f<1>(), ... for each field, or once for the row of aos.
    template <class F>
    [[CAIRN_FORCE_INLINE]] static void for_each_part(F f) {
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (f.template operator()<I>(), ...);
        }(parts{});
    }

    template <class T>
    [[nodiscard]] static T take(T& field) {
        return T{std::move(field)};
    }
    template <class T>
    [[nodiscard]] static T take(const split_ref<T>& field) {
        return field.load();
    }
    template <class T>
    static void move_field(T& to, T& from) {
        detail::replace(to, from);
    }
    template <class T>
    static void move_field(const split_ref<T>& to, const split_ref<T>& from) {
        to = from;
    }
    template <class T>
    static void put_back(T& to, T& held) {
        detail::replace(to, held);
    }
    template <class T>
    static void put_back(const split_ref<T>& to, T& held) {
        to = held;
    }
    template <class T>
    static void destroy_field(T& field) noexcept {
        field.~T();
    }
    template <class T>
    static void destroy_field(const split_ref<T>&) noexcept {}
    template <class T, class Arg>
    [[CAIRN_FORCE_INLINE]] static void construct_field(T& field, Arg&& arg) {
        ::new (static_cast<void*>(compiler::address_of(field))) T(static_cast<Arg&&>(arg));
    }
    template <class T, class Arg>
    [[CAIRN_FORCE_INLINE]] static void construct_field(const split_ref<T>& field, Arg&& arg) {
        field.store(static_cast<Arg&&>(arg));
    }

    /// Destroys the first `made` fields of a row when the constructor of a later field throws.
    struct row_undo {
        const table_cells& cells;
        std::size_t row;
        std::size_t made = 0;
        ~row_undo() {
            for_each_part([&]<std::size_t F>() {
                if (F < made) { destroy_field(cells.template field<F>(row)); }
            });
        }
    };
    template <std::size_t... F, class... Args>
    [[CAIRN_FORCE_INLINE]] void construct_fields(std::index_sequence<F...>, std::size_t i,
                                                 Args&&... args) const {
        if constexpr (std::is_trivially_destructible_v<Row>) {
            (construct_field(field<F>(i), static_cast<Args&&>(args)), ...);
        } else {
            row_undo undo{*this, i};
            ((construct_field(field<F>(i), static_cast<Args&&>(args)), ++undo.made), ...);
            undo.made = 0;
        }
    }
    template <class R>
    [[CAIRN_FORCE_INLINE]] void construct_from_row(std::size_t i, R&& row) const {
        if constexpr (std::is_same_v<std::remove_cvref_t<R>, Row>) {
            with_fields<layout::field_count>(
                row, [&]<class... T>(T&... fields) CAIRN_INLINE_LAMBDA {
                    if constexpr (std::is_lvalue_reference_v<R>) {
                        construct_fields(each_field{}, i, fields...);
                    } else {
                        construct_fields(each_field{}, i, static_cast<T&&>(fields)...);
                    }
                });
        } else {
            construct_from_row(i, static_cast<Row>(row));
        }
    }

    template <class... Args, std::size_t... F>
    static consteval bool one_per_field(std::index_sequence<F...>) {
        return (std::is_constructible_v<typename layout::template field_type<F>, Args> && ...);
    }
    /// True when the only argument is a row, or converts to one.
    template <class... Args>
    static consteval bool is_a_row() {
        if constexpr (sizeof...(Args) == 1) {
            return (std::is_convertible_v<Args, Row> && ...) &&
                   (layout::field_count != 1 ||
                    (std::is_same_v<std::remove_cvref_t<Args>, Row> && ...));
        } else {
            return false;
        }
    }
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
