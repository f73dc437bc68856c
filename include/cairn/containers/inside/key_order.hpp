// cairn/containers/inside/key_order.hpp - the order of one column: its keys are sorted, not the
// rows.
//
//      keys:   3.5  -1.0  2.0       as unsigned numbers of the same order, with their row numbers:
//              (c0600000, 0) (407fffff, 1) (c0000000, 2)
//                       | radix sort, one pass a byte; where all bytes are equal, none
//                       v
//      order:  1 2 0               row r becomes what row order[r] was
//
// Numbers and enumerations go this way: 8 or 16 bytes a row, no comparison, no branch. Other keys
// are compared through sort_rows.hpp. Both are stable, so equal keys keep their order on every
// platform.
//
// Cost: at most one pass over the pairs per byte of the key (small tables and narrow keys: fewer).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cairn/containers/inside/sort_rows.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

template <class Bits>
struct sort_pair {
    Bits key;
    std::uint32_t row;
};

/// Sorts `count` pairs by key, stable; `spare` holds as many. The result is in `pairs`.
void radix_sort(sort_pair<std::uint32_t>* pairs, sort_pair<std::uint32_t>* spare,
                std::size_t count);
void radix_sort(sort_pair<std::uint64_t>* pairs, sort_pair<std::uint64_t>* spare,
                std::size_t count);

template <class Key>
concept radix_key =
    (std::is_arithmetic_v<Key> || std::is_enum_v<Key>) && sizeof(Key) <= sizeof(std::uint64_t);

template <radix_key Key>
using sort_bits = std::conditional_t<sizeof(Key) <= 4, std::uint32_t, std::uint64_t>;

/// A key as an unsigned number of the same order.
template <radix_key Key>
[[nodiscard]] constexpr sort_bits<Key> ordered_bits(Key key) noexcept {
    using bits = sort_bits<Key>;
    constexpr bits top = bits{1} << (sizeof(bits) * 8 - 1);
    if constexpr (std::is_enum_v<Key>) {
        return detail::ordered_bits(static_cast<std::underlying_type_t<Key>>(key));
    } else if constexpr (std::is_floating_point_v<Key>) {
        // Negative floats grow towards zero: all their bits are flipped, of the others the sign.
        const auto raw = std::bit_cast<bits>(key);
        return (raw & top) != 0 ? ~raw : raw | top;
    } else if constexpr (std::is_signed_v<Key>) {
        return static_cast<bits>(static_cast<std::make_signed_t<bits>>(key)) ^ top;
    } else {
        return static_cast<bits>(key);
    }
}

/// The permutation that sorts the column `keys`, smallest first: for sort_rows().
template <class Column>
struct key_order {
    Column keys;

    using key = std::remove_cv_t<typename Column::value_type>;

    /// Bytes of scratch memory that finding it needs.
    [[nodiscard]] std::size_t scratch_size() const noexcept {
        if constexpr (radix_key<key>) {
            return 2 * keys.size() * sizeof(sort_pair<sort_bits<key>>);
        } else {
            return keys.size() * sizeof(std::uint32_t);
        }
    }
    void operator()(std::uint32_t* order, void* scratch) const {
        const std::size_t count = keys.size();
        if constexpr (radix_key<key>) {
            using pair = sort_pair<sort_bits<key>>;
            auto* const pairs = static_cast<pair*>(scratch);
            for (std::size_t i = 0; i < count; ++i) {
                pairs[i] = {detail::ordered_bits(keys[i]), static_cast<std::uint32_t>(i)};
            }
            detail::radix_sort(pairs, pairs + count, count);
            for (std::size_t i = 0; i < count; ++i) { order[i] = pairs[i].row; }
        } else {
            detail::sort_indices(
                order, static_cast<std::uint32_t*>(scratch), count,
                [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; });
        }
    }
};
template <class Column>
key_order(Column) -> key_order<Column>;

static_assert(ordered_bits(-1.0f) < ordered_bits(0.0f) && ordered_bits(0.0f) < ordered_bits(2.0f));
static_assert(ordered_bits(-2) < ordered_bits(-1) && ordered_bits(-1) < ordered_bits(0));

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
