// cairn/containers/table/layout_of.hpp - where each field of a row type lies, as constants.
//
//      layout_of<particle<>, soa>
//          fields   position vec3 | velocity vec3 | life float
//          columns   0: 12 bytes   | 1: 12 bytes   | 2: 4 bytes      (split: one per component)
//          before   0             | 12            | 24
//
//      element i of column c  =  base + capacity * before[c] + c * skew + i * size[c]
//
// The layout writes the list of columns once (layout.hpp). All that is here, and all code that uses
// it, reads that list. Most rows have a column for each field (columns_are_fields); the compiler is
// asked little then, because each template costs milliseconds in each program.
//
// Cost: constants; the compiler sees base + capacity * constant + index * size.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <cairn/containers/field.hpp>
#include <cairn/containers/inside/row_fields.hpp>
#include <cairn/containers/inside/sort_rows.hpp>
#include <cairn/containers/layout.hpp>
#include <cairn/containers/table/table_memory.hpp>
#include <cairn/core/alignment.hpp>
#include <cairn/core/inside/compiler.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

// How a list becomes addresses, for particle<> of two vec3 and a float, 64 rows:
//
//      layout       columns   block_size   granule   element 5 of the column of `life`
//      aos          1 (row)   28           1         base + 5 * 28 + 24
//      soa          3         28           16        base + 64 * 24 + 2 * skew + 5 * 4
//      split_soa    7         28           16        base + 64 * 24 + 6 * skew + 5 * 4
//      aosoa<8>     3         256          16        base + 0 * 256 + 192 + 5 * 4
//
// tests/containers/layout_test.cpp compares such addresses with those of real tables.

/// What the fields of Row are declared as: a list of declared<T>.
template <class Row>
struct declared_fields {
    template <class... T>
    static type_list<declared<T>...> wrap(type_list<T...>);
    using type = decltype(wrap(field_types<Row>{}));
};
template <class Row>
    requires row_template<Row>::is_named
struct declared_fields<Row> {
    using declarations = typename row_template<Row>::template with<declaration_kind>;
    using type = decltype(detail::with_fields<field_count<Row>>(std::declval<declarations&>(),
                                                                list_types{}));
};

/// The columns that Layout writes for fields declared as D...
template <class Layout, class... D>
consteval auto list_columns(type_list<D...>) {
    constexpr std::size_t columns_max =
        (std::size_t{1} + ... + components_of<typename D::type>::count) + sizeof...(D);
    column_list<sizeof...(D), columns_max> list{
        {{splittable<typename D::type> ? components_of<typename D::type>::count : 0,
          D::marked_split && splittable<typename D::type>}...}};
    Layout::columns(list);
    return list;
}

/// True when the rows in Layout are one array of Row. Known without a row, which may be incomplete.
template <class Layout>
consteval bool stores_whole_rows() {
    if constexpr (table_layout<Layout>) {
        column_list<1, 1> list{};
        Layout::columns(list);
        return list.at[0].field == list.all_fields;
    } else {
        return false;
    }
}

[[nodiscard]] constexpr std::size_t largest_power_of_two_in(std::size_t value) noexcept {
    return value & (~value + 1);
}

template <class T>
void relocate_column(void* to, void* from, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
        T& source = static_cast<T*>(from)[i];
        ::new (static_cast<void*>(static_cast<T*>(to) + i)) T(std::move(source));
        source.~T();
    }
}
template <class T>
void destroy_column(void* first, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) { static_cast<T*>(first)[i].~T(); }
}
template <class T>
void permute_column(void* column, std::size_t lanes, std::size_t block_size, std::uint32_t* order,
                    std::size_t count) noexcept {
    detail::permute_range(order, count, [=](std::size_t i) -> T& {
        auto* const bytes = static_cast<std::byte*>(column);
        return lanes == 0 ? reinterpret_cast<T*>(bytes)[i]
                          : reinterpret_cast<T*>(bytes + i / lanes * block_size)[i % lanes];
    });
}
template <class T>
consteval column_desc describe_column() {
    if constexpr (std::is_trivially_copyable_v<T>) {
        return {sizeof(T), alignof(T), 0, nullptr, nullptr, nullptr};
    } else {
        return {sizeof(T),           alignof(T),         0,
                &relocate_column<T>, &destroy_column<T>, &permute_column<T>};
    }
}

/// Everything about Row in Layout that is known at compile time. Name it as layout_for<Row,
/// Layout>.
template <class Row, class Layout>
struct layout_of {
    // ---- what the row has: its fields, by number
    using fields = typename declared_fields<Row>::type;
    static constexpr std::size_t field_count = fields::size;
    static constexpr bool is_named = row_template<Row>::is_named;
    static constexpr std::size_t lanes = Layout::lanes;
    using field_numbers = std::make_index_sequence<field_count>;
    template <std::size_t F>
    using field_type = typename type_at<F, fields>::type;

    // ---- what the layout wrote: the columns, in the order in which they lie
    static constexpr auto list = detail::list_columns<Layout>(fields{});
    /// Arrays in memory: 1 for aos, one per field for soa, more where fields are split.
    static constexpr std::size_t column_count = list.count;
    static constexpr bool split_fields_are_vectors = []<class... D>(type_list<D...>) {
        return ((!D::marked_split || splittable<typename D::type>) && ...);
    }(fields{});
    static constexpr bool lists_each_field = list.names_each_field();
    static_assert(split_fields_are_vectors, "split<T> needs a T made of equal components");
    static_assert(lists_each_field,
                  "a layout lists each field once: whole, or as all of its components");

    /// True when the rows are one array of Row, and a row is a real Row&.
    static constexpr bool rows_are_whole = list.at[0].field == list.all_fields;
    static constexpr bool rows_are_alike = rows_are_whole == stores_whole_rows<Layout>();
    static constexpr bool blocks_have_columns = !rows_are_whole || lanes == 0;
    static_assert(rows_are_alike, "a layout stores whole rows of every row type, or of none");
    static_assert(blocks_have_columns, "an array of rows has no blocks: lanes is 0");

    // ---- from a field to its columns
    /// The columns that a field lies in. The components of a split field lie side by side, so their
    /// columns are `first` and the `count` - 1 behind it.
    struct place {
        std::size_t first = 0;
        std::size_t count = 0;
        bool is_split = false;
    };
    struct places {
        place at[field_count];
        bool are_fields = column_count == field_count;  // column f is field f, for all of them
    };
    static constexpr places places_of_fields = [] {
        places result{};
        for (std::size_t c = 0; c < column_count; ++c) {
            const auto [f, component] = list.at[c];
            if (rows_are_whole) {
                for (place& p : result.at) { p.count = 1; }
                result.are_fields = false;
                break;
            }
            place& p = result.at[f];
            p.first = p.count == 0 ? c : p.first;
            ++p.count;
            p.is_split = component != list.whole;
            result.are_fields = result.are_fields && f == c && !p.is_split;
        }
        return result;
    }();
    /// True for soa without split fields, and aosoa: column number = field number.
    static constexpr bool columns_are_fields = places_of_fields.are_fields;
    static constexpr std::size_t first_column(std::size_t f) {
        return places_of_fields.at[f].first;
    }
    static constexpr std::size_t columns_of(std::size_t f) { return places_of_fields.at[f].count; }
    static consteval bool is_split(std::size_t f) { return places_of_fields.at[f].is_split; }

    /// The type of the elements of column C.
    template <std::size_t C>
    static auto find_column_type() {
        if constexpr (rows_are_whole) {
            return std::type_identity<Row>{};
        } else {
            using T = field_type<list.at[C].field>;
            if constexpr (list.at[C].component == list.whole) {
                return std::type_identity<T>{};
            } else {
                return std::type_identity<typename components_of<T>::type>{};
            }
        }
    }
    template <std::size_t C>
    using column_type = typename decltype(find_column_type<C>())::type;
    template <class... D, std::size_t... C>
    static auto list_types_of(type_list<D...>, std::index_sequence<C...>) {
        if constexpr (columns_are_fields) {
            return type_list<typename D::type...>{};
        } else {
            return type_list<column_type<C>...>{};
        }
    }
    using column_types =
        decltype(list_types_of(fields{}, std::make_index_sequence<column_count>{}));

    /// What moves as one: the fields, or the row in aos. field<F>() takes these numbers (row.hpp).
    static constexpr std::size_t whole_row = field_count;
    using parts = std::conditional_t<rows_are_whole, std::index_sequence<whole_row>, field_numbers>;

    // ---- sizes and distances, in bytes, for the code in src/ that does not know the types
    /// `before` of a column, the bytes of a block, the alignment of all, and the rows that a
    /// capacity is a multiple of: so many that each column ends with a whole line.
    struct column_descs {
        column_desc at[column_count];
        std::size_t block_size = 0;
        std::size_t line = cache_line_size;
        std::size_t granule = 1;
    };
    static constexpr column_descs columns = []<class... T>(type_list<T...>) {
        column_descs result{{describe_column<T>()...}};
        std::size_t before = 0;
        for (column_desc& c : result.at) {
            // Each column of a block starts as aligned as its size allows.
            if (lanes != 0) {
                std::size_t align = largest_power_of_two_in(c.size * lanes);
                align = align > cache_line_size ? cache_line_size : align;
                align = align < c.align ? c.align : align;
                before = (before + align - 1) / align * align;
            }
            c.before = before;
            before += c.size * (lanes != 0 ? lanes : 1);
            result.line = c.align > result.line ? c.align : result.line;
        }
        result.block_size =
            lanes != 0 ? (before + result.line - 1) / result.line * result.line : before;
        if (rows_are_whole) { return result; }
        result.granule = lanes > tail_rows ? lanes : tail_rows;
        for (const column_desc& c : result.at) {
            const std::size_t pieces =
                result.line / detail::largest_power_of_two_in(c.size | result.line);
            if (lanes == 0 && pieces > result.granule) { result.granule = pieces; }
        }
        return result;
    }(column_types{});

    /// Bytes between two columns (table_memory.hpp says why). Blocks have none: their columns are
    /// so short that all of a block lie in a few lines.
    static constexpr std::size_t skew = lanes != 0 ? 0 : column_skew_lines * columns.line;

    /// All of it, for table_memory. One object for each row type and layout, in read-only memory.
    static constexpr layout_desc desc{
        columns.at,   column_count,
        lanes,        columns.block_size,
        columns.line, columns.granule,
        skew,         rows_are_whole || lanes != 0 ? columns.granule : tail_rows};

    /// Element i of column C. Requires: the block is not null.
    template <std::size_t C>
    [[nodiscard, CAIRN_FORCE_INLINE]] static type_at<C, column_types>* element(
        std::byte* base, std::size_t capacity, std::size_t i) noexcept {
        using T = type_at<C, column_types>;
        if constexpr (lanes != 0) {
            std::byte* const begin = base + columns.at[C].before;
            return reinterpret_cast<T*>(begin + i / lanes * columns.block_size) + i % lanes;
        } else {
            const std::size_t before = capacity * columns.at[C].before + C * skew;
#if defined(__clang__)
            // By a number: two columns are two objects for clang then. As parts of one it compares
            // them component by component, finds x beside y, and vectorises no loop over vectors.
            return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(base) + before) + i;
#else
            if constexpr (CAIRN_CALLER_IS_OPTIMIZED) {
                return reinterpret_cast<T*>(compiler::column(base + before)) + i;
            } else {
                return reinterpret_cast<T*>(base + before) + i;
            }
#endif
        }
    }
};

/// Takes the place of a row that breaks a rule, after the sentence. One for each row, so that
/// programs without mistakes do not pay for it.
template <class Row>
struct stand_in_row {
    int nothing;
};
int& stand_in_field() noexcept;  // takes the place of a field; never called, never defined

/// States what a layout is. Returns: whether Layout is one.
template <class Layout>
consteval bool check_layout() {
    constexpr bool is_a_layout = table_layout<Layout>;
    static_assert(is_a_layout,
                  "a layout is aos, soa, split_soa, aosoa<a power of two>, or a struct with the "
                  "members of soa");
    return is_a_layout;
}
/// layout_of for a row that keeps the rules. Where it breaks one, the sentence of the rule is the
/// only error: a row of one int takes the place. A class, not an alias: the fields are counted when
/// a member is used, so a row may own rows of its own table.
template <class Row, class Layout>
struct layout_for_row
    : layout_of<std::conditional_t<check_row<Row>(), Row, stand_in_row<Row>>, Layout> {};

/// The same; soa takes the place of what is no layout.
template <class Row, class Layout>
using layout_for = layout_for_row<Row, std::conditional_t<check_layout<Layout>(), Layout, soa>>;

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
