// Where the rows of a table lie.
//
// Where element `row` of column c is, in bytes from base (`pitch` for `capacity` when reserved):
//
//     columns (soa)    capacity * before(c) + c * skew + row * size(c)
//     blocks (aosoa)   row / lanes * block_size + before(c) + row % lanes * size(c)
//
// A block of memory has blocks * block_size + (column_count - 1) * skew bytes, where blocks is
// capacity / lanes, or capacity in soa, whose block is a row.
#pragma once

#include <cstddef>

#include <cairn/containers/table/memory.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// The columns of a block, whatever the layout: `visit(first byte, rows)` for each run of rows
/// [first, first + count) that lies together in column c.
template <class Visit>
void for_each_run(const layout_desc& desc, std::byte* base, std::size_t capacity, std::size_t c,
                  std::size_t first, std::size_t count, Visit visit) {
    const column_desc& column = desc.columns[c];
    if (desc.lanes == 0) {
        if (count != 0) {
            visit(base + capacity * column.before + c * desc.skew + first * column.size, count);
        }
        return;
    }
    // A run ends where its block of lanes does.
    while (count != 0) {
        const std::size_t lane = first % desc.lanes;
        const std::size_t run = desc.lanes - lane < count ? desc.lanes - lane : count;
        visit(base + first / desc.lanes * desc.block_size + column.before + lane * column.size,
              run);
        first += run;
        count -= run;
    }
}

/// Element `row` of column c.
inline std::byte* element_of(const layout_desc& desc, std::byte* base, std::size_t capacity,
                             std::size_t c, std::size_t row) {
    const column_desc& column = desc.columns[c];
    if (desc.lanes == 0) {
        return base + capacity * column.before + c * desc.skew + row * column.size;
    }
    return base + row / desc.lanes * desc.block_size + column.before +
           row % desc.lanes * column.size;
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
