// A client that was not written for cairn: Lua, which resizes and frees with the sizes that it
// asked for, collects garbage when it is refused, and ends a script with an error when that does
// not help.
#include <cairn/alloc/best_fit.hpp>
#include <cairn/alloc/first_fit.hpp>
#include <cairn/alloc/half_fit.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/debug/failing.hpp>
#include <cairn/debug/guarded.hpp>
#include <gtest/gtest.h>

#include <lua.hpp>

#include <cstdlib>
#include <cstring>
#include <string>

namespace {

// Each returns a string, the same one with any allocator.
const char* const scripts[] = {
    // strings that grow
    R"(local parts, text = {}, ""
       for i = 1, 400 do text = text .. i .. ","; parts[i] = string.rep("ab", i) end
       return #text .. " " .. #table.concat(parts) .. " " .. text:gsub("1", "one"):sub(-40))",
    // tables: array and hash part, growth, holes, sorting
    R"(local t, h = {}, {}
       for i = 1, 2000 do t[i] = (i * 7919) % 2003; h["k" .. t[i]] = i end
       for i = 1, 2000, 3 do h["k" .. t[i]] = nil end
       table.sort(t); for i = 2000, 1001, -1 do table.remove(t) end
       local n = 0; for _ in pairs(h) do n = n + 1 end
       return t[1] .. " " .. t[1000] .. " " .. #t .. " " .. n)",
    // coroutines: stacks of their own, some left unfinished
    R"(local sum, left = 0, {}
       for i = 1, 200 do
           local c = coroutine.wrap(function(a) for k = 1, 10 do a = a + coroutine.yield(a * k) end end)
           left[i % 20] = c
           for k = 1, i % 10 + 1 do sum = sum + c(k) end
       end
       return tostring(sum))",
    // closures that share variables, a deep recursion, many arguments
    R"(local function counter() local n = 0; return function() n = n + 1; return n end,
                                                   function() return n end end
       local all = {}
       for i = 1, 300 do local up, get = counter(); for _ = 1, i % 7 do up() end; all[i] = get end
       local s = 0; for _, get in ipairs(all) do s = s + get() end
       local function deep(n) if n == 0 then return 0 end return 1 + deep(n - 1) end
       return s .. " " .. deep(3000) .. " " .. select("#", table.unpack(all)))",
    // garbage: weak tables, finalizers, full and stepwise collections
    R"(local weak, ended = setmetatable({}, {__mode = "k"}), 0
       for i = 1, 1500 do
           local o = setmetatable({i, tostring(i)}, {__gc = function() ended = ended + 1 end})
           weak[o] = {i}
           if i % 100 == 0 then collectgarbage("step", 10) end
       end
       collectgarbage(); collectgarbage()
       local n = 0; for _ in pairs(weak) do n = n + 1 end
       return ended .. " " .. n)",
    // code that is compiled at run time
    R"(local s = 0
       for i = 1, 60 do s = s + assert(load("local a, b = " .. i .. ", 'x' return a * #b + " .. i))() end
       return tostring(s))",
};

// What Lua calls: in place when that works, else a new block and a copy.
template <class A>
void* serve(void* allocator, void* p, std::size_t old_size, std::size_t new_size) {
    A& memory = *static_cast<A*>(allocator);
    if (p == nullptr) { return new_size == 0 ? nullptr : memory.allocate(new_size); }
    if (new_size == 0) {
        memory.deallocate(p, old_size);
        return nullptr;
    }
    if (memory.try_resize(p, old_size, new_size)) { return p; }
    EXPECT_GT(new_size, old_size) << "Lua counts on it: a block that shrinks is never refused";
    void* const moved = memory.allocate(new_size);
    if (moved == nullptr) { return nullptr; }
    std::memcpy(moved, p, old_size < new_size ? old_size : new_size);
    memory.deallocate(p, old_size);
    return moved;
}

void* serve_by_malloc(void*, void* p, std::size_t, std::size_t new_size) {
    if (new_size != 0) { return std::realloc(p, new_size); }
    std::free(p);
    return nullptr;
}

const std::string no_memory = "not enough memory";

// What a script returns, or the error that it ends with.
std::string result_of(const char* script, lua_Alloc serving, void* memory) {
    lua_State* const lua = lua_newstate(serving, memory);
    if (lua == nullptr) { return no_memory; }
    lua_pushcfunction(lua, [](lua_State* l) {
        luaL_openlibs(l);
        if (luaL_loadstring(l, static_cast<const char*>(lua_touserdata(l, 1))) != LUA_OK) {
            return lua_error(l);
        }
        lua_call(l, 0, 1);
        return 1;
    });
    lua_pushlightuserdata(lua, const_cast<char*>(script));
    const int status = lua_pcall(lua, 1, 1, 0);
    const char* const text = lua_tostring(lua, -1);
    std::string result = text != nullptr ? text : "no text";
    EXPECT_EQ(status == LUA_ERRMEM, result == no_memory);
    EXPECT_TRUE(status == LUA_OK || status == LUA_ERRMEM) << result;
    lua_close(lua);
    return result;
}

template <class Fit>
class lua_on_heap : public testing::Test {};
using fits = testing::Types<cairn::good_fit, cairn::quick_fit, cairn::strict_good_fit,
                            cairn::best_fit, cairn::first_fit, cairn::half_fit>;
TYPED_TEST_SUITE(lua_on_heap, fits);

TYPED_TEST(lua_on_heap, scripts_return_what_they_return_with_malloc) {
    using memory =
        cairn::failing<cairn::heap<TypeParam>>;  // refuses nothing, counts the live bytes
    memory m{cairn::grow_by{std::size_t{1} << 18}};
    for (const char* const script : scripts) {
        EXPECT_EQ(result_of(script, serve<memory>, &m),
                  result_of(script, serve_by_malloc, nullptr));
        m.validate();
        EXPECT_EQ(m.live_size(), 0u);
    }
}

TYPED_TEST(lua_on_heap, scripts_leave_every_fence_whole) {
    using memory = cairn::guarded<cairn::heap<TypeParam>>;
    memory m{cairn::guard_options{.quarantine_count = 100}, cairn::grow_by{std::size_t{1} << 18}};
    for (const char* const script : scripts) {
        EXPECT_EQ(result_of(script, serve<memory>, &m),
                  result_of(script, serve_by_malloc, nullptr));
        m.validate();
        EXPECT_EQ(m.live_count(), 0u);
    }
}

TYPED_TEST(lua_on_heap, a_region_that_is_too_small_ends_a_script_and_nothing_else) {
    using memory = cairn::failing<cairn::heap<TypeParam>>;
    memory m{std::size_t{60'000}};
    int refused = 0;
    for (const char* const script : scripts) {
        refused += result_of(script, serve<memory>, &m) == no_memory;
        m.validate();
        EXPECT_EQ(m.live_size(), 0u);
    }
    EXPECT_GT(refused, 0);
}

TYPED_TEST(lua_on_heap, a_refusal_at_any_request_ends_the_script_or_is_made_good_by_a_collection) {
    using memory = cairn::failing<cairn::heap<TypeParam>>;
    int ended = 0;
    int made_good = 0;
    for (const char* const script : scripts) {
        const std::string expected = result_of(script, serve_by_malloc, nullptr);
        memory counting{cairn::grow_by{std::size_t{1} << 18}};
        EXPECT_EQ(result_of(script, serve<memory>, &counting), expected);
        const std::size_t count = counting.request_count();
        ASSERT_GT(count, 100u);
        for (const std::size_t refusals : {std::size_t{1}, memory::all}) {
            for (std::size_t first = 0; first < count; first += 1 + count / 10) {
                memory m{cairn::grow_by{std::size_t{1} << 18}};
                m.refuse_from(first, refusals);
                const std::string result = result_of(script, serve<memory>, &m);
                EXPECT_TRUE(result == expected || result == no_memory) << result;
                (result == expected ? made_good : ended) += 1;
                m.validate();
                EXPECT_EQ(m.live_size(), 0u);
            }
        }
    }
    EXPECT_GT(ended, 40);
    EXPECT_GT(made_good, 20);
}

}  // namespace
