// cairn/containers/slot_table.hpp - handles over columns: slot_map<table<Row, soa>>.
//
//      handle {slot 2, life 5}         position:  | p0 | p2 | p3 |
//              |                       velocity:  | v0 | v2 | v3 |     one allocation, packed
//      slots:  v                       life:      | l0 | l2 | l3 |
//      +---+---+---+---+
//      | 0 | - | 1 | 2 |  slot -> row  handles:   | h0 | h2 | h3 |     row -> handle
//      +---+---+---+---+
//
//      cairn::slot_map<cairn::table<particle<>, cairn::soa>> world;
//      auto h = world.emplace(position, velocity);
//      if (auto p = world.find(h)) { p->velocity = {}; }        a row, if it is alive
//      world.each<&particle<>::position, &particle<>::velocity>(...);
//
// Erasing moves the last row into the hole in every column; handles follow. Columns attached by
// another owner (attached_column.hpp) follow too.
//
// Use it for: entities that loops go over column by column and that others refer to.
// Look elsewhere for: objects that need an address (stable_slot_map.hpp).
//
// Invariant: rows().size() == handles().size(), and handle and row lead to each other.
// Cost:      find: bounds check, 8-byte load, compare, and the row is arithmetic. erase: one row's
//            fields. Loops: those of the table.
// Threads:   one at a time; find() from many while nobody changes it.
//            Constructors, destructors and function objects that run inside a call may look things up in
//            this map and must not change it.
// Errors:    exhausted: the null handle; nothing has changed. A constructor that throws: as well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include <cairn/containers/packed_array.hpp>
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/slot_table/found_row.hpp>
#include <cairn/containers/table.hpp>
#include <cairn/storage/dense_directory.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

template <class Row, class Layout, class Policy>
class slot_map<table<Row, Layout>, Policy> {
    using rows_type = table<Row, Layout>;

public:
    using handle_type = typename Policy::template handle_type<Row>;
    using key_type = handle_type;
    using mapped_type = Row;
    using value_type = Row;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = typename rows_type::reference;
    using const_reference = typename rows_type::const_reference;
    using iterator = typename rows_type::iterator;
    using const_iterator = typename rows_type::const_iterator;
    using reverse_iterator = typename rows_type::reverse_iterator;
    using const_reverse_iterator = typename rows_type::const_reverse_iterator;

    explicit slot_map(allocator_ref upstream = system_memory(),
                      const slot_map_options& options = {}) noexcept
        : directory_{upstream, options.first_generation}, rows_{upstream}, limbo_{upstream} {
        directory_.set_row_max(0);
    }
    slot_map(slot_map&&) noexcept = default;
    slot_map& operator=(slot_map&&) noexcept = default;

    // ---- finding ------------------------------------------------------------------------------

    /// The row that `h` names, or nothing when it is gone. Any handle may be asked for.
    [[nodiscard]] found_row<reference> find(handle_type h) noexcept {
        std::uint32_t row;
        return directory_.find_row(h, row) ? found_row<reference>{rows_[row]}
                                           : found_row<reference>{};
    }
    [[nodiscard]] found_row<const_reference> find(handle_type h) const noexcept {
        std::uint32_t row;
        return directory_.find_row(h, row) ? found_row<const_reference>{rows_[row]}
                                           : found_row<const_reference>{};
    }
    [[nodiscard]] bool contains(handle_type h) const noexcept {
        std::uint32_t row;
        return directory_.find_row(h, row);
    }
    /// Requires: contains(h). Any other handle stops a checked build, which says what is wrong with it:
    /// null, of another map, not fulfilled yet, stale.
    [[nodiscard]] reference operator[](handle_type h) noexcept { return rows_[dense_index(h, {})]; }
    [[nodiscard]] const_reference operator[](handle_type h) const noexcept {
        return rows_[dense_index(h, {})];
    }
    /// As operator[], and a handle that finds nothing stops every build. Checked builds tell the line that
    /// called; operators have no parameter for it.
    [[nodiscard]] reference at(handle_type h, call_site from = call_site::current()) noexcept {
        return rows_[live_row(h, from)];
    }
    [[nodiscard]] const_reference at(handle_type h,
                                     call_site from = call_site::current()) const noexcept {
        return rows_[live_row(h, from)];
    }
    /// P0661's spelling of operator[], to be used as what find() returns.
    [[nodiscard]] found_row<reference> find_unchecked(handle_type h) noexcept {
        return found_row<reference>{(*this)[h]};
    }
    [[nodiscard]] found_row<const_reference> find_unchecked(handle_type h) const noexcept {
        return found_row<const_reference>{(*this)[h]};
    }
    /// Why find(h) finds nothing. Any handle may be asked for. For messages: it costs a call.
    [[nodiscard]] handle_fault fault_of(handle_type h) const noexcept {
        return directory_.fault_of(h);
    }
    /// The row number of `h` in every column. Requires: contains(h).
    [[nodiscard]] std::size_t dense_index(
        handle_type h, [[maybe_unused]] call_site from = call_site::current()) const noexcept {
        const std::uint32_t row = directory_.row_of(h);
#if CAIRN_ASSERTS
        if (row == none) [[unlikely]] { directory_.refuse(h, this, from); }
#endif
        return row;
    }
    /// The handle of row `row`. Requires: row < size().
    [[nodiscard]] handle_type handle_at(std::size_t row) const noexcept {
        return directory_.handle_at(row);
    }
    /// The handle of the row here. Requires: `where` is in this map, and not end().
    [[nodiscard]] handle_type handle_of(const_iterator where) const noexcept {
        return directory_.handle_at(row_number(where));
    }

    // ---- all of them --------------------------------------------------------------------------

    [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }
    [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }
    [[nodiscard]] std::size_t capacity() const noexcept { return rows_.capacity(); }
    [[nodiscard]] static constexpr std::size_t max_size() noexcept {
        return directory::row_count_max;
    }
    /// All slots: live, free, held and exhausted.
    [[nodiscard]] std::size_t slot_count() const noexcept { return directory_.slots().capacity(); }
    [[nodiscard]] allocator_ref upstream() const noexcept { return directory_.upstream(); }
    /// The handles of all rows, in row order.
    [[nodiscard]] std::span<const handle_type> handles() const noexcept {
        return directory_.handles();
    }
    /// The rows, to read and to write; the number of rows changes only through the map, and so does
    /// their order: std::ranges::sort(rows()) would leave the handles behind, sort(), sort_by() and
    /// swap_rows() take them along. (No build notices.)
    [[nodiscard]] auto rows() noexcept { return rows_.view(); }
    [[nodiscard]] auto rows() const noexcept { return rows_.view(); }
    [[nodiscard]] iterator begin() noexcept { return rows_.begin(); }
    [[nodiscard]] iterator end() noexcept { return rows_.end(); }
    [[nodiscard]] const_iterator begin() const noexcept { return rows_.begin(); }
    [[nodiscard]] const_iterator end() const noexcept { return rows_.end(); }
    [[nodiscard]] const_iterator cbegin() const noexcept { return rows_.cbegin(); }
    [[nodiscard]] const_iterator cend() const noexcept { return rows_.cend(); }
    [[nodiscard]] reverse_iterator rbegin() noexcept { return rows_.rbegin(); }
    [[nodiscard]] reverse_iterator rend() noexcept { return rows_.rend(); }
    [[nodiscard]] const_reverse_iterator rbegin() const noexcept { return rows_.rbegin(); }
    [[nodiscard]] const_reverse_iterator rend() const noexcept { return rows_.rend(); }
    [[nodiscard]] const_reverse_iterator crbegin() const noexcept { return rows_.crbegin(); }
    [[nodiscard]] const_reverse_iterator crend() const noexcept { return rows_.crend(); }
    template <auto Member>
    [[nodiscard]] auto column() noexcept {
        return rows_.view().template column_of<detail::own_field<Row, Member>()>();
    }
    template <auto Member>
    [[nodiscard]] auto column() const noexcept {
        return rows_.view().template column_of<detail::own_field<Row, Member>()>();
    }
    template <class F>
    void for_each(F f) {
        rows_.for_each(std::move(f));
    }
    template <class F>
    void for_each(F f) const {
        rows_.for_each(std::move(f));
    }
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

    /// Room for `count` rows in all; a reserved handle counts as a row. Returns: false when exhausted;
    /// nothing that can be seen has changed then.
    [[nodiscard]] bool reserve(std::size_t count) {
        if (!directory_.reserve(count) || !rows_.reserve(count)) { return false; }
        directory_.set_row_max(rows_.capacity());
        return true;
    }
    /// P0661: room for `count` slots.
    bool reserve_slots(std::size_t count) noexcept { return directory_.reserve(count); }

    /// From now on everything grows in place, up to `count_max` rows and what fits the last page beside
    /// them: nothing moves, no insertion copies the others, references survive growth. Costs addresses,
    /// not memory. It also fixes the number of slots: one whose generations are used up is not
    /// replaced (recycle_slots()).
    /// Requires: nothing was inserted or reserved yet.
    /// Returns: false for 0, for more than the handle can name, and when the system refuses; the map is
    /// still usable then.
    [[nodiscard]] bool reserve_address_space(std::size_t count_max) noexcept {
        return directory_.reserve_address_space(count_max) &&
               rows_.reserve_address_space(count_max);
    }

    // ---- inserting ----------------------------------------------------------------------------

    /// A new row, as table::emplace_back builds it.
    /// Returns: its handle; null when exhausted, nothing has changed then.
    template <class... Args>
    handle_type emplace(Args&&... args) {
        if (!directory_.is_ready()) [[unlikely]] {
            return emplace_growing(std::forward<Args>(args)...);
        }
        const handle_type h = directory_.ready_handle();
        rows_.emplace_in_room(std::forward<Args>(args)...);
        directory_.commit(h);
        return h;
    }
    /// A new row that knows its own handle: make(h) returns a Row. `make` must not change this map.
    template <class Make>
    handle_type emplace_with(Make&& make) {
        const handle_type h = directory_.next_handle();
        if (!h) [[unlikely]] { return {}; }
        if (!rows_.emplace_back(make(h))) [[unlikely]] { return {}; }
        directory_.commit(h);
        return h;
    }
    handle_type insert(const Row& row) { return emplace(row); }
    handle_type insert(Row&& row) { return emplace(std::move(row)); }

    /// A handle now, the row later: find() finds nothing until fulfil().
    /// Returns: null when exhausted.
    [[nodiscard]] handle_type reserve_handle() noexcept { return directory_.hold(); }

    /// True when `h` came from reserve_handle() and was neither fulfilled nor abandoned.
    [[nodiscard]] bool is_reserved(handle_type h) const noexcept { return directory_.is_held(h); }

    /// Builds the row of a reserved handle.
    /// Returns: nothing when exhausted; the handle stays reserved then.
    /// Requires: is_reserved(h).
    template <class... Args>
    found_row<reference> fulfil(handle_type h, Args&&... args) {
        CAIRN_ASSERT(is_reserved(h), "only a reserved handle can be fulfilled");
        if (!directory_.make_room() || !rows_.emplace_back(std::forward<Args>(args)...))
            [[unlikely]] {
            return {};
        }
        directory_.commit_held(h);
        return found_row<reference>{rows_[rows_.size() - 1]};
    }

    /// Gives a reserved handle back unused. Requires: is_reserved(h).
    void abandon(handle_type h) noexcept { directory_.abandon(h); }

    // ---- erasing ------------------------------------------------------------------------------

    /// Removes the row; the last row moves into its place in every column.
    /// Returns: false when the handle was stale already.
    bool erase(handle_type h) {
        std::uint32_t row;
        if (!directory_.find_row(h, row)) [[unlikely]] { return false; }
        rows_.swap_erase(row);  // first: a move that throws leaves the handles as they were
        directory_.erase_row(row, h);
        return true;
    }
    /// Erases the row here. Returns: the same position, where the moved row is still to be visited.
    iterator erase(const_iterator where) {
        const std::size_t row = row_number(where);
        erase_row(row);
        return begin() + static_cast<std::ptrdiff_t>(row);
    }
    iterator erase(const_iterator first, const_iterator last) {
        const std::size_t row = row_number(first);
        for (std::size_t end = row_number(last); end != row; --end) { erase_row(end - 1); }
        return begin() + static_cast<std::ptrdiff_t>(row);
    }
    /// Moves the row out and erases it. Returns: nothing when the handle is stale.
    /// Throws: as slot_map::take.
    [[nodiscard]] std::optional<Row> take(handle_type h) {
        std::optional<Row> taken;  // one for every return: built where the caller wants it
        std::uint32_t row;
        if (directory_.find_row(h, row)) [[likely]] {
            taken.emplace(moved_out(row));
            erase_row(row);
        }
        return taken;
    }
    /// Removes every row for which pred(row) holds. Returns: how many.
    template <class Predicate>
    std::size_t erase_if(Predicate pred) {
        constexpr bool takes_rows = std::is_invocable_v<Predicate&, reference>;
        static_assert(takes_rows, "the predicate takes a row: auto&&");
        std::size_t erased_count = 0;
        for (std::size_t row = 0; takes_rows && row < size();) {
            bool erases = false;
            if constexpr (takes_rows) { erases = static_cast<bool>(pred(rows_[row])); }
            if (erases) {
                erase_row(row);
                ++erased_count;
            } else {
                ++row;
            }
        }
        return erased_count;
    }
    /// Every row goes and every handle is stale, reserved ones too. Keeps the memory.
    /// What is retired still waits for its fence.
    void clear() noexcept {
        directory_.clear();
        rows_.clear();
    }

    // ---- destruction that waits ---------------------------------------------------------------

    /// Look-ups fail at once; the row is moved aside and destroyed when collect() is told that
    /// `fence` has passed: a GPU or a job may still be using what it owns.
    /// Returns: false when the handle is stale or memory is exhausted; nothing has changed then.
    /// Throws: as slot_map::retire.
    bool retire(handle_type h, std::uint64_t fence) {
        std::uint32_t row;
        if (!directory_.find_row(h, row)) [[unlikely]] { return false; }
        if (limbo_.emplace_from([&] { return waiting{moved_out(row), fence}; }) == nullptr) {
            return false;
        }
        detail::undo_last guard{&limbo_};
        erase_row(row);
        guard.rows = nullptr;
        return true;
    }
    /// Destroys what was retired with a fence <= completed. Returns: how many. O(retired).
    std::size_t collect(std::uint64_t completed) {
        return limbo_.erase_if([=](const waiting& w) { return w.fence <= completed; });
    }
    /// Rows that wait for their fence.
    [[nodiscard]] std::size_t retired_count() const noexcept { return limbo_.size(); }

    // ---- generations --------------------------------------------------------------------------

    /// Slots whose generations are used up. They are never used again, until recycle_slots().
    [[nodiscard]] std::size_t exhausted_slot_count() const noexcept {
        return directory_.slots().retired_count();
    }
    /// As slot_map::recycle_slots.
    std::size_t recycle_slots(no_handles_left_t proof) noexcept {
        return directory_.recycle_retired(proof);
    }

    // ---- order --------------------------------------------------------------------------------

    /// Sorts the rows by one field, as table::sort_by; handles stay valid.
    /// Returns: false when there is no memory for the keys; nothing has changed then.
    template <auto Member>
    [[nodiscard]] bool sort_by() {
        constexpr std::size_t f = detail::own_field<Row, Member>();
        return sorted(
            [&](std::uint32_t* order, void* scratch) {
                const auto keys = std::as_const(rows_).view().template column_of<f>();
                detail::sort_order(keys, order, scratch);
            },
            detail::sort_scratch<typename detail::layout_of<Row, Layout>::template field_type<f>>(
                size()));
    }

    /// Sorts the rows with less(row, row), stable; handles stay valid.
    /// Returns: false when there is no memory for the order; nothing has changed then.
    template <class Less>
    [[nodiscard]] bool sort(Less less) {
        constexpr bool compares =
            std::is_invocable_r_v<bool, Less&, const_reference, const_reference>;
        static_assert(compares, "the order compares two rows: const auto&");
        if constexpr (!compares) {
            return false;
        } else {
            return sorted(
                [&](std::uint32_t* order, void* scratch) {
                    const auto rows = std::as_const(rows_).view();
                    detail::sort_indices(
                        order, static_cast<std::uint32_t*>(scratch), size(),
                        [&](std::uint32_t a, std::uint32_t b) { return less(rows[a], rows[b]); });
                },
                size() * sizeof(std::uint32_t));
        }
    }

    /// Exchanges two rows; handles and attached columns follow.
    void swap_rows(std::size_t a, std::size_t b) {
        rows_.swap_rows(a, b);
        directory_.swap_rows(a, b);
    }

    void swap(slot_map& other) noexcept {
        slot_map mine{std::move(*this)};
        *this = std::move(other);
        other = std::move(mine);
    }
    friend void swap(slot_map& a, slot_map& b) noexcept { a.swap(b); }

    /// For columns that follow the rows: attached_column.hpp.
    [[nodiscard]] detail::table_memory& rows_memory() noexcept { return rows_.rows_memory(); }

    /// O(slots). A broken invariant stops a checked build.
    void validate() const noexcept {
        directory_.validate();
        rows_.validate();
        CAIRN_ASSERT(directory_.size() == rows_.size(), "every row has a handle");
    }

private:
    using directory = dense_directory<handle_type, Policy::order, Policy::free_min>;
    static constexpr std::uint32_t none = directory::none;

    struct waiting {
        Row row;  // first: when its assignment throws, it keeps its fence
        std::uint64_t fence;
    };

    [[nodiscard]] std::size_t row_number(const_iterator where) const noexcept {
        return static_cast<std::size_t>(where - cbegin());
    }
    [[nodiscard]] std::size_t live_row(handle_type h, call_site from) const noexcept {
        std::uint32_t row;
        if (!directory_.find_row(h, row)) [[unlikely]] { directory_.refuse(h, this, from); }
        return row;
    }

    /// Its value, to erase it next; copied where moving may throw.
    [[nodiscard]] Row moved_out(std::size_t row) {
        if constexpr (std::is_lvalue_reference_v<reference>) {
            return std::move_if_noexcept(rows_[row]);
        } else if constexpr (std::is_nothrow_move_constructible_v<Row> ||
                             !std::is_copy_constructible_v<Row>) {
            return cairn::take(rows_[row]);
        } else {
            return static_cast<Row>(rows_[row]);
        }
    }

    void erase_row(std::size_t row) {
        rows_.swap_erase(row);  // first: a move that throws leaves the handles as they were
        directory_.erase_row(row);
    }

    template <class... Args>
    [[gnu::noinline]] handle_type emplace_growing(Args&&... args) {
        const handle_type h = directory_.next_handle();
        if (!h || !rows_.emplace_back(std::forward<Args>(args)...)) { return {}; }
        directory_.commit(h);
        directory_.set_row_max(rows_.capacity());
        return h;
    }

    //      scratch:  | what sort_order needs | the new order | handles, one a row |
    template <class SortOrder>
    [[nodiscard]] bool sorted(SortOrder sort_order, std::size_t sort_bytes) {
        const std::size_t count = size();
        if (count < 2) { return true; }
        const std::size_t order_at = round_up(sort_bytes, cache_line_alignment);
        const std::size_t spare_at =
            order_at + round_up(count * sizeof(std::uint32_t), cache_line_alignment);
        growable_memory scratch{cache_line_alignment, rows_.upstream()};
        if (!scratch.grow(spare_at + count * sizeof(handle_type), 0)) { return false; }
        auto* const order = reinterpret_cast<std::uint32_t*>(scratch.data() + order_at);
        sort_order(order, static_cast<void*>(scratch.data()));
        if (!rows_.permute({order, count})) { return false; }
        directory_.permute(order, reinterpret_cast<handle_type*>(scratch.data() + spare_at));
        return true;
    }

    directory directory_;
    rows_type rows_;
    packed_array<waiting> limbo_;
};

/// Another type in the policy's place, or in the layout's: the sentence, and then a map by default.
template <class Row, class Layout, class Policy>
    requires(table_layout<Layout> && !detail::names_handles<Policy>)
class slot_map<table<Row, Layout>, Policy> : public slot_map<table<Row, Layout>> {
    static_assert(detail::names_handles<Policy>, "a policy of a slot map is a slot_policy<...>");

public:
    using slot_map<table<Row, Layout>>::slot_map;
};
template <class Row, class Layout, class Policy>
    requires(!table_layout<Layout>)
class slot_map<table<Row, Layout>, Policy> : public slot_map<table<Row>, Policy> {
    static_assert(table_layout<Layout>,
                  "a layout is aos, soa, split_soa, aosoa<a power of two> or "
                  "grouped_soa<group<...>...>");

public:
    using slot_map<table<Row>, Policy>::slot_map;
};

}  // namespace cairn::inline CAIRN_FLAVOUR
