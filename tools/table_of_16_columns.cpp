// tools/table_of_16_columns.cpp - what tools/header_cost.py compiles with -O2: a table of 16 columns,
// used as people use one.
#include <cairn/containers/table.hpp>

namespace {

template <class K = cairn::value>
struct body {
    cairn::field<K, float> x = 0;
    cairn::field<K, float> y = 0;
    cairn::field<K, float> z = 0;
    cairn::field<K, float> dx = 0;
    cairn::field<K, float> dy = 0;
    cairn::field<K, float> dz = 0;
    cairn::field<K, float> fx = 0;
    cairn::field<K, float> fy = 0;
    cairn::field<K, float> fz = 0;
    cairn::field<K, float> mass = 1;
    cairn::field<K, float> radius = 1;
    cairn::field<K, float> age = 0;
    cairn::field<K, int> color = 0;
    cairn::field<K, int> material = 0;
    cairn::field<K, unsigned> flags = 0;
    cairn::field<K, void*> owner = nullptr;
};

}  // namespace

float step(int count, float dt) {
    cairn::table<body<>> bodies;
    for (int i = 0; i != count; ++i) {
        if (!bodies.push_back({.dx = 1, .color = i})) return 0;
    }
    bodies.for_each([dt](auto&& b) {
        b.x += b.dx * dt;
        b.y += b.dy * dt;
        b.z += b.dz * dt;
        b.age += dt;
    });
    if (bodies.size() > 3) bodies.swap_erase(2);
    float sum = 0;
    for (auto&& b : bodies) sum += b.x + b.age;
    return sum;
}
