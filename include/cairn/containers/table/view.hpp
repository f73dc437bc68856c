// cairn/containers/table/view.hpp - the rows of a table by value, and the loops over them.
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
// How each<&P::position, &P::life>(f) runs:
//
//      1 columns      the columns of these fields                   0            2
//      2 the loop     a pointer to each, declared disjoint          p0, p1       and a count
//      3 a field      a reference from the pointers                 p0[i]        p1[i]
//      4 the call     with a row (for_each), or with arguments      f(p0[i], p1[i])
//
// The pointers are `__restrict`, which a loop over t[i] cannot express: gcc and clang vectorise
// these loops where a loop over t[i] needs too many checks. In return the function object reaches
// these fields, of all rows, only through its arguments. A split field is passed as a local copy of
// its components, which is stored back where f may have written it.
//
// Cost: a row is base + capacity * constant + index * size; loops keep it in registers. What lies
//       between the loop and f is always inlined. gcc calls the loop itself, and clang calls a loop
//       over many columns (inlined_columns_max).
// Threads: as std::span: disjoint parts may be written at the same time. for_each_batch cuts at
//          multiples of 64 rows, so two batches share no cache line in any column (aosoa, soa).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <cairn/containers/batches.hpp>
#include <cairn/containers/table/column.hpp>
#include <cairn/containers/table/row.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/inside/compiler.hpp>
#include <cairn/storage/inside/index_iterator.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

// Which arguments a function object may write.
//
//      [](vec3& p, const vec3& v) {...}               0: written    1: read only
//      [](vec3 p, std::reference_wrapper<vec3> v)     0: read only  1: written
//      [](auto&& p, auto&& v) {...}                   unknown: both count as written
//
// A field is read only where f takes it as const T& or as a copy T. Any other type may be made from
// a T& and keep it.

/// The arguments of a function object that is not generic. Known from the type of its operator(),
/// which a generic lambda or an overloaded one does not have.
template <class F>
struct argument_list {
    static constexpr bool is_known = false;
};
template <class T>
struct arguments_of_call : argument_list<void> {};
template <class R, class C, class... A, bool IsNoexcept>
struct arguments_of_call<R (C::*)(A...) noexcept(IsNoexcept)> {
    static constexpr bool is_known = true;
    using type = type_list<A...>;
};
template <class R, class C, class... A, bool IsNoexcept>
struct arguments_of_call<R (C::*)(A...) const noexcept(IsNoexcept)>
    : arguments_of_call<R (C::*)(A...)> {};
template <class F>
    requires requires { &F::operator(); }
struct argument_list<F> : arguments_of_call<decltype(&F::operator())> {};

/// True when argument number I of F, which is given a field of type T, may write it.
template <class F, std::size_t I, class T>
consteval bool writes_argument() {
    if constexpr (argument_list<F>::is_known) {
        using A = type_at<I, typename argument_list<F>::type>;
        return !std::is_same_v<A, const T&> && !std::is_same_v<std::remove_cv_t<A>, T>;
    } else {
        return true;
    }
}

/// A field as an argument: itself, or a local copy of a split one, stored back where `Writes`.
///
///      component columns --load--> copy.value --f writes it--> --store--> component columns
///
/// The destructor stores, at the end of the call, also when f throws: as a write through a T& would
/// have happened.
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

template <std::size_t N, class T>
[[CAIRN_FORCE_INLINE]] inline T* column_number(const loop_column<N, T>& column) noexcept {
    return column.cells;
}

#if defined(__clang__) || CAIRN_COMPILER_IS_MSVC
inline constexpr std::size_t rows_in_step = 0;
inline constexpr std::size_t strided_row_min = SIZE_MAX;
#else
/// gcc 12 vectorises no loop of unknown length at -O2, but a loop of 16 rows.
inline constexpr std::size_t rows_in_step = 16;
/// gcc 12 vectorises over rows of aos, eight at a time, by permutations that fill the stack: 4.3
/// ns a row of 128 bytes, row by row 0.9. Larger rows than this hide their number from it.
inline constexpr std::size_t strided_row_min = cache_line_size;
#endif

/// A loop over rows: f(Value{fields...}), or f(field...) where Value is void. Refs is field_refs.
template <class Refs, class Value, std::size_t... Fields>
struct row_loop {
    using layout = typename Refs::layout;
    static constexpr std::size_t column_count = (std::size_t{0} + ... + layout::columns_of(Fields));
    static constexpr bool are_columns = (!layout::is_split(Fields) && ...);
    /// Whether the loop gains from steps of rows_in_step rows: not where more pointers than
    /// registers are spilled, where rows with split fields are handed out, or in shorter blocks.
    /// A loop that asks a predicate may have more columns, because a predicate reads few of them.
    template <class Answers>
    static constexpr bool gains_from_steps =
        rows_in_step != 0 && (column_count <= 8 || std::is_same_v<Answers, bool*>) &&
        (are_columns || std::is_void_v<Value>) &&
        (layout::lanes == 0 || layout::lanes >= rows_in_step);

    /// The columns of the fields, one field after the other.
    ///
    ///      each<&P::life, &P::position>, split_soa:   at     6   0 1 2    a pointer for each
    ///                                                 first  0   1            where a field begins
    struct column_numbers {
        std::size_t at[column_count + 1] = {};
        // Where the columns of a field begin in `at`.
        std::size_t first[sizeof...(Fields) + 1] = {};
    };
    static constexpr column_numbers columns = [] {
        column_numbers result;
        std::size_t count = 0;
        std::size_t fields = 0;
        const auto add = [&](std::size_t f) {
            result.first[fields++] = count;
            for (std::size_t c = 0; c < layout::columns_of(f); ++c) {
                result.at[count++] = layout::first_column(f) + c;
            }
        };
        (add(Fields), ...);
        return result;
    }();

    /// Calls f for rows 0 to count - 1, and writes the results to `answers`, unless that is
    /// nullptr. Where each field is a column, the body is one expression, so that an unoptimized
    /// build calls f and nothing else. Step: `count` as a constant, or 0.
    template <std::size_t Step, class F, class Answers, std::size_t... N, class... T>
    [[CAIRN_FORCE_INLINE]] static void run(
        F& f, Answers answers, std::size_t count,
        const loop_columns<std::index_sequence<N...>, T...>& cells) {
        constexpr auto fields = std::make_index_sequence<sizeof...(Fields)>{};
        const std::size_t rows = Step != 0 ? Step : count;
        if constexpr (std::is_same_v<Answers, bool*> && are_columns) {
            for (std::size_t i = 0; i < rows; ++i) { answers[i] = f(Value{cells, i}); }
        } else if constexpr (std::is_same_v<Answers, bool*>) {
            for (std::size_t i = 0; i < rows; ++i) { answers[i] = call(f, fields, cells, i); }
        } else if constexpr (are_columns && !std::is_void_v<Value>) {
            // x += v * dt; life -= dt; in a row of four floats: 0.70 -> 0.11 ns (gcc 12 -O3).
            CAIRN_VECTORS_FIRST
            for (std::size_t i = 0; i < rows; ++i) { f(Value{cells, i}); }
        } else if constexpr (are_columns) {
            for (std::size_t i = 0; i < rows; ++i) {
                f(static_cast<std::conditional_t<Refs::is_const, const T, T>&>(
                    static_cast<const loop_column<N, T>&>(cells).cells[i])...);
            }
        } else {
            for (std::size_t i = 0; i < rows; ++i) { call(f, fields, cells, i); }
        }
    }

private:
    template <class F, std::size_t... A, class Cells>
    [[CAIRN_FORCE_INLINE]] static auto call(F& f, std::index_sequence<A...>, const Cells& cells,
                                            std::size_t i) {
        if constexpr (std::is_void_v<Value>) {
            return f(detail::as_argument<
                         writes_argument<F, A, typename layout::template field_type<Fields>>()>(
                         field<Fields, columns.first[A]>(cells, i))
                         .get()...);
        } else {
            return f(Value{from_fields{}, field<Fields, columns.first[A]>(cells, i)...});
        }
    }
    /// Field F of row i; the pointers to its columns begin with number `First`.
    template <std::size_t F, std::size_t First, class Cells>
    [[CAIRN_FORCE_INLINE]] static decltype(auto) field(const Cells& cells, std::size_t i) noexcept {
        return Refs::template in<F>([&]<std::size_t C>() {
            return detail::column_number<First + C - layout::first_column(F)>(cells) + i;
        });
    }
};

constexpr std::nullptr_t advanced(std::nullptr_t, std::size_t) noexcept { return nullptr; }
constexpr bool* advanced(bool* answers, std::size_t rows) noexcept { return answers + rows; }

/// Calls for rows 0 to count - 1; `p` are the elements of row 0.
/// Not always_inline: clang inlines those first of all, and forgets `__restrict` then.
template <class Loop, class F, class Answers, class... P>
inline void run_here(F& f, Answers answers, std::size_t count, P* CAIRN_RESTRICT... p) {
    Loop::template run<0>(f, answers, count,
                          loop_columns<std::index_sequence_for<P...>, P...>{{p}...});
}
template <class Loop, class F, class Answers, class... P>
[[CAIRN_NOINLINE]] void run_called(F& f, Answers answers, std::size_t count,
                                   P* CAIRN_RESTRICT... p) {
    using columns = loop_columns<std::index_sequence_for<P...>, P...>;
    std::size_t first = 0;
    if constexpr (Loop::template gains_from_steps<Answers>) {
        for (; first + rows_in_step <= count; first += rows_in_step) {
            Loop::template run<rows_in_step>(f, detail::advanced(answers, first), 0,
                                             columns{{p + first}...});
        }
    }
    Loop::template run<0>(f, detail::advanced(answers, first), count - first,
                          columns{{p + first}...});
}

/// One whole block of lanes: gcc turns the constant count into one register per column.
template <class Loop, class F, class Answers, class... P>
[[CAIRN_NOINLINE]] void run_block(F& f, Answers answers, P* CAIRN_RESTRICT... p) {
    Loop::template run<Loop::layout::lanes>(
        f, answers, 0, loop_columns<std::index_sequence_for<P...>, P...>{{p}...});
}

/// Loops over more columns than this are functions of their own.
#if defined(__clang__)
inline constexpr std::size_t inlined_columns_max = 12;  // more pointers are spilled inside the loop
#else
inline constexpr std::size_t inlined_columns_max = 0;  // gcc forgets `__restrict` where it inlines
#endif
template <class Loop, class F, class Answers, class... P>
void run_disjoint(F& f, Answers answers, std::size_t count, P*... p) {
    if constexpr (sizeof...(P) <= inlined_columns_max) {
        detail::run_here<Loop>(f, answers, count, p...);
    } else if constexpr (Loop::layout::lanes != 0) {
        count == Loop::layout::lanes ? detail::run_block<Loop>(f, answers, p...)
                                     : detail::run_called<Loop>(f, answers, count, p...);
    } else {
        detail::run_called<Loop>(f, answers, count, p...);
    }
}

/// Writes f(row) to `answers` for the first `count` rows of a plain struct; no row overlaps the
/// answers. A row of six floats takes 0.5 instead of 0.9 ns (gcc 12 -O2, 1 % go).
template <class View, class F>
[[CAIRN_NOINLINE]] void ask_in_steps(const View view, F& f, bool* CAIRN_RESTRICT answers,
                                     std::size_t count) {
    std::size_t first = 0;
    for (; first + rows_in_step <= count; first += rows_in_step) {
        CAIRN_VECTORS_FIRST
        for (std::size_t i = 0; i != rows_in_step; ++i) { answers[first + i] = f(view[first + i]); }
    }
    for (; first < count; ++first) { answers[first] = f(view[first]); }
}

/// The type of t[i]. (Compilers show this name where a row is bound to auto&.)
template <class Row, class Layout, bool IsConst>
using row_proxy =
    std::conditional_t<stores_whole_rows<Layout>(), std::conditional_t<IsConst, const Row, Row>&,
                       table_row<Row, Layout, IsConst>>;

}  // namespace detail

/// Rows [first, first + size) of a table, by value.
///
/// Figures, ns a row: 5,000 rows of 15 fields (27 columns when split), p += v * dt, in cache; EPYC
/// (Zen 4), 2026-11-26; -O3 with -march=x86-64-v3. The loops of a limit by hand take 0.20.
///
///                             gcc 12 -O2    gcc 12 -O3    clang 19 -O3
///      each        soa            0.27          0.20           0.20
///                  split_soa      0.28          0.20           0.20
///                  aos            0.75          0.77           0.74       rows of 128 bytes
///      for_each    soa            0.73          0.20           0.20
///                  split_soa      0.94          0.21           0.21
///      t[i]        soa            0.74          0.54           0.20
///                  split_soa     19             1.04           0.21
///
/// Take each where a row has many fields and the loop needs few. gcc -O2 spills the pointers of a
/// whole row to the stack, so t[i] of a split row of many columns is slow there; a range-for, which
/// makes the row once, takes 1.04.
template <class Row, class Layout, bool IsConst = false>
class table_view {
    using layout = detail::layout_for<Row, Layout>;
    using field_refs = detail::field_refs<Row, Layout, IsConst>;
    template <class T>
    using maybe_const = std::conditional_t<IsConst, const T, T>;

public:
    using value_type = Row;
    using layout_type = Layout;
    using reference = detail::row_proxy<Row, Layout, IsConst>;
    using iterator = detail::index_iterator<table_view>;

    constexpr table_view() noexcept = default;
    constexpr table_view(std::byte* base, std::size_t capacity, std::size_t first,
                         std::size_t size) noexcept
        : base_{base}, capacity_{capacity}, first_{first}, size_{size} {}
    /// A view to read from, of one to write to.
    constexpr table_view(const table_view<Row, Layout, false>& other) noexcept
        requires IsConst
        : table_view{other.base_, other.capacity_, other.first_, other.size_} {}
    table_view(const table_view&) = default;
    table_view& operator=(const table_view&) = default;

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

    /// Row i. Requires: i < size().
    [[nodiscard, CAIRN_FORCE_INLINE]] reference operator[](std::size_t i) const noexcept {
        CAIRN_ASSERT(i < size_, "a row is read inside the table",
                     detail::beyond_end(this, "table_view", i, size_));
        if constexpr (layout::rows_are_whole) {
            return *layout::template element<0>(base_, capacity_, first_ + i);
        } else if constexpr (layout::is_named) {
            return named_row(i, typename layout::field_numbers{});
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
        return (size_ + layout::desc.tail - 1) & ~(layout::desc.tail - 1);
    }

    /// The field that `Member` names, of all rows; see table/column.hpp for the type.
    template <auto Member>
    [[nodiscard]] auto column() const noexcept {
        return column_of<detail::own_field<Row, Member>()>();
    }
    template <std::size_t F>
    [[nodiscard]] auto column_of() const noexcept {
        using T = maybe_const<typename layout::template field_type<F>>;
        if constexpr (layout::is_split(F)) {
            if (size_ == 0) { return split_span<T>{}; }
            return [&]<std::size_t... I>(std::index_sequence<I...>) {
                return split_span<T>{size_, layout::template element<layout::first_column(F) + I>(
                                                base_, capacity_, first_)...};
            }(std::make_index_sequence<layout::columns_of(F)>{});
        } else if constexpr (layout::lanes != 0) {
            CAIRN_ASSERT(first_ % layout::lanes == 0, "columns of blocks begin at a block");
            using span = blocked_span<T, layout::lanes>;
            return size_ == 0 ? span{} : span{field_pointer<F>(), layout::desc.block_size, size_};
        } else if constexpr (layout::rows_are_whole) {
            using span = strided_span<T>;
            return size_ == 0 ? span{} : span{field_pointer<F>(), sizeof(Row), size_};
        } else {
            return size_ == 0 ? std::span<T>{} : std::span<T>{field_pointer<F>(), size_};
        }
    }

    /// Some fields of row i, for structured bindings: auto [p, v] = t.row<&P::position, ...>(i).
    template <auto... Members>
    [[nodiscard]] auto row(std::size_t i) const noexcept {
        CAIRN_ASSERT(i < size_, "a row is read inside the table",
                     detail::beyond_end(this, "table_view", i, size_));
        return detail::selected_fields<table_view, detail::own_field<Row, Members>()...>{*this, i};
    }

    /// f(row) for every row, in order.
    /// Requires: f reaches the fields of the rows only through its argument.
    template <class F>
    void for_each(F f) const {
        constexpr bool takes_rows = std::is_invocable_v<F&, reference>;
        static_assert(takes_rows, "the function takes a row: auto&&");
        if constexpr (takes_rows) { for_each_row(f, nullptr); }
    }
    /// Writes f(row) for every row to `answers`, in order; as for_each.
    template <class F>
    void ask(F& f, bool* answers) const {
        for_each_row(f, answers);
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
    [[nodiscard, CAIRN_FORCE_INLINE]] decltype(auto) field(std::size_t i) const noexcept {
        return field_refs::template at<F>(base_, capacity_, first_ + i);
    }

private:
    friend class table_view<Row, Layout, true>;

    template <std::size_t... F>
    [[CAIRN_FORCE_INLINE]] reference named_row(std::size_t i,
                                               std::index_sequence<F...>) const noexcept {
        return reference{detail::from_fields{},
                         field_refs::template at<F>(base_, capacity_, first_ + i)...};
    }

    template <std::size_t F>
    [[nodiscard]] auto* field_pointer() const noexcept {
        return compiler::address_of(field<F>(0));
    }

    template <std::size_t... Fields, class F>
    void each_of(F& f) const {
        constexpr bool takes_fields =
            std::is_invocable_v<F&, maybe_const<typename layout::template field_type<Fields>>&...>;
        static_assert(takes_fields, "the function takes the fields that are named, in order");
        if constexpr (!takes_fields) {
        } else if constexpr (layout::rows_are_whole) {
            for (std::size_t i = 0; i < size_; ++i) {
                hide_row(i);
                f(field<Fields>(i)...);
            }
        } else {
            loop<void>(f, nullptr, std::index_sequence<Fields...>{});
        }
    }
    [[CAIRN_FORCE_INLINE]] static void hide_row(std::size_t& i) noexcept {
        if constexpr (layout::rows_are_whole && sizeof(Row) > detail::strided_row_min) {
            compiler::hide(i);
        }
    }
    template <class F, class Answers>
    [[CAIRN_FORCE_INLINE]] void for_each_row(F& f, Answers answers) const {
        if constexpr (layout::is_named && !layout::rows_are_whole && layout::column_count <= 64) {
            loop<reference>(f, answers, typename layout::field_numbers{});
        } else if constexpr (std::is_same_v<Answers, bool*> && detail::rows_in_step != 0 &&
                             layout::lanes == 0 && !layout::rows_are_whole) {
            detail::ask_in_steps(*this, f, answers, size_);
        } else if constexpr (std::is_same_v<Answers, bool*>) {
            for (std::size_t i = 0; i < size_; ++i) { answers[i] = f((*this)[i]); }
        } else {
            in_runs([&](std::size_t first, std::size_t count) {
                for (std::size_t i = 0; i < count; ++i) {
                    hide_row(i);
                    f((*this)[first + i]);
                }
            });
        }
    }
    /// use(first, count) for runs of rows that lie together in every column.
    ///
    ///      soa           one run: all rows of the view
    ///      aosoa<8>      | 3 rows | 8 rows | 8 rows | 5 rows |       a view that begins at row 5
    ///                      lead     whole blocks      rest
    template <class Use>
    void in_runs(Use use) const {
        if constexpr (layout::lanes == 0) {
            if (size_ != 0) { use(std::size_t{0}, size_); }
        } else {
            std::size_t i = 0;
            const std::size_t lead = (layout::lanes - first_ % layout::lanes) % layout::lanes;
            if (lead != 0 && size_ != 0) {
                i = lead < size_ ? lead : size_;
                use(std::size_t{0}, i);
            }
            for (; size_ - i >= layout::lanes; i += layout::lanes) { use(i, layout::lanes); }
            if (i != size_) { use(i, size_ - i); }
        }
    }
    template <class Value, class F, class Answers, std::size_t... Fields>
    void loop(F& f, Answers answers, std::index_sequence<Fields...>) const {
        using loop = detail::row_loop<field_refs, Value, Fields...>;
        in_runs([&](std::size_t first, std::size_t count) {
            [&]<std::size_t... N>(std::index_sequence<N...>) {
                detail::run_disjoint<loop>(f, detail::advanced(answers, first), count,
                                           layout::template element<loop::columns.at[N]>(
                                               base_, capacity_, first_ + first)...);
            }(std::make_index_sequence<loop::column_count>{});
        });
    }

    // By value, and not a pointer to the table: the compiler sees that a store through a row
    // changes none of them, and keeps them in registers for the whole loop.
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
