// cairn/containers/inside/slot_core.hpp - packed rows and their handles: the base of slot_map and
// slot_table.
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
//               row
//      erase    move row size() - 1 over row r;  tell the slot of the moved row;  end the slot's
//               life
//
//      slot_core/packed_rows.hpp    what rows can do
//      slot_core/rows_in_step.hpp   rows, handles and slots: room, and the two orders above
//      slot_core/look_ups.hpp       finding by handle; all rows
//      here                         inserting, erasing, destruction that waits, sorting
//
// Invariant: handle_at(dense_index(h)) == h for every live h.
// Cost:      a look-up: bounds check, 8-byte load, compare. emplace, erase: about ten loads and
//            stores beside the row's own, no loop. Memory: 12 bytes a slot and one handle a row.
// Threads:   one at a time; look-ups and iteration from many while no thread changes the map.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include <cairn/containers/inside/slot_core/look_ups.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/inside/rollback.hpp>
#include <cairn/storage/clone.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

template <class Parts, class Policy>
class slot_core : public slot_look_ups<Parts, Policy> {
    using base = slot_look_ups<Parts, Policy>;

protected:
    using base::handle_rows, base::handle_of_slot, base::find_row, base::own_row, base::row_number;
    using base::next_handle, base::commit, base::lead, base::erase_row;
    using base::slots_, base::rows_, base::none, base::rows_are_objects;

public:
    using base::size, base::begin;
    /// The handle of a row. Requires: row < size().
    using base::handle_at;
    using typename base::handle_type, typename base::value_type, typename base::reference;
    using typename base::iterator, typename base::const_iterator;
    using options = slot_map_options;

    /// An empty map, which takes no memory yet.
    explicit slot_core(allocator_ref upstream = system_memory(), const options& how = {}) noexcept
        : base{upstream, how}, limbo_{upstream} {}

    // ---- inserting ----------------------------------------------------------------------------

    /// A new row, built in place.
    /// Returns: its handle; null when exhausted, nothing has changed then.
    /// Throws:  what the row's constructor throws; nothing has changed then.
    template <class... Args>
    [[nodiscard, gnu::always_inline]] handle_type emplace(Args&&... args) {
        if (slots_.is_ready()) [[likely]] {
            const handle_type h = handle_of_slot(slots_.peek());
            rows_.emplace_in_room(std::forward<Args>(args)...);
            commit(h);
            return h;
        }
        const handle_type h = base::next_handle_growing();
        if (!h || !rows_.emplace_growing(std::forward<Args>(args)...)) { return {}; }
        base::commit_grown(h);
        return h;
    }
    /// A new row that knows its own handle: make(h) returns it, built in place where rows are
    ///                                      objects.
    /// As emplace otherwise. `make` must not change this map.
    template <class Make>
    [[nodiscard]] handle_type emplace_with(Make&& make) {
        const handle_type h = next_handle();
        if (!h || !emplace_made([&]() -> value_type { return make(h); })) [[unlikely]] {
            return {};
        }
        commit(h);
        return h;
    }
    [[nodiscard, gnu::always_inline]] handle_type insert(const value_type& value) {
        return emplace(value);
    }
    [[nodiscard, gnu::always_inline]] handle_type insert(value_type&& value) {
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
        (void)own_row(rows_, h, row);
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
    [[nodiscard]] bool retire(handle_type h, std::uint64_t fence) {
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
        return base::sorted(compared_order{std::as_const(rows_).begin(), less, size()});
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
    [[nodiscard]] bool copy_from(const slot_core& other) { return base::copy_rows(other); }

    void swap(slot_core& other) noexcept { std::swap(*this, other); }

protected:
    /// Builds the row of a promised handle. Returns: false when exhausted.
    /// Requires: is_promised(h).
    template <class... Args>
    [[nodiscard]] bool fulfil_row(handle_type h, Args&&... args) {
        CAIRN_ASSERT(is_promised(h), "only a promised handle can be fulfilled");
        if (!base::make_room() || !rows_.emplace_back(std::forward<Args>(args)...)) [[unlikely]] {
            return false;
        }
        const auto row = static_cast<std::uint32_t>(size() - 1);
        slots_.fulfil(h.index(), row);
        handle_rows()[row] = h;
        return true;
    }

private:
    struct waiting {
        value_type object;  // first: when its assignment throws, it keeps its fence
        std::uint64_t fence;
    };
    using limbo = typename Parts::template array<waiting>;

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

    limbo limbo_;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
