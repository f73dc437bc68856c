// cairn/adapt/sdl2.hpp - SDL 2 in a memory of its own.
//
//      cairn::set_sdl2_memory();                    // the first call of SDL in the program
//      SDL_Init(SDL_INIT_VIDEO);
//
//      cairn::set_sdl2_memory<window_memory>();     // a memory that the program names
//
// When the memory refuses, SDL's functions return their error, and SDL_GetError() reports
// "Out of memory".
//
// Memory:  one for the process: SDL's functions have no context. The default is for any thread,
//          because SDL allocates on threads of its own (audio, timers).
// Threads: any.
#pragma once

#include <cairn/adapt/hooks.hpp>
#include <cairn/adapt/inside/library_memory.hpp>
#include <cairn/alloc/concurrent_heap.hpp>

#include <SDL_stdinc.h>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {
struct of_sdl2;
}  // namespace detail

/// SDL asks `Memory` for every block from now on. As hooks<>: an object or a function.
/// Requires: SDL_GetNumAllocations() is 0: SDL frees blocks with the functions of that time.
/// Returns:  0, or what SDL_SetMemoryFunctions() returns.
template <auto& Memory>
int set_sdl2_memory() noexcept {
    using in = hooks<Memory>;
    return SDL_SetMemoryFunctions(in::malloc, in::calloc, in::realloc, in::free);
}
/// The same with a concurrent_heap that never ends.
inline int set_sdl2_memory() noexcept {
    return set_sdl2_memory<detail::never_ended<concurrent_heap, detail::of_sdl2>>();
}

}}  // namespace cairn::CAIRN_FLAVOUR
