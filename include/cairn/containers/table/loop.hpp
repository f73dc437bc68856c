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

namespace cairn::inline CAIRN_FLAVOUR::detail {

/// Columns by number.
template <std::size_t... C>
struct column_list {};
template <std::size_t... A, std::size_t... B>
consteval column_list<A..., B...> operator+(column_list<A...>, column_list<B...>) {
    return {};
}
/// Those that field F lies in.
template <class LayoutOf, std::size_t F>
consteval auto list_columns() {
    return []<std::size_t... I>(std::index_sequence<I...>) {
        return column_list<(LayoutOf::first_column(F) + I)...>{};
    }(std::make_index_sequence<LayoutOf::columns_of(F)>{});
}

/// Field F of row i, out of pointers to row 0: those to its own columns begin with number `First`.
template <class LayoutOf, std::size_t F, bool IsConst, std::size_t First, class... P>
[[gnu::always_inline]] inline decltype(auto) field_in_row(std::size_t i, P*... p) noexcept {
    return LayoutOf::template field_in<F, IsConst>([=]<std::size_t C>() {
        return pick<First + C - LayoutOf::first_column(F)>(p...) + i;
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

/// True when field F is one column, as it is.
template <class LayoutOf, std::size_t F>
consteval bool is_a_column() {
    return !LayoutOf::is_split(F) && !LayoutOf::is_grouped(F);
}
template <class LayoutOf, std::size_t... F>
consteval bool are_all_columns(std::index_sequence<F...>) {
    return (is_a_column<LayoutOf, F>() && ...);
}

/// f(row i), from pointers to all columns
template <class LayoutOf, class Row, bool IsConst>
struct call_with_row {
    static constexpr bool makes_rows = true;
    static constexpr bool is_direct =
        are_all_columns<LayoutOf>(std::make_index_sequence<LayoutOf::field_count>{});
    using row = Row;
    using all_arguments = std::make_index_sequence<LayoutOf::field_count>;
    template <class F, std::size_t... I, class... P>
    [[gnu::always_inline]] static void call(F& f, std::index_sequence<I...>, std::size_t i,
                                            P*... p) {
        f(Row{from_fields{},
              field_in_row<LayoutOf, I, IsConst, LayoutOf::first_column(I)>(i, p...)...});
    }
};
/// f(field of row i, ...), from pointers to the columns of these fields, one field after the other
template <class LayoutOf, bool IsConst, std::size_t... Fields>
struct call_with_fields {
    static constexpr bool makes_rows = false;
    static constexpr bool is_direct = (is_a_column<LayoutOf, Fields>() && ...);
    template <class T>
    using argument = std::conditional_t<IsConst, const T, T>&;
    using all_arguments = std::make_index_sequence<sizeof...(Fields)>;
    template <class F, std::size_t... A, class... P>
    [[gnu::always_inline]] static void call(F& f, std::index_sequence<A...>, std::size_t i,
                                            P*... p) {
        f(as_argument<writes<F, A, Fields>()>(
              field_in_row<LayoutOf, Fields, IsConst, first<A>()>(i, p...))
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
#ifndef __OPTIMIZE__  // one expression where it can be: a call between here and f is one a column
    if constexpr (Call::is_direct && Call::makes_rows) {
        const loop_columns<std::index_sequence_for<P...>, P...> columns{{p}...};
        for (std::size_t i = 0; i < count; ++i) { f(typename Call::row{columns, i}); }
        return;
    } else if constexpr (Call::is_direct) {
        for (std::size_t i = 0; i < count; ++i) {
            f(static_cast<typename Call::template argument<P>>(p[i])...);
        }
        return;
    }
#endif
    for (std::size_t i = 0; i < count; ++i) {
        Call::call(f, typename Call::all_arguments{}, i, p...);
    }
}
template <class Call, class F, class... P>
[[gnu::noinline]] void run_called(F& f, std::size_t count, P* __restrict... p) {
    for (std::size_t i = 0; i < count; ++i) {
        Call::call(f, typename Call::all_arguments{}, i, p...);
    }
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

}  // namespace cairn::inline CAIRN_FLAVOUR::detail
