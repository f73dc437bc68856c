// First steps: memory for a frame, memory for objects that come and go, handles that cannot dangle.
// [include]
#include <cairn/alloc/builder.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/pool_of.hpp>
#include <cairn/containers/slot_map.hpp>
// [/include]

struct spark {
    float x, y;
};
struct enemy {
    int health;
};

int main() {
    // [use]
    cairn::growing_arena frame;      // temporary memory, freed all at once
    cairn::pool_of<spark> sparks;    // objects of one size, freed in any order
    cairn::slot_map<enemy> enemies;  // packed objects, referred to by handles

    const auto boss = enemies.emplace(enemy{100});  // a handle; null when memory is exhausted
    spark* const flash = sparks.make(1.0f, 2.0f);   // a pointer; null when memory is exhausted
    cairn::builder<enemy*> targets{frame};          // an array that grows in place
    for (enemy& e : enemies.values()) {
        if (!targets.push_back(&e)) { break; }  // false when memory is exhausted
    }
    for (enemy* const target : targets.finish()) { target->health -= 10; }
    sparks.destroy(flash);
    frame.reset();  // frees all arrays of this frame at once
    enemies.erase(boss);
    const bool gone = enemies.find(boss) == nullptr;  // a stale handle finds nothing
    // [/use]
    return gone && enemies.empty() ? 0 : 1;
}
