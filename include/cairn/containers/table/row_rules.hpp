// cairn/containers/table/row_rules.hpp - what a row may be and what names its fields, in sentences.
//
//      struct circle : point { float r; };
//      cairn::table<circle> t;     error: a row has no base class: put its fields into the row
//
// Everything that a table knows about a row it learns from braces and structured bindings
// (row_fields.hpp), whose own error messages speak of neither rows nor rules. So the rules are
// asked here, first, and a row that breaks one is replaced by a row of one int: the sentence is
// what the compiler says, and nothing follows from it.
//
// Cost: compile time only.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <cairn/containers/inside/row_fields.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Takes the place of a row or a field that breaks a rule, after the sentence. One for each row, so
/// that programs without mistakes do not pay for it.
template <class Row>
struct stand_in_row {
    int nothing;
};
int& stand_in_field() noexcept;  // never called, never defined

/// Converts to the bases of T, and to nothing else.
template <class T>
struct any_base_of {
    template <class Base>
        requires(std::is_base_of_v<Base, T> && !std::is_same_v<Base, T>)
    operator Base() const noexcept;
};
template <class T>
concept has_base_class = requires { T{any_base_of<T>{}}; };

/// {} in the place of field number Before..., and After... fields behind it.
template <class T, std::size_t... Before, std::size_t... After>
consteval bool accepts_empty_field(std::index_sequence<Before...>, std::index_sequence<After...>) {
    return requires { T{any_field_at<Before>{}..., {}, any_field_at<After>{}...}; };
}

/// True when field number I is a C array: {} fills all of it, a value only its first element, and
/// the others take up the values that were meant for the fields behind.
template <class T, std::size_t I, std::size_t Count>
consteval bool is_c_array_at() {
    using before = std::make_index_sequence<I>;
    if constexpr (accepts_empty_field<T>(before{}, std::make_index_sequence<Count - I - 1>{})) {
        return false;
    } else {
        return []<std::size_t... Fewer>(std::index_sequence<Fewer...>) {
            return (accepts_empty_field<T>(before{}, std::make_index_sequence<Fewer>{}) || ...);
        }(std::make_index_sequence<Count - I - 1>{});
    }
}
template <class T, std::size_t... I>
consteval bool has_c_array(std::index_sequence<I...>) {
    if constexpr (requires { T{{any_field_at<I>{}}...}; }) {
        return false;  // as many fields as values
    } else {
        return (is_c_array_at<T, I, sizeof...(I)>() || ...);
    }
}

enum class row_fault {
    none,
    no_struct,
    no_aggregate,
    base_class,
    reference,
    c_array,
    field_count,
    fixed_field,
};

template <class... T>
consteval bool can_move(type_list<T...>) {
    return (std::is_move_constructible_v<T> && ...);
}

template <class Row>
consteval row_fault find_row_fault() {
    if constexpr (!std::is_class_v<Row> || std::is_const_v<Row> || std::is_volatile_v<Row>) {
        return row_fault::no_struct;
    } else if constexpr (!std::is_aggregate_v<Row>) {
        return row_fault::no_aggregate;
    } else if constexpr (has_base_class<Row>) {
        return row_fault::base_class;
    } else if constexpr (field_count<Row> == 0) {
        return std::is_empty_v<Row> ? row_fault::field_count : row_fault::reference;
    } else if constexpr (has_c_array<Row>(std::make_index_sequence<field_count<Row>>{})) {
        return row_fault::c_array;
    } else if constexpr (field_count<Row> > field_count_max) {
        return row_fault::field_count;
    } else {
        return can_move(field_types<Row>{}) ? row_fault::none : row_fault::fixed_field;
    }
}

/// What is wrong with Row, which is complete.
template <class Row>
inline constexpr row_fault fault_of_row = find_row_fault<Row>();

/// False for the one rule that Row breaks. (A constant by name: compilers explain comparisons.)
template <class Row, row_fault Fault>
inline constexpr bool row_is_free_of = fault_of_row<Row> != Fault;

/// The position of the field that `Member` names in a Row: it is &Row::name.
template <class Row, auto Member>
consteval std::size_t own_field() {
    if constexpr (fault_of_row<Row> != row_fault::none) {
        return 0;  // the row's own sentence is enough
    } else {
        constexpr bool is_own = names_field_of<Row, std::remove_cv_t<decltype(Member)>>;
        static_assert(is_own, "a field is named by a member pointer of its own row");
        if constexpr (is_own) {
            return field_index<Member>;
        } else {
            return 0;
        }
    }
}

/// The same for a component of a small vector.
template <class Vector, auto Member>
consteval std::size_t own_component() {
    constexpr bool is_own = names_field_of<Vector, std::remove_cv_t<decltype(Member)>>;
    static_assert(is_own, "a component is named by a member pointer of its own vector");
    if constexpr (is_own) {
        return field_index<Member>;
    } else {
        return 0;
    }
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
