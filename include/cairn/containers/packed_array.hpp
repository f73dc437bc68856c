// cairn/containers/packed_array.hpp - contiguous, unordered: the last one moves into the hole.
//
//      +---+---+---+---+---+ - - - +         swap_erase(1)     +---+---+---+---+ - - - +
//      | a | b | c | d | e |       |         ------------>     | a | e | c | d |       |
//      +---+---+---+---+---+ - - - +       {from 4, to 1}      +---+---+---+---+ - - - +
//      0                   size()  capacity()
//
// Iteration is a pointer increment over exactly the live objects. Erasing returns which object
// moved, so that a program that stores row numbers can correct them.
//
// Use it for: objects that are all visited every frame and that have no references from outside.
// Look elsewhere for: references that survive erasing (slot_map), addresses that stay
//                     (stable_slot_map), order (std::vector).
//
// Invariant: rows 0 ... size() - 1 are alive, the rest of the capacity is poisoned.
// Cost:      emplace: one compare, one construction in place; a T{...} written in the call needs no
//            memory of its own. swap_erase: one move, one destruction. Growth moves every object
//            once; after reserve_address_space() it moves none.
// References die on growth (not inside reserved addresses); erasing renames the last row only.
// Re-entrancy: constructors, moves and destructors of objects may read this array and must not
//              change it.
// Threads:   one at a time; reading from many.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include <cairn/containers/batches.hpp>
#include <cairn/containers/inside/ranges.hpp>
#include <cairn/containers/inside/sort_rows.hpp>
#include <cairn/containers/packed_array/memory.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/poison.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// What erasing did to the rows. from == to: the last row was erased and nothing moved.
struct moved_row {
    std::size_t from;  // the row that was last
    std::size_t to;    // where it lives now
    /// True when a row moved.
    [[nodiscard]] bool any() const noexcept { return from != to; }
};

/// What a visitor of for_each_erasing() wants done with the object it has just seen.
enum class after_visit { keep, erase };

/// What is below, and what packed_array/memory.hpp says of any packed objects: data, size,
/// capacity, empty, upstream, reserve, reserve_address_space, clear, validate.
template <class T>
class packed_array : public detail::packed_memory<T> {
    static_assert(std::is_move_constructible_v<T>,
                  "rows move when others are erased; stable_slot_map keeps objects where they are");
    using memory = detail::packed_memory<T>;
    using memory::build, memory::rows, memory::size_, memory::capacity_;

public:
    using memory::clear, memory::reserve, memory::size, memory::upstream;
    using memory::memory;
    using value_type = T;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = T&;
    using const_reference = const T&;
    using pointer = T*;
    using const_pointer = const T*;
    using iterator = T*;
    using const_iterator = const T*;

    // ---- reading ------------------------------------------------------------------------------

    /// All objects. Starts at a cache line. Dies with the next growth.
    [[nodiscard]] std::span<T> values() noexcept { return {rows(), size_}; }
    [[nodiscard]] std::span<const T> values() const noexcept { return {rows(), size_}; }

    /// values() in pieces of about `rows_per_batch` whose boundaries share no cache line.
    [[nodiscard]] row_batches<std::span<T>> batches(std::size_t rows_per_batch) noexcept {
        return {values(), rows_per_batch};
    }
    [[nodiscard]] row_batches<std::span<const T>> batches(
        std::size_t rows_per_batch) const noexcept {
        return {values(), rows_per_batch};
    }

    [[nodiscard]] T* begin() noexcept { return rows(); }
    [[nodiscard]] T* end() noexcept { return rows() + size_; }
    [[nodiscard]] const T* begin() const noexcept { return rows(); }
    [[nodiscard]] const T* end() const noexcept { return rows() + size_; }

    /// Requires: row < size().
    [[nodiscard]] [[gnu::always_inline]] T& operator[](std::size_t row) noexcept {
        CAIRN_ASSERT(row < size_, "a row is below size()",
                     detail::beyond_end(this, "packed_array", row, size_));
        return rows()[row];
    }
    [[nodiscard]] [[gnu::always_inline]] const T& operator[](std::size_t row) const noexcept {
        CAIRN_ASSERT(row < size_, "a row is below size()",
                     detail::beyond_end(this, "packed_array", row, size_));
        return rows()[row];
    }

    // ---- copying ------------------------------------------------------------------------------

    /// Becomes a copy of `other`, in memory of its own upstream. (storage/clone.hpp: a copy by
    /// value.)
    /// Returns: false when exhausted; the array is empty or unchanged then.
    /// Throws:  what copying a T throws; the array holds some of the copies then.
    [[nodiscard]] bool copy_from(const packed_array& other) {
        if (this == &other) { return true; }
        if (!reserve(other.size_)) { return false; }
        clear();
        for (const T& object : other) { emplace_in_room(object); }
        return true;
    }
    /// True when both hold equal objects in the same rows.
    friend bool operator==(const packed_array& a, const packed_array& b)
        requires std::equality_comparable<T>
    {
        bool are_equal = a.size_ == b.size_;
        for (std::size_t i = 0; are_equal && i < a.size_; ++i) { are_equal = a[i] == b[i]; }
        return are_equal;
    }

    // ---- changing -----------------------------------------------------------------------------

    /// A new object in row size(), built in place. `args` may refer to objects of this array.
    /// Returns: nullptr when exhausted; nothing has changed then.
    /// Throws:  what T's constructor throws; nothing has changed then.
    template <class... Args>
    [[nodiscard, gnu::always_inline]] T* emplace(Args&&... args) {
        return memory::template add<std::is_nothrow_constructible_v<T, Args...>>(
            [&](T* row) { return build(row, std::forward<Args>(args)...); });
    }

    /// As emplace, for a caller who knows that there is room. Requires: size() < capacity().
    template <class... Args>
    [[gnu::always_inline]] T* emplace_in_room(Args&&... args) {
        CAIRN_ASSERT(size_ < capacity_, "there is room");
        T* const object = build(rows() + size_, std::forward<Args>(args)...);
        ++size_;
        return object;
    }

    /// As emplace, for a caller who knows that there is none, or probably none.
    template <class... Args>
    [[gnu::always_inline]] T* emplace_growing(Args&&... args) {
        return memory::template add_growing<std::is_nothrow_constructible_v<T, Args...>>(
            [&](T* row) { return build(row, std::forward<Args>(args)...); });
    }

    /// As emplace, in the words of table: true, or false when exhausted.
    template <class... Args>
    [[nodiscard, gnu::always_inline]] bool emplace_back(Args&&... args) {
        return emplace(std::forward<Args>(args)...) != nullptr;
    }
    [[nodiscard, gnu::always_inline]] bool push_back(const T& value) { return emplace_back(value); }
    [[nodiscard, gnu::always_inline]] bool push_back(T&& value) {
        return emplace_back(std::move(value));
    }

    /// As emplace, but the object is what `make()` returns, built in place (no copy, no move).
    template <class Make>
    [[nodiscard]] T* emplace_from(Make&& make) {
        return memory::template add<noexcept(T(std::forward<Make>(make)()))>([&](T* row) {
            unpoison(row, sizeof(T));
            return ::new (static_cast<void*>(row)) T(std::forward<Make>(make)());
        });
    }

    /// Destroys row `row`; the last object moves there.
    /// Returns: which row moved where. Throws: only what a throwing move throws; the number of
    /// objects is unchanged then.
    /// Requires: row < size().
    moved_row swap_erase(std::size_t row) {
        CAIRN_ASSERT(row < size_, "a row is below size()",
                     detail::beyond_end(this, "packed_array", row, size_));
        T* const hole = rows() + row;
        T* const last = rows() + (size_ - 1);
        if constexpr (std::is_trivially_copyable_v<T> && std::is_copy_assignable_v<T>) {
            *hole = *last;  // maybe itself: a copy costs less than the question
        } else if (hole != last) {
            detail::replace(*hole, *last);
        }
        last->~T();
        poison(last, sizeof(T));
        --size_;
        return {size_, row};
    }

    /// Erases `*where`. Returns: the same position, where the moved object is still to be visited:
    ///     for (auto it = a.begin(); it != a.end();) { it = dead(*it) ? a.erase(it) : it + 1; }
    T* erase(const T* where) {
        const auto row = static_cast<std::size_t>(where - rows());
        swap_erase(row);
        return rows() + row;
    }

    /// Erases every object that `predicate` is true for. One pass; each object is asked once.
    /// Returns: how many.
    template <class Predicate>
    std::size_t erase_if(Predicate&& predicate) {
        return for_each_erasing(
            [&](T& object) { return predicate(object) ? after_visit::erase : after_visit::keep; });
    }

    /// Calls f(object) for every object, by row. `f` must not change this array.
    template <class F>
    void for_each(F&& f) {
        for (T *row = begin(), *last = end(); row != last; ++row) { f(*row); }
    }
    template <class F>
    void for_each(F&& f) const {
        for (const T *row = begin(), *last = end(); row != last; ++row) { f(*row); }
    }

    /// Calls `f(object)` once for every object; `f` says whether it stays. Objects that `f` inserts
    /// are visited too. Returns: how many were erased.
    template <class F>
    std::size_t for_each_erasing(F&& f) {
        std::size_t erased_count = 0;
        for (std::size_t row = 0; row < size_;) {
            if (f(rows()[row]) == after_visit::erase) {
                swap_erase(row);
                ++erased_count;
            } else {
                ++row;
            }
        }
        return erased_count;
    }

    void swap(packed_array& other) noexcept { std::swap(*this, other); }
    friend void swap(packed_array& a, packed_array& b) noexcept { a.swap(b); }

    /// Exchanges two rows.
    void swap_rows(std::size_t a, std::size_t b) {
        using std::swap;
        swap((*this)[a], (*this)[b]);
    }

    /// Sorts the objects with less(a, b), stable. Each object moves once.
    /// Returns: false when there is no memory for 8 bytes a row; nothing has changed then.
    template <class Less>
    [[nodiscard]] bool sort(Less&& less) {
        const T* const objects = rows();
        return detail::sort_rows(size_, upstream(), detail::compared_order{objects, less, size_}, 0,
                                 [this](auto order, void*) { return permute(order); });
    }

    /// Row r becomes what row order[r] was. O(size), one move a row and one more per cycle.
    /// `order` is the identity afterwards. Returns: true, as permutations in place need no memory.
    /// Requires: `order` is a permutation of 0 ... size() - 1; moving a T does not throw.
    bool permute(std::span<std::uint32_t> order) noexcept {
        static_assert(std::is_nothrow_move_constructible_v<T>,
                      "objects that are sorted have moves that do not throw");
        CAIRN_ASSERT(order.size() == size_ && detail::names_each_once(order.data(), size_),
                     "a permutation names every row once");
        detail::permute_range(order.data(), size_,
                              [this](std::size_t row) -> T& { return rows()[row]; });
        return true;
    }
};

}}  // namespace cairn::CAIRN_FLAVOUR
