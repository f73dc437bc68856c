// What does each part of a running program hold?
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/budget.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/debug/registry.hpp>

#include <cstdio>

namespace {
void print(const char* text, std::size_t size, void* file) {
    std::fwrite(text, 1, size, static_cast<std::FILE*>(file));
}
}  // namespace

int main() {
    // [use]
    cairn::budget<cairn::heap<>> meshes{64 << 20};
    cairn::arena frame{1 << 20};
    const cairn::registry::entry listed[] = {{"render/meshes", meshes}, {"render/frame", frame}};

    void* const mesh = meshes.allocate(10'000);
    cairn::registry::publish();  // once a frame, by the thread that owns the memories

    cairn::memory_snapshot now;  // on any thread
    if (cairn::registry::read(now)) { now.write_text(&print, stdout); }
    // [/use]
    const cairn::memory_node* const n = now.find("render/meshes");
    meshes.deallocate(mesh, 10'000);
    return n != nullptr && n->facts.live_size == 10'000 && listed[1].is_listed() ? 0 : 1;
}
