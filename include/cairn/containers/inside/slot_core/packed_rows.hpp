// cairn/containers/inside/slot_core/packed_rows.hpp - what slot_core asks of the rows that it
// keeps in step.
//
//      row:      0     1     2               size()                capacity()
//              +-----+-----+-----+ - - - - +-----+ - - - - - - - - +
//              |  a  |  b  |  c  |         |     |   room          |
//              +-----+-----+-----+ - - - - +-----+ - - - - - - - - +
//
//      swap_erase(1)    row 1 becomes c: packed again, in another order
//
// packed_array<T> has rows that are objects, table<Row, Layout> rows that are columns. A reader of
// slot_core needs this list of them and no more.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <cairn/os/page_memory.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

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

/// The fields of a row of references, moved out: out here, where `take` is that of the rows.
template <class Reference>
[[nodiscard]] auto taken_from(Reference&& row) {
    return take(row);
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
