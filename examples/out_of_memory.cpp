// What does code look like that copes when memory runs out, and how is that tested?
#include <cairn/alloc/budget.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/containers/slot_map.hpp>
#include <cairn/debug/failing.hpp>
#include <cairn/os/system_allocator.hpp>

#include <cstdio>
#include <string_view>

using namespace cairn::literals;

struct monster {
    std::string_view name;
};

// [level]
struct level {
    cairn::growing_arena names;
    cairn::slot_map<monster> monsters;
    explicit level(cairn::allocator_ref memory) : names{1_KiB, memory}, monsters{memory} {}
};

// True: all of it is there. False: out of memory, and the level is as it was.
[[nodiscard]] bool load(level& to) {
    const auto start = to.names.mark();
    for (int i = 0; i < 200; ++i) {
        const std::string_view name = to.names.copy(std::string_view{"a monster's name"});
        if (name.data() == nullptr || !to.monsters.emplace(monster{name})) {
            to.monsters.clear();
            to.names.rewind(start);
            return false;
        }
    }
    return true;
}
// [/level]

// [cache]
struct sound_cache {
    cairn::budget<cairn::system_allocator&>& memory;
    void* sounds[32] = {};
    std::size_t oldest = 0, next = 0;

    static bool drop_oldest(void* self, const cairn::budget_request&) noexcept {
        auto& cache = *static_cast<sound_cache*>(self);
        if (cache.oldest == cache.next) { return false; }  // nothing to give: refuse
        cache.memory.deallocate(cache.sounds[cache.oldest++], 1_KiB);
        return true;  // look again
    }
};
// [/cache]

int main() {
    cairn::system_allocator system;
    // [every_point]
    bool untouched = false;
    for (std::size_t n = 0; !untouched; ++n) {  // request n is refused, for every n there is
        cairn::failing memory{system};
        level l{memory};
        memory.refuse_from(n, 1);
        if (!load(l) && (!l.monsters.empty() || l.names.used_size() != 0)) { return 1; }
        untouched = memory.refused_count() == 0;

        memory.refuse_nothing();
        if (!load(l)) { return 2; }  // memory is back, and so is everything else
        l.monsters.validate();
        if (untouched) { std::printf("%zu requests, each refused once\n", n); }
    }
    // [/every_point]

    // [budget]
    cairn::budget memory{10_KiB, system};
    sound_cache cache{memory};
    memory.set_handler(&sound_cache::drop_oldest, &cache);
    for (std::size_t i = 0; i < 32; ++i) {
        cache.sounds[cache.next] = memory.allocate(1_KiB);  // the eleventh asks the handler first
        if (cache.sounds[cache.next++] == nullptr) { return 3; }
    }
    const bool kept_the_limit = memory.peak_size() == 10_KiB && memory.refused_count() == 0;
    // [/budget]
    while (sound_cache::drop_oldest(&cache, {})) {}
    return kept_the_limit && memory.live_size() == 0 ? 0 : 4;
}
