// One of each public container, handle and allocator, for debuggers_test.py. A line
//
//      //= name: text
//
// says how a debugger shows the variable `name` of this function where it calls look(), in the
// words of gdb's print; lines behind it, indented further, continue it. `..` stands for any text,
// `0x..` for any address.
#pragma once

#include <cairn/cairn.hpp>

#include <cstdint>

namespace {

struct vec2 {
    float x, y;
};
struct enemy {
    int hp = 0;
    float speed = 0;
};
struct any_unit {};
struct orc : any_unit {
    int hp;
};
struct elf : any_unit {
    int hp, arrows;
};
struct body {  // a plain row
    vec2 at;
    float mass;
    int team;
};
template <class K = cairn::value>
struct particle {  // a named row
    cairn::field<K, cairn::split<vec2>> at;
    cairn::field<K, vec2> velocity;
    cairn::field<K, float> life = 1;
};
struct message {
    int kind;
    int value;
};
struct alignas(4096) boulder {  // 64 of them are a chunk
    int weight;
};
struct npc {  // a collected object
    explicit npc(int years) noexcept : age{years} {}
    cairn::ref<npc> rival;
    cairn::ref_array<npc> friends;
    int age;
    using references = cairn::refers_to<&npc::rival, &npc::friends>;
};
struct party {  // a collected object with references elsewhere
    cairn::traced<cairn::packed_array<cairn::outer_ref<npc>>> members;
    using references = cairn::refers_to<&party::members>;
};
struct team_a;
struct own_policy {
    template <class T>
    using handle_type = cairn::handle<T, 32, 16>;
    static constexpr cairn::reuse order = cairn::reuse::lifo;
    static constexpr std::uint32_t free_min = 0;
};

[[maybe_unused]] constexpr cairn::detail::slot_map_options from_5{.first_generation = 5};
[[maybe_unused]] constexpr cairn::detail::slot_map_options from_9{.first_generation = 9};

}  // namespace

inline int stops = 0;
[[gnu::noinline]] inline void look() {
    ++stops;
    __asm__ volatile("" ::: "memory");
}

void handles();
void maps();
void members();
void owners();
void tables();
void arrays();
void arenas();
void pools();
void heaps();
void collected();
void wrappers();
