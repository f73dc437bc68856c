// cairn/containers/slot_map_table.hpp - handles over columns: slot_map<table<Row, soa>>.
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
// Errors:    exhausted: the null handle; nothing has changed. A constructor that throws: as well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <cairn/containers/dense_directory.hpp>
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/table.hpp>

namespace cairn {

/// A row, or nothing: what find() returns where rows are not addresses.
template <class Reference>
class found_row {
public:
    constexpr found_row() noexcept = default;
    constexpr explicit found_row(Reference row) noexcept : holder_{row}, is_there_{true} {}

    [[nodiscard]] constexpr explicit operator bool() const noexcept { return is_there_; }
    [[nodiscard]] constexpr Reference operator*() const noexcept {
        CAIRN_ASSERT(is_there_, "a row is used when it was found");
        return holder_.row;
    }
    [[nodiscard]] constexpr auto* operator->() const noexcept {
        CAIRN_ASSERT(is_there_, "a row is used when it was found");
        return __builtin_addressof(holder_.row);
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
template <class T>
class found_row<T&> {
public:
    constexpr found_row() noexcept = default;
    constexpr explicit found_row(T& row) noexcept : row_{&row} {}
    [[nodiscard]] constexpr explicit operator bool() const noexcept { return row_ != nullptr; }
    [[nodiscard]] constexpr T& operator*() const noexcept { return *row_; }
    [[nodiscard]] constexpr T* operator->() const noexcept { return row_; }
    friend constexpr bool operator==(const found_row& f, std::nullptr_t) noexcept {
        return f.row_ == nullptr;
    }

private:
    T* row_ = nullptr;
};

template <class Row, class Layout, class Policy>
class slot_map<table<Row, Layout>, Policy> {
    using rows_type = table<Row, Layout>;

public:
    using handle_type = typename Policy::template handle_type<Row>;
    using key_type = handle_type;
    using value_type = Row;
    using reference = typename rows_type::reference;
    using const_reference = typename rows_type::const_reference;
    using iterator = typename rows_type::iterator;
    using const_iterator = typename rows_type::const_iterator;

    explicit slot_map(allocator_ref upstream = system_memory()) noexcept
        : directory_{upstream}, rows_{upstream} {}
    slot_map(slot_map&&) noexcept = default;
    slot_map& operator=(slot_map&&) noexcept = default;

    // ---- finding ------------------------------------------------------------------------------

    /// The row that `h` names, or nothing when it is gone. Any handle may be asked for.
    [[nodiscard]] found_row<reference> find(handle_type h) noexcept {
        const std::uint32_t row = directory_.row_of(h);
        return row != none ? found_row<reference>{rows_[row]} : found_row<reference>{};
    }
    [[nodiscard]] found_row<const_reference> find(handle_type h) const noexcept {
        const std::uint32_t row = directory_.row_of(h);
        return row != none ? found_row<const_reference>{rows_[row]} : found_row<const_reference>{};
    }
    [[nodiscard]] bool contains(handle_type h) const noexcept {
        return directory_.row_of(h) != none;
    }
    /// Requires: contains(h); a stale handle stops a checked build.
    [[nodiscard]] reference operator[](handle_type h) noexcept { return rows_[dense_index(h)]; }
    [[nodiscard]] const_reference operator[](handle_type h) const noexcept {
        return rows_[dense_index(h)];
    }
    /// The row number of `h` in every column. Requires: contains(h).
    [[nodiscard]] std::size_t dense_index(handle_type h) const noexcept {
        const std::uint32_t row = directory_.row_of(h);
        CAIRN_ASSERT(row != none, "the handle is not stale");
        return row;
    }
    [[nodiscard]] handle_type handle_at(std::size_t row) const noexcept {
        return directory_.handle_at(row);
    }

    // ---- all of them --------------------------------------------------------------------------

    [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }
    [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }
    [[nodiscard]] std::size_t capacity() const noexcept { return rows_.capacity(); }
    /// The handles of all rows, in row order.
    [[nodiscard]] std::span<const handle_type> handles() const noexcept {
        return directory_.handles();
    }
    /// The rows, to read and to write; the number of rows changes only through the map.
    [[nodiscard]] auto rows() noexcept { return rows_.view(); }
    [[nodiscard]] auto rows() const noexcept { return rows_.view(); }
    [[nodiscard]] iterator begin() noexcept { return rows_.begin(); }
    [[nodiscard]] iterator end() noexcept { return rows_.end(); }
    [[nodiscard]] const_iterator begin() const noexcept { return rows_.begin(); }
    [[nodiscard]] const_iterator end() const noexcept { return rows_.end(); }
    template <auto Member>
    [[nodiscard]] auto column() noexcept {
        return rows_.template column<Member>();
    }
    template <auto Member>
    [[nodiscard]] auto column() const noexcept {
        return rows_.template column<Member>();
    }
    template <class F>
    void for_each(F f) {
        rows_.for_each(std::move(f));
    }
    template <auto... Members, class F>
    void each(F f) {
        rows_.template each<Members...>(std::move(f));
    }
    template <class F>
    void for_each_chunk(std::size_t rows, F f) {
        rows_.for_each_chunk(rows, std::move(f));
    }

    /// Room for `count` rows in all. Returns: false when exhausted.
    [[nodiscard]] bool reserve(std::size_t count) {
        return directory_.reserve(count) && rows_.reserve(count);
    }

    // ---- inserting ----------------------------------------------------------------------------

    /// A new row, as table::emplace_back builds it.
    /// Returns: its handle; null when exhausted, nothing has changed then.
    template <class... Args>
    handle_type emplace(Args&&... args) {
        const handle_type h = directory_.next_handle();
        if (!h) [[unlikely]] { return {}; }
        if (!rows_.emplace_back(std::forward<Args>(args)...)) [[unlikely]] { return {}; }
        directory_.commit(h);
        return h;
    }
    /// A new row that knows its own handle: make(h) returns a Row.
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

    // ---- erasing ------------------------------------------------------------------------------

    /// Removes the row; the last row moves into its place in every column.
    /// Returns: false when the handle was stale already.
    bool erase(handle_type h) {
        const std::uint32_t row = directory_.row_of(h);
        if (row == none) [[unlikely]] { return false; }
        erase_row(row);
        return true;
    }
    /// Removes every row for which pred(row) holds. Returns: how many.
    template <class Predicate>
    std::size_t erase_if(Predicate pred) {
        std::size_t erased_count = 0;
        for (std::size_t row = 0; row < size();) {
            if (pred(rows_[row])) {
                erase_row(row);
                ++erased_count;
            } else {
                ++row;
            }
        }
        return erased_count;
    }
    /// Every row goes and every handle is stale. Keeps the memory.
    void clear() noexcept {
        directory_.clear();
        rows_.clear();
    }

    // ---- order --------------------------------------------------------------------------------

    /// Sorts the rows by one field, as table::sort_by; handles stay valid.
    /// Returns: false when there is no memory for the keys; nothing has changed then.
    template <auto Member>
    [[nodiscard]] bool sort_by() {
        const std::size_t count = size();
        if (count < 2) { return true; }
        using Key = detail::member_type<Member>;
        growable_memory scratch{cache_line_alignment, rows_.memory()};
        constexpr std::size_t per_row = sizeof(std::uint32_t) + sizeof(handle_type);
        if (!scratch.grow(count * per_row + detail::sort_scratch<Key>(count) + 64, 0)) {
            return false;
        }
        std::byte* const keys = scratch.data();
        std::byte* const spare =
            keys + (detail::sort_scratch<Key>(count) + sizeof(handle_type) - 1) /
                       sizeof(handle_type) * sizeof(handle_type);
        std::byte* const order_bytes = spare + (count * sizeof(handle_type) + 3) / 4 * 4;
        auto* const order = reinterpret_cast<std::uint32_t*>(order_bytes);
        detail::sort_order(std::as_const(rows_).template column<Member>(), order, keys);
        if (!rows_.permute({order, count})) { return false; }
        directory_.permute(order, reinterpret_cast<handle_type*>(spare));
        return true;
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

    void erase_row(std::size_t row) {
        rows_.swap_erase(row);  // first: a move that throws leaves the handles as they were
        directory_.erase_row(row);
    }

    directory directory_;
    rows_type rows_;
};

}  // namespace cairn
