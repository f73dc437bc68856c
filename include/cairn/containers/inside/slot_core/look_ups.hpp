// cairn/containers/inside/slot_core/look_ups.hpp - finding rows by handle, and going over all of
// them.
//
//      h  ->  slot of h  ->  row       contains  []  at  dense_index  fault_of
//      row  ->  handle                 handle_at  handle_of  handles
//      all rows, in row order          begin ... crend  for_each  items  ==
//
// The part of slot_core that changes nothing. find() is the map's own: slot_map returns a pointer,
// slot_table a row.
//
// Cost:    a look-up: bounds check, 8-byte load, compare. A loop: that of the rows.
// Threads: from many at once, while no thread changes the map.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <cairn/containers/inside/slot_core/rows_in_step.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/storage/index_iterator.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

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

template <class Parts, class Policy>
class slot_look_ups : public rows_in_step<Parts, Policy> {
    using base = rows_in_step<Parts, Policy>;

protected:
    using base::base;
    using base::find_row, base::live_row, base::row_of, base::found_or_stop;
    using base::slots_, base::rows_, base::handle_rows, base::own, base::rows_are_objects;
    using typename base::rows_type;

public:
    using base::size, base::upstream;
    using typename base::handle_type, typename base::value_type;
    using key_type = handle_type;  // the names of P0661
    using mapped_type = value_type;
    using difference_type = std::ptrdiff_t;
    using reference = decltype(std::declval<rows_type&>()[0]);
    using const_reference = decltype(std::declval<const rows_type&>()[0]);
    using iterator = typename Parts::iterator;
    using const_iterator = typename Parts::const_iterator;
    using reverse_iterator = std::reverse_iterator<iterator>;
    using const_reverse_iterator = std::reverse_iterator<const_iterator>;

    // ---- finding ------------------------------------------------------------------------------

    [[nodiscard]] bool contains(handle_type h) const noexcept {
        std::uint32_t row;
        return find_row(h, row);
    }
    /// Requires: contains(h). Any other handle stops a checked build, which says what is wrong with
    /// it: null, of another map, not fulfilled yet, stale, and where it was asked for.
    [[nodiscard]] [[gnu::always_inline]] reference operator[](asked<handle_type> h) noexcept {
        return own_row(rows_, h, live_row(h, line_of(h)));
    }
    [[nodiscard]] [[gnu::always_inline]] const_reference operator[](
        asked<handle_type> h) const noexcept {
        return own_row(rows_, h, live_row(h, line_of(h)));
    }
    /// As operator[], and a handle that finds nothing stops every build.
    [[nodiscard]] reference at(handle_type h, call_site from = call_site::current()) noexcept {
        return own_row(rows_, h, found_or_stop(h, from));
    }
    [[nodiscard]] const_reference at(handle_type h,
                                     call_site from = call_site::current()) const noexcept {
        return own_row(rows_, h, found_or_stop(h, from));
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
    friend bool operator==(const slot_look_ups& a, const slot_look_ups& b)
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

protected:
    template <class Rows>
    [[nodiscard]] [[gnu::always_inline]] static decltype(auto) own_row(Rows& rows, handle_type h,
                                                                       std::size_t row) noexcept {
        if constexpr (rows_are_objects) {
            return *own(h, __builtin_addressof(rows[row]));
        } else {
            return rows[row];
        }
    }
    [[nodiscard]] std::size_t row_number(const_iterator where) const noexcept {
        return static_cast<std::size_t>(where - cbegin());
    }

private:
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
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
