// cairn/containers/table/loop.hpp - loops over rows that compilers vectorise.
//
//      each<&P::position, &P::life>(f)
//
//      1 columns      those that the fields lie in               0            2
//      2 the loop     a pointer to each, declared disjoint       p0, p1       and a count
//      3 a field      field_in_row<F>(i, pointers...)            p0[i]        p1[i]
//      4 the call     with a row, or with arguments              f(p0[i], p1[i])
//
// The pointers are `__restrict`, which a loop over t[i] cannot say: gcc and clang vectorise these
// loops where that one needs too many checks. A split field is handed out as a local copy of its
// components, which is stored back where f may have written it (written_arguments.hpp).
//
// What lies between the loop and f is always inlined: one call a row would cost more than it does.
//
// Cost: none; gcc calls the loop, and clang one over many columns (inlined_columns_max).
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <cairn/containers/table/row.hpp>
#include <cairn/containers/table/written_arguments.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// True when field F is one column, as it is.
template <class LayoutOf, std::size_t F>
consteval bool is_a_column() {
    return !LayoutOf::is_split(F) && !LayoutOf::is_grouped(F);
}

template <std::size_t... A, std::size_t... B>
consteval std::index_sequence<A..., B...> operator+(std::index_sequence<A...>,
                                                    std::index_sequence<B...>) {
    return {};
}
template <std::size_t First, std::size_t... I>
consteval std::index_sequence<First + I...> numbers_from(std::index_sequence<I...>) {
    return {};
}
/// The numbers of the columns that fields F... lie in, one field after the other.
template <class LayoutOf, std::size_t... F>
using column_numbers = decltype((
    std::index_sequence<>{} + ... +
    numbers_from<LayoutOf::first_column(F)>(std::make_index_sequence<LayoutOf::columns_of(F)>{})));

template <std::size_t N, class T>
[[gnu::always_inline]] inline T* column_number(const loop_column<N, T>& column) noexcept {
    return column.cells;
}
/// Field F of row i: the pointers to its own columns begin with number `First`.
template <class LayoutOf, std::size_t F, bool IsConst, std::size_t First, class Columns>
[[gnu::always_inline]] inline decltype(auto) field_in_row(const Columns& columns,
                                                          std::size_t i) noexcept {
    return LayoutOf::template field_in<F, IsConst>([&]<std::size_t C>() {
        return column_number<First + C - LayoutOf::first_column(F)>(columns) + i;
    });
}

/// A field as an argument: itself, or a local copy of a split one, stored back where `Writes`.
template <class T>
struct direct_argument {
    T& field;
    [[nodiscard]] T& get() noexcept { return field; }
};
template <bool Writes, class T, bool IsConst>
struct copied_argument {
    explicit copied_argument(split_ref<T, IsConst> from) noexcept : origin{from}, copy{from} {}
    copied_argument(const copied_argument&) = delete;
    copied_argument& operator=(const copied_argument&) = delete;
    ~copied_argument() {
        if constexpr (Writes && !IsConst) { origin.store(copy.value); }
    }
    [[nodiscard]] std::conditional_t<IsConst, const T, T>& get() noexcept { return copy.value; }
    split_ref<T, IsConst> origin;
    local_copy<T> copy;
};
template <bool Writes, class T>
direct_argument<T> as_argument(T& field) noexcept {
    return {field};
}
template <bool Writes, class T, bool IsConst>
copied_argument<Writes, T, IsConst> as_argument(split_ref<T, IsConst> field) noexcept {
    return copied_argument<Writes, T, IsConst>{field};
}

// The loops. Where a field is a column, one expression: an unoptimized build calls f and nothing
// else.

/// f(row i), from pointers to all columns
template <class LayoutOf, class Row, bool IsConst>
struct call_with_row {
    template <class F, class Columns>
    [[gnu::always_inline]] static void run(F& f, std::size_t count, const Columns& columns) {
        if constexpr (LayoutOf::columns_are_fields) {
            for (std::size_t i = 0; i < count; ++i) { f(Row{columns, i}); }
        } else {
            for (std::size_t i = 0; i < count; ++i) {
                call(f, std::make_index_sequence<LayoutOf::field_count>{}, columns, i);
            }
        }
    }

private:
    template <class F, std::size_t... I, class Columns>
    [[gnu::always_inline]] static void call(F& f, std::index_sequence<I...>, const Columns& columns,
                                            std::size_t i) {
        f(Row{from_fields{},
              field_in_row<LayoutOf, I, IsConst, LayoutOf::first_column(I)>(columns, i)...});
    }
};
/// f(field of row i, ...), from pointers to the columns of these fields, one field after the other
template <class LayoutOf, bool IsConst, std::size_t... Fields>
struct call_with_fields {
    template <class F, std::size_t... N, class... T>
    [[gnu::always_inline]] static void run(
        F& f, std::size_t count, const loop_columns<std::index_sequence<N...>, T...>& columns) {
        if constexpr ((is_a_column<LayoutOf, Fields>() && ...)) {
            for (std::size_t i = 0; i < count; ++i) {
                f(static_cast<std::conditional_t<IsConst, const T, T>&>(
                    static_cast<const loop_column<N, T>&>(columns).cells[i])...);
            }
        } else {
            for (std::size_t i = 0; i < count; ++i) {
                call(f, std::make_index_sequence<sizeof...(Fields)>{}, columns, i);
            }
        }
    }

private:
    template <class F, std::size_t... A, class Columns>
    [[gnu::always_inline]] static void call(F& f, std::index_sequence<A...>, const Columns& columns,
                                            std::size_t i) {
        f(as_argument<writes<F, A, Fields>()>(
              field_in_row<LayoutOf, Fields, IsConst, first<A>()>(columns, i))
              .get()...);
    }
    template <class F, std::size_t A, std::size_t Field>
    static consteval bool writes() {
        return writes_argument<F, A, typename LayoutOf::template field_type<Field>>();
    }
    /// The number of the first pointer of argument A.
    template <std::size_t A>
    static consteval std::size_t first() {
        const std::size_t counts[] = {LayoutOf::columns_of(Fields)...};
        std::size_t sum = 0;
        for (std::size_t a = 0; a < A; ++a) { sum += counts[a]; }
        return sum;
    }
};

/// Calls for rows 0 to count - 1; `p` are the elements of row 0.
/// Not always_inline: clang inlines those first of all, and forgets `__restrict` then.
template <class Call, class F, class... P>
inline void run_here(F& f, std::size_t count, P* __restrict... p) {
    Call::run(f, count, loop_columns<std::index_sequence_for<P...>, P...>{{p}...});
}
template <class Call, class F, class... P>
[[gnu::noinline]] void run_called(F& f, std::size_t count, P* __restrict... p) {
    Call::run(f, count, loop_columns<std::index_sequence_for<P...>, P...>{{p}...});
}

/// Loops over more columns are functions of their own.
#if defined(__clang__)
inline constexpr std::size_t inlined_columns_max = 12;  // more pointers are spilled inside the loop
#else
inline constexpr std::size_t inlined_columns_max = 0;  // gcc forgets `__restrict` where it inlines
#endif
template <class Call, class F, class... P>
void run_disjoint(F& f, std::size_t count, P*... p) {
    if constexpr (sizeof...(P) <= inlined_columns_max) {
        run_here<Call>(f, count, p...);
    } else {
        run_called<Call>(f, count, p...);
    }
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
