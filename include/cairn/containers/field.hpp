// cairn/containers/field.hpp - a row written once, stored in any layout.
//
//      template <class K = cairn::value>
//      struct particle {
//          cairn::field<K, vec3>  position;
//          cairn::field<K, vec3>  velocity;
//          cairn::field<K, float> life = 1.0f;
//          auto is_dead() const { return life <= 0; }
//      };
//
//      particle<>                 field<value, vec3> is vec3:    an ordinary aggregate
//      particle<(references)>     field<ref, vec3>   is vec3&:   a row of a table, made on the fly:
//
//           position column   +----+----+----+----+
//           velocity column   +----+----+-|--+----+      t[2].velocity is a reference into
//           life column       +----+----+-|--+----+      the column, under the member's own name
//                                        row 2
//
// The template parameter is the only trace that the layout leaves in the struct. Default member
// initializers and member functions work: they are instantiated only where they are used.
//
// Use it for: rows of a table whose fields should keep their names in every layout.
// Look elsewhere for: structs that you cannot edit: a table takes them as they are, and names their
//                     fields by member pointers.
// Cost: none at run time: field<value, T> is T.
#pragma once

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// Marks a vector-like field to be stored as one column per component in the soa layouts:
/// field<K, split<vec3>> is a vec3 in a value, and three float columns in a table.
template <class T>
struct split {};

namespace detail {

template <class T>
struct unmarked_impl {
    using type = T;
};
template <class T>
struct unmarked_impl<split<T>> {
    using type = T;
};

/// The type that the user sees: without the mark.
template <class T>
using unmarked = typename unmarked_impl<T>::type;

/// A field as it was declared: kept apart from the type itself so that references and
/// non-default-constructible types can be listed.
template <class T>
struct declared {
    using type = unmarked<T>;
    static constexpr bool marked_split = false;
};
template <class T>
struct declared<split<T>> {
    using type = T;
    static constexpr bool marked_split = true;
};

/// The kind that lists the declarations.
struct declaration_kind {
    template <class T>
    using type = declared<T>;
};

}  // namespace detail

/// The kind of a plain value: the default of every row template.
struct value {
    template <class T>
    using type = detail::unmarked<T>;
};

/// The type of a field of a row of kind K.
template <class K, class T>
using field = typename K::template type<T>;

namespace detail {

/// Recognizes S<value, ...>: a row whose fields have names in every layout.
template <class Row>
struct row_template {
    static constexpr bool is_named = false;
};
template <template <class, class...> class S, class... Rest>
struct row_template<S<value, Rest...>> {
    static constexpr bool is_named = true;
    template <class K>
    using with = S<K, Rest...>;
};

}  // namespace detail
}}  // namespace cairn::CAIRN_FLAVOUR
