// How do other threads read objects while one thread moves them together?
#include <cairn/core/sizes.hpp>
#include <cairn/movable/concurrent_relocatable_heap.hpp>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>

using namespace cairn::literals;
using heap_type = cairn::concurrent_relocatable_heap;

constexpr std::size_t texture_size = 8_KiB;

/// A texture whose bytes all equal `color`.
heap_type::handle_type load(heap_type& heap, int color) {
    return heap.allocate(texture_size, cairn::default_alignment, cairn::by_bytes,
                         [color](void* bytes) { std::memset(bytes, color, texture_size); });
}

int main() {
    // [readers]
    heap_type heap{1_MiB};
    std::array<heap_type::handle_type, 64> textures;
    for (std::size_t i = 0; i < textures.size(); ++i) {
        textures[i] = load(heap, static_cast<int>(i));
        if (!textures[i]) { return 1; }
    }
    std::atomic<bool> ends{false};
    std::size_t read_count = 0;
    std::size_t torn_count = 0;
    std::thread reader{[&] {
        for (std::size_t i = 1; !ends || read_count < 1000; i = (i + 2) % textures.size()) {
            // While `pixels` lives, its texture stays where it is. The mover leaves it out.
            const cairn::held<unsigned char> pixels = heap.pin<unsigned char>(textures[i]);
            if (!pixels) { continue; }  // the handle is stale
            const unsigned char* const p = pixels.get();
            torn_count += p[0] != i || p[texture_size - 1] != i ? 1 : 0;
            ++read_count;
        }
    }};

    std::size_t moved_count = 0;
    for (std::size_t frame = 0; frame < 200; ++frame) {  // the owner's thread
        for (std::size_t i = frame % 2 * 2; i < textures.size(); i += 4) {
            // False: a reader holds it. Try again in the next frame.
            if (textures[i] && heap.try_deallocate(textures[i])) { textures[i] = {}; }
        }
        moved_count += heap.compact({.microseconds = 50}).moves;
        for (std::size_t i = 0; i < textures.size(); i += 2) {
            if (!textures[i]) { textures[i] = load(heap, static_cast<int>(i)); }
        }
    }
    // [/readers]
    ends = true;
    reader.join();
    std::printf("%zu moves beside %zu reads\n", moved_count, read_count);
    heap.inner().validate();
    return torn_count == 0 && moved_count > 0 ? 0 : 2;
}
