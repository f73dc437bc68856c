// How does Lua run its scripts in a budget of their own?
#include <cairn/adapt/lua.hpp>
#include <cairn/alloc/budget.hpp>
#include <cairn/alloc/heap.hpp>
#include <cstdio>

int main() {
    // [use]
    cairn::budget<cairn::heap<>> scripts{1 << 20};
    lua_State* const state = cairn::new_lua_state(scripts);  // nullptr: no memory
    luaL_openlibs(state);
    // [/use]
    const int status = luaL_dostring(state, "local t = {} while true do t[#t + 1] = {} end");
    std::printf("%s, %zu bytes at most\n", lua_tostring(state, -1), scripts.peak_size());
    lua_close(state);
    return status != LUA_OK && scripts.live_size() == 0 ? 0 : 1;
}
