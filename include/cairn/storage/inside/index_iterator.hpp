// cairn/storage/inside/index_iterator.hpp - a random-access iterator over anything with operator[].
//
//      +------------------------+-------+
//      | view: base, capacity   | index |      ++ adds one to the index; *it is view[index]
//      +------------------------+-------+
//
// An index and a private copy of the view compile to the best loops: nothing is reloaded through a
// container, and one counter is advanced instead of one pointer per column.
//
// Models std::random_access_iterator also where operator[] gives a proxy. The C++17 category is
// random access then, too, as that of std::vector<bool>: std::stable_sort, std::rotate and
// std::lower_bound choose by it, and would not compile or take steps of one. Where rows have
// handles and operator[] gives a proxy it is input: rotating would leave the handles behind.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <span>  // for the iterator tags: <iterator> itself costs three times as much
#include <type_traits>
#include <utility>

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

template <class View>
class index_iterator {
    static constexpr bool has_handles = requires { View::have_handles; };

public:
    using value_type = typename View::value_type;
    using reference = decltype(std::declval<const View&>()[std::size_t{}]);
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::random_access_iterator_tag;
    using iterator_category =
        std::conditional_t<has_handles && !std::is_lvalue_reference_v<reference>,
                           std::input_iterator_tag, std::random_access_iterator_tag>;

    /// What operator-> returns: holds a proxy, so that it->field works.
    struct arrow {
        reference row;
        constexpr auto* operator->() noexcept { return compiler::address_of(row); }
    };

    constexpr index_iterator() noexcept = default;
    constexpr index_iterator(View view, std::size_t index) noexcept
        : view_{view}, index_{static_cast<difference_type>(index)} {}
    /// To const: wherever the view of `other` turns into this one's. Rows with handles do not turn
    /// into rows without, or both ways would be open to a comparison.
    template <class Other>
        requires(!std::is_same_v<Other, View> && std::is_convertible_v<const Other&, View> &&
                 (has_handles || !requires { Other::have_handles; }))
    constexpr index_iterator(const index_iterator<Other>& other) noexcept
        : view_{other.view_}, index_{other.index_} {}

    [[nodiscard]] constexpr reference operator*() const noexcept { return at(index_); }
    [[nodiscard]] constexpr reference operator[](difference_type n) const noexcept {
        return at(index_ + n);
    }
    [[nodiscard]] constexpr arrow operator->() const noexcept { return {**this}; }

    constexpr index_iterator& operator++() noexcept {
        ++index_;
        return *this;
    }
    constexpr index_iterator& operator--() noexcept {
        --index_;
        return *this;
    }
    constexpr index_iterator operator++(int) noexcept { return {view_, position(index_++)}; }
    constexpr index_iterator operator--(int) noexcept { return {view_, position(index_--)}; }
    constexpr index_iterator& operator+=(difference_type n) noexcept {
        index_ += n;
        return *this;
    }
    constexpr index_iterator& operator-=(difference_type n) noexcept { return *this += -n; }

    friend constexpr index_iterator operator+(index_iterator i, difference_type n) noexcept {
        return i += n;
    }
    friend constexpr index_iterator operator+(difference_type n, index_iterator i) noexcept {
        return i += n;
    }
    friend constexpr index_iterator operator-(index_iterator i, difference_type n) noexcept {
        return i -= n;
    }
    friend constexpr difference_type operator-(const index_iterator& a,
                                               const index_iterator& b) noexcept {
        return a.index_ - b.index_;
    }
    friend constexpr bool operator==(const index_iterator& a, const index_iterator& b) noexcept {
        return a.index_ == b.index_;
    }
    friend constexpr auto operator<=>(const index_iterator& a, const index_iterator& b) noexcept
        requires(!requires { View::have_handles; })
    {
        return a.index_ <=> b.index_;
    }
    /// std::sort and its like compare positions, and would leave the handles behind.
    template <std::same_as<index_iterator> Other>
        requires requires { View::have_handles; }
    friend constexpr std::strong_ordering operator<=>(const index_iterator&,
                                                      const Other&) noexcept {
        static_assert(!std::is_same_v<Other, index_iterator>,
                      "slot_table::sort() takes the handles along; std::sort does not");
        return std::strong_ordering::equal;
    }

    /// A value moved out of the row, so that algorithms may hold it while rows move.
    [[nodiscard]] friend constexpr decltype(auto) iter_move(const index_iterator& i) {
        if constexpr (std::is_lvalue_reference_v<reference>) {
            return std::move(*i);
        } else if constexpr (requires { (*i).cairn_take(); }) {
            return (*i).cairn_take();
        } else if constexpr (std::is_copy_constructible_v<value_type>) {
            return static_cast<value_type>(*i);
        } else {
            return *i;  // to read only
        }
    }
    friend constexpr void iter_swap(const index_iterator& a, const index_iterator& b)
        requires(!has_handles && !std::is_lvalue_reference_v<reference> &&
                 requires(reference row) { swap(row, row); })
    {
        swap(*a, *b);
    }
    /// std::ranges::partition, rotate and their like exchange rows by this name. The return type is
    /// deduced, so that a concept that asks for it (std::permutable) says the sentence, too.
    template <std::same_as<index_iterator> Other>
        requires(has_handles && (std::is_lvalue_reference_v<reference>
                                     ? !std::is_const_v<std::remove_reference_t<reference>>
                                     : requires(reference row) { swap(row, row); }))
    friend constexpr auto iter_swap(const index_iterator&, const Other&) {
        static_assert(!std::is_same_v<Other, index_iterator>,
                      "slot_table::swap_rows() takes the handles along; std::ranges do not");
    }

private:
    template <class>
    friend class index_iterator;

    [[nodiscard]] static constexpr std::size_t position(difference_type i) noexcept {
        return static_cast<std::size_t>(i);
    }
    [[nodiscard]] constexpr reference at(difference_type i) const noexcept {
        return view_[position(i)];
    }

    View view_{};
    difference_type index_ = 0;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
