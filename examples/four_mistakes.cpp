// What does a checked build say about the mistakes that are made most often?
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/pool.hpp>
#include <cairn/containers/slot_map.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/testing/expect_broken_promise.hpp>

#include <cstdio>

using namespace cairn::literals;

namespace {

/// Runs `mistake` in a child process, prints the report, returns whether it is the expected one.
template <class F>
bool says(const char* sentence, cairn::misuse_kind kind, F mistake) {
    const auto broken = cairn::expect_broken_promise(mistake);
    std::puts(broken.text());
    return broken.says(sentence) && broken.kind() == kind;
}

}  // namespace

int main() {
    if (!cairn::asserts_enabled) { return 0; }
    using enum cairn::misuse_kind;
    // [freed_twice]
    cairn::pool bullets{64, cairn::system_memory(), {.name = "bullets"}};
    void* const bullet = bullets.allocate();
    bullets.deallocate(bullet);
    const bool first =
        says("a slot is freed once", double_free, [&] { bullets.deallocate(bullet); });
    // [/freed_twice]

    // [stale]
    cairn::slot_map<int> enemies;
    const auto target = enemies.emplace(100);
    enemies.erase(target);
    const bool second = says("the handle is not stale", stale_handle, [&] { enemies[target] = 0; });
    // [/stale]

    // [wrong_size]
    cairn::heap<> textures;
    textures.set_name("textures");
    void* const texture = textures.allocate(100);
    const bool third = says("a block is freed with the size that it was asked with", wrong_size,
                            [&] { textures.deallocate(texture, 1000); });
    // [/wrong_size]

    // [dead_marker]
    cairn::growing_arena frame{4_KiB, cairn::system_memory(), {.name = "frame"}};
    const auto before = frame.mark();
    frame.reset();  // forgets all markers, too
    const bool fourth =
        says("a marker does not outlive reset()", outlived, [&] { frame.rewind(before); });
    // [/dead_marker]
    return first && second && third && fourth ? 0 : 1;
}
