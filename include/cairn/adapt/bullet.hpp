// cairn/adapt/bullet.hpp - Bullet Physics in a memory of its own.
//
//      cairn::set_bullet_memory();                            // before any object of Bullet
//      auto* const world = new btDiscreteDynamicsWorld{...};  // Bullet's classes have operator new
//
//      cairn::set_bullet_memory<physics_memory>("physics");   // a memory that the program names
//
// Bullet uses each pointer without a test for nullptr. So a refusal ends the program, with a
// sentence that names the memory, the size and the limit.
//
// Memory:  one for the process: Bullet's functions have no context. The default is a heap<> for
//          one thread; a program with Bullet's task scheduler names one for any thread.
// Threads: those of the memory.
#pragma once

#include <cairn/adapt/hooks.hpp>
#include <cairn/adapt/inside/library_memory.hpp>
#include <cairn/alloc/heap.hpp>

#include <LinearMath/btAlignedAllocator.h>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {
struct of_bullet;
inline const char* bullet_memory_name = "Bullet";  // in the sentence of a refusal
}  // namespace detail

/// Bullet asks `Memory` for every block from now on. As hooks<>: an object or a function.
/// Requires: no block of Bullet lives: it frees blocks with the functions of that time.
template <auto& Memory>
void set_bullet_memory(const char* name = "Bullet") noexcept {
    using in = hooks<Memory>;
    detail::bullet_memory_name = name;
    btAlignedAllocSetCustomAligned(
        [](std::size_t size, int align) -> void* {
            void* const p = in::aligned_malloc(size, static_cast<std::size_t>(align));
            if (p != nullptr) [[likely]] { return p; }
            detail::end_for_library("Bullet", detail::bullet_memory_name, size,
                                    detail::limit_of(detail::named_memory<Memory>()));
        },
        [](void* p) { (in::free)(p); });
}
/// The same with a heap<> that never ends, for one thread.
inline void set_bullet_memory(const char* name = "Bullet") noexcept {
    set_bullet_memory<detail::never_ended<heap<>, detail::of_bullet>>(name);
}

}}  // namespace cairn::CAIRN_FLAVOUR
