// cairn/alloc/inside/makes_objects.hpp - make<T>() and make_array<T>(n) for every arena.
//
// A bare arena runs no destructors, so T must not need one: that is a compile error, not
// a leak. Inside an arena_scope (arena_scope.hpp) any T is welcome.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include <cairn/core/alignment.hpp>
#include <cairn/core/inside/construct.hpp>
#include <cairn/core/inside/other_names.hpp>
#include <cairn/core/inside/rollback.hpp>
#include <cairn/core/make.hpp>
#include <cairn/core/slice.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// No memory holds so many: refused before anything is multiplied.
template <class T>
[[nodiscard]] constexpr bool is_absurd_count(std::size_t count) noexcept {
    return count > PTRDIFF_MAX / sizeof(T);
}

/// n value-initialized objects at `memory`; T's default constructor may throw.
template <class T>
slice<T> construct_array(void* memory, std::size_t count) {
    T* const first = static_cast<T*>(memory);
    if constexpr (std::is_trivially_destructible_v<T>) {
        for (std::size_t i = 0; i < count; ++i) { detail::construct_at<T>(first + i); }
    } else {
        std::size_t built = 0;
        rollback undo{[&]() noexcept {
            while (built != 0) { first[--built].~T(); }
        }};
        for (; built < count; ++built) { detail::construct_at<T>(first + built); }
        undo.cancel();
    }
    return {first, count};
}

/// std::string_view and the like, without their header.
template <class View>
concept character_view =
    std::is_trivially_copyable_v<View> && std::is_default_constructible_v<View> &&
    std::is_trivially_copyable_v<typename View::value_type> &&
    requires(const View& text) { View{text.data(), text.size()}; };

template <class Arena, class View>
[[nodiscard]] View copy_text(Arena& arena, View text) noexcept {
    using character = typename View::value_type;
    if (detail::is_absurd_count<character>(text.size())) { return View{}; }
    void* const memory =
        arena.allocate((text.size() + 1) * sizeof(character), alignment::of<character>());
    if (memory == nullptr) { return View{}; }
    auto* const copy = static_cast<character*>(memory);
    for (std::size_t i = 0; i != text.size(); ++i) { copy[i] = text.data()[i]; }
    copy[text.size()] = character{};
    return View{copy, text.size()};
}

template <class Arena>
class makes_objects : public other_names_of_arenas<Arena> {
public:
    /// A new T that lives until its memory is rewound or reset. Use an arena_scope for types with
    /// a destructor.
    /// Returns: nullptr when it does not fit.
    /// Cost:    that of allocate() with constants: one compare, one addition, and the constructor.
    template <maybe_const_element T, class... Args>
    [[nodiscard]] std::add_pointer_t<T> make(Args&&... args) {
        static_assert(std::is_trivially_destructible_v<T>,
                      "the arena would not run this destructor: make it inside an arena_scope");
        return cairn::make<T>(static_cast<Arena&>(*this), static_cast<Args&&>(args)...);
    }

    /// `count` value-initialized objects in a row (numbers are zero).
    /// Returns: an empty span when they do not fit (or count is 0).
    template <element T>
    [[nodiscard]] slice<T> make_array(std::size_t count) {
        static_assert(std::is_trivially_destructible_v<T>,
                      "the arena would not run these destructors: make them inside an arena_scope");
        if (detail::is_absurd_count<T>(count)) { return {}; }
        void* const memory =
            static_cast<Arena&>(*this).allocate(sizeof(T) * count, alignment::of<T>());
        return memory != nullptr ? detail::construct_array<T>(memory, count) : slice<T>{};
    }

    /// As make_array, but the objects are not initialized: for bytes that are written at once.
    template <element T>
        requires std::is_trivially_default_constructible_v<T>
    [[nodiscard]] slice<T> make_array_for_overwrite(std::size_t count) noexcept {
        static_assert(std::is_trivially_destructible_v<T>);
        if (detail::is_absurd_count<T>(count)) { return {}; }
        void* const memory =
            static_cast<Arena&>(*this).allocate(sizeof(T) * count, alignment::of<T>());
        return memory != nullptr ? slice<T>{static_cast<T*>(memory), count} : slice<T>{};
    }

    /// A copy of `text`, a std::string_view or another view of characters, which lives as long as
    /// what make() makes. It is ended by a 0, which size() does not count.
    ///     std::string_view name = frame.copy(line.substr(0, 8));
    /// Returns: a view whose data() is nullptr when it does not fit.
    template <character_view View>
    [[nodiscard]] View copy(View text) noexcept {
        return detail::copy_text(static_cast<Arena&>(*this), text);
    }
    template <class Text>
        requires(!character_view<Text> && !std::is_convertible_v<const Text&, const char*> &&
                 requires(const Text& t) { t.c_str(); })
    void copy(const Text&) = delete;  // copy(std::string_view{text}): copy() returns a view
    /// The same of a text that ends with 0: `const char* name = frame.copy("hello")`.
    /// Returns: nullptr when it does not fit.
    [[nodiscard]] const char* copy(const char* text) noexcept {
        std::size_t length = 0;
        while (text[length] != '\0') { ++length; }
        return detail::copy_text(static_cast<Arena&>(*this), slice<const char>{text, length})
            .data();
    }
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
