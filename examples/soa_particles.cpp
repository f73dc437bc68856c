// One struct, any layout: how do I change from an array of structs to columns without touching the
// loops? Change one template argument.
#include <cairn/containers/table.hpp>
#include <cstdio>

struct vec3 {
    float x = 0, y = 0, z = 0;
    vec3& operator+=(const vec3& b) { return x += b.x, y += b.y, z += b.z, *this; }
    friend vec3 operator*(const vec3& a, float s) { return {a.x * s, a.y * s, a.z * s}; }
};

// [row]
template <class K = cairn::value>
struct particle {
    cairn::field<K, vec3> position;
    cairn::field<K, vec3> velocity;
    cairn::field<K, float> life = 1.0f;
};
// [/row]

template <class Layout>
float simulate() {
    // [loops]
    cairn::table<particle<>, Layout> particles;
    for (int i = 0; i < 1000; ++i) {
        if (!particles.emplace_back(vec3{}, vec3{1, 2, 3})) { return -1; }  // life: 1
    }
    for (auto&& p : particles) { p.position += p.velocity * 0.5f; }
    particles.for_each([](auto&& p) { p.life -= cairn::part<&vec3::x>(p.velocity) * 0.25f; });
    // [/loops]
    float sum = 0;
    for (float life : particles.template column<&particle<>::life>()) { sum += life; }
    const particle<> last = particles.back();
    return sum + last.position.z;
}

int main() {
    const float expected = 1000 * 0.75f + 1.5f;
    const bool same = simulate<cairn::aos>() == expected && simulate<cairn::soa>() == expected &&
                      simulate<cairn::split_soa>() == expected &&
                      simulate<cairn::aosoa<8>>() == expected;
    std::printf("%s\n", same ? "the same in every layout" : "layouts differ");
    return same ? 0 : 1;
}
