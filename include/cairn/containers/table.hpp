// cairn/containers/table.hpp - rows in the layout that the loop wants; one argument changes it.
//
//      table<particle<>, soa> t;              one allocation:
//
//      base                                                                     capacity rows
//      +---------------------------+~+---------------------------+~+------------------
//      | position  p0 p1 p2 ...    |~| velocity  v0 v1 v2 ...    |~| life  l0 l1 ...
//      +---------------------------+~+---------------------------+~+------------------
//       64-byte aligned             odd number of cache lines        readable tail
//
//      t[i].position += t[i].velocity * dt;   the same text for aos, soa, split_soa and aosoa<8>
//
// Rows are structs, plain or written once over a field kind (field.hpp): the plain ones name their
// fields by member pointers, the others by their names in every layout. A vector-like interface,
// plus swap_erase, sort_by, spans per column and by-value views for kernels (table/view.hpp).
//
// Use it for: many objects of one kind that loops go over every frame.
// Look elsewhere for: references that survive erasing (slot_table.hpp); one object at a time,
//                     all fields of it (packed_array, or this with aos).
//
// Invariant: size() <= capacity(); capacity is a multiple of 64 rows (16 or 32 in small tables).
// Invalidates: growth ends every row, iterator, view and span; swap_erase(i) changes what row i and
//              the last row are; sort_by all of them.
// Loops:     for_each and each are vectorised by gcc and clang, other loops by clang
//            (docs/choosing.md).
// Cost:      push_back: one compare and a store per column; amortised one copy of each column per
//            doubling. swap_erase: one row's fields. No column pointer is stored.
// Threads:   as std::vector.
// Errors:    out of memory is `false`, the table unchanged. A constructor that throws leaves the
//            table as it was (strong) in push_back, emplace_back and growth, unless elements can
//            only be moved by a throwing constructor. A field whose move throws is copied where
//            rows change places (insert, erase, swap_erase, swap_rows): no row is lost, and none
//            holds fields of two; each function says where its rows stand then.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

// First, so that compilers lead to its sentences in few lines.
#include <cairn/containers/table/row_rules.hpp>

#include <cairn/containers/inside/sort_keys.hpp>
#include <cairn/containers/table/rows.hpp>
#include <cairn/containers/table/view.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/storage/clone.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// What is below, and in table/rows.hpp:
///     room     size  empty  capacity  memory_size  upstream  reserve  reserve_address_space
///              shrink_to_fit
///     rows     emplace_back  swap_rows  swap_erase  pop_back  clear  resize  permute
template <class Row, class Layout = soa>
class table : public detail::table_rows<Row, Layout> {
    using base = detail::table_rows<Row, Layout>;
    using base::bring, base::desc, base::m_, base::moved;
    using typename base::moves;

public:
    using value_type = Row;
    using layout_type = Layout;
    using view_type = table_view<Row, Layout, false>;
    using const_view_type = table_view<Row, Layout, true>;
    using reference = typename view_type::reference;
    using const_reference = typename const_view_type::reference;
    using iterator = typename view_type::iterator;
    using const_iterator = typename const_view_type::iterator;
    using reverse_iterator = std::reverse_iterator<iterator>;
    using const_reverse_iterator = std::reverse_iterator<const_iterator>;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;

    using base::base;
    using base::clear, base::empty, base::emplace_back, base::reserve, base::size, base::swap_rows;

    /// What kernels may load and store: size() rounded up to 16 rows, or to whole blocks of an
    /// aosoa of more than 16; aos: size().
    [[nodiscard]] std::size_t padded_size() const noexcept { return view().padded_size(); }

    // Rows

    [[nodiscard]] reference operator[](std::size_t i) noexcept { return view()[i]; }
    [[nodiscard]] const_reference operator[](std::size_t i) const noexcept { return view()[i]; }
    [[nodiscard]] reference front() noexcept { return view()[0]; }
    [[nodiscard]] const_reference front() const noexcept { return view()[0]; }
    [[nodiscard]] reference back() noexcept { return view()[size() - 1]; }
    [[nodiscard]] const_reference back() const noexcept { return view()[size() - 1]; }
    [[nodiscard]] iterator begin() noexcept { return view().begin(); }
    [[nodiscard]] iterator end() noexcept { return view().end(); }
    [[nodiscard]] const_iterator begin() const noexcept { return view().begin(); }
    [[nodiscard]] const_iterator end() const noexcept { return view().end(); }
    [[nodiscard]] const_iterator cbegin() const noexcept { return begin(); }
    [[nodiscard]] const_iterator cend() const noexcept { return end(); }
    [[nodiscard]] reverse_iterator rbegin() noexcept { return reverse_iterator{end()}; }
    [[nodiscard]] reverse_iterator rend() noexcept { return reverse_iterator{begin()}; }
    [[nodiscard]] const_reverse_iterator rbegin() const noexcept { return crbegin(); }
    [[nodiscard]] const_reverse_iterator rend() const noexcept { return crend(); }
    [[nodiscard]] const_reverse_iterator crbegin() const noexcept {
        return const_reverse_iterator{end()};
    }
    [[nodiscard]] const_reverse_iterator crend() const noexcept {
        return const_reverse_iterator{begin()};
    }

    [[nodiscard, gnu::always_inline]] bool push_back(const Row& row) { return emplace_back(row); }
    [[nodiscard, gnu::always_inline]] bool push_back(Row&& row) {
        return emplace_back(std::move(row));
    }

    /// Inserts before row `index`, keeping the order. O(rows behind it).
    /// Returns: false when the allocator is exhausted; unchanged then.
    /// Throws:  as emplace_back, unchanged then; and as swap_rows: the new row then stands
    ///          somewhere behind `index`, between rows that have kept their order.
    template <class... Args>
    [[nodiscard]] bool insert(std::size_t index, Args&&... args) {
        CAIRN_ASSERT(index <= size(), "a row is inserted inside the table");
        if (!emplace_back(static_cast<Args&&>(args)...)) { return false; }
        // Rotate the new last row down to its place: field by field, or row by row where one may
        // throw.
        if constexpr (moves::never_throw()) {
            moved().rotate_back(index, size() - 1);
            for (std::size_t i = size() - 1; i > index && m_.followers != nullptr; --i) {
                m_.tell_moved(i, i - 1);
            }
            if (m_.followers != nullptr) { m_.tell_added(index, 1); }
        } else {  // row by row
            for (std::size_t i = size() - 1; i > index; --i) { swap_rows(i, i - 1); }
        }
        return true;
    }

    /// Removes row i and keeps the order of the others. O(rows behind it).
    /// Throws: as swap_rows; the row is still there then, somewhere behind i, and all others are
    ///         whole and in their order.
    void erase(std::size_t i) {
        CAIRN_ASSERT(i < size(), "the erased row is inside the table");
        if constexpr (moves::never_throw()) {
            moved().close_gap(i, size());
            for (std::size_t k = i; k + 1 < size() && m_.followers != nullptr; ++k) {
                m_.tell_moved(k, k + 1);
            }
        } else {
            for (std::size_t k = i; k + 1 < size(); ++k) { swap_rows(k, k + 1); }
        }
        base::shrink_by_one();
    }

    /// Removes every row for which pred(row) holds, in one pass; keeps the order of the others.
    /// Returns: how many were removed.
    /// Throws: as swap_rows; no row was removed then, all are whole, in another order.
    template <class Predicate>
    std::size_t erase_if(Predicate pred) {
        constexpr bool takes_rows = std::is_invocable_v<Predicate&, reference>;
        static_assert(takes_rows, "the predicate takes a row: auto&&");
        const std::size_t count = size();
        std::size_t kept = 0;
        if constexpr (takes_rows) {
            for (std::size_t i = 0; i < count; ++i) {
                if (!pred((*this)[i])) { bring(kept++, i); }
            }
            base::truncate(kept);
        }
        return count - kept;
    }

    /// Becomes a copy of `other`, whatever its layout.
    /// Returns: false when the allocator is exhausted; the table is then empty or unchanged.
    template <class OtherLayout>
    [[nodiscard]] bool copy_from(const table<Row, OtherLayout>& other) {
        if (static_cast<const void*>(&other) == this) { return true; }
        if (!reserve(other.size())) { return false; }
        clear();
        for (std::size_t i = 0; i < other.size(); ++i) {
            (void)emplace_back(static_cast<Row>(other[i]));
        }
        return true;
    }

    /// A copy, in memory of `upstream` (here: that of this table), without attached columns.
    /// Returns: nothing when the allocator is exhausted.
    [[nodiscard]] std::optional<table> clone() const { return clone(base::upstream()); }
    [[nodiscard]] std::optional<table> clone(allocator_ref upstream) const {
        return cairn::clone(*this, upstream);
    }

    // Columns and loops: see table/view.hpp

    [[nodiscard]] view_type view() noexcept { return {m_.base, m_.pitch, 0, m_.size}; }
    [[nodiscard]] const_view_type view() const noexcept { return {m_.base, m_.pitch, 0, m_.size}; }
    template <auto Member>
    [[nodiscard]] auto column() noexcept {
        return view().template column_of<detail::own_field<Row, Member>()>();
    }
    template <auto Member>
    [[nodiscard]] auto column() const noexcept {
        return view().template column_of<detail::own_field<Row, Member>()>();
    }
    template <auto... Members>
    [[nodiscard]] auto row(std::size_t i) noexcept {
        return view().template row<Members...>(i);
    }
    template <auto... Members>
    [[nodiscard]] auto row(std::size_t i) const noexcept {
        return view().template row<Members...>(i);
    }
    template <class F>
    void for_each(F f) {
        view().for_each(std::move(f));
    }
    template <class F>
    void for_each(F f) const {
        view().for_each(std::move(f));
    }
    template <auto... Members, class F>
    void each(F f) {
        view().template each<Members...>(std::move(f));
    }
    template <auto... Members, class F>
    void each(F f) const {
        view().template each<Members...>(std::move(f));
    }
    [[nodiscard]] auto batches(std::size_t rows) noexcept { return view().batches(rows); }
    [[nodiscard]] auto batches(std::size_t rows) const noexcept { return view().batches(rows); }
    template <class F>
    void for_each_batch(std::size_t rows, F f) {
        view().for_each_batch(rows, std::move(f));
    }
    template <class F>
    void for_each_batch(std::size_t rows, F f) const {
        view().for_each_batch(rows, std::move(f));
    }

    // Order

    /// Sorts the rows by one field, smallest first; equal keys keep their order. The keys of that
    /// column are sorted (numbers and enumerations by radix, others by comparing with <), then
    /// every column is permuted once.
    /// Floats: by value, -0 before +0, NaNs at the ends.
    /// Returns: false when there is no memory for the keys; the order is unchanged then.
    template <auto Member>
    [[nodiscard]] bool sort_by() {
        constexpr std::size_t f = detail::own_field<Row, Member>();
        return base::sorted(detail::key_order{std::as_const(*this).view().template column_of<f>()});
    }

    /// Sorts the rows with less(row, row), a stable merge sort of indices.
    template <class Less>
    [[nodiscard]] bool sort(Less less) {
        return base::sorted(detail::compared_order{std::as_const(*this).view(), less, size()});
    }

    void swap(table& other) noexcept { std::swap(*this, other); }
    friend void swap(table& a, table& b) noexcept { a.swap(b); }
};

/// True when both have equal rows in the same order, whatever their layouts. Copies rows to compare
/// them, except those of aos.
template <class Row, class A, class B>
    requires std::equality_comparable<Row>
[[nodiscard]] bool operator==(const table<Row, A>& a, const table<Row, B>& b) {
    bool are_equal = a.size() == b.size();
    for (std::size_t i = 0; are_equal && i < a.size(); ++i) {
        const Row& one = a[i];
        const Row& other = b[i];
        are_equal = one == other;
    }
    return are_equal;
}

/// Another type in the layout's place: the sentence, and then a table in the default layout.
template <class Row, class Layout>
    requires(!table_layout<Layout>)
class table<Row, Layout> : public table<Row> {
    static_assert(detail::says_what_a_layout_says<Layout>,
                  "a layout is aos, soa, split_soa, aosoa<a power of two> or "
                  "grouped_soa<group<...>...>, or a struct with the members of soa");
    static_assert(detail::has_whole_blocks<Layout>,
                  "a layout's blocks hold a power of two of rows: lanes is 2, 4, 8, ..., or 0");
    static_assert(
        detail::stores_in_one_way<Layout>,
        "a layout is one array of rows, or splits vectors, or has blocks: not two of them");

public:
    using table<Row>::table;
};

}}  // namespace cairn::CAIRN_FLAVOUR
