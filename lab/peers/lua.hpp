// lab/peers/lua.hpp - Lua's collector by its C API: objects are tables, registers are places of the
// stack, so no script runs: the collector and its tables are measured.
#pragma once

#include <lua.hpp>

#include "lab/families/graph_family.hpp"
#include "lab/harness/experiment.hpp"
#include "lab/peers/kinds.hpp"

namespace lab::peers {

struct lua {
    enum class mode { incremental, generational };

    template <mode Mode>
    class graph {
    public:
        explicit graph(const graphs::extent& e) : state_{luaL_newstate()} {
            if constexpr (Mode == mode::incremental) {
                lua_gc(state_, LUA_GCINC, 0, 0, 0);
            } else {
                lua_gc(state_, LUA_GCGEN, 0, 0);
            }
            luaL_checkstack(state_, graphs::register_count + 8, "registers");
            lua_createtable(state_, static_cast<int>(e.slots), 0);
            lua_settop(state_, place(graphs::register_count));
        }
        graph(const graph&) = delete;
        ~graph() { lua_close(state_); }

        void make(unsigned r) {
            lua_createtable(state_, words, 0);
            lua_replace(state_, place(r));
        }
        void load(unsigned r, std::uint32_t slot) {
            lua_rawgeti(state_, table, slot + 1);
            lua_replace(state_, place(r));
        }
        void store(std::uint32_t slot, unsigned r) {
            lua_pushvalue(state_, place(r));
            lua_rawseti(state_, table, slot + 1);
        }
        void link(unsigned r, unsigned field, unsigned q) {
            lua_pushvalue(state_, place(q));
            lua_rawseti(state_, place(r), field + 1);
        }
        void unlink(unsigned r, unsigned field) {
            lua_pushnil(state_);
            lua_rawseti(state_, place(r), field + 1);
        }
        void safe_point() {}

    private:
        static constexpr int table = 1;
        static constexpr int words = graphs::field_count + graphs::data_size / sizeof(lua_Integer);
        static constexpr int place(unsigned r) { return static_cast<int>(r) + table + 1; }

        lua_State* state_;
    };

    static void offer(kinds::graphs, auto visit) {
        visit.template operator()<graph<mode::incremental>>("Lua, incremental");
        visit.template operator()<graph<mode::generational>>("Lua, generational");
    }
};

}  // namespace lab::peers
