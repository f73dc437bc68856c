// cairn/containers/table/selected_fields.hpp - some fields of one row, for structured bindings.
//
//      auto [p, v] = t.row<&P::position, &P::velocity>(i);       p and v are references into row i
//
// Cost: none; the compiler dissolves it. Lifetimes: as a reference into a vector.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// What table_view::row<...>(i) gives: fields F... of row `index`.
template <class View, std::size_t... F>
class selected_fields {
public:
    selected_fields(View view, std::size_t index) noexcept : view_{view}, index_{index} {}
    template <std::size_t I>
    [[nodiscard]] decltype(auto) get() const noexcept {
        constexpr std::size_t fields[] = {F...};
        return view_.template field<fields[I]>(index_);
    }

private:
    View view_;
    std::size_t index_;
};

}}  // namespace cairn::CAIRN_FLAVOUR

template <class View, std::size_t... F>
struct std::tuple_size<cairn::selected_fields<View, F...>>
    : std::integral_constant<std::size_t, sizeof...(F)> {};

template <std::size_t I, class View, std::size_t... F>
struct std::tuple_element<I, cairn::selected_fields<View, F...>> {
    using type =
        decltype(std::declval<const cairn::selected_fields<View, F...>&>().template get<I>());
};
