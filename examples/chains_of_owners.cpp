// How do I end a long list of owners without a deep stack, or a bit in each frame? deferred_store.
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/owners/deferred_store.hpp>

#include <cstdio>

// [list]
struct waypoint;
using waypoints = cairn::deferred_store<cairn::stable_slot_map<waypoint>>;
struct waypoint {
    float x, y;
    cairn::unique_handle<waypoints> next;  // an owner of another one
};
// [/list]

int main() {
    // [frames]
    waypoints all{cairn::system_memory(), cairn::destroys::in_collect};
    cairn::unique_handle<waypoints> path;
    for (int i = 0; i < 10'000; ++i) {
        path = all.make(waypoint{static_cast<float>(i), 0, std::move(path)});
        if (!path) { return 1; }  // out of memory
    }
    const auto watcher = path.handle();
    path.reset();  // no handle finds the first one any more
    if (all.contains(watcher)) { return 1; }
    int frames = 0;
    while (!all.collect({.steps = 1000}).settled) { ++frames; }  // once a frame
    // [/frames]
    std::printf("%d frames\n", frames + 1);
    return all.objects().empty() && frames == 9 ? 0 : 1;
}
