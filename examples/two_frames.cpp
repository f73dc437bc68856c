// How do I keep last frame's data while this frame's is written? frame_arena.
#include <cairn/alloc/builder.hpp>
#include <cairn/alloc/frame_arena.hpp>
#include <cairn/core/sizes.hpp>

using namespace cairn::literals;

struct draw_command {
    int mesh;
    float depth;
};

int main() {
    // [frames]
    cairn::frame_arena<2> frames{64_KiB};
    cairn::slice<draw_command> last_commands;  // what the render thread reads
    int drawn = 0;

    for (int frame = 0; frame < 10; ++frame) {
        cairn::builder<draw_command> commands{frames.active()};
        for (int mesh = 0; mesh < 100; ++mesh) {
            if (!commands.push_back({mesh, static_cast<float>(mesh)})) {
                break;
            }  // full: draw less
        }
        for (const draw_command& c : last_commands) { drawn += c.mesh == 99; }  // still alive
        last_commands = commands.finish();
        frames.swap();  // the older of the two is forgotten and becomes active
    }
    // [/frames]
    return drawn == 9 ? 0 : 1;
}
