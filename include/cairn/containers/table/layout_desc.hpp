// cairn/containers/table/layout_desc.hpp - a layout of a row type, for code without the types.
//
//      layout_desc { columns: | size, align, before | size, align, before | ... |  lanes, ... }
//
//      column = one physical array: a field's, a component's, a group's, or the rows' (aos)
//
// table_memory grows, moves, sorts and clears tables by this description, compiled once. Types that
// may not be copied as bytes bring functions.
//
// Cost: a constant per table type; one indirect call per column where elements are no plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cairn/containers/inside/ranges.hpp>
#include <cairn/core/alignment.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Padding between columns, in cache lines: odd. 64-row capacities make columns of 4-byte elements
/// 4 * n lines long, so the distance of two columns is odd and no two of 64 share a cache set.
inline constexpr std::size_t column_skew_lines = 5;

/// Rows that kernels may touch beyond the last one: a register of 64 bytes of floats.
inline constexpr std::size_t tail_rows = 16;

/// One physical array, described for the code in src/ that does not know the types.
struct column_desc {
    std::size_t size;    // bytes of an element
    std::size_t align;   // of an element
    std::size_t before;  // bytes a row (soa) or bytes in the block (aosoa) of the columns before it
    // Null for trivially copyable elements: bytes are copied then.
    void (*construct)(void* to, void* from, std::size_t count);  // moves if that cannot throw
    void (*destroy)(void* first, std::size_t count) noexcept;
    // Element i becomes what order[i] was; spoils order. `lanes` and `block_size` as in
    // layout_desc.
    void (*permute)(void* column, std::size_t lanes, std::size_t block_size, std::uint32_t* order,
                    std::size_t count);
    bool may_throw;
};

/// A layout of a row type, described for the code in src/.
struct layout_desc {
    const column_desc* columns;
    std::size_t column_count;
    std::size_t lanes;       // rows a block; 0: all rows are one block
    std::size_t block_size;  // bytes of a block, or of a row where all rows are one block
    std::size_t line;        // alignment of the allocation and of each column
    std::size_t granule;     // capacities are multiples of this many rows
    std::size_t skew;        // bytes between columns
    std::size_t tail;        // rows readable beyond the last one, rounded: a power of two
};

[[nodiscard]] constexpr std::size_t largest_power_of_two_in(std::size_t value) noexcept {
    return value & (~value + 1);
}

template <class T>
void construct_column(void* to, void* from, std::size_t count) {
    construct_range(static_cast<T*>(to), static_cast<T*>(from), count);
}

template <class T>
void destroy_column(void* first, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) { (static_cast<T*>(first) + i)->~T(); }
}

template <class T>
void permute_column(void* column, std::size_t lanes, std::size_t block_size, std::uint32_t* order,
                    std::size_t count) {
    permute_range(order, count, [=](std::size_t i) -> T& {
        auto* const bytes = static_cast<std::byte*>(column);
        return lanes == 0 ? reinterpret_cast<T*>(bytes)[i]
                          : reinterpret_cast<T*>(bytes + i / lanes * block_size)[i % lanes];
    });
}

template <class T>
consteval column_desc describe_column() {
    if constexpr (std::is_trivially_copyable_v<T>) {
        return {sizeof(T), alignof(T), 0, nullptr, nullptr, nullptr, false};
    } else {
        return {sizeof(T),
                alignof(T),
                0,
                &construct_column<T>,
                &destroy_column<T>,
                &permute_column<T>,
                !std::is_nothrow_move_constructible_v<T>};
    }
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
