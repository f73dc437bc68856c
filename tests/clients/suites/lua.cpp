// Linked into Lua's interpreter by tools/prove-clients, whose lauxlib.c is compiled with lua_newstate
// named clients_newstate.
#include "heap_of_choice.hpp"

#include <lua.hpp>

extern "C" lua_State* clients_newstate(lua_Alloc, void*) {
    const lua_Alloc serve = [](void* memory, void* p, std::size_t old_size,
                               std::size_t new_size) -> void* {
        auto& m = *static_cast<clients::memory*>(memory);
        if (p == nullptr) { return new_size == 0 ? nullptr : m.allocate(new_size); }
        if (new_size != 0) { return m.resize(p, old_size, new_size); }
        m.deallocate(p, old_size);
        return nullptr;
    };
    return lua_newstate(serve, &clients::heap_of_choice());
}
