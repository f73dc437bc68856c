// cairn/containers/layout.hpp - where the fields of row i lie: the layouts of a table.
//
//      aos             | a0 b0 c0 | a1 b1 c1 | a2 b2 c2 | ...     one array of rows; a row is a T&
//
//      soa             | a0 a1 a2 ...  |~| b0 b1 b2 ...  |~| c0 c1 c2 ...  |   a column per field
//
//      split_soa       as soa, and a field that is a small vector has one column per component
//
//      grouped_soa<group<&P::a, &P::b>>
//                      | a0 b0 | a1 b1 | a2 b2 | ... |~| c0 c1 c2 ... |     a group shares a column
//
//      aosoa<4>        | a0-3 b0-3 c0-3 | a4-7 b4-7 c4-7 | ...    blocks of N rows, soa inside
//
// Every layout lives in one allocation, and no column pointer is stored: with a capacity that is a
// multiple of 64 rows (16, 32 or 64 in small tables) each column fills whole cache lines, so
//
//      column k  =  base + capacity * (bytes per row of the columns before it) + k * skew
//
// The skew (~ above) is an odd number of cache lines. Without it, a power-of-two capacity puts
// row i of every column at the same address modulo 4096, in the same set of the cache: 30 % slower
// with 16 columns of 8192 rows (lab: aos-soa, gcc 12, 2026-11-21).
//
// Choosing: aos when most fields of a row are used together or rows are visited at random; soa when
// a loop reads a few fields of many rows; split_soa when those fields are vectors and the loop must
// be vectorised by every compiler; grouped_soa when some fields are always used together, also at
// random (one cache line instead of one for each); aosoa when a row's fields should share a page or
// a cache line pair and loops still use SIMD blocks.
//
// A layout of your own: a struct that is a `table_layout`; docs/adding-a-layout.md.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <type_traits>

#include <cairn/containers/inside/row_fields.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {
inline constexpr std::size_t no_group = static_cast<std::size_t>(-1);
}  // namespace detail

/// One column per field; fields marked split<T> have one per component. What the other layouts do
/// not say differently, they say as this one.
struct soa {
    /// True: all rows are one array of Row, and a row is a real Row&.
    /// What the table asks: rows lie whole, one after the other.
    static constexpr bool one_array = false;
    /// True: every field that is a small vector has one column per component.
    /// What the table asks: components have columns of their own.
    static constexpr bool splits = false;
    /// Rows in a block, side by side in each of its columns: 2, 4, 8, ...; 0: all rows in one.
    static constexpr std::size_t lanes = 0;
    /// The number of the group whose column field number `field` shares; no_group: its own.
    /// The group of a field, or no_group.
    static consteval std::size_t group_of([[maybe_unused]] std::size_t field) { return no_group; }
    static constexpr std::size_t no_group = detail::no_group;
};

/// An array of rows.
struct aos : soa {
    /// Rows lie whole, one after the other.
    static constexpr bool one_array = true;
};

/// One column per field, and one per component of every field that is a small vector.
struct split_soa : soa {
    /// Components have columns of their own.
    static constexpr bool splits = true;
};

/// Blocks of N rows, each a small soa. N is a power of two; 8 floats are one AVX register. Take N
/// so large that N fields fill whole cache lines: 8 vectors of 12 bytes touch six lines where four
/// and a half would do, 16 of them fill three. A loop over few fields of many rows pays for the
/// others even so, because the processor fetches ahead what lies between: 2.5 to 3.5 times soa
/// beyond the cache, by hand too (lab: aos-soa, 2026-11-21).
template <std::size_t N>
struct aosoa : soa {
    /// Rows in a block.
    static constexpr std::size_t lanes = N;
};

/// Fields that are stored side by side: Members are member pointers of the row, &particle<>::mass.
template <auto... Members>
struct group {
    /// True when the group has this field of the row.
    static consteval bool has([[maybe_unused]] std::size_t field) {
        return ((field_of<Members> == field) || ...);
    }

private:
    template <auto Member>
    static constexpr std::size_t field_of = detail::field_index<Member>;
};

/// soa, but the fields of each group are one column of small structs. They are plain data
/// (trivially copyable), and a field is in one group at most.
template <class... Groups>
struct grouped_soa : soa {
    /// The group of a field, or no_group.
    static consteval std::size_t group_of([[maybe_unused]] std::size_t field) {
        std::size_t found = no_group;
        std::size_t number = 0;
        ((found = Groups::has(field) ? number : found, ++number), ...);
        return found;
    }
};

namespace detail {

// Constants by name: compilers explain concepts at length.

/// The four members of soa.
template <class L>
inline constexpr bool says_what_a_layout_says = requires(std::size_t field) {
    { L::one_array } -> std::convertible_to<bool>;
    { L::splits } -> std::convertible_to<bool>;
    { L::lanes } -> std::convertible_to<std::size_t>;
    { L::group_of(field) } -> std::same_as<std::size_t>;
};
/// True also for what is no layout, of which the sentence above speaks.
template <class L>
inline constexpr bool has_whole_blocks = true;
template <class L>
    requires says_what_a_layout_says<L>
inline constexpr bool has_whole_blocks<L> =
    L::lanes == 0 || (L::lanes >= 2 && std::has_single_bit(std::size_t{L::lanes}));
template <class L>
inline constexpr bool stores_in_one_way = true;
template <class L>
    requires says_what_a_layout_says<L>
inline constexpr bool stores_in_one_way<L> = L::one_array + L::splits + (L::lanes != 0) <= 1;

}  // namespace detail

/// What a table takes as its layout: a tag with the members of soa. Its blocks hold a power of two
/// of rows, and one array of rows, split vectors and blocks exclude each other. (What its groups
/// must keep depends on the row: table/layout_rules.hpp.)
template <class L>
concept table_layout = detail::says_what_a_layout_says<L> && detail::has_whole_blocks<L> &&
                       detail::stores_in_one_way<L>;

}}  // namespace cairn::CAIRN_FLAVOUR
