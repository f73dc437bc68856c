// cairn/containers/table/rows.hpp - rows come and go, in memory that grows around them.
//
//      1. room     where the rows stand, or a larger block
//      2. build    the new row, behind where the others will stand: its arguments may lie in them
//      3. move     the others, a column at a time; only now does the old block go
//      4. tell     the columns that others have attached (attached_column.hpp)
//
//      swap_erase(i):  the last row becomes row i, in every column; followers are told
//
// What needs one row or two; what needs them in order is table.hpp's.
//
// Cost: emplace_back: one compare and a store per column; growth is calls that take no argument of
//       the row (packed_array/memory.hpp says why). swap_erase: one row's fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include <cairn/containers/inside/sort_rows.hpp>
#include <cairn/containers/table/cells.hpp>
#include <cairn/containers/table/memory.hpp>
#include <cairn/containers/table/moves.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/inside/rollback.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

template <class Row, class Layout>
class table_rows {
protected:
    using layout_of = detail::layout_of<Row, Layout>;
    using cells = table_cells<Row, Layout>;
    using moves = row_moves<Row, Layout>;
    static constexpr const layout_desc& desc() noexcept { return layout_of::desc; }

public:
    /// An empty table, which takes no memory yet.
    explicit table_rows(allocator_ref upstream = system_memory()) noexcept : m_{upstream} {}
    ~table_rows() { m_.release(desc()); }

    /// Takes the rows, the memory and the attached columns of `other`, which is empty afterwards.
    table_rows(table_rows&& other) noexcept : m_{other.m_.upstream} { m_.take(other.m_); }
    table_rows& operator=(table_rows&& other) noexcept {
        if (this != &other) {
            m_.release(desc());
            m_.upstream = other.m_.upstream;
            m_.take(other.m_);
        }
        return *this;
    }

    // Room

    [[nodiscard]] std::size_t size() const noexcept { return m_.size; }
    [[nodiscard]] bool empty() const noexcept { return m_.size == 0; }
    [[nodiscard]] std::size_t capacity() const noexcept { return m_.capacity; }
    /// Bytes of the one allocation, or of the part of the reserved addresses that has memory.
    [[nodiscard]] std::size_t memory_size() const noexcept {
        return allocation_size(desc(), m_.capacity);
    }
    [[nodiscard]] allocator_ref upstream() const noexcept { return m_.upstream; }

    /// Room for `rows` rows in all. Returns: false when the allocator is exhausted; unchanged then.
    [[nodiscard]] bool reserve(std::size_t rows) { return m_.reserve(desc(), rows); }
    /// As packed_array::reserve_with.
    template <class Also>
    [[nodiscard]] bool reserve_with(std::size_t rows, Also also) {
        return m_.reserve(desc(), rows,
                          {&also, [](void* f) { return (*static_cast<Also*>(f))(); }});
    }
    /// From now on grows in place, up to `rows_max` rows, rounded up to a capacity: no row moves,
    /// no view or span dies by growth, and no insertion copies the others. Costs addresses, not
    /// memory; never asks the allocator. `how`: as packed_array's, for each column of its own.
    /// Requires: the table has no memory yet.
    /// Returns: false when the system refuses; the table is as before then.
    [[nodiscard]] bool reserve_address_space(std::size_t rows_max, page_options how = {}) noexcept {
        return m_.reserve_address_space(desc(), rows_max, how);
    }
    /// Gives unused memory back; not inside reserved addresses. Returns: false when there is none
    /// for the smaller copy.
    [[nodiscard]] bool shrink_to_fit() { return m_.shrink_to_fit(desc()); }

    // Rows

    /// Appends a row built from `args`: one per field, a row of any kind, or what Row{args...}
    /// takes (missing fields have their default initializers).
    /// Returns: false when the allocator is exhausted; the table and the arguments are unchanged.
    /// Throws:  what a field's constructor throws; the table is unchanged then.
    template <class... Args>
    [[nodiscard, gnu::always_inline]] bool emplace_back(Args&&... args) {
        if (m_.size == m_.capacity) [[unlikely]] {
            return emplace_growing(static_cast<Args&&>(args)...);
        }
        emplace_in_room(static_cast<Args&&>(args)...);
        return true;
    }
    /// As emplace_back, for a caller who knows that there is none, or probably none. The new row is
    /// built before the old ones move, as the arguments may lie in them; growth is calls without
    /// the arguments (packed_array.hpp says why).
    template <class... Args>
    [[nodiscard, gnu::always_inline]] bool emplace_growing(Args&&... args) {
        const table_memory::block room = m_.begin_growth(desc());
        if (room.base == nullptr) { return false; }
        rollback undo{[&]() noexcept { m_.cancel_growth(desc(), room); }};
        cells::construct_row(room.base, room.capacity, m_.size, static_cast<Args&&>(args)...);
        undo.cancel();
        m_.finish_growth(desc(), room);
        return true;
    }
    /// As emplace_back, for a caller who knows that there is room. Requires: size() < capacity().
    template <class... Args>
    [[gnu::always_inline]] void emplace_in_room(Args&&... args) {
        CAIRN_ASSERT(m_.size < m_.capacity, "there is room");
        if (poison_is_seen()) { m_.watch(desc(), m_.size + 1); }
        cells::construct_row(m_.base, m_.pitch, m_.size, static_cast<Args&&>(args)...);
        ++m_.size;
        if (m_.followers != nullptr) { m_.tell_added(m_.size - 1, 1); }
    }

    /// Exchanges two rows, and what other owners have attached to them (swap(t[a], t[b]) leaves
    /// that).
    /// Throws: what copying a field throws whose move may throw (moving it, where it has no copy).
    ///         Both rows are then as they were: fields that were exchanged already are put back. (A
    ///         field that throws again while it is put back, or that has no copy, may be lost; no
    ///         other.)
    void swap_rows(std::size_t a, std::size_t b) {
        CAIRN_ASSERT(a < size() && b < size(), "rows are exchanged inside the table");
        if (a == b) { return; }
        moved().swap(a, b);
        if (m_.followers != nullptr) { m_.tell_swapped(a, b); }
    }

    void pop_back() noexcept {
        CAIRN_ASSERT(!empty(), "a row is removed from a table that has one");
        shrink_by_one();
    }

    /// Removes row i by moving the last row into its place. O(1).
    /// Invalidates: the last row is row i afterwards.
    /// Throws: as swap_rows; nothing has changed then.
    void swap_erase(std::size_t i) {
        CAIRN_ASSERT(i < size(), "the erased row is inside the table");
        bring(i, size() - 1);
        shrink_by_one();
    }

    void clear() noexcept { truncate(0); }

    /// Rows beyond the old size are Row{}. Returns: false when the allocator is exhausted.
    [[nodiscard]] bool resize(std::size_t rows) {
        if (rows <= size()) {
            truncate(rows);
            return true;
        }
        if (!reserve(rows)) { return false; }
        while (size() < rows) { (void)emplace_back(Row{}); }
        return true;
    }

    /// As resize, but new rows hold zeros or former values: for columns that are about to be
    /// filled.
    [[nodiscard]] bool resize_for_overwrite(std::size_t rows)
        requires std::is_trivially_copyable_v<Row>
    {
        if (!reserve(rows)) { return false; }
        const std::size_t old = size();
        if (poison_is_seen()) { m_.watch(desc(), rows); }
        m_.size = rows;
        if (rows > old && m_.followers != nullptr) { m_.tell_added(old, rows - old); }
        return true;
    }

    /// Row i becomes what row order[i] was. `order` is spoiled.
    /// Requires: `order` is a permutation of 0 .. size()-1.
    /// Returns: false when there is no memory for the scratch column; unchanged then.
    [[nodiscard]] bool permute(std::span<std::uint32_t> order) {
        CAIRN_ASSERT(order.size() == size() && names_each_once(order.data(), size()),
                     "a permutation names every row once");
        return m_.permute(desc(), order.data());
    }

    /// For columns that follow this table: attached_column.hpp.
    [[nodiscard]] table_memory& rows_memory() noexcept { return m_; }

    /// Checks the invariants; broken ones stop a checked build.
    void validate() const noexcept {
        CAIRN_ASSERT(m_.size <= m_.capacity && m_.capacity <= m_.pitch, "rows have memory");
        CAIRN_ASSERT((m_.base == nullptr) == (m_.pitch == 0), "no block, no rows in it");
        CAIRN_ASSERT(m_.is_reserved || m_.capacity == m_.pitch, "a block has memory");
        CAIRN_ASSERT(m_.capacity % layout_of::desc.granule == 0, "capacity is whole granules");
        CAIRN_ASSERT(is_aligned(m_.base, alignment{layout_of::desc.line}), "columns are aligned");
    }

protected:
    [[nodiscard]] moves moved() const noexcept { return {m_.base, m_.pitch}; }

    /// Row `to` becomes what row `from` was. Where a field's move may throw, the two change places.
    void bring(std::size_t to, std::size_t from) {
        if constexpr (!moves::never_throw()) {
            swap_rows(to, from);
        } else if (to != from) {
            moved().move_row(to, from);
            if (m_.followers != nullptr) { m_.tell_moved(to, from); }
        }
    }

    void shrink_by_one() noexcept {
        cells::destroy_row(m_.base, m_.pitch, m_.size - 1);
        if (poison_is_seen()) { m_.watch(desc(), m_.size - 1); }
        --m_.size;
    }
    void truncate(std::size_t rows) noexcept {
        if (rows == m_.size) { return; }
        if constexpr (!std::is_trivially_destructible_v<Row>) {
            m_.destroy_rows(desc(), rows, m_.size - rows);
        }
        if (poison_is_seen()) { m_.watch(desc(), rows); }
        m_.size = rows;
    }
    template <class FindOrder>
    [[nodiscard]] bool sorted(FindOrder find_order) {
        return sort_rows(size(), upstream(), find_order, 0,
                         [this](auto order, void*) { return m_.permute(desc(), order.data()); });
    }

    table_memory m_;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
