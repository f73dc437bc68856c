// cairn/containers/table/row.hpp - what t[i] is when the fields of row i lie in different columns.
//
//      t[i]  ->  table_row { vec3& position; vec3& velocity; float& life; }     made on the fly,
//                               |               |              |                kept in registers
//                               v               v              v
//      columns:             [ ... p_i ... ] [ ... v_i ... ] [ ... l_i ... ]
//
// A row is a reference: copying the object copies the reference, assigning writes through, and a
// const row still writes (as with T&). The rules for code that works in every layout:
//
//      auto&& p = t[i];            a row (aos: a real T&)
//      particle<> copy = t[i];     a value
//      t[i] = t[j];                assigns the fields
//      using std::swap;            for aos, whose rows are the user's own type
//      swap(t[i], t[j]);           swaps the fields; so does std::ranges::swap of two named rows
//      std::swap(a, b);            wrong: qualified, it assigns twice through one of the rows,
//                                  which are references, and both rows end with the same fields
//      auto p = t[i];              differs in generic code: a copy in aos, a reference otherwise
//
// The fields of a row, by their names or by member pointers:
//
//      t[i].life                                      rows of field kinds (field.hpp)
//      get<&P::life>(t[i])                            float&, in every layout, values included
//      auto [position, velocity] = t[i];              plain structs, in the order of the fields
//      auto [p, v] = t.row<&P::position, &P::velocity>(i);
//      std::ranges::sort(t, {}, key<&P::life>)        a projection of rows and of values
//
// Rows that can only be moved are sorted by the table (sort, sort_by): std::ranges::sort copies
// rows, in libstdc++ at least.
//
// Cost: none; the compiler dissolves the row. Lifetimes: as a reference into a vector.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include <cairn/containers/inside/sort_rows.hpp>
#include <cairn/containers/table/column.hpp>
#include <cairn/containers/table/layout_of.hpp>
#include <cairn/core/inside/compiler.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

/// References to the fields of a row that lies in columns.
template <class Row, class Layout, bool IsConst>
struct field_refs {
    using layout = layout_for<Row, Layout>;
    static constexpr bool is_const = IsConst;

    /// Field F of the row whose element of column C is at `column.operator()<C>()`: a T&, or a
    /// split_ref.
    template <std::size_t F, class Column>
    [[nodiscard, CAIRN_FORCE_INLINE]] static decltype(auto) in(Column column) noexcept {
        using T = typename layout::template field_type<F>;
        using E = std::conditional_t<IsConst, const T, T>;
        constexpr std::size_t first = layout::first_column(F);
        if constexpr (layout::is_split(F)) {
            return [&]<std::size_t... I>(std::index_sequence<I...>) CAIRN_INLINE_LAMBDA {
                return split_ref<T, IsConst> { column.template operator()<first + I>()... };
            }(std::make_index_sequence<layout::columns_of(F)>{});
        } else if constexpr (layout::rows_are_whole) {
            return detail::with_fields<layout::field_count>(
                *column.template operator()<first>(),
                [](auto&... fields) -> E& { return detail::pick<F>(fields...); });
        } else {
            return static_cast<E&>(*column.template operator()<first>());
        }
    }
    /// Field F of row i; whole_row: the row itself, in aos.
    template <std::size_t F>
    [[nodiscard, CAIRN_FORCE_INLINE]] static decltype(auto) at(std::byte* base,
                                                               std::size_t capacity,
                                                               std::size_t i) noexcept {
        if constexpr (F == layout::whole_row) {
            return (*layout::template element<0>(base, capacity, i));
        } else if constexpr (layout::columns_are_fields) {
            using T = typename layout::template field_type<F>;
            return static_cast<std::conditional_t<IsConst, const T, T>&>(
                *layout::template element<F>(base, capacity, i));
        } else {
            return in<F>([=]<std::size_t C>() CAIRN_INLINE_LAMBDA {
                return layout::template element<C>(base, capacity, i);
            });
        }
    }
};

/// The kind of the fields of a row (field.hpp): a split_ref where the layout splits a field of type
/// T, else a reference. Whether a layout splits a field depends on the type of the field alone, so
/// the layout is asked about a row of one field.
template <class Layout, bool IsConst>
struct row_kind {
    template <class T>
    static auto find() {
        using Other = unmarked<T>;
        constexpr auto list = detail::list_columns<Layout>(type_list<declared<T>>{});
        if constexpr (list.at[0].component != list.whole) {
            return std::type_identity<split_ref<Other, IsConst>>{};
        } else {
            return std::type_identity<std::conditional_t<IsConst, const Other&, Other&>>{};
        }
    }
    template <class T>
    using type = typename decltype(find<T>())::type;
};

/// Says that the arguments behind it are the fields of a row, one each.
struct from_fields {};

/// Pointers to the columns of a loop. Each pointer is a member of a base, so that naming it is no
/// call: unoptimized loops spend their time in calls.
template <std::size_t, class T>
struct loop_column {
    T* cells;
};
template <class Numbers, class... T>
struct loop_columns;
template <std::size_t... I, class... T>
struct loop_columns<std::index_sequence<I...>, T...> : loop_column<I, T>... {};

/// The fields of a row or of a value, an lvalue each.
template <std::size_t Count, class From, class F>
constexpr decltype(auto) visit_fields(From& from, F&& f) {
    if constexpr (requires { from.cairn_visit_fields(f); }) {
        return from.cairn_visit_fields(static_cast<F&&>(f));
    } else {
        return detail::with_fields<Count>(from, static_cast<F&&>(f));
    }
}
/// Writes the fields of `from`, moved where it is an rvalue, through the row `to`. Returns: `to`.
template <std::size_t Count, class To, class From>
constexpr To& assign_fields(To& to, From&& from) {
    to.cairn_visit_fields([&](auto&... mine) {
        detail::visit_fields<Count>(from, [&](auto&... theirs) {
            if constexpr (std::is_lvalue_reference_v<From>) {
                (static_cast<void>(mine = theirs), ...);
            } else {
                (static_cast<void>(mine = std::move(theirs)), ...);
            }
        });
    });
    return to;
}

}  // namespace detail

/// A row of named fields: derives from the user's template, so that its members and its member
/// functions are there. All its own names begin with cairn_, so that they hide no field
/// and no compiler warns of it.
template <class Row, class Layout, bool IsConst>
class [[nodiscard]] table_row
    : public detail::row_template<Row>::template with<detail::row_kind<Layout, IsConst>> {
    using cairn_fields =
        typename detail::row_template<Row>::template with<detail::row_kind<Layout, IsConst>>;
    static constexpr std::size_t cairn_field_count = detail::layout_for<Row, Layout>::field_count;

public:
    /// A row whose fields are `cairn_each`, in order: references and split_refs into the columns.
    template <class... F>
    [[CAIRN_FORCE_INLINE]] constexpr table_row(detail::from_fields, F&&... cairn_each) noexcept
        : cairn_fields{static_cast<F&&>(cairn_each)...} {}

    /// Row `cairn_row` of a loop whose columns are the fields.
    template <std::size_t... I, class... T>
    [[CAIRN_FORCE_INLINE]] constexpr table_row(
        const detail::loop_columns<std::index_sequence<I...>, T...>& cairn_columns,
        std::size_t cairn_row) noexcept
        : cairn_fields{
              static_cast<const detail::loop_column<I, T>&>(cairn_columns).cells[cairn_row]...} {}

    /// Copies the reference, as T& is copied: both name the same row.
    table_row(const table_row&) = default;

    void operator&() const = delete;  // a row has no address: take auto&&, or use aos

    /// f(field...), an lvalue each. Copies, assignments and comparisons of rows go through it.
    template <class F>
    constexpr decltype(auto) cairn_visit_fields(F&& cairn_f) const {
        return detail::with_fields<cairn_field_count>(static_cast<const cairn_fields&>(*this),
                                                      static_cast<F&&>(cairn_f));
    }

    /// A value of the row: a copy of each field.
    constexpr operator Row() const {
        return cairn_visit_fields([](auto&... cairn_each) { return Row{cairn_each...}; });
    }
    /// The value of the row, moved out of its fields.
    constexpr Row cairn_take() const
        requires(!IsConst)
    {
        return cairn_visit_fields(
            [](auto&... cairn_each) { return Row{std::move(cairn_each)...}; });
    }

    // Assignments write the fields, through a const row, too: t[i] = t[j] assigns to a temporary.
    constexpr const table_row& operator=(const table_row& cairn_other) const
        requires(!IsConst)
    {
        return detail::assign_fields<cairn_field_count>(*this, cairn_other);
    }
    constexpr table_row& operator=(const table_row& cairn_other)
        requires(!IsConst)
    {
        return detail::assign_fields<cairn_field_count>(*this, cairn_other);
    }
    constexpr const table_row& operator=(const Row& cairn_from) const
        requires(!IsConst)
    {
        return detail::assign_fields<cairn_field_count>(*this, cairn_from);
    }
    constexpr const table_row& operator=(Row&& cairn_from) const
        requires(!IsConst)
    {
        return detail::assign_fields<cairn_field_count>(*this, std::move(cairn_from));
    }
};

/// A row of a plain struct: its fields by position (structured bindings) or by member pointer.
///
///      base_, capacity_, index_      three words; get<F>() computes the address of field F
///
/// A struct that was not written over a field kind cannot have members that are references, so its
/// rows have no members with the names of its fields.
template <class Row, class Layout, bool IsConst>
    requires(!detail::row_template<Row>::is_named)
class [[nodiscard]] table_row<Row, Layout, IsConst> {
    using layout = detail::layout_for<Row, Layout>;

public:
    using value_type = Row;

    /// Row `index` of the block at `base`, which is laid out for `capacity` rows.
    [[CAIRN_FORCE_INLINE]] constexpr table_row(std::byte* base, std::size_t capacity,
                                               std::size_t index) noexcept
        : base_{base}, capacity_{capacity}, index_{index} {}

    /// Copies the reference, as T& is copied: both name the same row.
    table_row(const table_row&) = default;

    void operator&() const = delete;  // a row has no address: take auto&&, or use aos

    /// Field number `Key`, or the field that the member pointer `Key` names: a reference, or a
    /// split_ref.
    template <auto Key>
    [[nodiscard, CAIRN_FORCE_INLINE]] constexpr decltype(auto) get() const noexcept {
        constexpr std::size_t f = field_named<Key>();
        return detail::field_refs<Row, Layout, IsConst>::template at<f>(base_, capacity_, index_);
    }

    /// f(field...), as the row of named fields has it.
    template <class F>
    constexpr decltype(auto) cairn_visit_fields(F&& f) const {
        return [&]<std::size_t... I>(std::index_sequence<I...>) -> decltype(auto) {
            return call(static_cast<F&&>(f), get<I>()...);
        }(std::make_index_sequence<layout::field_count>{});
    }

    /// A value of the row: a copy of each field.
    [[nodiscard]] constexpr Row load() const {
        return cairn_visit_fields([](auto&... fields) { return Row{fields...}; });
    }
    constexpr operator Row() const { return load(); }
    /// The value of the row, moved out of its fields.
    constexpr Row cairn_take() const
        requires(!IsConst)
    {
        return cairn_visit_fields([](auto&... fields) { return Row{std::move(fields)...}; });
    }

    // Assignments write the fields, through a const row, too.
    constexpr const table_row& operator=(const table_row& other) const
        requires(!IsConst)
    {
        return detail::assign_fields<layout::field_count>(*this, other);
    }
    constexpr table_row& operator=(const table_row& other)
        requires(!IsConst)
    {
        return detail::assign_fields<layout::field_count>(*this, other);
    }
    constexpr const table_row& operator=(const Row& row) const
        requires(!IsConst)
    {
        return detail::assign_fields<layout::field_count>(*this, row);
    }
    constexpr const table_row& operator=(Row&& row) const
        requires(!IsConst)
    {
        return detail::assign_fields<layout::field_count>(*this, std::move(row));
    }

private:
    /// The number of the field that `Key` stands for: `Key` itself where it is a number.
    template <auto Key>
    static consteval std::size_t field_named() {
        if constexpr (std::is_integral_v<decltype(Key)>) {
            constexpr bool is_inside = static_cast<std::size_t>(Key) < layout::field_count;
            static_assert(is_inside, "a row has fewer fields");
            return is_inside ? static_cast<std::size_t>(Key) : 0;
        } else {
            return detail::own_field<Row, Key>();
        }
    }

    /// Binds split_refs, which are prvalues, to the visitor's auto&.
    template <class F, class... T>
    static constexpr decltype(auto) call(F&& f, T&&... fields) {
        return static_cast<F&&>(f)(fields...);
    }

    std::byte* base_;
    std::size_t capacity_;
    std::size_t index_;
};

/// The value of a row, moved out of its fields.
template <class Row, class Layout>
[[nodiscard]] constexpr Row take(const table_row<Row, Layout, false>& row) {
    return row.cairn_take();
}

/// Swaps the fields of two rows; they may be prvalues, as in swap(t[i], t[j]).
template <class Row, class Layout>
constexpr void swap(const table_row<Row, Layout, false>& a,
                    const table_row<Row, Layout, false>& b) {
    Row held = cairn::take(a);
    a = cairn::take(b);
    b = std::move(held);
}
/// The same for rows with a name, which std::swap(T&, T&) would match better.
template <class Row, class Layout>
constexpr void swap(table_row<Row, Layout, false>& a, table_row<Row, Layout, false>& b) {
    cairn::swap(std::as_const(a), std::as_const(b));
}

namespace detail {

/// A reference stays a reference; a split_ref is copied, because the row that holds it may be a
/// temporary.
template <class T>
[[nodiscard]] constexpr auto hand_out(T& field) noexcept
    -> std::conditional_t<split_reference<T>, std::remove_const_t<T>, T&> {
    return field;
}

/// Finds row_of. A row of a table is not the struct itself, and has its fields.
template <class R>
struct row_of_impl {
    using type = R;
};
template <class Row, class Layout, bool IsConst>
struct row_of_impl<table_row<Row, Layout, IsConst>> {
    using type = Row;
};
/// The struct whose fields R has: R is one, or a row of a table.
template <class R>
using row_of = typename row_of_impl<std::remove_cvref_t<R>>::type;

}  // namespace detail

/// A field of a row in any layout, values included: get<&P::life>(row).
template <auto Member, class R>
[[nodiscard, CAIRN_FORCE_INLINE]] constexpr decltype(auto) get(R&& row) noexcept {
    using row_type = detail::row_of<R>;
    constexpr bool is_own = detail::names_field_of<row_type, std::remove_cv_t<decltype(Member)>>;
    if constexpr (requires { row.*Member; }) {
        return (row.*Member);
    } else if constexpr (!detail::check_row<row_type>()) {
        return detail::stand_in_field();
    } else if constexpr (!is_own) {
        static_assert(is_own, "a field is named by a member pointer of its own row");
        return detail::stand_in_field();
    } else if constexpr (detail::row_template<row_type>::is_named) {
        constexpr std::size_t f = detail::own_field<row_type, Member>();
        return row.cairn_visit_fields([](auto&... fields) -> decltype(auto) {
            return detail::hand_out(detail::pick<f>(fields...));
        });
    } else {
        return row.template get<Member>();
    }
}

/// A projection that works on values and on rows: std::ranges::sort(t, {}, key<&P::life>).
template <auto Member>
struct key_of {
    template <class R>
    [[nodiscard]] constexpr decltype(auto) operator()(R&& row) const noexcept {
        return get<Member>(static_cast<R&&>(row));
    }
};
template <auto Member>
inline constexpr key_of<Member> key{};

namespace detail {

/// Fields F... of row `index`, for structured bindings: the result of table_view::row<...>(i).
/// Cost: the view's four words and the index, which the compiler dissolves.
template <class View, std::size_t... F>
class selected_fields {
public:
    /// Requires: index < view.size(), and no growth of the table while it is used.
    selected_fields(View view, std::size_t index) noexcept : view_{view}, index_{index} {}
    /// The I-th of the fields F..., a reference or a split_ref.
    template <std::size_t I>
    [[nodiscard]] decltype(auto) get() const noexcept {
        constexpr std::size_t fields[] = {F...};
        return view_.template field<fields[I]>(index_);
    }

private:
    View view_;
    std::size_t index_;
};

// The fields of one row, built, moved and destroyed where they lie.
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

/// The cells of a table: its block, laid out for `capacity` rows.
template <class Row, class Layout>
struct table_cells {
    // What moves as one is a part: a field, or the row in aos. A function for each kind of part,
    // a T& or a split_ref, stands below; for_each_part() calls it for all of them.
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
        if constexpr (!fits || !keeps_rules) {  // the sentence is enough
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

    /// True when construct(i, args...) calls no function of the user: no constructor of a field,
    /// and no conversion of an argument.
    template <class... Args>
    static consteval bool copies_bytes() {
        if constexpr (!std::is_trivially_copyable_v<Row>) {
            return false;
        } else if constexpr ((std::is_same_v<std::remove_cvref_t<Args>, Row> && ...)) {
            return sizeof...(Args) == 1;
        } else if constexpr (sizeof...(Args) == layout::field_count) {
            return [&]<std::size_t... F>(std::index_sequence<F...>) {
                return (std::is_trivially_constructible_v<typename layout::template field_type<F>,
                                                          Args> &&
                        ...);
            }(each_field{});
        } else {
            return false;  // Row{args...}: the other fields have initializers
        }
    }

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
            move_field(field<F>(b), held);
        });
    }
    /// Rows [first, last) become rows [first + 1, last], and row `first` what `last` was.
    void rotate_back(std::size_t first, std::size_t last) const noexcept {
        for_each_part([&]<std::size_t F>() {
            auto held = take(field<F>(last));
            for (std::size_t i = last; i > first; --i) { move_field(field<F>(i), field<F>(i - 1)); }
            move_field(field<F>(first), held);
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

    // The same four operations for both kinds of parts: take the value out, move it from another
    // row or from a value that was taken, end it, begin it. Components are bytes: they are copied,
    // and do not end.
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
    template <class T, class From>
    static void move_field(const split_ref<T>& to, const From& from) {
        to = from;
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
    /// Builds the fields, an argument each, in order. A row without a destructor needs no undo.
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
    /// Builds the fields from those of a value, moved where it is an rvalue. A row of a table
    /// becomes a value first: its fields may lie in another layout.
    template <class R>
    [[CAIRN_FORCE_INLINE]] void construct_from_row(std::size_t i, R&& row) const {
        if constexpr (std::is_same_v<std::remove_cvref_t<R>, Row>) {
            detail::with_fields<layout::field_count>(
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

    /// True when each field can be made from the argument at its place.
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

}  // namespace detail
}}  // namespace cairn::CAIRN_FLAVOUR

/// The common reference of a row and a value that can only be moved: const Row&. No algorithm makes
/// a value of a row, because that would copy the row. (Of values that can be copied, it is the
/// value.)
template <class Row, class Layout, bool IsConst, template <class> class Q1,
          template <class> class Q2>
    requires(!std::is_copy_constructible_v<Row>)
struct std::basic_common_reference<cairn::table_row<Row, Layout, IsConst>, Row, Q1, Q2> {
    using type = const Row&;
};
template <class Row, class Layout, bool IsConst, template <class> class Q1,
          template <class> class Q2>
    requires(!std::is_copy_constructible_v<Row>)
struct std::basic_common_reference<Row, cairn::table_row<Row, Layout, IsConst>, Q1, Q2> {
    using type = const Row&;
};

/// Structured bindings of plain rows: auto [position, velocity] = t[i].
template <class Row, class Layout, bool IsConst>
    requires(!cairn::detail::row_template<Row>::is_named)
struct std::tuple_size<cairn::table_row<Row, Layout, IsConst>>
    : std::integral_constant<std::size_t, cairn::detail::layout_for<Row, Layout>::field_count> {};

template <std::size_t I, class Row, class Layout, bool IsConst>
    requires(!cairn::detail::row_template<Row>::is_named)
struct std::tuple_element<I, cairn::table_row<Row, Layout, IsConst>> {
    using type =
        decltype(std::declval<const cairn::table_row<Row, Layout, IsConst>&>().template get<I>());
};

template <class View, std::size_t... F>
struct std::tuple_size<cairn::detail::selected_fields<View, F...>>
    : std::integral_constant<std::size_t, sizeof...(F)> {};

template <std::size_t I, class View, std::size_t... F>
struct std::tuple_element<I, cairn::detail::selected_fields<View, F...>> {
    using type = decltype(std::declval<const cairn::detail::selected_fields<View, F...>&>()
                              .template get<I>());
};
