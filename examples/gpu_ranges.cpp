// How do I hand out ranges of memory that the CPU does not touch, and bring the holes together?
#include <cairn/movable/offset_heap.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

int main() {
    cairn::offset_heap vram{4096};  // stands for a buffer on the GPU
    std::vector<cairn::offset_allocation> meshes;
    for (std::uint64_t id = 0; id < 12; ++id) { meshes.push_back(vram.allocate(256, 64, id)); }
    for (std::size_t i = 0; i < 12; i += 2) { vram.deallocate(meshes[i]); }
    if (vram.contains(meshes[0]) || !vram.contains(meshes[1])) { return 1; }  // stale names say so

    // A little each frame: at most 2 copies, 512 bytes, 16 looks at nodes.
    for (int frame = 0; frame < 100; ++frame) {
        cairn::offset_heap::move moves[2];
        const std::size_t count = vram.plan(moves, 2, {2, 512, 16});
        for (std::size_t i = 0; i < count; ++i) {
            // copy_on_gpu(moves[i].from, moves[i].to, moves[i].size); then, when its fence passed:
            vram.commit(moves[i]);
        }
    }
    std::string map;
    vram.write_json([&](const char* text, std::size_t length) { map.append(text, length); });
    std::printf("%s\n", map.c_str());
    const auto s = vram.stats();
    return s.largest_free == s.free_size && vram.user_data(meshes[1]) == 1 ? 0 : 1;
}
