// How do I refer to objects that may end at any time? By handle: slot_map.
#include <cairn/containers/slot_map.hpp>

struct missile;
using missile_handle = cairn::handle<missile>;
struct missile {
    float x, speed;
    missile_handle wingman;  // may be dead by the time it is needed
};

int main() {
    // [handles]
    cairn::slot_map<missile> missiles;
    const auto first = missiles.emplace(0.0f, 3.0f, missile_handle{});
    const auto second = missiles.emplace(10.0f, 2.0f, first);  // knows its wingman by handle

    for (missile& m : missiles.values()) { m.x += m.speed; }  // packed: no holes to skip

    missiles.erase(first);  // the last one moves into its place; handles follow

    const missile* const wingman = missiles.find(missiles[second].wingman);  // nullptr: it is gone
    const auto third = missiles.emplace(0.0f, 5.0f, first);
    const bool detected = missiles.find(first) == nullptr;  // even if `third` has its slot now
    // [/handles]
    return wingman == nullptr && detected && missiles[third].speed == 5.0f ? 0 : 1;
}
