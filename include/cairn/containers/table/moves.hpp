// cairn/containers/table/moves.hpp - rows that change places, field by field, without losing one.
//
//      swap(a, b)            fields whose moves may throw come first, by copies:
//
//          risky   x_a <-> x_b   y_a <-> y_b ! throws    the guards of x exchange it back:
//          safe    z_a     z_b   (not reached)           both rows are as they were
//
// Where no field's move throws (never_throw), rows move whole, one column after the other.
//
// Cost: the moves of the fields; the guards are there only for fields that may throw.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <cairn/containers/table/layout_of.hpp>
#include <cairn/core/inside/rollback.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Moves rows of the table whose block is `base`, laid out for `capacity` rows.
template <class Row, class Layout>
class row_moves {
    using layout_of = detail::layout_of<Row, Layout>;
    using parts = typename layout_of::parts;

public:
    row_moves(std::byte* base, std::size_t capacity) noexcept : base_{base}, capacity_{capacity} {}

    /// True when no field throws while rows move.
    static consteval bool never_throw() {
        return []<std::size_t... F>(std::index_sequence<F...>) {
            return (moves_safely<F>() && ...);
        }(parts{});
    }

    /// Row `to` becomes what row `from` was. Requires: never_throw().
    void move_row(std::size_t to, std::size_t from) {
        [&]<std::size_t... F>(std::index_sequence<F...>) {
            (move(layout_of::template field<F, false>(base_, capacity_, to),
                  layout_of::template field<F, false>(base_, capacity_, from)),
             ...);
        }(parts{});
    }
    /// Rows [first, last) become rows [first + 1, last], and row `first` what `last` was.
    /// Requires: never_throw().
    void rotate_back(std::size_t first, std::size_t last) {
        for_each_field([&]<std::size_t F>() {
            auto held = take(field<F>(last));
            for (std::size_t i = last; i > first; --i) { move(field<F>(i), field<F>(i - 1)); }
            field<F>(first) = std::move(held);
        });
    }
    /// Rows [gap + 1, end) become rows [gap, end - 1). Requires: never_throw().
    void close_gap(std::size_t gap, std::size_t end) {
        for_each_field([&]<std::size_t F>() {
            for (std::size_t k = gap; k + 1 < end; ++k) { move(field<F>(k), field<F>(k + 1)); }
        });
    }
    /// Exchanges two rows. Throws: see table::swap_rows; both rows are as they were then.
    void swap(std::size_t a, std::size_t b) {
        swap_risky_fields(parts{}, a, b);
        for_each_field([&]<std::size_t F>() {
            if constexpr (moves_safely<F>()) {
                auto held = take(field<F>(a));
                move(field<F>(a), field<F>(b));
                field<F>(b) = std::move(held);
            }
        });
    }

private:
    /// f<0>(), f<1>(), ... for each field, or once for the row of aos.
    template <class F>
    static void for_each_field(F f) {
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (f.template operator()<I>(), ...);
        }(parts{});
    }
    template <std::size_t F>
    [[nodiscard, gnu::always_inline]] decltype(auto) field(std::size_t i) const noexcept {
        return layout_of::template field<F, false>(base_, capacity_, i);
    }

    template <class T>
    [[nodiscard]] static T take(T& field) {
        return T{std::move(field)};
    }
    template <class T>
    [[nodiscard]] static T take(const split_ref<T>& field) {
        return field.load();
    }
    template <class T>
    static void move(T& to, T& from) {
        to = std::move(from);
    }
    template <class T>
    static void move(const split_ref<T>& to, const split_ref<T>& from) {
        to = from;
    }
    template <class T>
    static constexpr bool never_throws =
        std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>;
    template <std::size_t F>
    static consteval bool moves_safely() {
        using T =
            std::remove_reference_t<decltype(layout_of::template field<F, false>(nullptr, 0, 0))>;
        return is_split_ref<T> || never_throws<T>;
    }

    /// Two fields whose moves may throw: both are copied first, and put back when one throws.
    template <class T>
    static void swap_risky(T& x, T& y) {
        if constexpr (std::is_nothrow_swappable_v<T>) {
            using std::swap;
            swap(x, y);
        } else if constexpr (std::is_copy_constructible_v<T> && std::is_copy_assignable_v<T>) {
            struct both {
                T& first;
                T& second;
                const T old_first;
                const T old_second;
                bool is_done = false;
                both(T& one, T& other)
                    : first(one), second(other), old_first(one), old_second(other) {}
                ~both() {
                    if (is_done) { return; }
                    put_back(first, old_first);
                    put_back(second, old_second);
                }
            } kept{x, y};
            x = kept.old_second;
            y = kept.old_first;
            kept.is_done = true;
        } else {
            T held{std::move(x)};
            x = std::move(y);
            y = std::move(held);
        }
    }
    template <class T>
    static void put_back(T& to, const T& value) noexcept {
#if defined(__cpp_exceptions)
        try {
            to = value;
        } catch (...) {}
#else
        to = value;
#endif
    }
    /// The fields that may throw. What was exchanged is exchanged back when a later one throws.
    void swap_risky_fields(std::index_sequence<>, std::size_t, std::size_t) {}
    template <std::size_t F, std::size_t... Rest>
    void swap_risky_fields(std::index_sequence<F, Rest...>, std::size_t a, std::size_t b) {
        if constexpr (moves_safely<F>()) {
            swap_risky_fields(std::index_sequence<Rest...>{}, a, b);
        } else {
            swap_risky(field<F>(a), field<F>(b));
            rollback undo{[&]() noexcept {
#if defined(__cpp_exceptions)
                try {
                    swap_risky(field<F>(a), field<F>(b));
                } catch (...) {}
#endif
            }};
            swap_risky_fields(std::index_sequence<Rest...>{}, a, b);
            undo.cancel();
        }
    }

    std::byte* base_;
    std::size_t capacity_;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
