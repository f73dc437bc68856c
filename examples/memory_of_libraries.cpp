// How do libraries that take functions for their memory get cairn's? One hook of each shape.
#include <cairn/adapt/hooks.hpp>
#include <cairn/alloc/heap.hpp>
#include <cstddef>
#include <cstdio>

// What the headers of five libraries declare, and one use of it each, in place of the libraries.
struct yyjson_alc {
    void* (*malloc)(void*, std::size_t);
    void* (*realloc)(void*, void*, std::size_t old_size, std::size_t size);
    void (*free)(void*, void*);
    void* ctx;
};
struct WrenConfiguration {
    void* (*reallocateFn)(void* p, std::size_t new_size, void* user);
    void* userData;
};
namespace pugi {
void set_memory_management_functions(void* (*get)(std::size_t), void (*give_back)(void*)) {
    give_back(get(100));
}
}  // namespace pugi
void b2SetAllocator(void* (*get)(unsigned size, int align), void (*give_back)(void*, unsigned)) {
    give_back(get(128, 32), 100);  // Box2D gives back less than it asked for
}
struct JSMallocFunctions {
    void* (*js_calloc)(void*, std::size_t count, std::size_t size);
    void* (*js_malloc)(void*, std::size_t);
    void (*js_free)(void*, void*);
    void* (*js_realloc)(void*, void*, std::size_t);
    std::size_t (*js_malloc_usable_size)(const void*);
};

// [named]
cairn::heap<>& game_memory() noexcept {  // made at its first use, and never ended
    static auto* const memory = new cairn::heap<>;
    return *memory;
}
using in_game = cairn::hooks<game_memory>;
// [/named]

int main() {
    // [yyjson]
    cairn::heap<> json;
    using in_heap = cairn::context_hooks<cairn::heap<>>;
    const yyjson_alc json_memory{in_heap::malloc, in_heap::realloc_sized, in_heap::free, &json};
    // [/yyjson]

    // [wren]
    cairn::heap<> scripts;
    WrenConfiguration config{};
    config.reallocateFn = [](void* p, std::size_t size, void* user) -> void* {
        return in_heap::realloc(user, p, size);
    };
    config.userData = &scripts;
    // [/wren]

    // [pugixml]
    pugi::set_memory_management_functions(in_game::malloc, in_game::free);
    // [/pugixml]

    // [box2d]
    b2SetAllocator(
        [](unsigned size, int align) { return in_game::aligned_malloc(size, std::size_t(align)); },
        [](void* p, unsigned) { in_game::free(p); });
    // [/box2d]

    // [quickjs]
    const JSMallocFunctions js{
        in_heap::calloc, in_heap::malloc, in_heap::free, in_heap::realloc,
        [](const void* p) { return in_game::malloc_usable_size(const_cast<void*>(p)); }};
    // [/quickjs]

    void* const text = json_memory.realloc(json_memory.ctx, nullptr, 0, 1000);
    void* const script = config.reallocateFn(nullptr, 200, config.userData);
    void* const object = js.js_calloc(&game_memory(), 10, 8);
    const bool in_place = json.owns(text) && scripts.owns(script) && game_memory().owns(object);
    std::printf("each in its own memory: %s\n", in_place ? "yes" : "no");
    js.js_free(&game_memory(), object);
    config.reallocateFn(script, 0, config.userData);
    json_memory.free(json_memory.ctx, text);
    return in_place ? 0 : 1;
}
