// cairn/containers/inside/sort_rows.hpp - rows change their places: finding an order, and moving
// each row once.
//
//      rows:    d  a  c  b          order: 1 3 2 0      row r becomes what row order[r] was
//
//      scratch: | what the order needs | the new order | what `use` needs |
//
//      sort_rows        1. find_order(order, scratch)   compared_order by comparisons, key_order
//                                                       (key_order.hpp) by the keys of a column
//                       2. use(order, spare)            moves the rows, and what belongs to them
//      sort_indices     a stable merge sort over 32-bit row numbers
//      permute_range    moves the elements of one array, in place, along the cycles of the order
//      construct_range  moves the elements of one array to other memory
//
// packed_array and the columns of a table have these in common. std::sort is not used: <algorithm>
// is one of the heaviest headers, and this order is stable and the same on every platform.
//
// Moves of elements are taken as noexcept: a move that throws ends the program.
//
// Cost: n log2 n comparisons at most; one move a row, and one more a cycle. One allocation, at the
//       beginning: when it is refused, nothing has changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include <cairn/core/alignment.hpp>
#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/inside/rollback.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// erase_if() asks for so many rows before it moves any of them.
inline constexpr std::size_t asked_rows_max = 256;

/// How many rows stay before the first that is erased.
[[nodiscard]] inline std::size_t staying_in_front(const bool* is_erased,
                                                  std::size_t count) noexcept {
    std::size_t row = 0;
    for (std::uint64_t eight; row + 8 <= count; row += 8) {
        compiler::copy_bytes<8>(&eight, is_erased + row);
        if (eight != 0) { break; }
    }
    while (row != count && !is_erased[row]) { ++row; }
    return row;
}

/// `hole` gets the value of `from`: by assignment, unless only the constructor is marked noexcept.
template <class T>
void replace(T& hole, T& from) noexcept {
    if constexpr (std::is_move_assignable_v<T> && (std::is_nothrow_move_assignable_v<T> ||
                                                   !std::is_nothrow_move_constructible_v<T>)) {
        hole = std::move(from);
    } else {
        hole.~T();
        ::new (static_cast<void*>(compiler::address_of(hole))) T(std::move(from));
    }
}

/// Builds to[0 ... count) from from[0 ... count), whose objects stay to be destroyed.
template <class T>
void construct_range(T* to, T* from, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
        ::new (static_cast<void*>(to + i)) T(std::move(from[i]));
    }
}

/// element(r) becomes what element(order[r]) was; `order` is the identity afterwards.
/// Requires: `order` is a permutation of 0 ... count - 1.
template <class Element>
void permute_range(std::uint32_t* order, std::size_t count, Element element) noexcept {
    for (std::uint32_t start = 0; start < count; ++start) {
        if (order[start] == start) { continue; }
        auto held(std::move(element(start)));
        std::uint32_t hole = start;
        while (order[hole] != start) {
            const std::uint32_t from = order[hole];
            detail::replace(element(hole), element(from));
            order[hole] = hole;
            hole = from;
        }
        detail::replace(element(hole), held);
        order[hole] = hole;
    }
}

/// Fills `order` with the permutation that sorts 0 ... count - 1 by `less(a, b)`.
/// `scratch` holds `count` more. An exception of `less` passes through; only `order` and `scratch`
/// have changed then.
template <class Less>
void sort_indices(std::uint32_t* order, std::uint32_t* scratch, std::size_t count, Less&& less) {
    //      | 8 | 8 | 8 | 8 | 8 | 3 |      sorted by insertion
    //      |  16   |  16   |  11   |      merged from `order` into `scratch`, and back, in turn
    //      |      32       |  11   |
    constexpr std::size_t run = 8;
    for (std::size_t first = 0; first < count; first += run) {
        const std::size_t last = count - first < run ? count : first + run;
        for (std::size_t i = first; i < last; ++i) {
            const auto moving = static_cast<std::uint32_t>(i);
            std::size_t hole = i;
            for (; hole > first && less(moving, order[hole - 1]); --hole) {
                order[hole] = order[hole - 1];
            }
            order[hole] = moving;
        }
    }
    std::uint32_t* from = order;
    std::uint32_t* to = scratch;
    for (std::size_t width = run; width < count; width *= 2) {
        for (std::size_t first = 0; first < count; first += 2 * width) {
            const std::size_t middle = count - first < width ? count : first + width;
            const std::size_t last = count - middle < width ? count : middle + width;
            std::size_t a = first;
            std::size_t b = middle;
            for (std::size_t out = first; out < last; ++out) {
                // The right one only when it is really less: equal rows keep their order.
                const bool right = a == middle || (b != last && less(from[b], from[a]));
                to[out] = right ? from[b++] : from[a++];
            }
        }
        std::swap(from, to);
    }
    if (from != order) {
        for (std::size_t i = 0; i < count; ++i) { order[i] = from[i]; }
    }
}

/// True when order[0 ... count - 1] names each of 0 ... count - 1 once: for asserts. The highest
/// bit of order[r] is set meanwhile when r was named; afterwards it is as before. More than 2^31
/// rows are not checked.
[[nodiscard]] bool names_each_once(std::uint32_t* order, std::size_t count) noexcept;

/// The order of `rows`, to be read as rows[n], by less(row, row).
template <class Rows, class Less>
struct compared_order {
    Rows rows;
    Less& less;
    std::size_t count;

    using row = decltype(rows[std::size_t{}]);
    static constexpr bool compares = std::is_invocable_r_v<bool, Less&, row, row>;
    static_assert(compares, "the order compares two rows: const auto&");

    /// Bytes that the order needs for itself.
    [[nodiscard]] std::size_t scratch_size() const noexcept {
        return count * sizeof(std::uint32_t);
    }
    void operator()(std::uint32_t* order, void* scratch) const {
        if constexpr (compares) {
            detail::sort_indices(
                order, static_cast<std::uint32_t*>(scratch), count,
                [&](std::uint32_t a, std::uint32_t b) { return less(rows[a], rows[b]); });
        }
    }
};
template <class Rows, class Less>
compared_order(Rows, Less&, std::size_t) -> compared_order<Rows, Less>;

/// Finds the order of `count` rows and calls use(order, spare): `spare` is `spare_size` bytes.
/// Returns: what `use` returns; true, without a call, for one row; false when `upstream` is
///          exhausted, nothing has changed then.
template <class FindOrder, class Use>
[[nodiscard]] bool sort_rows(std::size_t count, allocator_ref upstream, FindOrder find_order,
                             std::size_t spare_size, Use use) {
    if (count < 2) { return true; }
    CAIRN_ASSERT(count <= UINT32_MAX, "at most 2^32 - 1 rows are sorted");
    const std::size_t order_at =
        cairn::detail::round_up(find_order.scratch_size(), cache_line_alignment);
    const std::size_t spare_at =
        order_at + cairn::detail::round_up(count * sizeof(std::uint32_t), cache_line_alignment);
    const std::size_t size = spare_at + spare_size;
    auto* const scratch = static_cast<std::byte*>(upstream.allocate(size, cache_line_alignment));
    if (scratch == nullptr) { return false; }
    const rollback free{
        [&]() noexcept { upstream.deallocate(scratch, size, cache_line_alignment); }};
    const std::span order{reinterpret_cast<std::uint32_t*>(scratch + order_at), count};
    find_order(order.data(), static_cast<void*>(scratch));
    return use(order, static_cast<void*>(scratch + spare_at));
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
