// cairn/containers/table/layout_of.hpp - where each field of a row type lies, as constants.
//
//      layout_of<particle<>, soa>
//          fields   position vec3 | velocity vec3 | life float
//          columns   0: 12 bytes   | 1: 12 bytes   | 2: 4 bytes      (split: one per component;
//          before   0             | 12            | 24               grouped: one per group)
//
//      element i of column c  =  base + capacity * before[c] + c * skew + i * size[c]
//
// Cost: constants; the compiler sees base + capacity * constant + index * size.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <cairn/containers/inside/row_fields.hpp>
#include <cairn/containers/layout.hpp>
#include <cairn/containers/table/field_map.hpp>
#include <cairn/containers/table/layout_desc.hpp>
#include <cairn/containers/table/layout_rules.hpp>
#include <cairn/containers/table/split_ref.hpp>
#include <cairn/core/alignment.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Everything about Row in Layout that is known at compile time.
template <class Row, class Layout>
struct layout_of : field_map<Row, Layout> {
    using map = field_map<Row, Layout>;
    using map::column_count, map::columns_are_fields, map::columns_of, map::field_count;
    using map::first_column, map::group_at, map::is_grouped, map::is_split;
    template <std::size_t F>
    using field_type = typename map::template field_type<F>;
    template <std::size_t C>
    using column_type = type_at<C, typename map::cells>;

    /// What moves as one: the fields, or the row in aos. field<F>() takes these numbers.
    static constexpr std::size_t whole_row = field_count;
    using parts = std::conditional_t<Layout::one_array, std::index_sequence<whole_row>,
                                     typename map::field_numbers>;
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
            if (Layout::lanes != 0) {
                std::size_t align = largest_power_of_two_in(c.size * Layout::lanes);
                align = align > cache_line_size ? cache_line_size : align;
                align = align < c.align ? c.align : align;
                before = (before + align - 1) / align * align;
            }
            c.before = before;
            before += c.size * (Layout::lanes != 0 ? Layout::lanes : 1);
            result.line = c.align > result.line ? c.align : result.line;
        }
        result.block_size =
            Layout::lanes != 0 ? (before + result.line - 1) / result.line * result.line : before;
        if (Layout::one_array) { return result; }
        result.granule = Layout::lanes > tail_rows ? Layout::lanes : tail_rows;
        for (const column_desc& c : result.at) {
            const std::size_t pieces = result.line / largest_power_of_two_in(c.size | result.line);
            if (Layout::lanes == 0 && pieces > result.granule) { result.granule = pieces; }
        }
        return result;
    }(typename map::cells{});

    static constexpr std::size_t skew = Layout::lanes != 0 ? 0 : column_skew_lines * columns.line;

    static constexpr layout_desc desc{
        columns.at,    column_count,
        Layout::lanes, columns.block_size,
        columns.line,  columns.granule,
        skew,          Layout::one_array || Layout::lanes != 0 ? columns.granule : tail_rows};

    /// Element i of column C. The block is not null.
    template <std::size_t C>
    [[nodiscard]] static column_type<C>* element(std::byte* base, std::size_t capacity,
                                                 std::size_t i) noexcept {
        using T = column_type<C>;
        if constexpr (Layout::lanes != 0) {
            std::byte* const begin = base + columns.at[C].before;
            return reinterpret_cast<T*>(begin + i / Layout::lanes * columns.block_size) +
                   i % Layout::lanes;
        } else {
            const std::size_t before = capacity * columns.at[C].before + C * skew;
#if defined(__clang__)
            // By a number: two columns are two objects for clang then. As parts of one it compares
            // them component by component, finds x beside y, and vectorises no loop over vectors.
            return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(base) + before) + i;
#else
            return reinterpret_cast<T*>(base + before) + i;
#endif
        }
    }

    /// Field F of the row whose element of column C is at `column.operator()<C>()`: a T&, or a
    /// split_ref.
    template <std::size_t F, bool IsConst, class Column>
    [[nodiscard, gnu::always_inline]] static decltype(auto) field_in(Column column) noexcept {
        using T = field_type<F>;
        using E = std::conditional_t<IsConst, const T, T>;
        constexpr std::size_t first = first_column(F);
        if constexpr (is_split(F)) {
            return [&]<std::size_t... I>(std::index_sequence<I...>) {
                return split_ref<T, IsConst> { column.template operator()<first + I>()... };
            }(std::make_index_sequence<columns_of(F)>{});
        } else if constexpr (!is_grouped(F)) {
            return static_cast<E&>(*column.template operator()<first>());
        } else if constexpr (Layout::one_array) {
            return with_fields<field_count>(
                *column.template operator()<first>(),
                [](auto&... fields) -> E& { return pick<F>(fields...); });
        } else {
            auto* const bytes = reinterpret_cast<std::byte*>(column.template operator()<first>());
            return static_cast<E&>(*reinterpret_cast<T*>(bytes + group_at(F).offset));
        }
    }
    /// Field F of row i; whole_row: the row itself, in aos.
    template <std::size_t F, bool IsConst>
    [[nodiscard, gnu::always_inline]] static decltype(auto) field(std::byte* base,
                                                                  std::size_t capacity,
                                                                  std::size_t i) noexcept {
        if constexpr (F == whole_row) {
            return (*element<0>(base, capacity, i));
        } else if constexpr (columns_are_fields) {
            using T = field_type<F>;
            return static_cast<std::conditional_t<IsConst, const T, T>&>(
                *element<F>(base, capacity, i));
        } else {
            return field_in<F, IsConst>(
                [=]<std::size_t C>() { return element<C>(base, capacity, i); });
        }
    }
};

/// A row that breaks a rule: the rule's sentence, and no other.
template <class Row, class Layout>
    requires(fault_of_row<Row> != row_fault::none)
struct layout_of<Row, Layout> : layout_of<stand_in_row<Row>, soa> {
    static_assert(row_is_free_of<Row, row_fault::no_struct>, "a row is a struct, without const");
    static_assert(
        row_is_free_of<Row, row_fault::no_aggregate>,
        "a row is an aggregate: public fields only, no constructors, no virtual functions");
    static_assert(row_is_free_of<Row, row_fault::base_class>,
                  "a row has no base class: put its fields into the row, or make it a field");
    static_assert(row_is_free_of<Row, row_fault::reference>,
                  "a row has no reference: use a pointer");
    static_assert(row_is_free_of<Row, row_fault::c_array>, "a row has no C array: use std::array");
    static_assert(row_is_free_of<Row, row_fault::field_count>, "a row has 1 to 24 fields");
    static_assert(row_is_free_of<Row, row_fault::fixed_field>, "each field of a row can be moved");
};

/// A layout that breaks a rule: the same.
template <class Row, class Layout>
    requires(fault_of_row<Row> == row_fault::none &&
             fault_of_layout<Row, Layout> != layout_fault::none)
struct layout_of<Row, Layout> : layout_of<Row, soa> {
    static_assert(layout_is_free_of<Row, Layout, layout_fault::foreign_field>,
                  "a group names fields of its own row");
    static_assert(layout_is_free_of<Row, Layout, layout_fault::one_field>,
                  "a group has two fields or more");
    static_assert(layout_is_free_of<Row, Layout, layout_fault::field_twice>,
                  "a field is in one group at most");
    static_assert(layout_is_free_of<Row, Layout, layout_fault::not_plain>,
                  "the fields of a group are plain data: trivially copyable");
    static_assert(layout_is_free_of<Row, Layout, layout_fault::mixed_group>,
                  "a layout that splits vectors or has blocks has no groups");
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
