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

#include <cairn/containers/inside/slot_core.hpp>
#include <cairn/containers/packed_array.hpp>
#include <cairn/containers/slot_policy.hpp>
#include <cairn/containers/slot_table/found_row.hpp>
#include <cairn/containers/table.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

template <class Row, class Layout>
struct slot_table_parts {
    using value = Row;
    using rows = table<Row, Layout>;
    using iterator = typename rows::iterator;
    using const_iterator = typename rows::const_iterator;
    template <class U>
    using array = packed_array<U>;
    static constexpr const char* name = "slot_table";
};

}  // namespace detail

/// Everything but what is below stands in containers/inside/slot_core.hpp: see the list in
/// slot_map.hpp.
template <class Row, class Layout = soa, class Policy = slot_policy<>>
class slot_table : public detail::slot_core<detail::slot_table_parts<Row, Layout>, Policy> {
    using core = detail::slot_core<detail::slot_table_parts<Row, Layout>, Policy>;
    using core::rows_;

public:
    using typename core::const_reference;
    using typename core::handle_type;
    using typename core::reference;

    using core::core;

    /// The row that `h` names, or nothing when it is gone. Any handle may be asked for.
    [[nodiscard]] found_row<reference, Row> find(handle_type h) noexcept {
        std::uint32_t row;
        return core::find_row(h, row) ? found_row<reference, Row>{rows_[row]}
                                      : found_row<reference, Row>{};
    }
    [[nodiscard]] found_row<const_reference, Row> find(handle_type h) const noexcept {
        std::uint32_t row;
        return core::find_row(h, row) ? found_row<const_reference, Row>{rows_[row]}
                                      : found_row<const_reference, Row>{};
    }
    /// P0661's spelling of operator[], to be used as what find() returns. Requires: contains(h).
    [[nodiscard]] found_row<reference, Row> find_unchecked(
        handle_type h, call_site from = call_site::current()) noexcept {
        return found_row<reference, Row>{rows_[core::live_row(h, from)]};
    }
    [[nodiscard]] found_row<const_reference, Row> find_unchecked(
        handle_type h, call_site from = call_site::current()) const noexcept {
        return found_row<const_reference, Row>{rows_[core::live_row(h, from)]};
    }

    /// The rows, to read and to write, in the order of handles(); the number of rows changes only
    /// through the map, and so does their order: std::ranges::sort(rows()) would leave the handles
    /// behind, sort(), sort_by() and swap_rows() take them along. (No build notices.)
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

    /// Builds the row of a promised handle.
    /// Returns: nothing when exhausted; the handle stays promised then.
    /// Requires: is_promised(h).
    template <class... Args>
    [[nodiscard]] found_row<reference, Row> fulfil(handle_type h, Args&&... args) {
        if (!core::fulfil_row(h, std::forward<Args>(args)...)) [[unlikely]] { return {}; }
        return found_row<reference, Row>{rows_.back()};
    }

    /// Sorts the rows by one field, as table::sort_by; handles stay valid.
    /// Returns: false when there is no memory for the keys; nothing has changed then.
    template <auto Member>
    [[nodiscard]] bool sort_by() {
        constexpr std::size_t f = detail::own_field<Row, Member>();
        return core::sorted(detail::key_order{std::as_const(rows_).view().template column_of<f>()});
    }

    /// For columns that follow the rows: attached_column.hpp.
    [[nodiscard]] detail::table_memory& rows_memory() noexcept { return rows_.rows_memory(); }

    /// A copy in which every handle finds what it finds here; a promised one can be fulfilled in
    /// both. What is retired stays here. Handles that either map gives out later may find another
    /// object in the other, and no build notices.
    /// Returns: nothing when `upstream` (here: that of this map) is exhausted.
    [[nodiscard]] std::optional<slot_table> clone() const { return clone(core::upstream()); }
    [[nodiscard]] std::optional<slot_table> clone(allocator_ref upstream) const {
        return cairn::clone(*this, upstream);
    }

    friend void swap(slot_table& a, slot_table& b) noexcept { a.swap(b); }
};

template <class Row, class Layout, class Policy>
struct detail::store_traits<slot_table<Row, Layout, Policy>> : detail::map_traits<Row, Policy> {};

/// Another type in the policy's place, or in the layout's: the sentence, and then a map by default.
template <class Row, class Layout, class Policy>
    requires(table_layout<Layout> && !detail::names_handles<Policy>)
class slot_table<Row, Layout, Policy> : public slot_table<Row, Layout> {
    static_assert(detail::names_handles<Policy>, "a policy of a slot map is a slot_policy<...>");

public:
    using slot_table<Row, Layout>::slot_table;
};
template <class Row, class Layout, class Policy>
    requires(!table_layout<Layout>)
class slot_table<Row, Layout, Policy> : public slot_table<Row, soa, Policy> {
    static_assert(table_layout<Layout>,
                  "a layout is aos, soa, split_soa, aosoa<a power of two>, or a struct with the "
                  "members of soa");

public:
    using slot_table<Row, soa, Policy>::slot_table;
};

}}  // namespace cairn::CAIRN_FLAVOUR
