// cairn/containers/table/field_access.hpp - a field by its member pointer, of a row or of a value.
//
//      get<&P::life>(t[i])                            float&, in every layout
//      get<&P::life>(value)                           float&, of the value
//      std::ranges::sort(t, {}, key<&P::life>)        a projection that takes both
//
// Cost: none. Lifetimes: as the field's.
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/containers/table/row.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

/// A reference stays one; a split_ref is copied: it may live in a row that is about to go.
template <class T>
[[nodiscard]] constexpr T& hand_out(T& field) noexcept {
    return field;
}
template <class T, bool C>
[[nodiscard]] constexpr split_ref<T, C> hand_out(split_ref<T, C>& field) noexcept {
    return field;
}
template <class T, bool C>
[[nodiscard]] constexpr split_ref<T, C> hand_out(const split_ref<T, C>& field) noexcept {
    return field;
}

template <class R>
struct row_of_impl {
    using type = R;
};
template <class Row, class Layout, bool IsConst>
struct row_of_impl<table_row<Row, Layout, IsConst>> {
    using type = Row;
};
/// The struct whose fields R has: R is one, or a row of a table.
template <class R>
using row_of = typename row_of_impl<std::remove_cvref_t<R>>::type;

}  // namespace detail

/// A field of a row in any layout, values included: get<&P::life>(row).
template <auto Member, class R>
[[nodiscard]] constexpr decltype(auto) get(R&& row) noexcept {
    using row_type = detail::row_of<R>;
    constexpr bool is_own = detail::names_field_of<row_type, std::remove_cv_t<decltype(Member)>>;
    if constexpr (requires { row.*Member; }) {
        return (row.*Member);
    } else if constexpr (!is_own) {
        static_assert(is_own, "a field is named by a member pointer of its own row");
        return detail::stand_in_field();
    } else if constexpr (detail::row_template<row_type>::is_named) {
        constexpr std::size_t f = detail::own_field<row_type, Member>();
        return row.cairn_visit_fields([](auto&... fields) -> decltype(auto) {
            return detail::hand_out(detail::pick<f>(fields...));
        });
    } else {
        return row.template get<Member>();
    }
}

/// A projection that works on values and on rows: std::ranges::sort(t, {}, key<&P::life>).
template <auto Member>
struct key_of {
    template <class R>
    [[nodiscard]] constexpr decltype(auto) operator()(R&& row) const noexcept {
        return get<Member>(static_cast<R&&>(row));
    }
};
template <auto Member>
inline constexpr key_of<Member> key{};

}}  // namespace cairn::CAIRN_FLAVOUR
