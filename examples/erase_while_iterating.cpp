// How do I erase while iterating, and how do I insert?
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/stable_slot_map.hpp>

#include <cstdio>
#include <iterator>

struct enemy {
    int health;
};
struct bomb;
using bomb_handle = cairn::handle<bomb>;
struct bomb {
    int fuse;
    bomb_handle neighbour;
};

int main() {
    cairn::slot_map<enemy> enemies;
    for (int i = 0; i < 100; ++i) { (void)enemies.emplace(enemy{i % 10}); }
    // [erase_if]
    const std::size_t fallen = enemies.erase_if([](const enemy& e) { return e.health == 0; });
    // [/erase_if]

    // [iterator]
    for (auto it = enemies.begin(); it != enemies.end();) {
        it->health -= 1;
        it = it->health == 0 ? enemies.erase(it) : std::next(it);  // not ++: another one is here
    }
    // [/iterator]

    // [insert]
    const std::size_t count_before = enemies.size();  // those that come now are not visited
    for (std::size_t row = 0; row < count_before; ++row) {
        if (enemies.values()[row].health == 8) { (void)enemies.emplace(enemy{1}); }
    }
    // [/insert]

    cairn::stable_slot_map<bomb> bombs;
    for (int i = 0; i < 10; ++i) { (void)bombs.emplace(bomb{i, {}}); }
    // [others]
    bomb_handle last;
    for (auto [h, b] : bombs.items()) {
        b.neighbour = last;
        last = h;
    }

    for (bomb& b : bombs) {  // a stable_slot_map: any object may go, others may come
        if (b.fuse % 2 == 1) { bombs.erase(b.neighbour); }
    }
    bombs.for_each([&](bomb_handle h, const bomb& b) {
        if (b.fuse == 9) { bombs.erase(h); }  // in for_each the visited one
    });
    // [/others]
    std::printf("%zu fell, %zu enemies and %zu bombs are left\n", fallen, enemies.size(),
                bombs.size());
    return fallen == 10 && enemies.size() == 90 && bombs.size() == 4 ? 0 : 1;
}
