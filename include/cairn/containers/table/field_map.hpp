// cairn/containers/table/field_map.hpp - which columns each field of a row type lies in.
//
//      field_map<particle<>, split_soa>
//          fields    position vec3 | velocity vec3 | life float
//          columns   0 1 2         | 3 4 5         | 6             split: one per component
//
//      grouped_soa<group<&P::a, &P::c>>
//          fields    a | b | c
//          columns   0 | 1 | 0                                     grouped: the one of its group
//
// Most rows have a field a column and a column a field (columns_are_fields): compilers are asked
// little then, for each question costs its milliseconds in each program.
//
// Cost: compile time only.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <cairn/containers/field.hpp>
#include <cairn/containers/inside/row_fields.hpp>
#include <cairn/containers/layout.hpp>
#include <cairn/containers/table/split_ref.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

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

/// Which fields share a column.
template <std::size_t Count>
struct field_groups {
    std::size_t at[Count];  // a number for each group, or no_group
    bool are_none = true;
};
template <class Layout, std::size_t Count>
consteval field_groups<Count> find_groups() {
    field_groups<Count> result{};
    for (std::size_t f = 0; f < Count; ++f) {
        result.at[f] = Layout::one_array ? 0 : Layout::group_of(f);
        result.are_none = result.are_none && result.at[f] == no_group;
    }
    return result;
}

/// Columns of the fields, in the order of the fields.
template <std::size_t Count>
struct field_columns {
    struct columns {
        std::size_t first = 0;
        std::size_t count = 1;
        bool is_split = false;
    } at[Count];
};
template <std::size_t Count>
consteval field_columns<Count> find_one_column_each() {
    field_columns<Count> result{};
    for (std::size_t f = 0; f < Count; ++f) { result.at[f].first = f; }
    return result;
}

template <class Row, class Layout>
struct field_map {
    using fields = typename declared_fields<Row>::type;
    static constexpr std::size_t field_count = fields::size;
    static constexpr bool is_named = row_template<Row>::is_named;

    template <std::size_t F>
    using field_type = typename type_at<F, fields>::type;

    static constexpr field_groups<field_count> groups = find_groups<Layout, field_count>();
    static consteval bool is_grouped(std::size_t f) { return groups.at[f] != no_group; }

    /// True when column number f is field number f, for all of them: none is split or grouped.
    static constexpr bool columns_are_fields = []<class... D>(type_list<D...>) {
        const bool splits = Layout::splits || (D::marked_split || ...);
        return groups.are_none && (!splits || Layout::lanes != 0);
    }(fields{});

    /// True when field F is stored as its components.
    template <std::size_t F>
    static consteval bool splits_field() {
        if constexpr (Layout::one_array || Layout::lanes != 0) {
            return false;
        } else if constexpr (is_grouped(F)) {
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
    /// The group of field f, and where in its cells f lies.
    static constexpr group_desc group_at(std::size_t f) {
        return []<class... D>(std::size_t wanted, type_list<D...>) {
            const std::size_t sizes[] = {sizeof(typename D::type)...};
            const std::size_t aligns[] = {alignof(typename D::type)...};
            group_desc result;
            for (std::size_t other = 0; other < field_count; ++other) {
                if (groups.at[other] != groups.at[wanted]) { continue; }
                const std::size_t align = aligns[other];
                result.first = result.first == no_group ? other : result.first;
                result.align = align > result.align ? align : result.align;
                result.size = (result.size + align - 1) / align * align;
                if (other == wanted) { result.offset = result.size; }
                result.size += sizes[other];
            }
            result.size = (result.size + result.align - 1) / result.align * result.align;
            return result;
        }(f, fields{});
    }

    /// An element of the column that a group shares. The cell of aos is the row.
    template <std::size_t F>
    struct alignas(group_at(F).align) group_cell {
        std::byte bytes[group_at(F).size];
    };
    template <std::size_t F>
    using cell = std::conditional_t<Layout::one_array, Row, group_cell<F>>;

    template <class T, std::size_t>
    using repeated = T;
    /// The types of the elements of the columns that field F adds: a group's first field adds its.
    template <std::size_t F>
    static consteval auto cells_of() {
        if constexpr (splits_field<F>()) {
            using C = components_of<field_type<F>>;
            return []<std::size_t... I>(std::index_sequence<I...>) {
                return type_list<repeated<typename C::type, I>...>{};
            }(std::make_index_sequence<C::count>{});
        } else if constexpr (!is_grouped(F)) {
            return type_list<field_type<F>>{};
        } else if constexpr (group_at(F).first == F) {
            return type_list<cell<F>>{};
        } else {
            return type_list<>{};
        }
    }
    template <class... D, std::size_t... F>
    static consteval auto list_cells(type_list<D...>, std::index_sequence<F...>) {
        if constexpr (columns_are_fields) {
            return type_list<typename D::type...>{};
        } else {
            return (type_list<>{} + ... + cells_of<F>());
        }
    }
    using field_numbers = std::make_index_sequence<field_count>;
    /// The types of the elements of all columns.
    using cells = decltype(list_cells(fields{}, field_numbers{}));
    static constexpr std::size_t column_count = cells::size;

    template <std::size_t... F>
    static consteval field_columns<field_count> find_columns(std::index_sequence<F...>) {
        if constexpr (columns_are_fields) {
            return find_one_column_each<field_count>();
        } else {
            field_columns<field_count> result{
                {{0, decltype(cells_of<F>())::size, splits_field<F>()}...}};
            std::size_t next = 0;
            for (std::size_t f = 0; f < field_count; ++f) {
                auto& of_field = result.at[f];
                of_field.first = next;
                next += of_field.count;
                if (is_grouped(f)) { of_field = {result.at[group_at(f).first].first, 1, false}; }
            }
            return result;
        }
    }
    static constexpr field_columns<field_count> columns_by_field = find_columns(field_numbers{});
    static consteval std::size_t first_column(std::size_t f) {
        return columns_by_field.at[f].first;
    }
    static consteval std::size_t columns_of(std::size_t f) { return columns_by_field.at[f].count; }
    static consteval bool is_split(std::size_t f) { return columns_by_field.at[f].is_split; }
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
