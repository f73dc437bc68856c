// How do I load a level without guessing how much is temporary? One region, both ends.
#include <cairn/alloc/arena_scope.hpp>
#include <cairn/alloc/double_ended_arena.hpp>
#include <cairn/core/sizes.hpp>

using namespace cairn::literals;

struct mesh {
    cairn::slice<float> vertices;
};

// [load]
// What stays goes to the high end; what loading needs for a moment goes to the low end, in a scope.
mesh* load_mesh(cairn::double_ended_arena& memory, std::size_t vertex_count) {
    cairn::arena_scope temporary{memory.low()};
    const auto file =
        temporary.make_array<unsigned char>(vertex_count * 16);  // as if read from disk
    mesh* const result = memory.high().make<mesh>();
    if (file.empty() || result == nullptr) { return nullptr; }
    result->vertices = memory.high().make_array<float>(vertex_count * 3);
    return result->vertices.empty() ? nullptr : result;
}  // the file's bytes are gone, the mesh stays
// [/load]

int main() {
    cairn::double_ended_arena memory{1_MiB};
    int loaded = 0;
    while (load_mesh(memory, 1000) != nullptr) { ++loaded; }  // until the level is full
    return loaded > 50 && memory.low().used_size() == 0 ? 0 : 1;
}
