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
    int hit_count = 0;
    // [use]
    cairn::growing_arena frame;      // memory that dies all at once, every frame
    cairn::pool_of<spark> sparks;    // objects of one size, freed in any order
    cairn::slot_map<enemy> enemies;  // packed objects, referred to by handles

    const auto boss = enemies.emplace(enemy{100});
    for (int frame_number = 0; frame_number < 3; ++frame_number) {
        spark* const s = sparks.make(1.0f, 2.0f);
        if (s == nullptr) { break; }  // out of memory is a return value

        cairn::builder<enemy*> targets{frame};  // of unknown length, grown in place
        for (enemy& e : enemies.values()) {
            if (e.health > 0 && !targets.push_back(&e)) { break; }
        }
        for (enemy* const target : targets.finish()) { hit_count += target->health-- > 0; }

        sparks.destroy(s);
        frame.reset();  // nothing is freed one by one
    }
    enemies.erase(boss);
    const bool gone = enemies.find(boss) == nullptr;  // a stale handle is told, never followed
    // [/use]
    return gone && hit_count == 3 ? 0 : 1;
}
