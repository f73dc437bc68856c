// cairn/containers/table/layout_rules.hpp - what a layout must keep for a row, in sentences.
//
//      cairn::table<P, grouped_soa<group<&P::name, &P::id>>> t;      error: the fields of a group
//                                                                    are plain data: ...
//
// A layout that breaks a rule is replaced by soa: the sentence is what the compiler says, and
// nothing follows from it.
//
// Cost: compile time only.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <cairn/containers/layout.hpp>
#include <cairn/containers/table/row_rules.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

template <class Row, auto... Members>
consteval bool are_fields_of(group<Members...>) {
    return (names_field_of<Row, std::remove_cv_t<decltype(Members)>> && ...);
}
template <auto... Members>
consteval std::size_t members_in(group<Members...>) {
    return sizeof...(Members);
}

enum class layout_fault { none, foreign_field, one_field, field_twice, not_plain, mixed_group };

/// True when the fields of Row that Layout groups can be copied as bytes.
template <class Row, class Layout, class... T, std::size_t... F>
consteval bool groups_are_plain(type_list<T...>, std::index_sequence<F...>) {
    return ((Layout::group_of(F) == no_group || std::is_trivially_copyable_v<T>) && ...);
}
template <class Row, class Layout>
consteval layout_fault find_group_fault() {
    constexpr auto fields = std::make_index_sequence<field_count<Row>>{};
    if (Layout::one_array) { return layout_fault::none; }
    if (!groups_are_plain<Row, Layout>(field_types<Row>{}, fields)) {
        return layout_fault::not_plain;
    }
    for (std::size_t f = 0; f < field_count<Row>; ++f) {
        if ((Layout::splits || Layout::lanes != 0) && Layout::group_of(f) != no_group) {
            return layout_fault::mixed_group;
        }
    }
    return layout_fault::none;
}
template <class Row, class Layout>
consteval layout_fault find_layout_fault(Layout) {
    return find_group_fault<Row, Layout>();
}
/// Groups by member pointers may be wrong in more ways.
template <class Row, class... Groups>
consteval layout_fault find_layout_fault(grouped_soa<Groups...>) {
    if constexpr (!(are_fields_of<Row>(Groups{}) && ...)) {
        return layout_fault::foreign_field;
    } else if constexpr (!((members_in(Groups{}) >= 2) && ...)) {
        return layout_fault::one_field;
    } else {
        for (std::size_t field = 0; field < field_count<Row>; ++field) {
            if ((std::size_t{0} + ... + (Groups::has(field) ? 1u : 0u)) > 1) {
                return layout_fault::field_twice;
            }
        }
        return find_group_fault<Row, grouped_soa<Groups...>>();
    }
}

template <class Row, class Layout>
inline constexpr layout_fault fault_of_layout = find_layout_fault<Row>(Layout{});
template <class Row, class Layout, layout_fault Fault>
inline constexpr bool layout_is_free_of = fault_of_layout<Row, Layout> != Fault;

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
