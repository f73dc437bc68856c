// cairn/adapt/lua.hpp - Lua 5.3 and 5.4 in a memory of its own.
//
//      cairn::heap<> scripts;
//      lua_State* const state = cairn::new_lua_state(scripts);
//      lua_close(state);                                            // before `scripts` ends
//
// When the memory refuses, Lua collects its garbage, asks again, and raises "not enough memory".
//
// Memory:  heap<> for one state or for all states of one thread; budget<heap<>> limits a script.
//          Lua passes the size of each block, so nothing stands in front of it.
// Threads: those of the memory. A state is used by one thread at a time.
#pragma once

#include <cairn/adapt/hooks.hpp>
#include <cairn/core/inside/compiler.hpp>

#include <lua.hpp>

static_assert(LUA_VERSION_NUM < 505,
              "cairn/adapt/lua.hpp serves Lua 5.3 and 5.4: lua_newstate of "
              "5.5 takes a third argument");

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// The function that lua_newstate() takes; `memory` is the address of an A.
template <byte_allocator A>
void* lua_hook(void* memory, void* p, std::size_t old_size, std::size_t size) noexcept {
    if (p == nullptr && size == 0) { return nullptr; }
    return context_hooks<A, hook_sizes::trusted>::realloc_sized(memory, p, old_size, size);
}

/// A state whose memory is `memory`, which must outlive it.
/// Returns: nullptr when the memory refuses.
template <byte_allocator A>
[[nodiscard]] lua_State* new_lua_state(A& memory CAIRN_LIFETIMEBOUND) noexcept {
    return lua_newstate(&lua_hook<A>, &memory);
}

}}  // namespace cairn::CAIRN_FLAVOUR
