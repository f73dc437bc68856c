// How do I write entities with components, where some have more of them than others?
#include <cairn/containers/attached_column.hpp>
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/slot_table.hpp>

#include <cstdio>

// [types]
struct fire;
using fire_handle = cairn::handle<fire>;

template <class K = cairn::value>
struct body {  // what every entity has
    cairn::field<K, float> x;
    cairn::field<K, float> speed;
    cairn::field<K, fire_handle> on_fire;  // null: it does not burn
};
using world = cairn::slot_table<body<>>;
using entity = world::handle_type;

struct fire {  // what few have: a store of its own, which knows whose it is
    entity owner;
    float seconds;
};
// [/types]

int main() {
    // [world]
    world entities;
    cairn::slot_map<fire> fires;
    cairn::attached_column<float> heat{entities, 20.0f};  // a value per row, of another system

    for (int i = 0; i < 100; ++i) {
        const entity e = entities.emplace(static_cast<float>(i), 1.0f, fire_handle{});
        if (i % 10 == 0) { entities.find(e)->on_fire = fires.emplace(fire{e, 3.0f}); }
    }
    const entity chosen = entities.handle_at(30);
    // [/world]

    // [systems]
    entities.each<&body<>::x, &body<>::speed>([](float& x, float speed) { x += speed; });

    for (fire& f : fires.values()) {  // those that burn, and their bodies
        if (auto b = entities.find(f.owner)) {
            b->speed = 5.0f;
            heat[entities.dense_index(f.owner)] += 80.0f;
        }
    }
    const bool burns = fires.contains(entities.find(chosen)->on_fire);

    entities.erase(chosen);  // the last row moves into its place; handles and heat follow
    fires.erase_if([&](const fire& f) { return !entities.contains(f.owner); });
    // [/systems]

    float hottest = 0;
    for (const float h : heat.values()) { hottest = h > hottest ? h : hottest; }
    std::printf("%zu entities, %zu on fire, up to %.0f degrees\n", entities.size(), fires.size(),
                static_cast<double>(hottest));
    return burns && entities.size() == 99 && fires.size() == 9 && hottest == 100.0f ? 0 : 1;
}
