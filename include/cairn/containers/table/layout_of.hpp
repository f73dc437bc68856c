// cairn/containers/table/layout_of.hpp - where each field of a row type lies in each layout, at compile time.
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

#include <cairn/containers/field.hpp>
#include <cairn/containers/layout.hpp>
#include <cairn/containers/table/layout_desc.hpp>
#include <cairn/containers/table/row_rules.hpp>
#include <cairn/containers/table/split_ref.hpp>
#include <cairn/core/alignment.hpp>
#include <cairn/storage/row_fields.hpp>

namespace cairn::inline CAIRN_FLAVOUR::detail {

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
    using type =
        decltype(with_fields<field_count<Row>>(std::declval<declarations&>(), list_types{}));
};

/// Everything about Row in Layout that is known at compile time.
template <class Row, class Layout>
struct layout_of {
    using fields = typename declared_fields<Row>::type;
    static constexpr std::size_t field_count = fields::size;
    static constexpr bool is_named = row_template<Row>::is_named;

    template <std::size_t F>
    using field_type = typename type_at<F, fields>::type;

    /// The group that field F is in, or no_group.
    template <std::size_t F>
    static constexpr std::size_t group = group_of(F, Layout{});
    template <std::size_t F>
    static constexpr bool is_grouped = group<F> != no_group;

    /// True when field F is stored as its components.
    template <std::size_t F>
    static consteval bool is_split() {
        if constexpr (Layout::one_array || Layout::lanes != 0) {
            return false;
        } else if constexpr (is_grouped<F>) {
            static_assert(!type_at<F, fields>::marked_split,
                          "a field is split or grouped, not both");
            return false;
        } else if constexpr (type_at<F, fields>::marked_split) {
            static_assert(splittable<field_type<F>>, "split<T> needs a T made of equal components");
            return true;
        } else if constexpr (Layout::splits) {
            return splittable<field_type<F>>;
        } else {
            return false;
        }
    }

    //      group:   | a .. b c . | a .. b c . |       fields in order, each aligned; size: a whole number of
    //               0    ^ offset_in_group<b>         the largest alignment

    struct group_place {
        std::size_t first = no_group;  // field of the group
        std::size_t offset = 0;        // of the field asked for
        std::size_t size = 0;
        std::size_t align = 1;
    };
    template <std::size_t Field>
    static constexpr group_place place_in_group = [] {
        group_place result;
        const auto add = [&]<std::size_t F>() {
            if constexpr (group<F> == group<Field>) {
                using T = field_type<F>;
                result.first = result.first == no_group ? F : result.first;
                result.align = alignof(T) > result.align ? alignof(T) : result.align;
                result.size = (result.size + alignof(T) - 1) / alignof(T) * alignof(T);
                if (F == Field) { result.offset = result.size; }
                result.size += sizeof(T);
            }
        };
        [&]<std::size_t... F>(std::index_sequence<F...>) {
            (add.template operator()<F>(), ...);
        }(std::make_index_sequence<field_count>{});
        result.size = (result.size + result.align - 1) / result.align * result.align;
        return result;
    }();

    /// A group's element, for pointers to step over.
    template <std::size_t F>
    struct alignas(place_in_group<F>.align) group_cell {
        std::byte bytes[place_in_group<F>.size];
    };

    /// How many columns field F adds: a group's are added by its first field.
    template <std::size_t F>
    static consteval std::size_t columns_in() {
        if constexpr (is_split<F>()) {
            return components_of<field_type<F>>::count;
        } else if constexpr (is_grouped<F>) {
            return place_in_group<F>.first == F ? 1 : 0;
        } else {
            return 1;
        }
    }
    template <std::size_t F>
    static consteval std::size_t columns_before() {
        return []<std::size_t... I>(std::index_sequence<I...>) {
            return (std::size_t{0} + ... + columns_in<I>());
        }(std::make_index_sequence<F>{});
    }
    /// The first column of field F, or the one of its group.
    template <std::size_t F>
    static consteval std::size_t first_column() {
        if constexpr (is_grouped<F>) {
            return columns_before<place_in_group<F>.first>();
        } else {
            return columns_before<F>();
        }
    }

    static constexpr std::size_t column_count = [] {
        if constexpr (Layout::one_array) {
            return std::size_t{1};
        } else {
            return columns_before<field_count>();
        }
    }();

    struct column_list {
        column_desc at[column_count];
        std::size_t block_size = 0;
        std::size_t line = cache_line_size;
        std::size_t granule = 1;
    };

    static constexpr column_list columns = [] {
        column_list result{};
        std::size_t next = 0;
        std::size_t before = 0;
        const auto add = [&](column_desc c) {
            if (Layout::lanes !=
                0) {  // each column of a block starts as aligned as its size allows
                const std::size_t bytes = c.size * Layout::lanes;
                std::size_t align = largest_power_of_two_in(bytes);
                align = align > cache_line_size ? cache_line_size : align;
                align = align < c.align ? c.align : align;
                before = (before + align - 1) / align * align;
                c.before = before;
                before += bytes;
            } else {
                c.before = before;
                before += c.size;
            }
            result.line = c.align > result.line ? c.align : result.line;
            result.at[next++] = c;
        };
        if constexpr (Layout::one_array) {
            add(describe_column<Row>(0));
        } else {
            const auto add_field = [&]<std::size_t F>() {
                if constexpr (is_split<F>()) {
                    for (std::size_t k = 0; k < columns_in<F>(); ++k) {
                        add(describe_column<typename components_of<field_type<F>>::type>(0));
                    }
                } else if constexpr (is_grouped<F>) {
                    if constexpr (columns_in<F>() != 0) { add(describe_column<group_cell<F>>(0)); }
                } else {
                    add(describe_column<field_type<F>>(0));
                }
            };
            [&]<std::size_t... F>(std::index_sequence<F...>) {
                (add_field.template operator()<F>(), ...);
            }(std::make_index_sequence<field_count>{});
        }
        result.block_size =
            Layout::lanes != 0 ? (before + result.line - 1) / result.line * result.line : before;
        if constexpr (Layout::lanes != 0) {
            result.granule = Layout::lanes > tail_rows ? Layout::lanes : tail_rows;
        } else if constexpr (!Layout::one_array) {
            result.granule = tail_rows;
            for (const column_desc& c : result.at) {
                const std::size_t pieces =
                    result.line / largest_power_of_two_in(c.size | result.line);
                result.granule = pieces > result.granule ? pieces : result.granule;
            }
        }
        return result;
    }();

    static constexpr std::size_t skew =
        Layout::one_array || Layout::lanes != 0 ? 0 : column_skew_lines * columns.line;

    static constexpr layout_desc desc{
        columns.at,    column_count,
        Layout::lanes, columns.block_size,
        columns.line,  columns.granule,
        skew,          Layout::one_array ? 1 : (Layout::lanes != 0 ? columns.granule : tail_rows)};

    /// The first byte of row 0 of column C. The block is not null.
    template <std::size_t C>
    [[nodiscard]] static std::byte* column_begin(std::byte* base, std::size_t capacity) noexcept {
        if constexpr (Layout::lanes != 0) {
            return base + columns.at[C].before;
        } else {
            return base + capacity * columns.at[C].before + C * skew;
        }
    }

    /// Element i of column C.
    template <std::size_t C, class T>
    [[nodiscard]] static T* element(std::byte* base, std::size_t capacity, std::size_t i) noexcept {
        std::byte* const begin = column_begin<C>(base, capacity);
        if constexpr (Layout::lanes != 0) {
            return reinterpret_cast<T*>(begin + i / Layout::lanes * columns.block_size) +
                   i % Layout::lanes;
        } else {
            return reinterpret_cast<T*>(begin) + i;
        }
    }

    /// Field F of row i: a T*, or a split_ref. Not for aos.
    template <std::size_t F, bool IsConst>
    [[nodiscard]] static auto field_at(std::byte* base, std::size_t capacity,
                                       std::size_t i) noexcept {
        using T = field_type<F>;
        if constexpr (is_split<F>()) {
            using E = typename split_ref<T, IsConst>::component_type;
            return [&]<std::size_t... I>(std::index_sequence<I...>) {
                return split_ref<T, IsConst>{
                    element<first_column<F>() + I, E>(base, capacity, i)...};
            }(std::make_index_sequence<columns_in<F>()>{});
        } else if constexpr (is_grouped<F>) {
            return in_cell<F, IsConst>(
                element<first_column<F>(), group_cell<F>>(base, capacity, i));
        } else {
            using E = std::conditional_t<IsConst, const T, T>;
            return element<first_column<F>(), E>(base, capacity, i);
        }
    }

    /// Field F of the element of its group at `cell`.
    template <std::size_t F, bool IsConst, class Cell>
    [[nodiscard]] static auto* in_cell(Cell* cell) noexcept {
        using E = std::conditional_t<IsConst, const field_type<F>, field_type<F>>;
        using Byte = std::conditional_t<std::is_const_v<Cell>, const std::byte, std::byte>;
        return reinterpret_cast<E*>(reinterpret_cast<Byte*>(cell) + place_in_group<F>.offset);
    }
};

/// A row that breaks a rule: the rule's sentence, and no other.
template <class Row, class Layout>
    requires(fault_of_row<Row> != row_fault::none)
struct layout_of<Row, Layout> : layout_of<stand_in_row, soa> {
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

/// Groups that break a rule: the same.
template <class Row, class Layout>
    requires(fault_of_row<Row> == row_fault::none &&
             fault_of_groups<Row, Layout> != group_fault::none)
struct layout_of<Row, Layout> : layout_of<Row, soa> {
    static_assert(groups_are_free_of<Row, Layout, group_fault::foreign_field>,
                  "a group names fields of its own row");
    static_assert(groups_are_free_of<Row, Layout, group_fault::one_field>,
                  "a group has two fields or more");
    static_assert(groups_are_free_of<Row, Layout, group_fault::field_twice>,
                  "a field is in one group at most");
    static_assert(groups_are_free_of<Row, Layout, group_fault::not_plain>,
                  "the fields of a group are plain data: trivially copyable");
};

}  // namespace cairn::inline CAIRN_FLAVOUR::detail
