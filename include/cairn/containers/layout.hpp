// cairn/containers/layout.hpp - where the fields of row i lie: the layouts of a table.
//
//      aos             | a0 b0 c0 | a1 b1 c1 | a2 b2 c2 | ...     one array of rows; row is a real T&
//
//      soa             | a0 a1 a2 ...  |~| b0 b1 b2 ...  |~| c0 c1 c2 ...  |     one column per field
//
//      split_soa       as soa, and a field that is a small vector has one column per component
//
//      grouped_soa<group<&P::a, &P::b>>
//                      | a0 b0 | a1 b1 | a2 b2 | ... |~| c0 c1 c2 ... |          fields of a group share one
//
//      aosoa<4>        | a0-3 b0-3 c0-3 | a4-7 b4-7 c4-7 | ...    blocks of N rows, soa inside
//
// Every layout lives in one allocation, and no column pointer is stored: with a capacity that is a
// multiple of 64 rows (16, 32 or 64 in small tables) each column fills whole cache lines, so
//
//      column k  =  base + capacity * (bytes per row of the columns before it) + k * skew
//
// The skew (~ above) is an odd number of cache lines. Without it, a power-of-two capacity puts row i
// of every column at the same address modulo 4096, in the same set of the cache: 30 % slower with 16
// columns of 8192 rows (lab: aos-soa, gcc 12, 2026-11-21).
//
// Choosing: aos when most fields of a row are used together or rows are visited at random; soa when
// a loop reads a few fields of many rows; split_soa when those fields are vectors and the loop must
// be vectorised by every compiler; grouped_soa when some fields are always used together, also at
// random (one cache line instead of one for each); aosoa when a row's fields should share a page or a
// cache line pair and loops still use SIMD blocks.
#pragma once

#include <bit>
#include <cstddef>
#include <type_traits>

#include <cairn/storage/row_fields.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

/// An array of rows.
struct aos {
    static constexpr bool one_array = true;
    static constexpr bool splits = false;
    static constexpr std::size_t lanes = 0;
};

/// One column per field; fields marked split<T> have one per component.
struct soa {
    static constexpr bool one_array = false;
    static constexpr bool splits = false;
    static constexpr std::size_t lanes = 0;
};

/// One column per field, and one per component of every field that is a small vector.
struct split_soa {
    static constexpr bool one_array = false;
    static constexpr bool splits = true;
    static constexpr std::size_t lanes = 0;
};

/// Blocks of N rows, each a small soa. N is a power of two; 8 floats are one AVX register. Take N so large
/// that N fields fill whole cache lines: 8 vectors of 12 bytes touch six lines where four and a half would
/// do, 16 of them fill three. A loop over few fields of many rows pays for the others even so, because the
/// processor fetches ahead what lies between: 2.5 to 3.5 times soa beyond the cache, by hand too (lab:
/// aos-soa, 2026-11-21).
template <std::size_t N>
struct aosoa {
    static constexpr bool one_array = false;
    static constexpr bool splits = false;
    static constexpr std::size_t lanes = N;
};

/// Fields that are stored side by side: Members are member pointers of the row, &particle<>::mass.
template <auto... Members>
struct group {};

/// soa, but the fields of each group are one column of small structs. They are plain data (trivially
/// copyable), and a field is in one group at most.
template <class... Groups>
struct grouped_soa {
    static constexpr bool one_array = false;
    static constexpr bool splits = false;
    static constexpr std::size_t lanes = 0;
};

namespace detail {

template <class T>
inline constexpr bool is_layout = false;
template <>
inline constexpr bool is_layout<aos> = true;
template <>
inline constexpr bool is_layout<soa> = true;
template <>
inline constexpr bool is_layout<split_soa> = true;
template <std::size_t N>
inline constexpr bool is_layout<aosoa<N>> = std::has_single_bit(N) && N >= 2;
template <class... Groups>
inline constexpr bool is_layout<grouped_soa<Groups...>> = true;

inline constexpr std::size_t no_group = static_cast<std::size_t>(-1);

template <auto... Members>
consteval bool is_in_group(std::size_t field, group<Members...>) {
    return ((field_index<Members> == field) || ...);
}

template <auto... Members>
consteval std::size_t members_in(group<Members...>) {
    return sizeof...(Members);
}
template <auto... Members>
consteval bool are_plain(group<Members...>) {
    return (std::is_trivially_copyable_v<member_type<Members>> && ...);
}
template <class Row, auto... Members>
consteval bool are_fields_of(group<Members...>) {
    return (names_field_of<Row, std::remove_cv_t<decltype(Members)>> && ...);
}

enum class group_fault { none, foreign_field, one_field, field_twice, not_plain };

/// What is wrong with the groups of Layout, for a table of Row.
template <class Row, class Layout>
consteval group_fault find_group_fault(Layout) {
    return group_fault::none;
}
template <class Row, class... Groups>
consteval group_fault find_group_fault(grouped_soa<Groups...>) {
    if constexpr (!(are_fields_of<Row>(Groups{}) && ...)) {
        return group_fault::foreign_field;
    } else if constexpr (!(are_plain(Groups{}) && ...)) {
        return group_fault::not_plain;
    } else if constexpr (!((members_in(Groups{}) >= 2) && ...)) {
        return group_fault::one_field;
    } else {
        for (std::size_t field = 0; field < field_count<Row>; ++field) {
            std::size_t groups = 0;
            ((groups += is_in_group(field, Groups{}) ? std::size_t{1} : std::size_t{0}), ...);
            if (groups > 1) { return group_fault::field_twice; }
        }
        return group_fault::none;
    }
}

template <class Row, class Layout>
inline constexpr group_fault fault_of_groups = find_group_fault<Row>(Layout{});
template <class Row, class Layout, group_fault Fault>
inline constexpr bool groups_are_free_of = fault_of_groups<Row, Layout> != Fault;

/// Which group of Layout field number `field` belongs to.
template <class Layout>
consteval std::size_t group_of(std::size_t, Layout) {
    return no_group;
}
template <class... Groups>
consteval std::size_t group_of(std::size_t field, grouped_soa<Groups...>) {
    std::size_t found = no_group;
    std::size_t g = 0;
    ((found = is_in_group(field, Groups{}) ? g : found, ++g), ...);
    return found;
}

}  // namespace detail
}  // namespace cairn::inline CAIRN_FLAVOUR
