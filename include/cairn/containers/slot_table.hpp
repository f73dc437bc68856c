// cairn/containers/slot_table.hpp - handles over columns.
//
//      handle {slot 2, life 5}         position:  | p0 | p2 | p3 |
//              |                       velocity:  | v0 | v2 | v3 |     one allocation, packed
//      slots:  v                       life:      | l0 | l2 | l3 |
//      +---+---+---+---+
//      | 0 | - | 1 | 2 |  slot -> row  handles:   | h0 | h2 | h3 |     row -> handle
//      +---+---+---+---+
//
//      cairn::slot_table<particle<>, cairn::soa> world;
//      auto h = world.emplace(position, velocity);
//      if (auto p = world.find(h)) { p->velocity = {}; }        a row, if it is alive
//      world.each<&particle<>::position, &particle<>::velocity>(...);
//
// Erasing moves the last row into the hole in every column; handles follow. Columns attached by
// another owner (attached_column.hpp) follow too.
//
// Use it for: entities that loops go over column by column and that others refer to.
// Look elsewhere for: one struct a row (slot_map.hpp), objects that need an address
//                     (stable_slot_map.hpp).
//
// Invariant: rows().size() == handles().size(), and handle and row lead to each other.
// Cost:      find: bounds check, 8-byte load, compare, and the row is arithmetic. erase: one row's
//            fields. Loops: those of the table.
// While iterating: as slot_map.
// Threads:   one at a time; find() from many while no thread changes the map.
//            Constructors, destructors and function objects that run inside a call may look things
//            up in this map and must not change it.
// Errors:    exhausted: the null handle; nothing has changed. A constructor that throws: as well.
#pragma once

#include <concepts>
#include <cstddef>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include <cairn/containers/inside/key_order.hpp>
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/slot_policy.hpp>
#include <cairn/containers/table.hpp>
#include <cairn/core/assert.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

/// A row, or nothing: what find() returns where rows have no addresses. It tests as a bool, and is
/// used as a pointer. In aos find() returns a pointer.
/// Cost:     the references of a row and one flag, in registers.
/// Lifetime: as a reference into the table.
template <class Reference>
class found_row {
public:
    constexpr found_row() noexcept = default;
    constexpr explicit found_row(Reference row) noexcept : holder_{row}, is_there_{true} {}
    found_row(const found_row&) = default;
    /// Names another row; writes nothing through, as a pointer that is assigned.
    found_row& operator=(const found_row& other) noexcept {
        ::new (static_cast<void*>(this)) found_row(other);
        return *this;
    }

    [[nodiscard]] constexpr explicit operator bool() const noexcept { return is_there_; }
    [[nodiscard]] constexpr Reference operator*() const noexcept {
        CAIRN_ASSERT(is_there_, "a row is used when it was found",
                     {.kind = misuse_kind::null_handle});
        return holder_.row;
    }
    [[nodiscard]] constexpr auto* operator->() const noexcept {
        CAIRN_ASSERT(is_there_, "a row is used when it was found",
                     {.kind = misuse_kind::null_handle});
        return compiler::address_of(holder_.row);
    }
    friend constexpr bool operator==(const found_row& f, std::nullptr_t) noexcept {
        return !f.is_there_;
    }

private:
    union holder {
        constexpr holder() noexcept : nothing{} {}
        constexpr explicit holder(Reference r) noexcept : row{r} {}
        char nothing;
        Reference row;
    } holder_;
    bool is_there_ = false;
};

/// Rows that are not sorted through their positions, because handles would find each other's rows.
template <class View>
struct rows_with_handles : View {
    static constexpr bool have_handles = true;
    constexpr rows_with_handles() noexcept = default;
    template <std::convertible_to<View> Other>
    constexpr rows_with_handles(const Other& rows) noexcept : View{rows} {}
};

template <class Row, class Layout>
struct slot_table_parts {
    using value = Row;
    using rows = table<Row, Layout>;
    template <class Reference>
    using found = std::conditional_t<std::is_lvalue_reference_v<Reference>,
                                     std::remove_reference_t<Reference>*, found_row<Reference>>;
    using pointer = found<decltype(std::declval<rows&>()[0])>;
    using const_pointer = found<decltype(std::declval<const rows&>()[0])>;
    using iterator = index_iterator<rows_with_handles<typename rows::view_type>>;
    using const_iterator = index_iterator<rows_with_handles<typename rows::const_view_type>>;
    static constexpr const char* name = "slot_table";
};
/// The same; soa takes the place of what is no layout, so that one sentence is the only error.
template <class Row, class Layout>
using parts_of_slot_table =
    slot_table_parts<Row, std::conditional_t<check_layout<Layout>(), Layout, soa>>;

}  // namespace detail

/// The members that slot_map has, too (find, emplace, erase, sort ...), stand in slot_map.hpp, in
/// slot_rows.
template <detail::maybe_const_element Row, class Layout = soa, class Policy = slot_policy<>>
class slot_table : public detail::slot_rows<detail::parts_of_slot_table<Row, Layout>, Policy> {
    using base = detail::slot_rows<detail::parts_of_slot_table<Row, Layout>, Policy>;
    using base::rows_;

public:
    using base::base;

    slot_table() noexcept = default;
    slot_table(slot_table&&) noexcept = default;
    slot_table& operator=(slot_table&&) noexcept = default;
    slot_table(const slot_table&) = delete;             // clone()
    slot_table& operator=(const slot_table&) = delete;  // clone()
    explicit slot_table(std::size_t, ...) = delete;     // room for rows: world.reserve(1000)

    /// The rows, to read and to write, in the order of handles(); the number of rows changes only
    /// through the map, and so does their order: sort(), sort_by() and swap_rows() take the handles
    /// along. std::sort, std::stable_sort and std::ranges::rotate over begin() and end() do not
    /// compile; std::rotate and std::shuffle over them, and std::ranges::sort(rows()), would leave
    /// the handles behind, unnoticed.
    [[nodiscard]] auto rows() noexcept { return rows_.view(); }
    [[nodiscard]] auto rows() const noexcept { return rows_.view(); }
    /// One field of all rows: table::column().
    template <auto Member>
    [[nodiscard]] auto column() noexcept {
        return rows_.view().template column_of<detail::own_field<Row, Member>()>();
    }
    template <auto Member>
    [[nodiscard]] auto column() const noexcept {
        return rows_.view().template column_of<detail::own_field<Row, Member>()>();
    }
    /// Loops over some fields of all rows: see table/view.hpp.
    template <auto... Members, class F>
    void each(F f) {
        rows_.template each<Members...>(std::move(f));
    }
    template <auto... Members, class F>
    void each(F f) const {
        rows_.template each<Members...>(std::move(f));
    }
    template <class F>
    void for_each_batch(std::size_t rows, F f) {
        rows_.for_each_batch(rows, std::move(f));
    }
    template <class F>
    void for_each_batch(std::size_t rows, F f) const {
        rows_.for_each_batch(rows, std::move(f));
    }
    /// rows() in pieces whose boundaries share no cache line in any column: table_view::batches().
    [[nodiscard]] auto batches(std::size_t rows_per_batch) noexcept {
        return rows_.batches(rows_per_batch);
    }
    [[nodiscard]] auto batches(std::size_t rows_per_batch) const noexcept {
        return rows_.batches(rows_per_batch);
    }

    /// Sorts the rows by one field, as table::sort_by; handles stay valid.
    /// Returns: false when there is no memory for the keys; nothing has changed then.
    template <auto Member>
    [[nodiscard]] bool sort_by() {
        constexpr std::size_t f = detail::own_field<Row, Member>();
        return base::sorted(detail::key_order{std::as_const(rows_).view().template column_of<f>()});
    }

    /// For columns that follow the rows: attached_column.hpp.
    [[nodiscard]] detail::table_memory& rows_memory() noexcept { return rows_.rows_memory(); }

    /// A copy in which every handle finds what it finds here; a promised one can be fulfilled in
    /// both. What is retired stays here. Handles that either map gives out later may find another
    /// object in the other, and no build notices.
    /// Returns: nothing when `upstream` (here: that of this map) is exhausted.
    [[nodiscard]] std::optional<slot_table> clone() const { return clone(this->upstream()); }
    [[nodiscard]] std::optional<slot_table> clone(allocator_ref upstream) const {
        std::optional<slot_table> copy{std::in_place, upstream};
        if (!copy->copy_from(*this)) { copy.reset(); }
        return copy;
    }

    friend void swap(slot_table& a, slot_table& b) noexcept { a.swap(b); }
};

template <class Row, class Layout, class Policy>
struct detail::store_traits<slot_table<Row, Layout, Policy>> : detail::map_traits<Row, Policy> {};

}}  // namespace cairn::CAIRN_FLAVOUR
