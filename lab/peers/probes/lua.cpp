// What the lab uses of Lua: tables and their collector.
#include "lab/peers/lua.hpp"

int main() {
    lab::peers::lua::graph<lab::peers::lua::mode::generational> all{{100, 10}};
    all.make(0);
    all.make(1);
    all.link(0, 2, 1);
    all.store(3, 0);
    all.keep_numbers(10);
    all.collect();
    all.load(4, 3);
    all.follow(4, 2);
    all.unlink(0, 2);
    all.copy(5, 4);
    all.forget(4);
    return 0;
}
