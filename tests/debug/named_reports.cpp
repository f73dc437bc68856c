// Programs that touch what they may not, in named allocators. named_reports_test.py runs them under
// the memory checker of the build and looks for the names.
//
//      named_reports freed-slot | freed-block | freed-job | past-arena | freed-guarded |
//                    freed-message | past-image | ended-tag | plain
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/concurrent_heap.hpp>
#include <cairn/alloc/concurrent_pool.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/pool.hpp>
#include <cairn/alloc/tagged_arenas.hpp>
#include <cairn/debug/guarded.hpp>

#include <cstdio>
#include <cstring>

using namespace cairn;

int main(int argc, char** argv) {
    if (!asserts_enabled) { return 77; }  // names are for checked builds
    const char* const what = argc == 2 ? argv[1] : "";
    // [names]
    pool enemies{
        64, default_alignment, system_memory(), {.slots_per_chunk = 32, .name = "enemies"}};
    arena level{4096, system_memory(), {.name = "level"}};
    growing_arena frames{1024, system_memory(), {.name = "frames"}};
    // [/names]
    heap<> memory{grow_by{64 << 10}};
    heap<> sounds{grow_by{64 << 10}};
    sounds.set_name("sounds");
    concurrent_pool jobs{
        64, default_alignment, system_memory(), {.slots_per_chunk = 32, .name = "jobs"}};
    concurrent_heap messages{system_pages(), {.name = "messages"}};
    tagged_arenas stages{{.name = "stages"}};
    guarded textures{memory, {.quarantine_count = 10, .name = "textures"}};

    volatile char* bad = nullptr;
    if (std::strcmp(what, "freed-slot") == 0) {
        void* slots[13];
        for (void*& slot : slots) { slot = enemies.allocate(); }
        bad = static_cast<char*>(slots[12]) + 8;
        enemies.deallocate(slots[12]);
    } else if (std::strcmp(what, "freed-block") == 0) {
        auto* const block = static_cast<char*>(sounds.allocate(100));
        bad = block + 24;
        sounds.deallocate(block, 100);
    } else if (std::strcmp(what, "freed-job") == 0) {
        auto* const job = static_cast<char*>(jobs.allocate());
        bad = job + 8;
        jobs.deallocate(job);
    } else if (std::strcmp(what, "past-arena") == 0) {
        bad = static_cast<char*>(level.allocate(100)) + 112;
    } else if (std::strcmp(what, "past-frame") == 0) {
        bad = static_cast<char*>(frames.allocate(100)) + 112;
    } else if (std::strcmp(what, "freed-guarded") == 0) {
        auto* const texture = static_cast<char*>(textures.allocate(100));
        bad = texture + 4;
        textures.deallocate(texture, 100);
    } else if (std::strcmp(what, "freed-message") == 0) {
        bad = static_cast<char*>(messages.allocate(100)) + 8;
        messages.deallocate(const_cast<char*>(bad) - 8, 100);
    } else if (std::strcmp(what, "past-image") == 0) {
        auto* image = static_cast<char*>(messages.allocate(5'000'000));
        image = static_cast<char*>(messages.resize_or_move(image, 5'000'000, 9'000'000));
        bad = image + 9'000'001;
    } else if (std::strcmp(what, "ended-tag") == 0) {
        const auto drawing = stages.begin("drawing");
        bad = static_cast<char*>(stages.local(drawing).allocate(100)) + 8;
        stages.end(drawing);
    } else if (std::strcmp(what, "plain") == 0) {
        bad = static_cast<char*>(level.allocate(100));
        *bad = 1;
    } else {
        return 2;
    }
    std::printf("%d\n", *bad == 1 ? 1 : 0);
    return 0;
}
