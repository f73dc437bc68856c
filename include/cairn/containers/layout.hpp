// cairn/containers/layout.hpp - where the fields of row i lie: the layouts of a table.
//
//      aos             | a0 b0 c0 | a1 b1 c1 | a2 b2 c2 | ...     one array of rows; a row is a T&
//
//      soa             | a0 a1 a2 ...  |~| b0 b1 b2 ...  |~| c0 c1 c2 ...  |   a column per field
//
//      split_soa       as soa, and a field that is a small vector has one column per component
//
//      aosoa<4>        | a0-3 b0-3 c0-3 | a4-7 b4-7 c4-7 | ...    blocks of N rows, soa inside
//
// A layout is a struct with two members: columns() writes the list of the columns of a row type,
// and `lanes` is the number of rows in a block. All code of a table reads that list, and no code
// asks which layout it is.
//
// Every layout uses one allocation, and no column pointer is stored. The capacity is a multiple of
// 64 rows (16, 32 or 64 in small tables), so each column fills whole cache lines and
//
//      column k  =  base + capacity * (bytes per row of the columns before it) + k * skew
//
// The skew (~ above) is an odd number of cache lines. Without the skew, a power-of-two capacity
// puts row i of every column at the same address modulo 4096, in the same set of the cache: 30 %
// slower with 16 columns of 8192 rows (lab: aos-soa, gcc 12, 2026-11-21).
//
// Choosing: aos when most fields of a row are used together or rows are visited at random; soa when
// a loop reads a few fields of many rows; split_soa when those fields are vectors and the loop must
// be vectorised by every compiler; aosoa when a row's fields should share a page or a cache line
// pair and loops still use SIMD blocks. Fields that are always used together, also at random, stand
// in one struct that is a field of the row: soa gives that struct one column.
//
// A layout of your own: a struct that is a `table_layout`; docs/adding-a-layout.md.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// The columns of a table in the order in which they lie in memory. A layout writes the list from
/// what the list knows about the fields of the row. Compile time only.
template <std::size_t FieldCount, std::size_t CountMax>
struct column_list {
    /// A column's elements are field number `field` of each row, or one component of that field.
    struct column {
        std::uint16_t field;      // all_fields: the elements are rows
        std::uint16_t component;  // whole: the elements are the field, not one of its components
    };
    /// As column::field: the elements are rows.
    static constexpr std::uint16_t all_fields = 0xFFFF;
    /// As column::component: the elements are whole fields.
    static constexpr std::uint16_t whole = 0xFFFF;
    /// The number of fields of the row.
    static constexpr std::size_t field_count = FieldCount;

    /// What a layout may ask about field number `f`.
    struct field_shape {
        std::size_t component_count;  // of a small vector (components_of); 0: no small vector
        bool is_marked_split;         // declared as field<K, split<T>>
    };
    /// The shape of each field, by its number.
    field_shape fields[FieldCount];

    /// Adds a column for field number `f`.
    consteval void add(std::size_t f) { at[count++] = {static_cast<std::uint16_t>(f), whole}; }
    /// Adds a column for each component of field number `f`, which is a small vector.
    consteval void add_components(std::size_t f) {
        for (std::size_t c = 0; c < fields[f].component_count; ++c) {
            at[count++] = {static_cast<std::uint16_t>(f), static_cast<std::uint16_t>(c)};
        }
    }
    /// Adds the only column of a layout that stores rows as they are.
    consteval void add_rows() { at[count++] = {all_fields, whole}; }
    /// True when each field stands in the list once: whole, or as all of its components, in order.
    [[nodiscard]] consteval bool names_each_field() const {
        std::size_t next[FieldCount] = {};  // the component that is due; after the last: all
        bool is_right = true;
        for (std::size_t c = 0; c < count; ++c) {
            const auto [f, component] = at[c];
            if (f == all_fields) { return count == 1; }
            const std::size_t all = component == whole ? 1 : fields[f].component_count;
            is_right = is_right && next[f] == (component == whole ? 0u : component);
            next[f] = next[f] + 1 == all ? all : next[f] + 1;
        }
        for (const std::size_t n : next) { is_right = is_right && n != 0; }
        return is_right;
    }

    /// The columns that were added.
    column at[CountMax] = {};
    /// The number of columns that were added.
    std::size_t count = 0;
};

/// One column per field; fields marked split<T> have one per component.
struct soa {
    /// Rows in a block, side by side in each of its columns: 2, 4, 8, ...; 0: all rows in one
    /// block.
    static constexpr std::size_t lanes = 0;
    /// Writes the columns of a row with the fields of `list`.
    static consteval void columns(auto& list) {
        for (std::size_t f = 0; f < list.field_count; ++f) {
            list.fields[f].is_marked_split ? list.add_components(f) : list.add(f);
        }
    }
};

/// An array of rows.
struct aos {
    /// As soa::lanes.
    static constexpr std::size_t lanes = 0;
    /// As soa::columns().
    static consteval void columns(auto& list) { list.add_rows(); }
};

/// One column per field, and one per component of every field that is a small vector.
struct split_soa {
    /// As soa::lanes.
    static constexpr std::size_t lanes = 0;
    /// As soa::columns().
    static consteval void columns(auto& list) {
        for (std::size_t f = 0; f < list.field_count; ++f) {
            list.fields[f].component_count != 0 ? list.add_components(f) : list.add(f);
        }
    }
};

/// Blocks of N rows, each a small soa. N is a power of two; 8 floats are one AVX register. Take N
/// so large that N fields fill whole cache lines: 8 vectors of 12 bytes touch six lines where four
/// and a half would do, 16 of them fill three. A loop over few fields of many rows pays for the
/// others, too, because the processor prefetches the columns that lie between: 2.5 to 3.5 times soa
/// beyond the cache, in hand-written code as well (lab: aos-soa, 2026-11-21).
template <std::size_t N>
struct aosoa {
    /// As soa::lanes.
    static constexpr std::size_t lanes = N;
    /// As soa::columns().
    static consteval void columns(auto& list) {
        for (std::size_t f = 0; f < list.field_count; ++f) { list.add(f); }
    }
};

/// What a table takes as its layout: a struct with the two members of soa. A block holds a power of
/// two of rows. (What the list must hold depends on the row: table/layout_of.hpp checks it.)
template <class L>
concept table_layout = requires(column_list<1, 1>& list) {
    { L::lanes } -> std::convertible_to<std::size_t>;
    L::columns(list);
} && (L::lanes == 0 || (L::lanes >= 2 && std::has_single_bit(std::size_t{L::lanes})));

}}  // namespace cairn::CAIRN_FLAVOUR
