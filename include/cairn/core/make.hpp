// cairn/core/make.hpp - one object in any allocator: make and destroy.
//
//      particle* p = cairn::make<particle>(pool, position, velocity);   // nullptr: exhausted
//      cairn::destroy(pool, p);
//
// Allocators move bytes; these two functions add the constructor and the destructor. Cost: that of
// the allocator; sizes and alignments are compile-time constants and fold into its hot path.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

#include <cairn/core/byte_allocator.hpp>
#include <cairn/core/rollback.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

namespace detail {

template <class T, class... Args>
inline constexpr bool is_made_from =
    std::is_constructible_v<T, Args...> ||
    requires(void* memory, Args&&... args) { ::new (memory) T{static_cast<Args&&>(args)...}; };

// An aggregate of more fields than arguments is what the caller wrote, and no slip.
#if defined(__GNUC__)
#    pragma GCC diagnostic push
#    pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#endif

// static_cast<Args&&> is std::forward<Args> without the 1,500 lines of <utility>.
template <class T, class... Args>
T* construct_at(void* memory, Args&&... args) {
    constexpr bool fit = is_made_from<T, Args...>;
    static_assert(fit, "an object is made as T(args...) or T{args...}: these arguments build none");
    if constexpr (!fit) {
        return nullptr;
    } else if constexpr (std::is_constructible_v<T, Args...>) {
        return ::new (memory) T(static_cast<Args&&>(args)...);
    } else {
        return ::new (memory) T{static_cast<Args&&>(args)...};  // aggregates
    }
}

#if defined(__GNUC__)
#    pragma GCC diagnostic pop
#endif

}  // namespace detail

/// A new T in memory of `allocator`, built from `args`.
/// Returns: nullptr when the allocator is exhausted; nothing is constructed then.
/// Throws:  only what T's constructor throws; the memory has gone back then.
template <class T, byte_allocator A, class... Args>
[[nodiscard]] T* make(A& allocator, Args&&... args) {
    void* const memory = allocator.allocate(sizeof(T), alignment::of<T>());
    if (memory == nullptr) [[unlikely]] { return nullptr; }
    if constexpr (std::is_nothrow_constructible_v<T, Args...>) {
        return detail::construct_at<T>(memory, static_cast<Args&&>(args)...);
    } else {
        detail::rollback undo{
            [&]() noexcept { allocator.deallocate(memory, sizeof(T), alignment::of<T>()); }};
        T* const object = detail::construct_at<T>(memory, static_cast<Args&&>(args)...);
        undo.cancel();
        return object;
    }
}

/// Destroys `object` and gives its memory back. nullptr is allowed and does nothing.
/// Requires: it came from make<T>() with the same allocator, and T is its exact type.
template <class T, byte_allocator A>
void destroy(A& allocator, T* object) noexcept {
    if (object != nullptr) {
        object->~T();
        allocator.deallocate(const_cast<std::remove_cv_t<T>*>(object), sizeof(T),
                             alignment::of<T>());
    }
}

}  // namespace cairn::inline CAIRN_FLAVOUR
