// lab/families/real_programs.hpp - programs that others wrote, with the memory that they are given.
//
//      Lua 5.4     lua_newstate(hook, context)      binary trees, coroutines, tables by string keys
//      RapidJSON   GenericDocument<.., allocator>    parses, changes and writes a document of 1 MiB
//
// Each value of the document comes from the hook. By default RapidJSON has a pool of its own in
// front of it, and then the hook sees blocks of 64 KiB alone.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

#if __has_include(<lua.hpp>)
#    include <lua.hpp>
#    define LAB_HAS_LUA 1
#else
#    define LAB_HAS_LUA 0
#endif
// Clang 19 refuses an assignment in RapidJSON 1.1.0, the last one released: the member is const.
#if __has_include(<rapidjson/document.h>) && !(defined(__clang__) && __clang_major__ >= 19)
#    include <rapidjson/document.h>
#    include <rapidjson/stringbuffer.h>
#    include <rapidjson/writer.h>
#    define LAB_HAS_RAPIDJSON 1
#else
#    define LAB_HAS_RAPIDJSON 0
#endif

namespace lab::real_programs {

#if LAB_HAS_LUA

inline constexpr const char* binary_trees = R"(
local function tree(depth)
    if depth == 0 then return {} end
    return {tree(depth - 1), tree(depth - 1)}
end
local function count(t)
    return t[1] and 1 + count(t[1]) + count(t[2]) or 1
end
local kept = tree(12)
local sum = 0
for i = 1, 24 do sum = sum + count(tree(4 + i % 8)) end
return sum + count(kept)
)";

inline constexpr const char* coroutines = R"(
local sum = 0
for i = 1, 2000 do
    local numbers = coroutine.wrap(function(n)
        for k = 1, n do coroutine.yield({k, i}) end
    end)
    for k = 1, 8 do sum = sum + numbers(8)[1] end
end
return sum
)";

inline constexpr const char* string_keys = R"(
local sum = 0
for round = 1, 4 do
    local ages = {}
    for i = 1, 5000 do ages['player ' .. i .. ' of ' .. round] = i end
    for i = 1, 5000, 2 do ages['player ' .. i .. ' of ' .. round] = nil end
    for name, age in pairs(ages) do sum = sum + age + #name end
end
return sum
)";

/// Runs `script` in a state of its own, which asks `hook` for memory. Returns: its number.
inline std::uint64_t run_lua(const char* script, lua_Alloc hook, void* context) {
    lua_State* const state = lua_newstate(hook, context);
    if (state == nullptr) { return 0; }
    luaL_openlibs(state);
    std::uint64_t result = 0;
    if (luaL_dostring(state, script) == LUA_OK) {
        result = static_cast<std::uint64_t>(lua_tonumber(state, -1));
    }
    lua_close(state);
    return result;
}

/// As luaL_newstate() asks for memory.
inline void* malloc_hook(void*, void* p, std::size_t, std::size_t size) {
    if (size != 0) { return std::realloc(p, size); }
    std::free(p);
    return nullptr;
}

#endif

#if LAB_HAS_RAPIDJSON

/// 1 MiB of objects with names, numbers and arrays.
inline std::string document_of_1_MiB() {
    std::string text = "[";
    for (int i = 0; text.size() < (1u << 20); ++i) {
        if (i != 0) { text += ','; }
        const std::string number = std::to_string(i);
        text += R"({"id":)" + number + R"(,"name":"a goblin of the northern marshes )" + number +
                R"(","position":[)" + number + ".25,-" + number +
                R"(.5,0.125],"tags":["green","tribe )" + std::to_string(i % 100) +
                R"("],"friend":)" + (i % 3 == 0 ? "null" : number) + "}";
    }
    return text + "]";
}

/// Parses `text`, adds a member to each object, and writes it. Returns: how long the result is.
template <class Allocator>
std::uint64_t run_rapidjson(const std::string& text) {
    using document = rapidjson::GenericDocument<rapidjson::UTF8<>, Allocator, Allocator>;
    Allocator allocator;
    document d{&allocator};
    d.Parse(text.data(), text.size());
    for (auto& object : d.GetArray()) { object.AddMember("seen", true, allocator); }
    rapidjson::GenericStringBuffer<rapidjson::UTF8<>, Allocator> written{&allocator};
    rapidjson::Writer<decltype(written), rapidjson::UTF8<>, rapidjson::UTF8<>, Allocator> writer{
        written, &allocator};
    d.Accept(writer);
    return written.GetSize();
}

#endif

}  // namespace lab::real_programs
