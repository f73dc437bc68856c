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
#include <new>
#include <span>
#include <type_traits>
#include <utility>

// First, so that compilers lead to its sentences in few lines.
#include <cairn/containers/table/row_rules.hpp>

#include <cairn/containers/table/cells.hpp>
#include <cairn/containers/table/memory.hpp>
#include <cairn/containers/table/moves.hpp>
#include <cairn/containers/table/view.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/rollback.hpp>
#include <cairn/storage/clone.hpp>
#include <cairn/storage/growable_memory.hpp>
#include <cairn/storage/sort_keys.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

template <class Row, class Layout = soa>
class table {
    using layout_of = detail::layout_of<Row, Layout>;
    using cells = detail::table_cells<Row, Layout>;
    using moves = detail::row_moves<Row, Layout>;
    static constexpr const detail::layout_desc& desc() noexcept { return layout_of::desc; }

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

    explicit table(allocator_ref upstream = system_memory()) noexcept : m_{upstream} {}
    ~table() {
        rehome_followers(nullptr);
        m_.release(desc());
    }

    /// Takes the rows, the memory and the attached columns of `other`, which is empty afterwards.
    table(table&& other) noexcept : m_{other.m_.upstream} { steal(other); }
    table& operator=(table&& other) noexcept {
        if (this != &other) {
            rehome_followers(nullptr);
            m_.release(desc());
            m_.upstream = other.m_.upstream;
            steal(other);
        }
        return *this;
    }

    // Capacity

    [[nodiscard]] std::size_t size() const noexcept { return m_.size; }
    [[nodiscard]] bool empty() const noexcept { return m_.size == 0; }
    [[nodiscard]] std::size_t capacity() const noexcept { return m_.capacity; }
    /// What kernels may load and store: size() rounded up to 16 rows, or to whole blocks of an
    /// aosoa of more than 16; aos: size().
    [[nodiscard]] std::size_t padded_size() const noexcept { return view().padded_size(); }
    /// Bytes of the one allocation, or of the part of the reserved addresses that has memory.
    [[nodiscard]] std::size_t memory_size() const noexcept {
        return detail::allocation_size(desc(), m_.capacity);
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
        const detail::table_memory::block room = begin_growth();
        if (room.base == nullptr) { return false; }
        detail::rollback undo{[&]() noexcept { cancel_growth(room.base, room.capacity); }};
        cells::construct_row(room.base, room.capacity, m_.size, static_cast<Args&&>(args)...);
        undo.cancel();
        finish_growth(room.base, room.capacity);
        return true;
    }
    /// As emplace_back, for a caller who knows that there is room. Requires: size() < capacity().
    template <class... Args>
    [[gnu::always_inline]] void emplace_in_room(Args&&... args) {
        CAIRN_ASSERT(m_.size < m_.capacity, "there is room");
        if (poison_is_seen()) { watch(m_.size + 1); }
        cells::construct_row(m_.base, m_.pitch, m_.size, static_cast<Args&&>(args)...);
        ++m_.size;
        if (m_.followers != nullptr) { tell_added(m_.size - 1, 1); }
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
                tell_moved(i, i - 1);
            }
            if (m_.followers != nullptr) { tell_added(index, 1); }
        } else {  // row by row
            for (std::size_t i = size() - 1; i > index; --i) { swap_rows(i, i - 1); }
        }
        return true;
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
        if (m_.followers != nullptr) { tell_swapped(a, b); }
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

    /// Removes row i and keeps the order of the others. O(rows behind it).
    /// Throws: as swap_rows; the row is still there then, somewhere behind i, and all others are
    ///         whole and in their order.
    void erase(std::size_t i) {
        CAIRN_ASSERT(i < size(), "the erased row is inside the table");
        if constexpr (moves::never_throw()) {
            moved().close_gap(i, size());
            for (std::size_t k = i; k + 1 < size() && m_.followers != nullptr; ++k) {
                tell_moved(k, k + 1);
            }
        } else {
            for (std::size_t k = i; k + 1 < size(); ++k) { swap_rows(k, k + 1); }
        }
        shrink_by_one();
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
            truncate(kept);
        }
        return count - kept;
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
        if (poison_is_seen()) { watch(rows); }
        m_.size = rows;
        if (rows > old && m_.followers != nullptr) { tell_added(old, rows - old); }
        return true;
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
    [[nodiscard]] std::optional<table> clone() const { return clone(upstream()); }
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
        return sorted(
            [&](std::uint32_t* order, void* scratch) {
                const auto keys = std::as_const(*this).view().template column_of<f>();
                detail::sort_order(keys, order, scratch);
            },
            detail::sort_scratch<typename layout_of::template field_type<f>>(size()));
    }

    /// Sorts the rows with less(row, row), a stable merge sort of indices.
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
                    const auto rows = std::as_const(*this).view();
                    detail::sort_indices(
                        order, static_cast<std::uint32_t*>(scratch), size(),
                        [&](std::uint32_t a, std::uint32_t b) { return less(rows[a], rows[b]); });
                },
                size() * sizeof(std::uint32_t));
        }
    }

    /// Row i becomes what row order[i] was. `order` is spoiled.
    /// Requires: `order` is a permutation of 0 .. size()-1.
    /// Returns: false when there is no memory for the scratch column; unchanged then.
    [[nodiscard]] bool permute(std::span<std::uint32_t> order) {
        CAIRN_ASSERT(order.size() == size() && detail::names_each_once(order.data(), size()),
                     "a permutation names every row once");
        return m_.permute(desc(), order.data());
    }

    void swap(table& other) noexcept {
        table held = std::move(other);
        other = std::move(*this);
        *this = std::move(held);
    }
    friend void swap(table& a, table& b) noexcept { a.swap(b); }

    /// For columns that follow this table: attached_column.hpp.
    [[nodiscard]] detail::table_memory& rows_memory() noexcept { return m_; }

    /// Checks the invariants; broken ones stop a checked build.
    void validate() const noexcept {
        CAIRN_ASSERT(m_.size <= m_.capacity && m_.capacity <= m_.pitch, "rows have memory");
        CAIRN_ASSERT((m_.base == nullptr) == (m_.pitch == 0), "no block, no rows in it");
        CAIRN_ASSERT(m_.is_reserved || m_.capacity == m_.pitch, "a block has memory");
        CAIRN_ASSERT(m_.capacity % layout_of::desc.granule == 0, "capacity is whole granules");
        CAIRN_ASSERT(is_aligned(m_.base, alignment{layout_of::desc.line}), "columns are aligned");
    }

private:
    [[nodiscard]] moves moved() const noexcept { return {m_.base, m_.pitch}; }

    /// Row `to` becomes what row `from` was. Where a field's move may throw, the two change places.
    void bring(std::size_t to, std::size_t from) {
        if constexpr (!moves::never_throw()) {
            swap_rows(to, from);
        } else if (to != from) {
            moved().move_row(to, from);
            if (m_.followers != nullptr) { tell_moved(to, from); }
        }
    }

    /// Room for one row more: a block to which the rows are to move, or where they stand (m_.base).
    /// Returns: a null base when exhausted.
    [[nodiscard, gnu::noinline, gnu::cold]] detail::table_memory::block begin_growth() noexcept {
        if (m_.size != m_.capacity || (m_.is_reserved && m_.commit_rows(desc(), m_.size + 1))) {
            if (poison_is_seen()) { watch(m_.size + 1); }
            return {m_.base, m_.pitch};
        }
        return m_.is_reserved ? detail::table_memory::block{} : m_.allocate_larger_block(desc());
    }
    [[gnu::noinline, gnu::cold]] void cancel_growth(std::byte* base, std::size_t rows) noexcept {
        if (base != m_.base) { m_.free_block(desc(), {base, rows}); }
    }
    /// Row size() was built in the block; the others move there, too, and it is one row more.
    /// Throws: what copying them throws; the new row and the block are gone then.
    [[gnu::noinline]] void finish_growth(std::byte* base, std::size_t rows) {
        if (base != m_.base) {
            detail::rollback undo{[&]() noexcept {
                cells::for_each_field([&]<std::size_t F>() {
                    cells::template destroy_field<F>(base, rows, m_.size);
                });
                m_.free_block(desc(), {base, rows});
            }};
            m_.move_into(desc(), {base, rows});
            undo.cancel();
        }
        if (poison_is_seen()) { watch(m_.size + 1); }
        ++m_.size;
        if (m_.followers != nullptr) { tell_added(m_.size - 1, 1); }
    }

    void shrink_by_one() noexcept {
        cells::for_each_field([&]<std::size_t F>() {
            cells::template destroy_field<F>(m_.base, m_.pitch, m_.size - 1);
        });
        if (poison_is_seen()) { watch(m_.size - 1); }
        --m_.size;
    }
    void truncate(std::size_t rows) noexcept {
        if (rows == m_.size) { return; }
        if constexpr (!std::is_trivially_destructible_v<Row>) {
            m_.destroy_rows(desc(), rows, m_.size - rows);
        }
        if (poison_is_seen()) { watch(rows); }
        m_.size = rows;
    }
    /// Tells the memory checkers, where the readable part changes.
    void watch(std::size_t rows) noexcept {
        if (detail::padded_rows(desc(), rows) != detail::padded_rows(desc(), m_.size)) {
            m_.repoison(desc(), m_.size, rows);
        }
    }

    template <class SortOrder>
    [[nodiscard]] bool sorted(SortOrder sort_order, std::size_t scratch_bytes) {
        const std::size_t rows = size();
        if (rows < 2) { return true; }
        CAIRN_ASSERT(rows <= UINT32_MAX, "a sorted table has at most 2^32 - 1 rows");
        const std::size_t order_bytes =
            round_up(rows * sizeof(std::uint32_t), cache_line_alignment);
        growable_memory scratch{cache_line_alignment, m_.upstream};
        if (!scratch.grow(order_bytes + scratch_bytes, 0)) { return false; }
        auto* const order = reinterpret_cast<std::uint32_t*>(scratch.data());
        sort_order(order, static_cast<void*>(scratch.data() + order_bytes));
        return m_.permute(desc(), order);
    }

    void tell_added(std::size_t first, std::size_t count) noexcept {
        for (auto* f = m_.followers; f != nullptr; f = f->next) { f->added(*f, first, count); }
    }
    void tell_moved(std::size_t to, std::size_t from) noexcept {
        for (auto* f = m_.followers; f != nullptr; f = f->next) { f->moved(*f, to, from); }
    }
    void tell_swapped(std::size_t a, std::size_t b) noexcept {
        for (auto* f = m_.followers; f != nullptr; f = f->next) { f->swapped(*f, a, b); }
    }
    void rehome_followers(table* home) noexcept {
        for (auto* f = m_.followers; f != nullptr;) {
            auto* const next = f->next;
            f->rehomed(*f, home != nullptr ? &home->m_ : nullptr);
            f = next;
        }
        if (home == nullptr) { m_.followers = nullptr; }
    }
    void steal(table& other) noexcept {
        m_.base = std::exchange(other.m_.base, nullptr);
        m_.size = std::exchange(other.m_.size, 0);
        m_.capacity = std::exchange(other.m_.capacity, 0);
        m_.pitch = std::exchange(other.m_.pitch, 0);
        m_.is_reserved = std::exchange(other.m_.is_reserved, false);
        m_.how = other.m_.how;
        m_.followers = std::exchange(other.m_.followers, nullptr);
        rehome_followers(this);
    }

    detail::table_memory m_;
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

}  // namespace cairn::inline CAIRN_FLAVOUR
