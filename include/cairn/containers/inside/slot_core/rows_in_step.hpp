// cairn/containers/inside/slot_core/rows_in_step.hpp - rows, their handles and their slots change
// together.
//
//      slots_       handle -> row        [ 0 ][ - ][ 1 ][ 2 ]      slot_directory
//      handles_     row -> handle        [ h0 ][ h2 ][ h3 ]
//      rows_        row -> object        [ a  ][ c  ][ d  ]        packed_rows.hpp
//
//      insertion    next_handle()     room in all three, and the next free slot's handle
//                   (the row is built)
//                   commit()          handle and slot learn of it
//      erasure      erase_row()       the last row moves into the hole; its slot learns of it; the
//                                     slot of the row ends its life
//
// A constructor or a move that throws in between leaves handles and slots as they were.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <cairn/containers/inside/slot_core/packed_rows.hpp>
#include <cairn/containers/inside/sort_rows.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/inside/moved.hpp>
#include <cairn/storage/growable_memory.hpp>
#include <cairn/storage/slot_directory.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// An object that knows the handle by which its map finds it (emplace_with).
template <class T, class Handle>
concept tells_its_handle = requires(const T& object) {
    { object.handle() } -> std::same_as<Handle>;
};

/// Asks the policy before its handles, so that a wrong width is told in one sentence.
template <class Policy, class Handle>
consteval reuse order_of_policy() noexcept {
    if constexpr (requires { Policy::generation_bits; }) {
        return order_for(Policy::order, Policy::generation_bits);
    } else {
        return order_for(Policy::order, Handle::generation_bits);
    }
}

/// Parts: the row type `value`, its `rows`, `iterator` and `const_iterator`, an `array` of
/// anything, and the map's `name` in reports.
template <class Parts, class Policy>
class rows_in_step {
public:
    using handle_type = typename Policy::template handle_type<typename Parts::value>;
    using value_type = typename Parts::value;
    using size_type = std::size_t;

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
    using rows_type = typename Parts::rows;
    static_assert(packed_rows<rows_type>, "rows are kept in step: see packed_rows");
    using row_reference = decltype(std::declval<rows_type&>()[0]);

    rows_in_step(allocator_ref upstream, const slot_map_options& options) noexcept
        : slots_{{static_cast<std::uint32_t>(max_size()), handle_type::generation_max,
                  reuse_order == reuse::lowest ? 0 : Policy::free_min, options.first_generation},
                 upstream},
          handles_{cache_line_alignment, upstream},
          rows_{upstream} {
        slots_.set_live_max(0);
    }

    static constexpr reuse reuse_order = order_of_policy<Policy, handle_type>();
    static constexpr std::uint32_t none = slot_directory_base::none;
    static constexpr bool rows_are_objects = std::is_lvalue_reference_v<row_reference>;
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
    [[nodiscard]] handle_type* handle_rows() const noexcept {
        return reinterpret_cast<handle_type*>(handles_.data());
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
    /// Stops the program and names what is wrong with `h`. Requires: it finds nothing.
    [[noreturn, gnu::cold, gnu::noinline]] void refuse(handle_type h, call_site from) const {
        slots_.refuse(h.index(), h.generation(), this, Parts::name, from);
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
    /// The row of `h` is destroyed, and the last row moves into its place.
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

    /// Rows, handles and slots as in `other`. Requires: nothing was inserted or reserved yet.
    /// Returns: false when exhausted; the rows can only be destroyed then.
    [[nodiscard]] bool copy_rows(const rows_in_step& other) {
        if (!slots_.copy_from(other.slots_) || !grow_handles(other.size(), false) ||
            !rows_.copy_from(other.rows_)) {
            return false;
        }
        for (std::size_t r = 0; r < size(); ++r) { handle_rows()[r] = other.handle_rows()[r]; }
        set_row_max();
        return true;
    }
    /// The rows take the order that `find_order` finds (sort_rows.hpp), and so do their handles.
    template <class FindOrder>
    [[nodiscard]] bool sorted(FindOrder find_order) {
        const auto use = [this](std::span<std::uint32_t> order, void* spare) {
            // Before permute(), which spoils `order`; into a copy, since a refusal there must
            // change no handle.
            auto* const moved_handles = static_cast<handle_type*>(spare);
            for (std::size_t r = 0; r < size(); ++r) { moved_handles[r] = handle_rows()[order[r]]; }
            if (!rows_.permute(order)) { return false; }  // `order` is spoiled from here on
            for (std::size_t r = 0; r < size(); ++r) { lead(r, moved_handles[r]); }
            return true;
        };
        return sort_rows(size(), upstream(), find_order, size() * sizeof(handle_type), use);
    }

    //  for each row r < size():  slots_ finds r with the handle handle_rows()[r]
    //  slots_.live_count() == rows_.size(), but between the two halves of an insertion or erasure
    //  slots_.is_ready() asks for live_count() < min(handle_capacity_, rows_.capacity()), too
    slot_directory<reuse_order> slots_;
    growable_memory handles_;               // of each row
    moved<std::uint32_t> handle_capacity_;  // handles that fit handles_
    rows_type rows_;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
