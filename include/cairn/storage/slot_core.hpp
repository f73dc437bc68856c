// cairn/storage/slot_core.hpp - packed rows and their handles: the base of slot_map and slot_table.
//
//      handle {slot 2, life 5}                     rows:      0      1      2
//              |                                          +------+------+------+
//      slots:  v                                 handles: |  h0  |  h2  |  h3  |    row -> handle
//      +---+---+---+---+                                  +------+------+------+
//      | 0 | - | 1 | 2 |   slot -> row           Rows:    |  a   |  c   |  d   |    packed
//      +---+---+---+---+                                  +------+------+------+
//
// Everything here works on row numbers and on the operations of `packed_rows`, so that one class
// serves rows that are objects and rows that are columns. A map derives from it and adds what is
// its own: look-ups that return its kind of reference, spans or columns.
//
//      insert   take the next free slot's handle;  build row size();  note the handle in slot and
//      row erase    move row size() - 1 over row r;  tell the slot of the moved row;  end the
//      slot's life
//
// In this order a constructor or a move that throws leaves handles and rows as they were.
//
// Invariant: handle_at(dense_index(h)) == h for every live h.
// Cost:      a look-up: bounds check, 8-byte load, compare. emplace, erase: about ten loads and
//            stores beside the row's own, no loop. Memory: 12 bytes a slot and one handle a row.
// Threads:   one at a time; look-ups and iteration from many while no thread changes the map.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <cairn/core/assert.hpp>
#include <cairn/core/moved.hpp>
#include <cairn/core/rollback.hpp>
#include <cairn/storage/clone.hpp>
#include <cairn/storage/growable_memory.hpp>
#include <cairn/storage/index_iterator.hpp>
#include <cairn/storage/slot_directory.hpp>
#include <cairn/storage/sort_indices.hpp>

namespace cairn::inline CAIRN_FLAVOUR::detail {

// clang-format off: a member a line, with its sentence
/// Rows 0 ... size() - 1 without holes, which slot_core keeps in step with their handles.
template <class R, class Value = typename R::value_type>
concept packed_rows =
    std::movable<R> && requires(R& rows, const R& read, std::size_t n, Value&& value,
                                std::span<std::uint32_t> order) {
    { read.size() } -> std::same_as<std::size_t>;      // how many there are
    { read.capacity() } -> std::same_as<std::size_t>;  // up to here emplace_in_room() may be called
    rows[n];                                           // row n: an object, or a row of references
    rows.begin() + std::ptrdiff_t{};                   // random access, in row order
    read.begin() + std::ptrdiff_t{};                   // the same, to read
    // room for n rows in all, and then for what the function makes room for; false: exhausted
    { rows.reserve_with(n, [] { return true; }) } -> std::same_as<bool>;
    // n rows never move; false: refused
    { rows.reserve_address_space(n, page_options{}) } -> std::same_as<bool>;
    { rows.emplace_back(static_cast<Value&&>(value)) } -> std::same_as<bool>;  // false: exhausted
    rows.emplace_in_room(static_cast<Value&&>(value)); // the same, below capacity()
    rows.emplace_growing(static_cast<Value&&>(value)); // the same, where there is hardly room
    rows.swap_erase(n);                                // the last row moves into row n
    rows.swap_rows(n, n);                              // two rows change places
    { rows.permute(order) } -> std::same_as<bool>;     // row r becomes order[r]; false: exhausted
    { rows.copy_from(read) } -> std::same_as<bool>;    // the rows of another; false: exhausted
    rows.for_each([](auto&&) {});                      // calls f(row) for each, in row order
    rows.clear();                                      // no rows; keeps the memory
    read.validate();                                   // a broken invariant stops a checked build
};
// clang-format on

/// An object that knows the handle by which its map finds it (emplace_with).
template <class T, class Handle>
concept tells_its_handle = requires(const T& object) {
    { object.handle() } -> std::same_as<Handle>;
};

/// The fields of a row of references, moved out: out here, where `take` is that of the rows.
template <class Reference>
[[nodiscard]] auto taken_from(Reference&& row) {
    return take(row);
}

/// The handles and rows of a map, side by side, in row order.
template <class Handle, class RowIterator>
class slot_items {
public:
    using value_type = slot_item<Handle, decltype(std::declval<const RowIterator&>()[0])>;

    slot_items() noexcept = default;
    slot_items(std::span<const Handle> handles, RowIterator rows) noexcept
        : handles_{handles}, rows_{rows} {}

    [[nodiscard]] std::size_t size() const noexcept { return handles_.size(); }
    [[nodiscard]] value_type operator[](std::size_t row) const noexcept {
        return {handles_[row], rows_[static_cast<std::ptrdiff_t>(row)]};
    }
    [[nodiscard]] auto begin() const noexcept { return index_iterator{*this, 0}; }
    [[nodiscard]] auto end() const noexcept { return index_iterator{*this, size()}; }

private:
    std::span<const Handle> handles_{};
    RowIterator rows_{};
};

/// Parts: the row type `value`, its `rows`, `iterator` and `const_iterator`, an `array` of
/// anything, and the map's `name` in reports.
template <class Parts, class Policy>
class slot_core {
protected:
    using rows_type = typename Parts::rows;
    static_assert(packed_rows<rows_type>, "rows are kept in step: see packed_rows");

public:
    using handle_type = typename Policy::template handle_type<typename Parts::value>;
    using key_type = handle_type;  // the names of P0661
    using mapped_type = typename Parts::value;
    using value_type = typename Parts::value;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = decltype(std::declval<rows_type&>()[0]);
    using const_reference = decltype(std::declval<const rows_type&>()[0]);
    using iterator = typename Parts::iterator;
    using const_iterator = typename Parts::const_iterator;
    using reverse_iterator = std::reverse_iterator<iterator>;
    using const_reverse_iterator = std::reverse_iterator<const_iterator>;

    /// An empty map, which takes no memory yet.
    explicit slot_core(allocator_ref upstream = system_memory(),
                       const slot_map_options& options = {}) noexcept
        : slots_{{static_cast<std::uint32_t>(max_size()), handle_type::generation_max,
                  Policy::order == reuse::fifo ? Policy::free_min : 0, options.first_generation},
                 upstream},
          handles_{cache_line_alignment, upstream},
          rows_{upstream},
          limbo_{upstream} {
        slots_.set_live_max(0);
    }

    // ---- finding ------------------------------------------------------------------------------

    [[nodiscard]] bool contains(handle_type h) const noexcept {
        std::uint32_t row;
        return find_row(h, row);
    }
    /// Requires: contains(h). Any other handle stops a checked build, which says what is wrong with
    /// it: null, of another map, not fulfilled yet, stale, and where it was asked for.
    [[nodiscard]] [[gnu::always_inline]] reference operator[](asked<handle_type> h) noexcept {
        return own_row(*this, h, live_row(h, line_of(h)));
    }
    [[nodiscard]] [[gnu::always_inline]] const_reference operator[](
        asked<handle_type> h) const noexcept {
        return own_row(*this, h, live_row(h, line_of(h)));
    }
    /// As operator[], and a handle that finds nothing stops every build.
    [[nodiscard]] reference at(handle_type h, call_site from = call_site::current()) noexcept {
        return own_row(*this, h, found_or_stop(h, from));
    }
    [[nodiscard]] const_reference at(handle_type h,
                                     call_site from = call_site::current()) const noexcept {
        return own_row(*this, h, found_or_stop(h, from));
    }
    /// Why find(h) finds nothing. Any handle may be asked for. For messages: it costs a call.
    [[nodiscard]] handle_fault fault_of(handle_type h) const noexcept {
        return slots_.fault_of(h.index(), h.generation());
    }
    /// The row of `h`, for a column of your own or a shader that addresses uploaded rows.
    /// Requires: contains(h).
    [[nodiscard]] std::size_t dense_index(handle_type h,
                                          call_site from = call_site::current()) const noexcept {
        return live_row(h, from);
    }
    /// The handle of row `row`. Requires: row < size().
    [[nodiscard]] handle_type handle_at(std::size_t row) const noexcept {
        CAIRN_ASSERT(row < size(), "a row is below size()",
                     beyond_end(this, Parts::name, row, size()));
        return handle_rows()[row];
    }
    /// The handle of the row here. Requires: `where` is in this map, and not end().
    [[nodiscard]] handle_type handle_of(const_iterator where) const noexcept {
        return handle_at(row_number(where));
    }

    // ---- all of them --------------------------------------------------------------------------

    [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    /// Rows for which there is room.
    [[nodiscard]] std::size_t capacity() const noexcept { return rows_.capacity(); }
    [[nodiscard]] static constexpr std::size_t max_size() noexcept {
        return std::size_t{handle_type::index_max} + 1;
    }
    /// All slots: live, free, promised and worn out.
    [[nodiscard]] std::size_t slot_count() const noexcept { return slots_.capacity(); }
    [[nodiscard]] allocator_ref upstream() const noexcept { return handles_.upstream(); }
    /// The handles of all rows, in row order.
    [[nodiscard]] std::span<const handle_type> handles() const noexcept {
        return {handle_rows(), size()};
    }

    /// Handle and row of each, in row order: for (auto [h, row] : map.items()).
    [[nodiscard]] auto items() noexcept {
        return slot_items<handle_type, iterator>{handles(), begin()};
    }
    [[nodiscard]] auto items() const noexcept {
        return slot_items<handle_type, const_iterator>{handles(), begin()};
    }
    /// Calls f(row) or f(handle, row) for each, in row order. `f` must not insert or erase.
    template <class F>
    void for_each(F&& f) {
        visit<reference>(*this, f);
    }
    template <class F>
    void for_each(F&& f) const {
        visit<const_reference>(*this, f);
    }
    /// True when the same handles find equal rows in both, in whatever order the rows stand.
    friend bool operator==(const slot_core& a, const slot_core& b)
        requires std::equality_comparable<value_type>
    {
        std::uint32_t there = 0;
        for (std::size_t row = 0; a.size() == b.size() && row < a.size(); ++row) {
            if (!b.find_row(a.handle_rows()[row], there)) { return false; }
            const value_type& one = a.rows_[row];  // where rows are references: a copy
            const value_type& other = b.rows_[there];
            if (!(one == other)) { return false; }
        }
        return a.size() == b.size();
    }

    [[nodiscard]] iterator begin() noexcept { return iterator{rows_.begin()}; }
    [[nodiscard]] iterator end() noexcept { return iterator{rows_.end()}; }
    [[nodiscard]] const_iterator begin() const noexcept { return cbegin(); }
    [[nodiscard]] const_iterator end() const noexcept { return cend(); }
    [[nodiscard]] const_iterator cbegin() const noexcept { return const_iterator{rows_.begin()}; }
    [[nodiscard]] const_iterator cend() const noexcept { return const_iterator{rows_.end()}; }
    [[nodiscard]] reverse_iterator rbegin() noexcept { return reverse_iterator{end()}; }
    [[nodiscard]] reverse_iterator rend() noexcept { return reverse_iterator{begin()}; }
    [[nodiscard]] const_reverse_iterator rbegin() const noexcept { return crbegin(); }
    [[nodiscard]] const_reverse_iterator rend() const noexcept { return crend(); }
    [[nodiscard]] const_reverse_iterator crbegin() const noexcept {
        return const_reverse_iterator{cend()};
    }
    [[nodiscard]] const_reverse_iterator crend() const noexcept {
        return const_reverse_iterator{cbegin()};
    }

    // ---- room ---------------------------------------------------------------------------------

    /// Room for `count` rows in all; insertions up to there never allocate. A promised handle
    /// counts as a row.
    /// Returns: false when exhausted, or when the handle has too few index bits; then nothing that
    /// can be seen has changed.
    [[nodiscard]] bool reserve(std::size_t count) {
        // The slots last: they are written, and kept, where rows that find no room cost nothing.
        if (count > max_size() ||
            !rows_.reserve_with(count, [&] { return reserve_slots(count); })) {
            return false;
        }
        set_row_max();
        return true;
    }
    /// P0661: room for `count` slots.
    [[nodiscard]] bool reserve_slots(std::size_t count) noexcept {
        return slots_.reserve(count) && grow_handles(count, false);
    }
    /// From now on everything grows in place, up to `count_max` rows and what fits the last page
    /// beside them: nothing moves, no insertion copies the others, references survive growth. Costs
    /// addresses, not memory. It also fixes the number of slots: one whose generations are used up
    /// is not replaced (recycle_slots()). `how`: as packed_array's.
    /// Requires: nothing was inserted or reserved yet.
    /// Returns: false for 0, for more than the handle can name, and when the system refuses; the
    /// map is still usable then.
    [[nodiscard]] bool reserve_address_space(std::size_t count_max,
                                             page_options how = {}) noexcept {
        CAIRN_ASSERT(slots_.capacity() == 0, "addresses are reserved before the first insertion");
        return count_max != 0 && count_max <= max_size() &&
               slots_.reserve_address_space(count_max, how) &&
               handles_.reserve_address_space(count_max * sizeof(handle_type), how) &&
               rows_.reserve_address_space(count_max, how);
    }

    // ---- inserting ----------------------------------------------------------------------------

    /// A new row, built in place.
    /// Returns: its handle; null when exhausted, nothing has changed then.
    /// Throws:  what the row's constructor throws; nothing has changed then.
    template <class... Args>
    [[gnu::always_inline]] handle_type emplace(Args&&... args) {
        if (slots_.is_ready()) [[likely]] {
            const handle_type h = handle_of_slot(slots_.peek());
            rows_.emplace_in_room(std::forward<Args>(args)...);
            commit(h);
            return h;
        }
        const handle_type h = next_handle_growing();
        if (!h || !rows_.emplace_growing(std::forward<Args>(args)...)) { return {}; }
        commit_grown(h);
        return h;
    }
    /// A new row that knows its own handle: make(h) returns it, built in place where rows are
    ///                                      objects.
    /// As emplace otherwise. `make` must not change this map.
    template <class Make>
    handle_type emplace_with(Make&& make) {
        const handle_type h = next_handle();
        if (!h || !emplace_made([&]() -> value_type { return make(h); })) [[unlikely]] {
            return {};
        }
        commit(h);
        return h;
    }
    [[gnu::always_inline]] handle_type insert(const value_type& value) { return emplace(value); }
    [[gnu::always_inline]] handle_type insert(value_type&& value) {
        return emplace(std::move(value));
    }

    /// A handle now, the row later: find() finds nothing until fulfil().
    /// Returns: null when exhausted.
    [[nodiscard]] handle_type promise_handle() noexcept {
        const std::uint32_t slot = slots_.next();
        if (slot == none) [[unlikely]] { return {}; }
        const handle_type h = handle_of_slot(slot);
        slots_.promise(slot);
        return h;
    }
    /// True when `h` came from promise_handle() and was neither fulfilled nor abandoned.
    [[nodiscard]] bool is_promised(handle_type h) const noexcept {
        return slots_.is_promised(h.index(), h.generation());
    }
    /// Gives a promised handle back unused: it is stale from now on. Requires: is_promised(h).
    void abandon(handle_type h) noexcept {
        CAIRN_ASSERT(is_promised(h), "only a promised handle can be abandoned");
        slots_.vacate(h.index());
    }

    // ---- erasing ------------------------------------------------------------------------------

    /// Destroys the row; the last row moves into its place.
    /// Returns: false when the handle was stale already (nothing happens).
    bool erase(handle_type h) {
        std::uint32_t row;
        if (!find_row(h, row)) [[unlikely]] { return false; }
        (void)own_row(*this, h, row);
        erase_row(row, h);
        return true;
    }
    /// Erases `*where`. Returns: the same position, where the moved row is still to be visited:
    ///     for (auto it = m.begin(); it != m.end();) { it = dead(*it) ? m.erase(it) : it + 1; }
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
    /// Erases every row that `predicate` is true for; each is asked once. Returns: how many.
    template <class Predicate>
    std::size_t erase_if(Predicate&& predicate) {
        constexpr bool takes_rows = std::is_invocable_v<Predicate&, reference>;
        static_assert(takes_rows, "the predicate takes a row: auto&&");
        std::size_t erased_count = 0;
        for (std::size_t row = 0; takes_rows && row < size();) {
            bool erases = false;
            if constexpr (takes_rows) { erases = static_cast<bool>(predicate(rows_[row])); }
            if (erases) {
                erase_row(row);
                ++erased_count;
            } else {
                ++row;
            }
        }
        return erased_count;
    }
    /// Moves the row out and erases it. Returns: nothing when the handle is stale.
    /// Throws: what copying a row throws, where its move may throw, or erasing it; the row lives on
    /// then, with its value, as far as its assignment keeps it. (One that can only be moved may
    /// lose it.)
    [[nodiscard]] std::optional<value_type> take(handle_type h) {
        std::optional<value_type> taken;  // one for every return: built where the caller wants it
        std::uint32_t row;
        if (find_row(h, row)) [[likely]] {
            if constexpr (rows_are_objects) {
                taken.emplace(std::move_if_noexcept(rows_[row]));
            } else {
                taken.emplace(moved_out(row));
            }
            erase_row(row, h);
        }
        return taken;
    }
    /// Every row is destroyed and every handle is stale, promised ones too. Keeps the memory.
    /// What is retired still waits for its fence. O(rows).
    void clear() noexcept {
        for (std::size_t r = size(); r != 0; --r) { slots_.vacate(handle_rows()[r - 1].index()); }
        slots_.vacate_promised();
        rows_.clear();
    }

    // ---- destruction that waits ---------------------------------------------------------------

    /// Look-ups fail at once; the row is moved aside and destroyed when collect() is told that
    /// `fence` has passed: a GPU or a job may still be using what it owns.
    /// Returns: false when the handle is stale or memory is exhausted; nothing has changed then.
    /// Throws: as take(); the row is not retired then.
    bool retire(handle_type h, std::uint64_t fence) {
        std::uint32_t row;
        if (!find_row(h, row)) [[unlikely]] { return false; }
        if (limbo_.emplace_from([&] { return waiting{moved_out(row), fence}; }) == nullptr) {
            return false;
        }
        // erase_row() may throw where rows do when they move: then nothing waits in limbo.
        rollback undo{[&]() noexcept { limbo_.swap_erase(limbo_.size() - 1); }};
        erase_row(row);
        undo.cancel();
        return true;
    }
    /// Destroys what was retired with a fence <= completed. Returns: how many. O(pending).
    std::size_t collect(std::uint64_t completed) {
        return limbo_.erase_if([=](const waiting& w) { return w.fence <= completed; });
    }
    /// Rows that wait for their fence.
    [[nodiscard]] std::size_t pending_count() const noexcept { return limbo_.size(); }

    // ---- generations --------------------------------------------------------------------------

    /// Slots whose generations are used up. They are never used again, until recycle_slots().
    [[nodiscard]] std::size_t worn_out_slot_count() const noexcept {
        return slots_.worn_out_count();
    }
    /// Brings worn-out slots back, all of them, with their first generation.
    /// Requires: no handle of any row that ever lived in them is left, anywhere. At a level change
    /// you may know that; say so with cairn::no_handles_left. Returns: how many came back.
    std::size_t recycle_slots(no_handles_left_t proof) noexcept {
        return slots_.recycle_worn_out(proof);
    }

    // ---- order --------------------------------------------------------------------------------

    /// Sorts the rows with less(row, row), stable; handles stay valid. Each row moves once.
    /// Returns: false when there is no memory for about 16 bytes a row, or for a copy of the widest
    /// column; nothing has changed then.
    template <class Less>
    [[nodiscard]] bool sort(Less&& less) {
        constexpr bool compares =
            std::is_invocable_r_v<bool, Less&, const_reference, const_reference>;
        static_assert(compares, "the order compares two rows: const auto&");
        if constexpr (!compares) {
            return false;
        } else {
            return sorted(
                [&](std::uint32_t* order, void* scratch) {
                    const auto rows = std::as_const(rows_).begin();
                    sort_indices(order, static_cast<std::uint32_t*>(scratch), size(),
                                 [&](std::uint32_t a, std::uint32_t b) {
                                     return static_cast<bool>(less(rows[a], rows[b]));
                                 });
                },
                size() * sizeof(std::uint32_t));
        }
    }
    /// Exchanges two rows; handles, and columns attached to a table, follow.
    void swap_rows(std::size_t a, std::size_t b) {
        CAIRN_ASSERT(a < size() && b < size(), "a row is below size()");
        rows_.swap_rows(a, b);
        const handle_type first = handle_rows()[a];
        lead(a, handle_rows()[b]);
        lead(b, first);
    }

    /// The same rows, handles and slots as in `other`: see clone(). What is retired stays there.
    /// Requires: nothing was inserted or reserved yet.
    /// Returns: false when exhausted; the map can only be destroyed then.
    [[nodiscard]] bool copy_from(const slot_core& other) {
        if (!slots_.copy_from(other.slots_) || !grow_handles(other.size(), false) ||
            !rows_.copy_from(other.rows_)) {
            return false;
        }
        for (std::size_t r = 0; r < size(); ++r) { handle_rows()[r] = other.handle_rows()[r]; }
        set_row_max();
        return true;
    }
    void swap(slot_core& other) noexcept {
        slot_core mine{std::move(*this)};
        *this = std::move(other);
        other = std::move(mine);
    }

    /// O(slots). A broken invariant stops a checked build.
    void validate() const noexcept {
        slots_.validate();
        rows_.validate();
        CAIRN_ASSERT(slots_.live_count() == size(), "every row has a handle");
        CAIRN_ASSERT(slots_.in_use_count() == size() + slots_.promised_count(),
                     "every slot in use has a row or is promised");
        for (std::size_t r = 0; asserts_enabled && r < size(); ++r) {
            CAIRN_ASSERT(row_of(handle_rows()[r]) == r, "slot and row lead to each other");
        }
    }

protected:
    static constexpr std::uint32_t none = slot_directory_base::none;
    static constexpr bool rows_are_objects = std::is_lvalue_reference_v<reference>;
    /// Whether a look-up asks the object that it found for its handle.
    static consteval bool asks_objects() {
        return asserts_enabled && tells_its_handle<value_type, handle_type>;
    }

    /// True when `h` is alive; `row` is its row then.
    [[nodiscard]] [[gnu::always_inline]] bool find_row(handle_type h,
                                                       std::uint32_t& row) const noexcept {
        return slots_.find(h.index(), h.generation(), row);
    }
    /// The row of `h`. Requires: contains(h).
    [[nodiscard]] [[gnu::always_inline]] std::uint32_t live_row(
        handle_type h, [[maybe_unused]] call_site from) const noexcept {
        const std::uint32_t row = row_of(h);
#if CAIRN_ASSERTS
        if (row == none) [[unlikely]] { refuse(h, from); }
#endif
        return row;
    }
    /// `object`, which `h` has found. Checked builds ask it for its handle, where it can tell.
    template <class U>
    [[nodiscard]] [[gnu::always_inline]] static U* own([[maybe_unused]] handle_type h,
                                                       U* object) noexcept {
        if constexpr (asks_objects()) {
            [[maybe_unused]] const handle_type told = object->handle();
            CAIRN_ASSERT(
                !told || (told.index() == h.index() && told.generation() == h.generation()),
                "objects change places by sort() and swap_rows(), which tell their handles",
                {.object = object,
                 .type = "object",
                 .values = {{"slot", h.index()}, {"slot of the object", told.index()}}});
        }
        return object;
    }
    /// Builds the row of a promised handle. Returns: false when exhausted.
    /// Requires: is_promised(h).
    template <class... Args>
    [[nodiscard]] bool fulfil_row(handle_type h, Args&&... args) {
        CAIRN_ASSERT(is_promised(h), "only a promised handle can be fulfilled");
        if (!make_room() || !rows_.emplace_back(std::forward<Args>(args)...)) [[unlikely]] {
            return false;
        }
        const auto row = static_cast<std::uint32_t>(size() - 1);
        slots_.fulfil(h.index(), row);
        handle_rows()[row] = h;
        return true;
    }

    //      scratch:  | what sort_order needs | the new order | handles, one a row |
    template <class SortOrder>
    [[nodiscard]] bool sorted(SortOrder sort_order, std::size_t sort_size) {
        const std::size_t count = size();
        if (count < 2) { return true; }
        const std::size_t order_at = round_up(sort_size, cache_line_alignment);
        const std::size_t spare_at =
            order_at + round_up(count * sizeof(std::uint32_t), cache_line_alignment);
        growable_memory scratch{cache_line_alignment, upstream()};
        if (!scratch.grow(spare_at + count * sizeof(handle_type), 0)) { return false; }
        auto* const order = reinterpret_cast<std::uint32_t*>(scratch.data() + order_at);
        auto* const spare = reinterpret_cast<handle_type*>(scratch.data() + spare_at);
        sort_order(order, static_cast<void*>(scratch.data()));
        // Before permute(), which spoils `order`; into a copy, since a refusal there must change no
        // handle.
        for (std::size_t r = 0; r < count; ++r) { spare[r] = handle_rows()[order[r]]; }
        if (!rows_.permute({order, count})) { return false; }  // `order` is spoiled from here on
        for (std::size_t r = 0; r < count; ++r) { lead(r, spare[r]); }
        return true;
    }

private:
    struct waiting {
        value_type object;  // first: when its assignment throws, it keeps its fence
        std::uint64_t fence;
    };
    using limbo = typename Parts::template array<waiting>;

    [[nodiscard]] handle_type* handle_rows() const noexcept {
        return reinterpret_cast<handle_type*>(handles_.data());
    }
    [[nodiscard]] std::size_t row_number(const_iterator where) const noexcept {
        return static_cast<std::size_t>(where - cbegin());
    }
    [[nodiscard]] [[gnu::always_inline]] std::uint32_t row_of(handle_type h) const noexcept {
        return slots_.find(h.index(), h.generation());
    }
    [[nodiscard]] [[gnu::always_inline]] std::uint32_t found_or_stop(
        handle_type h, call_site from) const noexcept {
        std::uint32_t row;
        if (!find_row(h, row)) [[unlikely]] { refuse(h, from); }
        return row;
    }
    template <class Self>
    [[nodiscard]] [[gnu::always_inline]] static decltype(auto) own_row(Self& self, handle_type h,
                                                                       std::size_t row) noexcept {
        if constexpr (rows_are_objects) {
            return *own(h, __builtin_addressof(self.rows_[row]));
        } else {
            return self.rows_[row];
        }
    }
    /// Stops the program and names what is wrong with `h`. Requires: it finds nothing.
    [[noreturn, gnu::cold, gnu::noinline]] void refuse(handle_type h, call_site from) const {
        slots_.refuse(h.index(), h.generation(), this, Parts::name, from);
    }

    template <class Reference, class Self, class F>
    static void visit(Self& self, F& f) {
        if constexpr (std::is_invocable_v<F&, handle_type, Reference>) {
            const std::size_t count = self.size();
            const auto rows = self.begin();
            for (std::size_t row = 0; row < count; ++row) {
                f(self.handle_rows()[row], rows[static_cast<std::ptrdiff_t>(row)]);
            }
        } else {
            self.rows_.for_each(f);
        }
    }
    [[nodiscard]] handle_type handle_of_slot(std::uint32_t slot) const noexcept {
        return handle_type::make(slot, slots_.generation(slot));
    }
    /// The handle that the next insertion will have; room for it is made. Null when exhausted.
    [[nodiscard]] handle_type next_handle() noexcept {
        if (!make_room() || !slots_.prepare()) [[unlikely]] { return {}; }
        return handle_of_slot(slots_.peek());
    }
    /// `h`, the next free slot's handle, comes alive in the row that was just built.
    void commit(handle_type h) noexcept {
        const std::uint32_t row = slots_.live_count();
        slots_.occupy(h.index(), h.generation(), row);
        handle_rows()[row] = h;
    }
    /// Row `row` is that of `h` from now on.
    void lead(std::size_t row, handle_type h) noexcept {
        handle_rows()[row] = h;
        slots_.set_value(h.index(), static_cast<std::uint32_t>(row));
    }
    /// The two halves of an insertion that grows, around the building of the row: calls that take
    /// nothing of the caller's (packed_array.hpp says why).
    [[nodiscard, gnu::noinline, gnu::cold]] handle_type next_handle_growing() noexcept {
        return next_handle();
    }
    [[gnu::noinline, gnu::cold]] void commit_grown(handle_type h) noexcept {
        commit(h);
        set_row_max();
    }
    template <class Made>
    [[nodiscard]] bool emplace_made(Made made) {
        if constexpr (requires { rows_.emplace_from(made); }) {
            return rows_.emplace_from(made) != nullptr;
        } else {
            return rows_.emplace_back(made());
        }
    }

    /// The value of a row that is erased next; copied where moving may throw.
    [[nodiscard]] value_type moved_out(std::size_t row) {
        if constexpr (rows_are_objects) {
            return std::move_if_noexcept(rows_[row]);
        } else if constexpr (std::is_nothrow_move_constructible_v<value_type> ||
                             !std::is_copy_constructible_v<value_type>) {
            return taken_from(rows_[row]);
        } else {
            return static_cast<value_type>(rows_[row]);
        }
    }
    void erase_row(std::size_t row) { erase_row(row, handle_at(row)); }
    void erase_row(std::size_t row, handle_type h) {
        rows_.swap_erase(row);  // first: a move that throws leaves the handles as they were
        CAIRN_ASSERT(row_of(h) == row, "the handle is that of the row");
        lead(row, handle_rows()[slots_.live_count() - 1]);  // maybe itself
        slots_.vacate_live(h.index(), h.generation());
    }

    /// From now on slots_.is_ready() answers for handles and rows, too, in one comparison.
    void set_row_max() noexcept {
        const std::size_t rows = rows_.capacity();
        slots_.set_live_max(rows < handle_capacity_ ? rows : handle_capacity_);
    }
    /// Room for the handle of one row more.
    [[nodiscard]] bool make_room() noexcept {
        const std::size_t count = slots_.live_count();
        return count < handle_capacity_ || grow_handles(count + 1, true);
    }
    [[nodiscard]] bool grow_handles(std::size_t count, bool geometric) noexcept {
        if (count <= handle_capacity_) { return true; }
        if (count > max_size()) { return false; }
        const std::size_t wish =
            geometric && !handles_.is_reserved() ? grown_count(handle_capacity_, count) : count;
        const auto attempt = [this](std::size_t rows) {
            return handles_.grow(rows * sizeof(handle_type), size() * sizeof(handle_type));
        };
        if (grow_by_halves(handle_capacity_, count, wish, attempt) == 0) { return false; }
        // Inside reserved addresses more has become usable than was asked for: all of it counts.
        const std::size_t fitting = handles_.size() / sizeof(handle_type);
        handle_capacity_ = static_cast<std::uint32_t>(fitting < max_size() ? fitting : max_size());
        return true;
    }

protected:
    //  for each row r < size():  slots_ finds r with the handle handle_rows()[r]
    //  slots_.live_count() == rows_.size(), but between the two halves of an insertion or erasure
    //  slots_.is_ready() asks for live_count() < min(handle_capacity_, rows_.capacity()), too
    slot_directory<Policy::order> slots_;
    growable_memory handles_;               // of each row
    moved<std::uint32_t> handle_capacity_;  // handles that fit handles_
    rows_type rows_;
    limbo limbo_;
};

}  // namespace cairn::inline CAIRN_FLAVOUR::detail
