// cairn/containers/attached_column.hpp - a column of another owner beside a table, kept in step.
//
//      table:      | position ... | velocity ... | life ... |      one owner, one allocation
//      attached:   | heat  h0 h1 h2 ... |                         another owner and allocation
//
//      cairn::attached_column<float> heat{particles};
//      particles.swap_erase(3);                  heat[3] is the moved row's heat
//
// A system attaches a value per row that does not belong into the row's struct. New rows get the
// initial value. Whatever the table does to its rows (erasing, inserting, swap_rows, sorting), it
// does to the values, too. std::ranges::sort and swap(t[i], t[j]) write the fields of rows from
// outside: the values stay where they are then. Works on table and on slot_table.
//
// Use it for: data of one system (physics, audio) about rows that another one owns.
// Look elsewhere for: data that belongs to the row: a field.
//
// Invariant: size() is the number of rows. T is trivially copyable.
// Invalidates: growth ends values() and references, as in the table; beside a table that lives in
//            reserved addresses (reserve_address_space) the column takes addresses too, and nothing
//            moves.
// Cost:      one indirect call per attached column when a row is added or moved; none without. Two
//            values a row: the second half is room to sort in.
// Memory:    a peak of the table keeps its memory until shrink_to_fit(), here and in the table.
// Lifetimes: the column detaches itself at its end; when the table ends first, the column is empty.
//            A moved table takes its attached columns along.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <cairn/containers/table.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/storage/inside/growable_memory.hpp>
#include <cairn/storage/inside/growth.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

template <detail::element T>
class attached_column {
    static_assert(std::is_trivially_copyable_v<T>, "attached values are copied as bytes");

public:
    /// Attaches to `rows`; rows that exist already get `initial`.
    /// is_attached() is false when the allocator is exhausted.
    template <class Table>
    explicit attached_column(Table& rows, T initial = {}, allocator_ref upstream = system_memory())
        : memory_{column_alignment, upstream}, initial_{initial} {
        link_.self = this;
        link_.reserve = [](detail::table_follower& f, std::size_t capacity) noexcept {
            return self(f).make_room(*self(f).rows_, capacity);
        };
        link_.added = [](detail::table_follower& f, std::size_t first, std::size_t count) noexcept {
            attached_column& c = self(f);
            for (std::size_t i = first; i < first + count; ++i) { c.data()[i] = c.initial_; }
        };
        link_.moved = [](detail::table_follower& f, std::size_t to, std::size_t from,
                         std::size_t count) noexcept {
            compiler::move_bytes(self(f).data() + to, self(f).data() + from, count * sizeof(T));
        };
        link_.swapped = [](detail::table_follower& f, std::size_t a, std::size_t b) noexcept {
            const T held = self(f).data()[a];
            self(f).data()[a] = self(f).data()[b];
            self(f).data()[b] = held;
        };
        link_.permuted = [](detail::table_follower& f, const std::uint32_t* order,
                            std::size_t count) noexcept {
            T* const now = self(f).data();
            T* const old = now + self(f).capacity_;  // the second half is scratch
            for (std::size_t i = 0; i < count; ++i) { old[i] = now[i]; }
            for (std::size_t i = 0; i < count; ++i) { now[i] = old[order[i]]; }
        };
        link_.rehomed = [](detail::table_follower& f, void* table) noexcept {
            self(f).rows_ = static_cast<detail::table_memory*>(table);
        };
        detail::table_memory& m = rows.rows_memory();
        if (!make_room(m, m.capacity)) { return; }
        rows_ = &m;
        m.follow(link_);
        link_.added(link_, 0, m.size);
    }
    ~attached_column() {
        if (rows_ != nullptr) { rows_->unfollow(link_); }
    }
    attached_column(const attached_column&) = delete;
    attached_column& operator=(const attached_column&) = delete;

    /// False once its rows have ended.
    [[nodiscard]] bool is_attached() const noexcept { return rows_ != nullptr; }
    [[nodiscard]] std::size_t size() const noexcept { return rows_ != nullptr ? rows_->size : 0; }
    /// The value of row i. Requires: i < size().
    [[nodiscard]] T& operator[](std::size_t i) noexcept {
        CAIRN_ASSERT(i < size(), "a column is read inside its rows",
                     detail::beyond_end(this, "attached_column", i, size()));
        return data()[i];
    }
    [[nodiscard]] const T& operator[](std::size_t i) const noexcept {
        CAIRN_ASSERT(i < size(), "a column is read inside its rows",
                     detail::beyond_end(this, "attached_column", i, size()));
        return data()[i];
    }
    /// The values of all rows, from a cache line on.
    [[nodiscard]] std::span<T> values() noexcept { return {data(), size()}; }
    [[nodiscard]] std::span<const T> values() const noexcept { return {data(), size()}; }
    /// Rows whose values have memory.
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

    /// Gives back what the rows for which the table has memory do not need; all of it when the
    /// table has ended. To give back what a peak took, shrink the table first. values() and
    /// references end. Cost: copies each value, unless the memory shrinks where it stands: inside
    /// reserved addresses, where pages go and the addresses stay.
    /// Returns: false when the upstream has no smaller block; nothing has changed then.
    [[nodiscard]] bool shrink_to_fit() noexcept {
        const std::size_t rows = rows_ != nullptr ? rows_->capacity : 0;
        if (rows >= capacity_) { return true; }
        detail::growable_memory::left_block old;
        if (!memory_.shrink(2 * rows * sizeof(T), &old)) { return false; }
        capacity_ = rows;
        return true;
    }

private:
    struct link : detail::table_follower {
        attached_column* self = nullptr;
    };
    [[nodiscard]] static attached_column& self(detail::table_follower& f) noexcept {
        return *static_cast<link&>(f).self;
    }
    static constexpr alignment column_alignment{alignof(T) > cache_line_size ? alignof(T)
                                                                             : cache_line_size};
    [[nodiscard]] T* data() const noexcept { return reinterpret_cast<T*>(memory_.data()); }

    /// Twice the rows: values, and the scratch that permuting needs and may not fail to get.
    [[nodiscard]] bool make_room(const detail::table_memory& rows, std::size_t capacity) noexcept {
        if (capacity <= capacity_) { return true; }
        if (capacity_ == 0 && rows.is_reserved && rows.pitch <= SIZE_MAX / 2 / sizeof(T)) {
            // Refused: it grows as beside any other table.
            (void)memory_.reserve_address_space(2 * rows.pitch * sizeof(T));
        }
        if (memory_.is_reserved()) { return grow(capacity); }
        // A table inside reserved addresses grows by small steps; copying at each would be O(n^2).
        const std::size_t twice = capacity_ <= SIZE_MAX / 2 ? 2 * capacity_ : capacity;
        return detail::grow_by_halves(capacity_, capacity, capacity > twice ? capacity : twice,
                                      [this](std::size_t count) { return grow(count); }) != 0;
    }
    [[nodiscard]] bool grow(std::size_t capacity) noexcept {
        if (capacity > SIZE_MAX / 2 / sizeof(T)) { return false; }
        if (!memory_.grow(2 * capacity * sizeof(T), size() * sizeof(T))) { return false; }
        capacity_ = capacity;
        return true;
    }

    detail::growable_memory memory_;
    std::size_t capacity_ = 0;  // rows
    detail::table_memory* rows_ = nullptr;
    T initial_;
    link link_;
};

}}  // namespace cairn::CAIRN_FLAVOUR
