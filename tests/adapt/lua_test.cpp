// Sentences of cairn/adapt/lua.hpp, with the real Lua.
#include <cairn/adapt/lua.hpp>
#include <cairn/alloc/budget.hpp>
#include <cairn/alloc/heap.hpp>
#include <gtest/gtest.h>

#include <string>

#include "support/refusals.hpp"

using namespace cairn;

namespace {

const char* const script = R"(
    local words, count = {}, 0
    for i = 1, 300 do words[i] = ("w"):rep(i % 40) .. i; count = count + #words[i] end
    table.sort(words)
    local co = coroutine.wrap(function() for i = 1, 20 do coroutine.yield({i}) end end)
    for i = 1, 20 do count = count + co()[1] end
    collectgarbage()
    return count)";

/// Runs the script in a state of its own. `result`: what it returned.
template <class A>
outcome run(A& memory, lua_Integer& result) {
    lua_State* const state = new_lua_state(memory);
    if (state == nullptr) { return outcome::refused; }
    lua_pushcfunction(state, [](lua_State* s) {
        luaL_openlibs(s);
        return 0;
    });
    const bool done = lua_pcall(state, 0, 0, 0) == LUA_OK &&
                      luaL_loadstring(state, script) == LUA_OK &&
                      lua_pcall(state, 0, 1, 0) == LUA_OK;
    if (done) {
        result = lua_tointeger(state, -1);
    } else {
        EXPECT_NE(std::string{lua_tostring(state, -1)}.find("not enough memory"),
                  std::string::npos);
    }
    lua_close(state);
    return done ? outcome::done : outcome::refused;
}

}  // namespace

TEST(lua, runs_scripts_in_a_memory_of_its_own) {
    heap<> memory;
    lua_Integer result = 0;
    EXPECT_EQ(run(memory, result), outcome::done);
    EXPECT_EQ(result, 6672);
}

TEST(lua, reports_each_refusal) {
    failing<heap<>> memory;
    lua_Integer result = 0;
    run_with_refusals(memory, [&] { return run(memory, result); });
}

TEST(lua, stays_within_a_budget) {
    budget<heap<>> memory{40'000};
    lua_Integer result = 0;
    EXPECT_EQ(run(memory, result), outcome::refused);
    EXPECT_GT(memory.refused_count(), 0u);
    EXPECT_EQ(memory.live_size(), 0u);
}
