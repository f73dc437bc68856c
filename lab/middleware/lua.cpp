// Scripts of a game in Lua: 400 creatures think in 120 frames.
#include <cairn/adapt/lua.hpp>
#include <cairn/alloc/heap.hpp>

#include "lab/middleware/run.hpp"

namespace {

constexpr const char* script = R"(
local creatures, events = {}, {}
local function new_creature(id)
    local c = {id = id, x = id % 97, y = id % 89, path = {}, name = 'creature ' .. id}
    c.on_hit = function(by) c.hits = (c.hits or 0) + by end
    return c
end
for id = 1, 400 do creatures[id] = new_creature(id) end
local function step(frame)
    local sum = 0
    for i, c in ipairs(creatures) do
        c.path[#c.path + 1] = {x = c.x + frame, y = c.y}
        if #c.path > 6 then table.remove(c.path, 1) end
        if (i + frame) % 9 == 0 then events[#events + 1] = {who = c.name, what = 'sees ' .. frame} end
        if (i + frame) % 31 == 0 then creatures[i] = new_creature(i) end
        c.on_hit(frame % 3)
        sum = sum + c.hits + #c.path
    end
    while #events > 200 do sum = sum + #table.remove(events).what end
    return sum
end
return step
)";

}  // namespace

int main(int count, char** words) {
    cairn::heap<> scripts;
    return lab::middleware::run(count, words, [&](bool on_cairn, auto& call) -> std::uint64_t {
        lua_State* state = nullptr;
        lua_Integer sum = 0;
        call([&] {
            state = on_cairn ? cairn::new_lua_state(scripts) : luaL_newstate();
            luaL_openlibs(state);
            if (luaL_dostring(state, script) != LUA_OK) std::abort();
        });
        for (int frame = 1; frame <= 120; ++frame) {
            call([&] {
                lua_pushvalue(state, -1);
                lua_pushinteger(state, frame);
                if (lua_pcall(state, 1, 1, 0) != LUA_OK) std::abort();
                sum += lua_tointeger(state, -1);
                lua_pop(state, 1);
            });
        }
        call([&] { lua_close(state); });
        return static_cast<std::uint64_t>(sum);
    });
}
