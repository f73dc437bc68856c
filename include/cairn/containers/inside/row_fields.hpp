// cairn/containers/inside/row_fields.hpp - the fields of a plain struct: counted, visited and
// checked without macros.
//
//      struct projectile { vec3 position; vec3 velocity; float damage; };
//
//      field_count<projectile>               3        how many braces it accepts
//      with_fields<3>(p, visitor)            visitor(p.position, p.velocity, p.damage)
//      field_index<&projectile::damage>      2        the field that a member pointer names
//      components_of<vec3>                   3 floats, which split layouts store in three columns
//      fault_of_row<projectile>              none     the first rule of rows that the struct breaks
//
// C++20 has no reflection, but two of its features together are enough. Brace initialization gives
// the number of fields: T{any, any, any} compiles and T{any, any, any, any} does not. A structured
// binding of that arity then names all fields. A member pointer is turned into an index by
// comparing, at compile time, the address of object.*member with the addresses of all fields. The
// object is declared and never defined, so nothing of this reaches the program.
//
// Works for: aggregates of up to 24 fields: no base classes, no private fields, no C arrays (use
//            std::array), no reference fields. Error messages about braces and bindings do not
//            mention rows, so a table first asks for fault_of_row and states the broken rule.
// Cost:      compile time only.
// Same idea as: Boost.PFR.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <cairn/core/inside/compiler.hpp>
#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

/// Converts to anything; only ever named in unevaluated expressions.
struct any_field {
    template <class T>
    operator T() const noexcept;
};

/// One for each number of a pack.
template <std::size_t>
using any_field_at = any_field;

/// True when T{any, any, ...} compiles with as many values as the sequence has numbers.
template <class T, std::size_t... I>
consteval bool accepts_braces(std::index_sequence<I...>) {
    return requires { T{any_field_at<I>{}...}; };
}

/// More fields have no with_fields() below. A row with more is better off with nested structs,
/// whose members a loop uses together.
inline constexpr std::size_t field_count_max = 24;

/// The largest number of values that T's braces accept: at least `Taken`, fewer than `Refused`; 0:
/// none was found. The accepted numbers are a run: it ends at the number of fields and begins
/// behind the last field that needs a value. Halving finds the end of the run, unless the run is
/// short and halving misses it: count_one_by_one() asks each number then. Halving asks five times,
/// and each question is slow to compile.
template <class T, std::size_t Taken, std::size_t Refused>
consteval std::size_t count_by_halves() {
    if constexpr (Refused - Taken == 1) {
        return Taken;
    } else {
        constexpr std::size_t middle = (Taken + Refused) / 2;
        if constexpr (detail::accepts_braces<T>(std::make_index_sequence<middle>{})) {
            return count_by_halves<T, middle, Refused>();
        } else {
            return count_by_halves<T, Taken, middle>();
        }
    }
}
/// The largest accepted number of 1 to sizeof...(N); 0 when there is none. A question for each.
template <class T, std::size_t... N>
consteval std::size_t count_one_by_one(std::index_sequence<N...>) {
    std::size_t count = 0;
    ((count = detail::accepts_braces<T>(std::make_index_sequence<N + 1>{}) ? N + 1 : count), ...);
    return count;
}
/// Returns: field_count_max + 1 when T has more fields.
template <class T>
consteval std::size_t count_fields() {
    constexpr std::size_t count = count_by_halves<T, 0, field_count_max + 2>();
    if constexpr (count != 0) {
        return count;
    } else {
        return detail::count_one_by_one<T>(std::make_index_sequence<field_count_max + 1>{});
    }
}

/// Fields of the aggregate T. A compiler keeps the answer: it counts once in a translation unit.
template <class T>
inline constexpr std::size_t field_count = count_fields<T>();

/// visitor(first field, second field, ...) of an aggregate with `Count` fields; an lvalue each.
/// A case for each count, because a structured binding of C++20 names as many variables as there
/// are fields, and cannot name a pack of them.
template <std::size_t Count, class T, class Visitor>
[[CAIRN_FORCE_INLINE]] constexpr decltype(auto) with_fields(T& row, Visitor&& visitor) {
    if constexpr (Count == 1) {
        auto& [a] = row;
        return visitor(a);
    } else if constexpr (Count == 2) {
        auto& [a, b] = row;
        return visitor(a, b);
    } else if constexpr (Count == 3) {
        auto& [a, b, c] = row;
        return visitor(a, b, c);
    } else if constexpr (Count == 4) {
        auto& [a, b, c, d] = row;
        return visitor(a, b, c, d);
    } else if constexpr (Count == 5) {
        auto& [a, b, c, d, e] = row;
        return visitor(a, b, c, d, e);
    } else if constexpr (Count == 6) {
        auto& [a, b, c, d, e, f] = row;
        return visitor(a, b, c, d, e, f);
    } else if constexpr (Count == 7) {
        auto& [a, b, c, d, e, f, g] = row;
        return visitor(a, b, c, d, e, f, g);
    } else if constexpr (Count == 8) {
        auto& [a, b, c, d, e, f, g, h] = row;
        return visitor(a, b, c, d, e, f, g, h);
    } else if constexpr (Count == 9) {
        auto& [a, b, c, d, e, f, g, h, i] = row;
        return visitor(a, b, c, d, e, f, g, h, i);
    } else if constexpr (Count == 10) {
        auto& [a, b, c, d, e, f, g, h, i, j] = row;
        return visitor(a, b, c, d, e, f, g, h, i, j);
    } else if constexpr (Count == 11) {
        auto& [a, b, c, d, e, f, g, h, i, j, k] = row;
        return visitor(a, b, c, d, e, f, g, h, i, j, k);
    } else if constexpr (Count == 12) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l] = row;
        return visitor(a, b, c, d, e, f, g, h, i, j, k, l);
    } else if constexpr (Count == 13) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = row;
        return visitor(a, b, c, d, e, f, g, h, i, j, k, l, m);
    } else if constexpr (Count == 14) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = row;
        return visitor(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
    } else if constexpr (Count == 15) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = row;
        return visitor(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o);
    } else if constexpr (Count == 16) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = row;
        return visitor(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
    } else if constexpr (Count == 17) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q] = row;
        return visitor(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q);
    } else if constexpr (Count == 18) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r] = row;
        return visitor(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r);
    } else if constexpr (Count == 19) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s] = row;
        return visitor(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s);
    } else if constexpr (Count == 20) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t] = row;
        return visitor(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t);
    } else if constexpr (Count == 21) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u] = row;
        return visitor(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u);
    } else if constexpr (Count == 22) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v] = row;
        return visitor(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v);
    } else if constexpr (Count == 23) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w] = row;
        return visitor(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w);
    } else if constexpr (Count == 24) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x] = row;
        return visitor(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x);
    }
}

// A list of types, and the type with a number in it. clang has that as a builtin; gcc 12 looks a
// base class up. A recursion would cost milliseconds for each row type.
#if __has_builtin(__type_pack_element)
template <class... T>
struct type_list {
    static constexpr std::size_t size = sizeof...(T);
    template <std::size_t I>
    using at = __type_pack_element<I, T...>;
};
#else
/// A base for each type: the compiler finds the one with a number at once.
template <std::size_t I, class T>
struct numbered_type {
    using type = T;
};
template <class Numbers, class... T>
struct numbered_types;
template <std::size_t... I, class... T>
struct numbered_types<std::index_sequence<I...>, T...> : numbered_type<I, T>... {
    template <std::size_t Number, class Found>
    static numbered_type<Number, Found> find(numbered_type<Number, Found>*);
};
template <class... T>
struct type_list {
    static constexpr std::size_t size = sizeof...(T);
    using numbered = numbered_types<std::index_sequence_for<T...>, T...>;
    template <std::size_t I>
    using at = typename decltype(numbered::template find<I>(static_cast<numbered*>(nullptr)))::type;
};
#endif

/// Type number I of a type_list.
template <std::size_t I, class List>
using type_at = typename List::template at<I>;

/// The argument behind `Before` of them.
template <class Before>
struct argument_behind;
template <std::size_t... Before>
struct argument_behind<std::index_sequence<Before...>> {
    template <std::size_t>
    struct any {
        template <class T>
        constexpr any(T&) noexcept {}
    };
    template <class T, class... Rest>
    [[CAIRN_FORCE_INLINE]] static constexpr T& find(any<Before>..., T& found, Rest&...) noexcept {
        return found;
    }
};
/// The I-th argument.
template <std::size_t I, class... T>
[[CAIRN_FORCE_INLINE]] constexpr auto& pick(T&... arguments) noexcept {
    return argument_behind<std::make_index_sequence<I>>::find(arguments...);
}

/// The visitor that returns the types of the fields as a type_list.
struct list_types {
    template <class... F>
    constexpr type_list<std::remove_const_t<F>...> operator()(F&...) const {
        return {};
    }
};

/// The types of the fields of T, in order.
template <class T>
using field_types = decltype(detail::with_fields<field_count<T>>(std::declval<T&>(), list_types{}));

// No variable of that name is defined: only its address is asked for.
#if defined(__clang__)
CAIRN_WARNING_OFF("-Wundefined-var-template")
CAIRN_WARNING_OFF("-Wundefined-internal")
#endif

/// Has an address for the compiler and none for the linker: no object of type T is made. A member
/// of it can be named in a constant expression, which compares addresses and reads no value.
template <class T>
struct never_defined {
    T object;
};
template <class T>
extern const never_defined<T> never_defined_of;

/// The number of the field whose address is that of the member; the number of fields when none is:
/// a member of a base class.
template <class T, class Member>
consteval std::size_t index_of_member(Member T::* member) {
    const void* const wanted = compiler::address_of(never_defined_of<T>.object.*member);
    return detail::with_fields<field_count<T>>(
        never_defined_of<T>.object, [wanted](const auto&... fields) {
            std::size_t found = sizeof...(fields);
            std::size_t index = 0;
            ((found =
                  static_cast<const void*>(compiler::address_of(fields)) == wanted ? index : found,
              ++index),
             ...);
            return found;
        });
}

#if defined(__clang__)
CAIRN_WARNING_ON
CAIRN_WARNING_ON
#endif

/// The position of the field that `Member` (&row::name) names.
template <auto Member>
inline constexpr std::size_t field_index = detail::index_of_member(Member);

/// True when a `Pointer` can name a field of Row: it is a member pointer, and of that very struct.
template <class Row, class Pointer>
inline constexpr bool names_field_of = false;
template <class Row, class Member>
inline constexpr bool names_field_of<Row, Member Row::*> = !std::is_function_v<Member>;

// What a row may be.

/// Converts to the bases of T, and to nothing else.
template <class T>
struct any_base_of {
    any_base_of(const any_base_of&) = delete;  // so that std::any does not take one
    template <class Base>
        requires(std::is_base_of_v<Base, T> && !std::is_same_v<Base, T>)
    operator Base() const noexcept;
};
/// Converts to nothing: only a first field that is made from anything takes it.
struct nothing_like_it {
    nothing_like_it(const nothing_like_it&) = delete;
};
/// True when the braces of T begin with an object of a base class, as aggregates with bases do.
template <class T>
concept has_base_class = requires { T{std::declval<any_base_of<T>>()}; } &&
                         !requires { T{std::declval<nothing_like_it>()}; };

// A C array takes several values of a list without braces of its own, so that counting braces
// counts its elements. Which field it is:
//
//      struct joint { int parent; float place[3]; std::string name; };      accepts 5 values
//
//      {any, any, any, any, any}      parent, place[0], place[1], place[2], name
//      {any, {}, any, any, any}       does not compile: {} fills place, name gets three values
//      {any, {}, any}                 compiles: place is an array

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
    if constexpr (detail::accepts_empty_field<T>(before{},
                                                 std::make_index_sequence<Count - I - 1>{})) {
        return false;
    } else {
        return []<std::size_t... Fewer>(std::index_sequence<Fewer...>) {
            return (detail::accepts_empty_field<T>(before{}, std::make_index_sequence<Fewer>{}) ||
                    ...);
        }(std::make_index_sequence<Count - I - 1>{});
    }
}
/// True when a field is a C array. `I...` count what the braces accept, elements included.
template <class T, std::size_t... I>
consteval bool has_c_array(std::index_sequence<I...>) {
    if constexpr (requires { T{{any_field_at<I>{}}...}; }) {
        return false;  // as many fields as values
    } else {
        return (is_c_array_at<T, I, sizeof...(I)>() || ...);
    }
}

/// What a struct has that a row has not. check_row() has the sentence of each.
enum class row_fault {
    none,
    no_struct,       // a number, a union, a const struct
    no_aggregate,    // a constructor, a private or a virtual member
    base_class,      // its fields would have no member pointers of the row
    reference,       // could not be assigned; or a field without a public destructor
    c_array,         // cannot be moved as one value
    field_count,     // none, or more than field_count_max
    fixed_field,     // std::mutex, std::atomic: rows move when the table grows
    volatile_field,  // a row is copied as bytes, which volatile forbids
};

/// The rules that each field is asked for alone.
template <class... T>
consteval row_fault fault_of_fields(type_list<T...>) {
    return (std::is_volatile_v<T> || ...)             ? row_fault::volatile_field
           : (std::is_move_constructible_v<T> && ...) ? row_fault::none
                                                      : row_fault::fixed_field;
}

/// Each rule is asked only when the rules before it hold: a question about the fields of something
/// that is no aggregate would be an error of its own.
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
    } else if constexpr (detail::has_c_array<Row>(std::make_index_sequence<field_count<Row>>{})) {
        return row_fault::c_array;
    } else if constexpr (field_count<Row> > field_count_max) {
        return row_fault::field_count;
    } else {
        return detail::fault_of_fields(field_types<Row>{});
    }
}

/// The first rule that Row breaks. Requires: Row is complete.
template <class Row>
inline constexpr row_fault fault_of_row = find_row_fault<Row>();

/// False for the rule that Row breaks. (A name, because compilers explain comparisons.)
template <class Row, row_fault Rule>
inline constexpr bool keeps_rule = fault_of_row<Row> != Rule;

/// States the rule that Row breaks. Returns: whether Row keeps all rules.
template <class Row>
consteval bool check_row() {
    static_assert(keeps_rule<Row, row_fault::no_struct>, "a row is a struct, without const");
    static_assert(
        keeps_rule<Row, row_fault::no_aggregate>,
        "a row is an aggregate: public fields only, no constructors, no virtual functions");
    static_assert(keeps_rule<Row, row_fault::base_class>,
                  "a row has no base class: put its fields into the row, or make it a field");
    static_assert(keeps_rule<Row, row_fault::reference>,
                  "a row has no reference (use a pointer) and no field that cannot be destroyed");
    static_assert(keeps_rule<Row, row_fault::c_array>, "a row has no C array: use std::array");
    static_assert(keeps_rule<Row, row_fault::field_count>, "a row has 1 to 24 fields");
    static_assert(keeps_rule<Row, row_fault::fixed_field>, "each field of a row can be moved");
    static_assert(keeps_rule<Row, row_fault::volatile_field>, "a row has no volatile field");
    return fault_of_row<Row> == row_fault::none;
}

/// The position of the field that `Member` names in a Row: it is &Row::name. 0 after an error: of a
/// row that breaks a rule, the sentence of the rule is enough.
template <class Row, auto Member>
consteval std::size_t own_field() {
    if constexpr (!check_row<Row>()) {
        return 0;
    } else {
        constexpr bool is_own = names_field_of<Row, std::remove_cv_t<decltype(Member)>>;
        static_assert(is_own, "a field is named by a member pointer of its own row");
        if constexpr (is_own) { return field_index<Member>; }
        return 0;
    }
}
/// The same for a component of a small vector.
template <class Vector, auto Member>
consteval std::size_t own_component() {
    constexpr bool is_own = names_field_of<Vector, std::remove_cv_t<decltype(Member)>>;
    static_assert(is_own, "a component is named by a member pointer of its own vector");
    if constexpr (is_own) { return field_index<Member>; }
    return 0;
}

}  // namespace detail

/// The components of a small vector, which split layouts store in one column each. Found for
/// aggregates of 2 to 16 equal arithmetic fields; specialize it for classes with constructors:
/// `using type = float; static constexpr std::size_t count = 3;`.
template <class T>
struct components_of {
private:
    template <class First, class... Rest>
    static consteval std::size_t count_equal(detail::type_list<First, Rest...>) {
        return std::is_arithmetic_v<First> && (std::is_same_v<First, Rest> && ...) &&
                       sizeof(First) * (1 + sizeof...(Rest)) == sizeof(T)
                   ? 1 + sizeof...(Rest)
                   : 0;
    }
    // Fields are counted only where T is small and plain: counting is slow to compile.
    static consteval std::size_t find_count() {
        if constexpr (requires { std::tuple_size<T>::value; }) {
            return 0;  // an array stays whole: its elements are reached by a run-time index
        } else if constexpr (std::is_aggregate_v<T> && std::is_class_v<T> &&
                             std::is_trivially_copyable_v<T> && sizeof(T) <= 128) {
            if constexpr (detail::field_count<T> >= 2 && detail::field_count<T> <= 16) {
                if constexpr (detail::fault_of_row<T> == detail::row_fault::none) {
                    return count_equal(detail::field_types<T>{});
                }
            }
        }
        return 0;
    }
    static auto find_type() {
        if constexpr (find_count() != 0) {
            return std::type_identity<detail::type_at<0, detail::field_types<T>>>{};
        } else {
            return std::type_identity<T>{};
        }
    }

public:
    using type = typename decltype(find_type())::type;
    static constexpr std::size_t count = find_count();  // 0: not a small vector
};

namespace detail {

/// A field that split layouts store by its components: as many of one type, without padding.
template <class T>
concept splittable = components_of<T>::count >= 2 && std::is_trivially_copyable_v<T> &&
                     sizeof(T) == components_of<T>::count * sizeof(typename components_of<T>::type);

}  // namespace detail
}}  // namespace cairn::CAIRN_FLAVOUR
