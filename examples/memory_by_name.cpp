// What does each part of a running program hold?
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/budget.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/containers/string_pool.hpp>
#include <cairn/debug/memory_page.hpp>
#include <cairn/debug/registry.hpp>

#include <cstdint>
#include <cstdio>
#if __has_include(<tracy/Tracy.hpp>)
#    include <tracy/Tracy.hpp>
#else
#    define TracyPlot(name, value) std::printf("%s %lld\n", name, static_cast<long long>(value))
#endif

namespace {
void print(const char* text, std::size_t size, void* file) {
    std::fwrite(text, 1, size, static_cast<std::FILE*>(file));
}
// [tracy]
/// A plot of live bytes for each memory. Tracy wants one address for a name, hence the pool.
void plot(const cairn::memory_snapshot& now) {
    static cairn::string_pool names;
    for (const cairn::memory_node& n : now.nodes()) {
        if (n.facts.live_size == cairn::memory_facts::unknown) { continue; }
        const char* const name = names.intern(n.name).data();
        if (name != nullptr) { TracyPlot(name, static_cast<std::int64_t>(n.facts.live_size)); }
    }
}
// [/tracy]
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
    plot(now);
    std::FILE* const file = std::tmpfile();
    if (file == nullptr) { return 2; }
    // [page]
    {
        cairn::memory_page page{&print, file};  // a pool, a table, a slot_map: the same
        page.add(now);
        page.add("render/meshes", meshes.inner());
    }
    // [/page]
    std::fclose(file);
    const cairn::memory_node* const n = now.find("render/meshes");
    meshes.deallocate(mesh, 10'000);
    return n != nullptr && n->facts.live_size == 10'000 && listed[1].is_listed() ? 0 : 1;
}
