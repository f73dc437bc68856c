// cairn/containers/table/cells.hpp - the fields of one row, built and destroyed where they lie.
//
//      construct_row(base, capacity, i, args...)
//
//      columns:   | ... | p_i | ...   | ... | v_i | ...   | ... | l_i | ...
//                        ^ 1               ^ 2               ^ 3
//
// In order; when one throws, those before it are destroyed again. `args` are one per field,
// a row of any kind, or what Row{args...} takes.
//
// Cost: the stores of the fields. `capacity` is what the columns are laid out for.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include <cairn/containers/table/layout_of.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

template <class Row, class Layout>
struct table_cells {
    using layout_of = detail::layout_of<Row, Layout>;

    using each_field = typename layout_of::field_numbers;

    /// Destroys the fields of row i.
    static void destroy_row(std::byte* base, std::size_t capacity, std::size_t i) noexcept {
        if constexpr (!std::is_trivially_destructible_v<Row>) {
            destroy_parts(typename layout_of::parts{}, base, capacity, i);
        }
    }
    template <std::size_t... F>
    [[gnu::always_inline]] static void destroy_parts(std::index_sequence<F...>, std::byte* base,
                                                     std::size_t capacity, std::size_t i) noexcept {
        (destroy(layout_of::template field<F, false>(base, capacity, i)), ...);
    }
    template <class T>
    static void destroy(T& field) noexcept {
        field.~T();
    }
    template <class T>
    static void destroy(const split_ref<T>&) noexcept {}

    template <class T, class Arg>
    [[gnu::always_inline]] static void construct(T& field, Arg&& arg) {
        ::new (static_cast<void*>(__builtin_addressof(field))) T(static_cast<Arg&&>(arg));
    }
    template <class T, class Arg>
    [[gnu::always_inline]] static void construct(const split_ref<T>& field, Arg&& arg) {
        field.store(static_cast<Arg&&>(arg));
    }
    /// Destroys the fields constructed so far when a later one throws.
    struct row_undo {
        std::byte* base;
        std::size_t capacity;
        std::size_t row;
        std::size_t made = 0;
        ~row_undo() { undo(each_field{}); }
        template <std::size_t... F>
        [[gnu::always_inline]] void undo(std::index_sequence<F...>) {
            ((F < made ? destroy(layout_of::template field<F, false>(base, capacity, row))
                       : void()),
             ...);
        }
    };
    template <std::size_t... F, class... Args>
    [[gnu::always_inline]] static void construct_fields(std::index_sequence<F...>, std::byte* base,
                                                        std::size_t capacity, std::size_t i,
                                                        Args&&... args) {
        if constexpr (std::is_trivially_destructible_v<Row>) {
            (construct(layout_of::template field<F, false>(base, capacity, i),
                       static_cast<Args&&>(args)),
             ...);
        } else {
            row_undo undo{base, capacity, i};
            ((construct(layout_of::template field<F, false>(base, capacity, i),
                        static_cast<Args&&>(args)),
              ++undo.made),
             ...);
            undo.made = 0;
        }
    }
    template <class... Args, std::size_t... F>
    static consteval bool one_per_field(std::index_sequence<F...>) {
        return (std::is_constructible_v<typename layout_of::template field_type<F>, Args> && ...);
    }

#if defined(__GNUC__)
#    pragma GCC diagnostic push
#    pragma GCC diagnostic ignored "-Wmissing-field-initializers"  // that is what they are for
#endif
    template <class... Args>
    [[gnu::always_inline]] static void construct_row(std::byte* base, std::size_t capacity,
                                                     std::size_t i, Args&&... args) {
        constexpr bool one_a_field =
            !Layout::one_array && sizeof...(Args) == layout_of::field_count;
        constexpr bool fit = [] {
            if constexpr (is_a_row<Args...>()) {
                return true;
            } else if constexpr (one_a_field) {
                return one_per_field<Args...>(each_field{});
            } else {
                return requires { Row{std::declval<Args>()...}; };
            }
        }();
        static_assert(
            fit, "a row is built from a row, from an argument for each field, or by Row{args...}");
        if constexpr (!fit) {
        } else if constexpr (Layout::one_array) {
            auto* const at = static_cast<void*>(layout_of::template element<0>(base, capacity, i));
            if constexpr (is_a_row<Args...>()) {
                ::new (at) Row(static_cast<Row>(static_cast<Args&&>(args))...);
            } else {
                ::new (at) Row{static_cast<Args&&>(args)...};
            }
        } else if constexpr (is_a_row<Args...>()) {
            construct_from_row(base, capacity, i, static_cast<Args&&>(args)...);
        } else if constexpr (one_a_field) {
            construct_fields(each_field{}, base, capacity, i, static_cast<Args&&>(args)...);
        } else {
            construct_from_row(base, capacity, i, Row{static_cast<Args&&>(args)...});
        }
    }
#if defined(__GNUC__)
#    pragma GCC diagnostic pop
#endif
    template <class... Args>
    static consteval bool is_a_row() {
        if constexpr (sizeof...(Args) == 1) {
            return (std::is_convertible_v<Args, Row> && ...) &&
                   (layout_of::field_count != 1 ||
                    (std::is_same_v<std::remove_cvref_t<Args>, Row> && ...));
        } else {
            return false;
        }
    }
    template <class R>
    [[gnu::always_inline]] static void construct_from_row(std::byte* base, std::size_t capacity,
                                                          std::size_t i, R&& row) {
        if constexpr (std::is_same_v<std::remove_cvref_t<R>, Row>) {
            with_fields<layout_of::field_count>(
                row, [&]<class... T>(T&... fields) __attribute__((always_inline)) {
                    if constexpr (std::is_lvalue_reference_v<R>) {
                        construct_fields(each_field{}, base, capacity, i, fields...);
                    } else {
                        construct_fields(each_field{}, base, capacity, i,
                                         static_cast<T&&>(fields)...);
                    }
                });
        } else {
            construct_from_row(base, capacity, i, static_cast<Row>(row));
        }
    }
};

/// Nothing is built of a row that breaks a rule (row_rules.hpp).
template <class Row, class Layout>
    requires(fault_of_row<Row> != row_fault::none)
struct table_cells<Row, Layout> : table_cells<stand_in_row<Row>, soa> {
    template <class... Args>
    static void construct_row(std::byte*, std::size_t, std::size_t, Args&&...) {}
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
