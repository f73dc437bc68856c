// cairn/core/inside/construct.hpp - an object in memory that is there already: T(args...) or
// T{args...}.
//
//      T* const object = detail::construct_at<T>(memory, args...);
//
// Every container and allocator of cairn builds its objects with this word, so that what a compiler
// does badly is mended in one place: gcc clears a T() of more than 80 bytes by `rep stosq`, which
// takes five times as long as the wide stores that clang makes of it. The call is always inlined:
// gcc calls it on cold paths, and an argument whose address goes into a call is in memory on all.
//
// Cost: that of the constructor.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

#include <cairn/core/inside/element.hpp>
#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

template <class T, class... Args>
inline constexpr bool is_made_from =
    std::is_constructible_v<T, Args...> ||
    requires(void* memory, Args&&... args) { ::new (memory) T{static_cast<Args&&>(args)...}; };

#if defined(__GNUC__) && !defined(__clang__)

/// Immediate: its result must be a constant.
template <class T>
consteval T default_value() {
    return T();
}

// Above 256 bytes a string instruction is worth its start.
template <class T>
inline constexpr bool has_size_for_stores =
    sizeof(T) > 64 &&
    sizeof(T) <= 256 && std::is_trivially_copyable_v<T>&& std::is_same_v<T, std::remove_cv_t<T>>;

/// Whether T() is the same bytes at any address: zeros and null pointers, where no initializer
/// runs; else a constant without pointers, of which one could be the object's own address (gcc 14
/// takes that for a constant); or with pointers that may be an argument of a template: null, and
/// addresses of other objects. A bit cast from pointers is no constant.
template <class T>
struct bytes_of_object {
    unsigned char bytes[sizeof(T)];
};
template <class T>
concept same_at_any_address = std::is_trivially_default_constructible_v<T> || requires {
    typename std::enable_if_t<(
        static_cast<void>(compiler::bit_cast<bytes_of_object<T>>(default_value<T>())), true)>;
} || requires { typename std::integral_constant<T, default_value<T>()>; };
template <class T>
concept built_by_stores =
    has_size_for_stores<T> && std::is_default_constructible_v<T> && same_at_any_address<T>;

#    if defined(__AVX__)
inline constexpr std::size_t store_width = 32;
#    else
inline constexpr std::size_t store_width = 16;
#    endif

template <std::size_t... I>
struct store_numbers {};
template <class T>
using stores_of = store_numbers<__integer_pack((sizeof(T) + store_width - 1) / store_width)...>;

/// Copies T() in pieces of constant size, the last two of which may overlap. The compiler sees what
/// is in them, so that they are stores of zeros or of constants.
template <class T, std::size_t... I>
[[CAIRN_FORCE_INLINE]] inline T* construct_default(void* memory, store_numbers<I...>) noexcept {
    constexpr std::size_t last = sizeof(T) - store_width;
    static constexpr T object = T();
    const auto* const from = reinterpret_cast<const std::byte*>(compiler::address_of(object));
    auto* const to = static_cast<std::byte*>(memory);
    (compiler::copy_bytes<store_width>(to + (I * store_width < last ? I * store_width : last),
                                       from + (I * store_width < last ? I * store_width : last)),
     ...);
    return std::launder(static_cast<T*>(memory));
}

#endif

// An aggregate of more fields than arguments is what the caller wrote, and no slip.
CAIRN_WARNING_OFF("-Wmissing-field-initializers")

// static_cast<Args&&> is std::forward<Args> without the 1,500 lines of <utility>.
/// Requires: memory != nullptr.
template <class T, class... Args>
[[CAIRN_FORCE_INLINE]] inline T* construct_at(void* memory, Args&&... args) {
    if (memory == nullptr) { compiler::unreachable(); }  // gcc's -Wnull-dereference does not know
    constexpr bool fit = is_made_from<T, Args...>;
    static_assert(fit, "an object is made as T(args...) or T{args...}: these arguments build none");
    if constexpr (!fit) {
        return nullptr;
    } else if constexpr (!std::is_constructible_v<T, Args...>) {
        return ::new (memory) T{static_cast<Args&&>(args)...};  // aggregates
#if defined(__GNUC__) && !defined(__clang__)
    } else if constexpr (sizeof...(Args) == 0 && built_by_stores<T>) {
        return construct_default<T>(memory, stores_of<T>{});
#endif
    } else {
        return ::new (memory) T(static_cast<Args&&>(args)...);
    }
}

CAIRN_WARNING_ON

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
