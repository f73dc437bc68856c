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

#include <cairn/containers/field.hpp>
#include <cairn/containers/layout.hpp>
#include <cairn/containers/table/layout_desc.hpp>
#include <cairn/containers/table/layout_rules.hpp>
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
    static constexpr std::size_t group = Layout::one_array ? 0 : Layout::group_of(F);
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

    //      group   | a .. b c . | a .. b c . |     fields in order, each aligned; a cell's size
    //              0    ^ offset of b              is a whole number of the largest alignment

    struct group_desc {
        std::size_t first = no_group;  // field of the group
        std::size_t offset = 0;        // of the field asked for
        std::size_t size = 0;
        std::size_t align = 1;
    };
    /// The group of field F, and where in its cells F lies.
    template <std::size_t F>
    static constexpr group_desc group_at = [] {
        group_desc result;
        const auto add = [&]<std::size_t Other>() {
            if constexpr (group<Other> == group<F>) {
                using T = field_type<Other>;
                result.first = result.first == no_group ? Other : result.first;
                result.align = alignof(T) > result.align ? alignof(T) : result.align;
                result.size = (result.size + alignof(T) - 1) / alignof(T) * alignof(T);
                if (Other == F) { result.offset = result.size; }
                result.size += sizeof(T);
            }
        };
        [&]<std::size_t... Other>(std::index_sequence<Other...>) {
            (add.template operator()<Other>(), ...);
        }(std::make_index_sequence<field_count>{});
        result.size = (result.size + result.align - 1) / result.align * result.align;
        return result;
    }();

    /// An element of the column that a group shares. The cell of aos is the row.
    template <std::size_t F>
    struct alignas(group_at<F>.align) group_cell {
        std::byte bytes[group_at<F>.size];
    };
    template <std::size_t F>
    using cell = std::conditional_t<Layout::one_array, Row, group_cell<F>>;

    template <class T, std::size_t>
    using repeated = T;
    /// The types of the elements of the columns that field F adds: a group's first field adds its.
    template <std::size_t F>
    static consteval auto cells_of() {
        if constexpr (is_split<F>()) {
            using C = components_of<field_type<F>>;
            return []<std::size_t... I>(std::index_sequence<I...>) {
                return type_list<repeated<typename C::type, I>...>{};
            }(std::make_index_sequence<C::count>{});
        } else if constexpr (!is_grouped<F>) {
            return type_list<field_type<F>>{};
        } else if constexpr (group_at<F>.first == F) {
            return type_list<cell<F>>{};
        } else {
            return type_list<>{};
        }
    }
    template <std::size_t Count>
    static consteval auto cells_before() {
        return []<std::size_t... F>(std::index_sequence<F...>) {
            return (type_list<>{} + ... + cells_of<F>());
        }(std::make_index_sequence<Count>{});
    }

    /// The first column of field F, or the one of its group; and how many it has.
    template <std::size_t F>
    static constexpr std::size_t first_column = [] {
        if constexpr (is_grouped<F>) {
            return decltype(cells_before<group_at<F>.first>())::size;
        } else {
            return decltype(cells_before<F>())::size;
        }
    }();
    template <std::size_t F>
    static constexpr std::size_t columns_of = is_grouped<F> ? 1 : decltype(cells_of<F>())::size;

    static constexpr std::size_t column_count = decltype(cells_before<field_count>())::size;
    /// The type of the elements of column C.
    template <std::size_t C>
    using column_type = type_at<C, decltype(cells_before<field_count>())>;

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
    }(cells_before<field_count>());

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
        constexpr std::size_t first = first_column<F>;
        if constexpr (is_split<F>()) {
            return [&]<std::size_t... I>(std::index_sequence<I...>) {
                return split_ref<T, IsConst> { column.template operator()<first + I>()... };
            }(std::make_index_sequence<columns_of<F>>{});
        } else if constexpr (!is_grouped<F>) {
            return static_cast<E&>(*column.template operator()<first>());
        } else if constexpr (Layout::one_array) {
            return with_fields<field_count>(
                *column.template operator()<first>(),
                [](auto&... fields) -> E& { return pick<F>(fields...); });
        } else {
            auto* const bytes = reinterpret_cast<std::byte*>(column.template operator()<first>());
            return static_cast<E&>(*reinterpret_cast<T*>(bytes + group_at<F>.offset));
        }
    }
    /// Field F of row i.
    template <std::size_t F, bool IsConst>
    [[nodiscard, gnu::always_inline]] static decltype(auto) field(std::byte* base,
                                                                  std::size_t capacity,
                                                                  std::size_t i) noexcept {
        return field_in<F, IsConst>([=]<std::size_t C>() { return element<C>(base, capacity, i); });
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

}  // namespace cairn::inline CAIRN_FLAVOUR::detail
