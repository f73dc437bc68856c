// A module with a cairn of its own: linked into plugins and into the program that loads them.
#include "modules/module.hpp"

#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/concurrent_heap.hpp>
#include <cairn/alloc/concurrent_pool.hpp>
#include <cairn/alloc/scratch.hpp>
#include <cairn/os/mutex.hpp>
#include <cairn/os/per_thread.hpp>

#include <cstring>

namespace {

using pool = cairn::concurrent_pool;
using counters = cairn::per_thread<long>;

pool& as_pool(void* p) { return *static_cast<pool*>(p); }

struct marked_arena {
    cairn::arena arena{256};
    cairn::arena::marker mark = arena.mark();
};

// More than the dynamic linker keeps free for plugins that reach thread-local memory without a call.
thread_local unsigned char memory_of_the_plugin[8192];

bool heap_works() {
    static cairn::concurrent_heap heap;
    unsigned char* const p = static_cast<unsigned char*>(heap.allocate(100, cairn::alignment{16}));
    if (p == nullptr) { return false; }
    p[99] = ++memory_of_the_plugin[sizeof memory_of_the_plugin - 1];
    const bool is_kept = p[99] == memory_of_the_plugin[sizeof memory_of_the_plugin - 1];
    heap.deallocate(p, 100, cairn::alignment{16});
    return is_kept;
}

constexpr module_interface table{
    .flavour = cairn::asserts_enabled ? "checked" : "unchecked",
    .make_pool = [](std::size_t slot_size) -> void* {
        return new pool{
            slot_size, cairn::alignment{16}, cairn::system_memory(), {.magazine_size = 8}};
    },
    .end_pool = [](void* p) { delete &as_pool(p); },
    .allocate = [](void* p) { return as_pool(p).allocate(); },
    .deallocate = [](void* p, void* slot) { as_pool(p).deallocate(slot); },
    .owns = [](void* p, void* slot) { return as_pool(p).owns(slot); },
    .allocate_from_view = [](void* p) { return as_pool(p).local().allocate(); },
    .release_this_thread = [](void* p) { as_pool(p).release_this_thread(); },
    .facts =
        [](void* p) {
            as_pool(p).validate();
            const auto s = as_pool(p).stats();
            return pool_facts{s.live_count, s.cache_count};
        },
    .reset = [](void* p) { as_pool(p).reset(); },
    .heap_works = heap_works,
    .make_counters = []() -> void* { return new counters{16}; },
    .count = [](void* c) { static_cast<counters*>(c)->update([](long& n) { ++n; }); },
    .sum =
        [](void* c) {
            return static_cast<counters*>(c)->combine(0L, [](long a, long b) { return a + b; });
        },
    .end_counters = [](void* c) { delete static_cast<counters*>(c); },
    .thread_number = [] { return cairn::thread_number(); },
    .make_mutex = []() -> void* { return new cairn::mutex; },
    .lock = [](void* m) { static_cast<cairn::mutex*>(m)->lock(); },
    .unlock = [](void* m) { static_cast<cairn::mutex*>(m)->unlock(); },
    .end_mutex = [](void* m) { delete static_cast<cairn::mutex*>(m); },
    .with_scratch =
        [](void* taken, void (*inside)(void*, void*), void* argument) {
            if (taken == nullptr) {
                auto scope = cairn::scratch();
                inside(&scope.arena(), argument);
            } else {
                auto scope = cairn::scratch(*static_cast<cairn::growing_arena*>(taken));
                inside(&scope.arena(), argument);
            }
        },
    .make_marked_arena = []() -> void* { return new marked_arena; },
    .end_marked_arena = [](void* a) { delete static_cast<marked_arena*>(a); },
    .stamps_are_equal =
        [](void* a, void* b) {
            // Two arenas of the same size, marked at their beginning: alike but for who they are.
            if constexpr (!cairn::asserts_enabled) { return false; }
            const auto& one = static_cast<marked_arena*>(a)->mark;
            const auto& two = static_cast<marked_arena*>(b)->mark;
            return std::memcmp(reinterpret_cast<const std::byte*>(&one) + sizeof(void*),
                               reinterpret_cast<const std::byte*>(&two) + sizeof(void*),
                               sizeof(one) - sizeof(void*)) == 0;
        },
};

}  // namespace

extern "C" [[gnu::visibility("default")]] const module_interface* this_module_interface() {
    return &table;
}
