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
// for_each and each hand the columns to the compiler as disjoint (restrict), which a plain loop
// cannot express; they are vectorised by gcc and clang where the plain loop needs too many checks.
// In return the function object may touch the fields of its own row only through its arguments.
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
#include <cairn/containers/table/row.hpp>
#include <cairn/containers/table/written_arguments.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/storage/index_iterator.hpp>

// gcc forgets `restrict` when it inlines the function that says it.
#if defined(__GNUC__) && !defined(__clang__)
#    define CAIRN_DETAIL_KEEP_RESTRICT [[gnu::noinline]]
#else
#    define CAIRN_DETAIL_KEEP_RESTRICT
#endif

namespace cairn::inline CAIRN_FLAVOUR {

namespace detail {

/// What t[i] is. (Compilers call it by this name where it is bound to auto&.)
template <class Row, class Layout, bool IsConst>
using row_proxy =
    std::conditional_t<Layout::one_array, std::conditional_t<IsConst, const Row, Row>&,
                       table_row<Row, Layout, IsConst>>;

}  // namespace detail

/// Some fields of one row: what table_view::row<...>(i) gives, for structured bindings.
template <class View, std::size_t... F>
class selected_fields {
public:
    selected_fields(View view, std::size_t index) noexcept : view_{view}, index_{index} {}
    template <std::size_t I>
    [[nodiscard]] decltype(auto) get() const noexcept {
        constexpr std::size_t fields[] = {F...};
        return view_.template field<fields[I]>(index_);
    }

private:
    View view_;
    std::size_t index_;
};

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
        CAIRN_ASSERT(i < size_, "a row is read inside the table");
        if constexpr (Layout::one_array) {
            return *layout_of::template element<0, maybe_const<Row>>(base_, capacity_, first_ + i);
        } else if constexpr (layout_of::is_named) {
            return [&]<std::size_t... F>(std::index_sequence<F...>) {
                return reference{detail::from_fields{}, field<F>(i)...};
            }(std::make_index_sequence<layout_of::field_count>{});
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

    /// How many rows, from the first, may be loaded and stored by kernels: size() rounded up to 16, or to
    /// whole blocks of an aosoa of more than 16 (aos: size() itself). Rows past the end hold zeros or
    /// former values.
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
        if constexpr (Layout::one_array) {
            return size_ == 0 ? strided_span<T>{}
                              : strided_span<T>{aos_field<F>(0), sizeof(Row), size_};
        } else if constexpr (Layout::lanes != 0) {
            CAIRN_ASSERT(first_ % Layout::lanes == 0, "columns of blocks begin at a block");
            return size_ == 0 ? blocked_span<T, Layout::lanes>{}
                              : blocked_span<T, Layout::lanes>{field_pointer<F>(0),
                                                               layout_of::desc.block_size, size_};
        } else if constexpr (layout_of::template is_split<F>()) {
            if (size_ == 0) { return split_span<T>{}; }
            return with_components<F>(0, [&](auto*... p) { return split_span<T>{size_, p...}; });
        } else if constexpr (layout_of::template is_grouped<F>) {
            constexpr std::size_t stride = layout_of::template place_in_group<F>.size;
            return size_ == 0 ? strided_span<T>{}
                              : strided_span<T>{field_pointer<F>(0), stride, size_};
        } else {
            return size_ == 0 ? std::span<T>{} : std::span<T>{field_pointer<F>(0), size_};
        }
    }

    /// Some fields of row i, for structured bindings: auto [p, v] = t.row<&P::position, ...>(i).
    template <auto... Members>
    [[nodiscard]] auto row(std::size_t i) const noexcept {
        CAIRN_ASSERT(i < size_, "a row is read inside the table");
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
        } else {
            in_runs([&](std::size_t first, std::size_t count) {
                run_rows(f, first, count, std::make_index_sequence<layout_of::column_count>{});
            });
        }
    }

    /// f(field...) for every row, in order: the fields that `Members` name, as T& or const T&.
    /// A split field is passed as a local copy, which is stored back unless f takes it as const T& or T.
    /// Requires: f reaches these fields only through its arguments.
    template <auto... Members, class F>
    void each(F f) const {
        constexpr bool takes_fields = takes<F, detail::own_field<Row, Members>()...>();
        static_assert(takes_fields, "the function takes the fields that are named, in order");
        if constexpr (takes_fields) { each_of<detail::own_field<Row, Members>()...>(f); }
    }

    /// The rows in parts of `rows`, rounded up to a multiple of 64: no two of them share a cache line
    /// in any column, so each may be written by another thread. size(), [k], and a range of views.
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
    [[nodiscard]] decltype(auto) field(std::size_t i) const noexcept {
        if constexpr (Layout::one_array) {
            return *aos_field<F>(i);
        } else if constexpr (layout_of::template is_split<F>()) {
            return layout_of::template field_at<F, IsConst>(base_, capacity_, first_ + i);
        } else {
            return *field_pointer<F>(i);
        }
    }

private:
    friend class table_view<Row, Layout, true>;

    template <class F, std::size_t... Fields>
    static consteval bool takes() {
        return std::is_invocable_v<
            F&, maybe_const<typename layout_of::template field_type<Fields>>&...>;
    }

    template <std::size_t F>
    [[nodiscard]] auto* aos_field(std::size_t i) const noexcept {
        return detail::with_fields<layout_of::field_count>(
            *layout_of::template element<0, maybe_const<Row>>(base_, capacity_, first_ + i),
            [](auto&... fields) { return __builtin_addressof(detail::pick<F>(fields...)); });
    }
    template <std::size_t F>
    [[nodiscard]] auto* field_pointer(std::size_t i) const noexcept {
        return layout_of::template field_at<F, IsConst>(base_, capacity_, first_ + i);
    }
    template <std::size_t F, class Use>
    decltype(auto) with_components(std::size_t i, Use use) const {
        using V = typename layout_of::template field_type<F>;
        using C = typename split_ref<V, IsConst>::component_type;
        return [&]<std::size_t... I>(std::index_sequence<I...>) -> decltype(auto) {
            return use(layout_of::template element<layout_of::template first_column<F>() + I, C>(
                base_, capacity_, first_ + i)...);
        }(std::make_index_sequence<components_of<V>::count>{});
    }

    /// The element type of column S.
    template <std::size_t S, std::size_t F = 0>
    static auto column_type() {
        if constexpr (S < layout_of::template columns_before<F + 1>()) {
            using T = typename layout_of::template field_type<F>;
            if constexpr (layout_of::template is_grouped<F>) {
                return std::type_identity<
                    maybe_const<typename layout_of::template group_cell<F>>>{};
            } else if constexpr (layout_of::template is_split<F>()) {
                return std::type_identity<maybe_const<typename components_of<T>::type>>{};
            } else {
                return std::type_identity<maybe_const<T>>{};
            }
        } else {
            return column_type<S, F + 1>();
        }
    }
    template <std::size_t S>
    [[nodiscard]] auto* column_at(std::size_t i) const noexcept {
        using T = typename decltype(column_type<S>())::type;
        return layout_of::template element<S, T>(base_, capacity_, first_ + i);
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

    /// One field of a row out of the columns' pointers: a reference or a split_ref.
    template <std::size_t F, class... P>
    static decltype(auto) field_of_columns(std::size_t i, P*... p) noexcept {
        constexpr std::size_t s = layout_of::template first_column<F>();
        if constexpr (layout_of::template is_split<F>()) {
            using V = typename layout_of::template field_type<F>;
            return [&]<std::size_t... I>(std::index_sequence<I...>) {
                return split_ref<V, IsConst>{(detail::pick<s + I>(p...) + i)...};
            }(std::make_index_sequence<components_of<V>::count>{});
        } else if constexpr (layout_of::template is_grouped<F>) {
            return (*layout_of::template in_cell<F, IsConst>(detail::pick<s>(p...) + i));
        } else {
            return (detail::pick<s>(p...)[i]);
        }
    }
    template <class F, class... P>
    CAIRN_DETAIL_KEEP_RESTRICT static void loop_rows(F& f, std::size_t count, P* __restrict... p) {
        for (std::size_t i = 0; i < count; ++i) {
            [&]<std::size_t... I>(std::index_sequence<I...>) {
                f(reference{detail::from_fields{}, field_of_columns<I>(i, p...)...});
            }(std::make_index_sequence<layout_of::field_count>{});
        }
    }
    template <class F, std::size_t... S>
    void run_rows(F& f, std::size_t first, std::size_t count, std::index_sequence<S...>) const {
        if constexpr (layout_of::is_named && sizeof...(S) <= 64) {
            loop_rows(f, count, column_at<S>(first)...);
        } else {
            for (std::size_t i = 0; i < count; ++i) { f((*this)[first + i]); }
        }
    }

    /// An argument of each(): the field itself, or a local copy of a split one with its way back.
    template <class T>
    struct direct {
        T& field;
        [[nodiscard]] T& get() noexcept { return field; }
    };
    template <class T, bool Writes>
    struct local_copy {
        explicit local_copy(split_ref<T, IsConst> from) noexcept
            : origin{from}, copy{from.load()} {}
        local_copy(const local_copy&) = delete;
        local_copy& operator=(const local_copy&) = delete;
        ~local_copy() {
            if constexpr (Writes && !IsConst) { origin.store(copy); }
        }
        [[nodiscard]] maybe_const<T>& get() noexcept { return copy; }
        split_ref<T, IsConst> origin;
        T copy;
    };

    /// The columns of fields `First, Rest...` at row i, one pointer each, passed on in order.
    template <std::size_t... F, class Use>
    void gather(std::size_t i, Use use) const {
        if constexpr (sizeof...(F) == 0) {
            use();
        } else {
            gather_first<F...>(i, use);
        }
    }
    template <std::size_t First, std::size_t... Rest, class Use>
    void gather_first(std::size_t i, Use& use) const {
        const auto rest = [&](auto*... p) {
            gather<Rest...>(i, [&](auto*... others) { use(p..., others...); });
        };
        if constexpr (layout_of::template is_split<First>()) {
            with_components<First>(i, rest);
        } else if constexpr (layout_of::template is_grouped<First>) {
            rest(column_at<layout_of::template first_column<First>()>(i));
        } else {
            rest(field_pointer<First>(i));
        }
    }

    /// Argument number A of f, out of the gathered pointers; its first pointer is number S.
    template <class Function, std::size_t F, std::size_t A, std::size_t S, class... P>
    static auto argument(std::size_t i, P*... p) noexcept {
        using T = typename layout_of::template field_type<F>;
        if constexpr (layout_of::template is_split<F>()) {
            return [&]<std::size_t... I>(std::index_sequence<I...>) {
                return local_copy<T, detail::writes_argument<Function, A, T>()>{
                    split_ref<T, IsConst>{(detail::pick<S + I>(p...) + i)...}};
            }(std::make_index_sequence<components_of<T>::count>{});
        } else if constexpr (layout_of::template is_grouped<F>) {
            return direct<maybe_const<T>>{
                *layout_of::template in_cell<F, IsConst>(detail::pick<S>(p...) + i)};
        } else {
            return direct<maybe_const<T>>{detail::pick<S>(p...)[i]};
        }
    }
    template <std::size_t F>
    static consteval std::size_t pointers_of() {
        return layout_of::template is_split<F>() ? layout_of::template columns_in<F>() : 1;
    }
    /// The first gathered pointer of argument A.
    template <std::size_t A, std::size_t... F>
    static consteval std::size_t first_pointer() {
        const std::size_t counts[] = {pointers_of<F>()...};
        std::size_t sum = 0;
        for (std::size_t a = 0; a < A; ++a) { sum += counts[a]; }
        return sum;
    }

    template <class Fields, class Function, class... P>
    CAIRN_DETAIL_KEEP_RESTRICT static void loop_each(Function& f, std::size_t count,
                                                     P* __restrict... p) {
        for (std::size_t i = 0; i < count; ++i) { call_each(Fields{}, f, i, p...); }
    }
    template <std::size_t... F, class Function, class... P>
    static void call_each(std::index_sequence<F...> fields, Function& f, std::size_t i, P*... p) {
        call_with(fields, std::make_index_sequence<sizeof...(F)>{}, f, i, p...);
    }
    template <std::size_t... F, std::size_t... A, class Function, class... P>
    static void call_with(std::index_sequence<F...>, std::index_sequence<A...>, Function& f,
                          std::size_t i, P*... p) {
        f(argument<Function, F, A, first_pointer<A, F...>()>(i, p...).get()...);
    }

    template <std::size_t... F, class Function>
    void each_of(Function& f) const {
        if constexpr (Layout::one_array) {
            for (std::size_t i = 0; i < size_; ++i) { f(*aos_field<F>(i)...); }
        } else {
            in_runs([&](std::size_t first, std::size_t count) {
                gather<F...>(first, [&](auto*... p) {
                    loop_each<std::index_sequence<F...>>(f, count, p...);
                });
            });
        }
    }

    std::byte* base_ = nullptr;
    std::size_t capacity_ = 0;  // rows
    std::size_t first_ = 0;     // row of the table that is row 0 here
    std::size_t size_ = 0;      // rows
};

}  // namespace cairn::inline CAIRN_FLAVOUR

// A table's view is one for <ranges> too, and its iterators outlive it: each has a copy of it.
template <class Row, class Layout, bool IsConst>
inline constexpr bool std::ranges::enable_view<cairn::table_view<Row, Layout, IsConst>> = true;
template <class Row, class Layout, bool IsConst>
inline constexpr bool std::ranges::enable_borrowed_range<cairn::table_view<Row, Layout, IsConst>> =
    true;

template <class View, std::size_t... F>
struct std::tuple_size<cairn::selected_fields<View, F...>>
    : std::integral_constant<std::size_t, sizeof...(F)> {};

template <std::size_t I, class View, std::size_t... F>
struct std::tuple_element<I, cairn::selected_fields<View, F...>> {
    using type =
        decltype(std::declval<const cairn::selected_fields<View, F...>&>().template get<I>());
};
