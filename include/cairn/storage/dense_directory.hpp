// cairn/storage/dense_directory.hpp - handles for rows that are packed and therefore move.
//
//      handle {slot 2, life 5}                     rows:      0      1      2
//              |                                          +------+------+------+
//      slots:  v                                 handles: |  h0  |  h2  |  h3  |    who lives here
//      +---+---+---+---+                                  +------+------+------+
//      | 0 | - | 1 | 2 |   slot -> row           your data: any number of columns, same rows
//      +---+---+---+---+
//
// The bookkeeping of slot_map and slot_table: which row a handle means, and which handle
// lives in a row. It owns no objects. The caller keeps its columns in step:
//
//      insert   h = next_handle();  build row size() from whatever it takes;  commit(h);
//      erase    move row size() - 1 over row r in every column;  erase_row(r);
//
// so a constructor that throws between the two steps leaves nothing changed.
//
// Invariant: slot of handles()[r] leads back to r, for every row r < size().
// Cost:      row_of: bounds check, 8-byte load, compare. commit and erase_row: about ten loads and
//            stores, no loops. Memory: 8 bytes a slot and one handle a row.
// Threads:   one at a time; row_of() from many while nobody changes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <cairn/core/assert.hpp>
#include <cairn/storage/growable_memory.hpp>
#include <cairn/storage/slot_directory.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

template <class Handle, reuse Order = reuse::fifo, std::uint32_t FreeMin = 64>
class dense_directory {
public:
    using handle_type = Handle;
    static constexpr std::uint32_t none = slot_directory_base::none;
    static constexpr std::size_t row_count_max = std::size_t{Handle::index_max} + 1;

    /// `first_generation`: see slot_map_options.
    explicit dense_directory(allocator_ref upstream = system_memory(),
                             std::uint32_t first_generation = 0) noexcept
        : slots_{{static_cast<std::uint32_t>(row_count_max), Handle::generation_max,
                  Order == reuse::fifo ? FreeMin : 0, first_generation},
                 upstream},
          memory_{cache_line_alignment, upstream} {}

    dense_directory(dense_directory&& other) noexcept
        : slots_{std::move(other.slots_)},
          memory_{std::move(other.memory_)},
          capacity_{std::exchange(other.capacity_, 0)} {}
    dense_directory& operator=(dense_directory&& other) noexcept {
        if (this == &other) { return *this; }
        slots_ = std::move(other.slots_);
        memory_ = std::move(other.memory_);
        capacity_ = std::exchange(other.capacity_, 0);
        return *this;
    }

    /// Rows alive.
    [[nodiscard]] std::uint32_t size() const noexcept { return slots_.live_count(); }

    /// The slots behind: counts of free, held and retired ones.
    [[nodiscard]] const slot_directory<Order>& slots() const noexcept { return slots_; }

    [[nodiscard]] allocator_ref upstream() const noexcept { return memory_.upstream(); }

    /// The handle of each row, in row order.
    [[nodiscard]] std::span<const Handle> handles() const noexcept { return {rows(), size()}; }

    [[nodiscard]] Handle handle_at(std::size_t row) const noexcept {
        CAIRN_ASSERT(row < size(), "a row is below size()");
        return rows()[row];
    }

    /// The row that `h` names now; none when it is stale, null or from elsewhere.
    [[nodiscard]] std::uint32_t row_of(Handle h) const noexcept {
        return slots_.find(h.index(), h.generation());
    }

    /// The same as a question: true, and `row` is where `h` lives.
    [[nodiscard]] bool find_row(Handle h, std::uint32_t& row) const noexcept {
        return slots_.find(h.index(), h.generation(), row);
    }

    /// Why `h` finds nothing; none when it finds its row. Any handle may be asked for. Cold.
    [[nodiscard]] handle_fault fault_of(Handle h) const noexcept {
        return slots_.fault_of(h.index(), h.generation());
    }
    /// Stops the program and names what is wrong with `h`, a handle of `map`. Requires: it finds nothing.
    [[noreturn, gnu::cold, gnu::noinline]] void refuse(Handle h, const void* map,
                                                       call_site from) const {
        slots_.refuse(h.index(), h.generation(), map, "slot_map", from);
    }

    /// Room for `count` rows, so that the next insertions up to there never allocate here.
    /// Returns: false when exhausted or when the handle has too few index bits.
    [[nodiscard]] bool reserve(std::size_t count) noexcept {
        return slots_.reserve(count) && grow_rows(count, false);
    }

    /// Grows in place from now on, up to `count_max` rows or a few more. Requires: nothing was inserted yet.
    /// Returns: false for 0, for more than the handle can name, and when the system refuses.
    [[nodiscard]] bool reserve_address_space(std::size_t count_max) noexcept {
        CAIRN_ASSERT(slots_.capacity() == 0, "addresses are reserved before the first insertion");
        return count_max != 0 && count_max <= row_count_max &&
               slots_.reserve_address_space(count_max) &&
               memory_.reserve_address_space(count_max * sizeof(Handle));
    }

    /// The handle that the next insertion will have; room for it is made. Nothing visible changes.
    /// Returns: the null handle when exhausted.
    [[nodiscard]] Handle next_handle() noexcept {
        if (!make_room() || !slots_.prepare()) [[unlikely]] { return {}; }
        const std::uint32_t slot = slots_.peek();
        return Handle::make(slot, slots_.generation(slot));
    }

    /// Columns of the owner that have room for `row_max` rows. With this told, is_ready() answers for
    /// them and for the directory in one comparison, and the fast way in is
    ///     if (is_ready()) { h = ready_handle(); build row size(); commit(h); } else { the slow way }
    void set_row_max(std::size_t row_max) noexcept {
        slots_.set_live_max(row_max < capacity_ ? row_max : capacity_);
    }
    [[nodiscard]] bool is_ready() const noexcept { return slots_.is_ready(); }
    /// next_handle() without its checks. Requires: is_ready(), after set_row_max().
    [[nodiscard]] Handle ready_handle() noexcept {
        const std::uint32_t slot = slots_.peek();
        return Handle::make(slot, slots_.generation(slot));
    }

    /// `h` comes alive in row size(). Requires: h == next_handle().
    void commit(Handle h) noexcept {
        const std::uint32_t row = size();
        slots_.occupy(h.index(), h.generation(), row);
        rows()[row] = h;
    }

    /// Row `row` ends its life and the last row takes its place; its handle leads there from now on.
    void erase_row(std::size_t row) noexcept {
        CAIRN_ASSERT(row < size(), "a row is below size()");
        erase_row(row, rows()[row]);
    }

    /// The same for a caller who knows the handle of the row already: row_of(h) == row.
    void erase_row(std::size_t row, Handle h) noexcept {
        CAIRN_ASSERT(row_of(h) == row, "the handle is that of the row");
        const Handle last = rows()[size() - 1];
        rows()[row] = last;
        slots_.set_value(last.index(), static_cast<std::uint32_t>(row));  // row may be the last
        slots_.vacate_live(h.index(), h.generation());
    }

    // ---- a handle now, the object later -------------------------------------------------------

    /// A handle that finds nothing until commit_held(). Returns: null when exhausted.
    [[nodiscard]] Handle hold() noexcept {
        const std::uint32_t slot = slots_.next();
        if (slot == none) [[unlikely]] { return {}; }
        const Handle h = Handle::make(slot, slots_.generation(slot));
        slots_.hold(slot);
        return h;
    }
    [[nodiscard]] bool is_held(Handle h) const noexcept {
        return slots_.is_held(h.index(), h.generation());
    }
    /// Makes room for one more row, for commit_held(). Returns: false when exhausted.
    [[nodiscard]] bool make_room() noexcept {
        return size() < capacity_ || grow_rows(std::size_t{size()} + 1, true);
    }
    /// `h` comes alive in row size(). Requires: is_held(h); make_room() returned true.
    void commit_held(Handle h) noexcept {
        const std::uint32_t row = size();
        slots_.fulfil(h.index(), row);
        rows()[row] = h;
    }
    /// Requires: is_held(h). The handle is stale from now on.
    void abandon(Handle h) noexcept {
        CAIRN_ASSERT(is_held(h), "only a handle that is held can be abandoned");
        slots_.vacate(h.index());
    }

    // ---- many rows at once ---------------------------------------------------------------------

    /// Every handle is stale from now on, held ones too. O(rows).
    void clear() noexcept {
        for (std::uint32_t r = size(); r != 0; --r) { slots_.vacate(rows()[r - 1].index()); }
        slots_.vacate_held();
    }

    /// Exchanges two rows; handles follow their objects.
    void swap_rows(std::size_t a, std::size_t b) noexcept {
        CAIRN_ASSERT(a < size() && b < size(), "a row is below size()");
        const Handle first = rows()[a];
        rows()[a] = rows()[b];
        rows()[b] = first;
        slots_.set_value(rows()[a].index(), static_cast<std::uint32_t>(a));
        slots_.set_value(rows()[b].index(), static_cast<std::uint32_t>(b));
    }

    /// Row r becomes what row order[r] was, for all rows; handles follow. O(rows).
    /// Requires: `order` is a permutation of 0 ... size() - 1; `scratch` holds size() handles.
    void permute(const std::uint32_t* order, Handle* scratch) noexcept {
        for (std::uint32_t r = 0; r < size(); ++r) { scratch[r] = rows()[order[r]]; }
        for (std::uint32_t r = 0; r < size(); ++r) {
            rows()[r] = scratch[r];
            slots_.set_value(scratch[r].index(), r);
        }
    }

    /// See slot_directory::recycle_retired.
    std::uint32_t recycle_retired(no_handles_left_t proof) noexcept {
        return slots_.recycle_retired(proof);
    }

    /// O(slots). A broken invariant stops a checked build.
    void validate() const noexcept {
        slots_.validate();
        CAIRN_ASSERT(slots_.in_use_count() == size() + slots_.held_count(),
                     "every slot in use has a row or is held");
        for (std::uint32_t r = 0; r < size(); ++r) {
            CAIRN_ASSERT(row_of(rows()[r]) == r, "slot and row lead to each other");
        }
    }

private:
    Handle* rows() const noexcept { return reinterpret_cast<Handle*>(memory_.data()); }

    bool grow_rows(std::size_t count, bool geometric) noexcept {
        if (count <= capacity_) { return true; }
        if (count > row_count_max) { return false; }
        const std::size_t wish =
            geometric && !memory_.is_reserved() ? grown_count(capacity_, count) : count;
        const auto attempt = [this](std::size_t rows) {
            return memory_.grow(rows * sizeof(Handle), size() * sizeof(Handle));
        };
        if (grow_by_halves(capacity_, count, wish, attempt) == 0) { return false; }
        const std::size_t fitting = memory_.size() / sizeof(Handle);
        capacity_ = static_cast<std::uint32_t>(fitting < row_count_max ? fitting : row_count_max);
        return true;
    }

    slot_directory<Order> slots_;
    growable_memory memory_;
    std::uint32_t capacity_ = 0;
};

}  // namespace cairn::inline CAIRN_FLAVOUR
