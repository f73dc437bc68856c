// cairn/core/make.hpp - one object in any allocator: make and destroy.
//
//      particle* p = cairn::make<particle>(pool, position, velocity);   // nullptr: exhausted
//      cairn::destroy(pool, p);
//
// Allocators move bytes; these two functions add the constructor and the destructor. Cost: that of
// the allocator; sizes and alignments are compile-time constants and fold into its hot path.
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/byte_allocator.hpp>
#include <cairn/core/inside/construct.hpp>
#include <cairn/core/inside/rollback.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// A new T in memory of `allocator`, built from `args`.
/// Returns: nullptr when the allocator is exhausted; nothing is constructed then.
/// Throws:  only what T's constructor throws; the memory has gone back then.
template <detail::maybe_const_element T, byte_allocator A, class... Args>
[[nodiscard]] std::add_pointer_t<T> make(A& allocator, Args&&... args) {
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

}}  // namespace cairn::CAIRN_FLAVOUR
