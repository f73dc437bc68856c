// cairn/containers/inside/sort_rows.hpp - a container's rows find their order before any of them
// moves.
//
//      scratch:   | what the order needs | the new order | what `use` needs |
//                                          row r becomes what row order[r] was
//
//      1. find_order(order, scratch)    compared_order here, key_order in sort_keys.hpp
//      2. use(order, spare)             moves each row once, and what belongs to it
//
// One allocation, at the beginning: what cannot be had changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <cairn/containers/inside/sort_indices.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/storage/growable_memory.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

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
            sort_indices(order, static_cast<std::uint32_t*>(scratch), count,
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
    const std::size_t order_at = round_up(find_order.scratch_size(), cache_line_alignment);
    const std::size_t spare_at =
        order_at + round_up(count * sizeof(std::uint32_t), cache_line_alignment);
    growable_memory scratch{cache_line_alignment, upstream};
    if (!scratch.grow(spare_at + spare_size, 0)) { return false; }
    const std::span order{reinterpret_cast<std::uint32_t*>(scratch.data() + order_at), count};
    find_order(order.data(), static_cast<void*>(scratch.data()));
    return use(order, static_cast<void*>(scratch.data() + spare_at));
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
