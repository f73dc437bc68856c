// How does a whole frame of a game use memory, without asking the system for any?
#include <cairn/alloc/arena_scope.hpp>
#include <cairn/alloc/budget.hpp>
#include <cairn/alloc/builder.hpp>
#include <cairn/alloc/frame_arena.hpp>
#include <cairn/containers/slot_map.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/os/page_allocator.hpp>

#include <cstdio>

using namespace cairn::literals;

struct ship {
    float x, speed;
};
struct draw_command {
    float x;
};

int main() {
    // [memory]
    cairn::page_allocator pages{{.prefault = true}};  // page faults happen at start-up
    cairn::budget memory{8_MiB, pages};               // all that the game may have

    cairn::slot_map<ship> ships{memory};                          // kept over many frames
    cairn::frame_arena<2, cairn::arena> frames{256_KiB, memory};  // freed every second frame
    if (!ships.reserve(1000)) { return 1; }

    memory.set_limit_size(memory.live_size());  // from now on no frame can grow anything
    // [/memory]

    const auto flagship = ships.emplace(ship{0, 0.25f});
    cairn::slice<draw_command> last_commands;
    std::size_t drawn = 0;
    // [frame]
    for (int frame = 0; frame < 100; ++frame) {
        (void)ships.emplace(ship{0, 1.0f});  // a null handle where the 1000 are reached
        for (ship& s : ships.values()) { s.x += s.speed; }
        ships.erase_if([](const ship& s) { return s.x > 50; });
        {
            cairn::arena_scope temporary{frames.active()};  // gone at the closing brace
            const auto distances = temporary.make_array<float>(ships.size());
            for (std::size_t i = 0; i < distances.size(); ++i) {
                distances[i] = 50 - ships.values()[i].x;
            }
        }
        cairn::builder<draw_command> commands{frames.active()};
        for (const ship& s : ships.values()) {
            if (!commands.push_back({s.x})) { break; }  // full: draw less
        }
        drawn += last_commands.size();  // stands for the render thread, one frame behind
        last_commands = commands.finish();
        frames.swap();  // frees what was allocated two frames ago
    }
    const ship* const led = ships.find(flagship);  // still the same, wherever it moved to
    // [/frame]

    // [sizes]
    std::printf("a frame needs %zu bytes, the game %zu, refused %zu\n",
                frames.active().high_water_size(), memory.peak_size(), memory.refused_count());
    // [/sizes]
    return led != nullptr && drawn > 3000 && memory.refused_count() == 0 ? 0 : 1;
}
