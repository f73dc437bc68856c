// Loops over rows that row_loops_test.py compiles: each function is one loop, and its assembly is
// read. The row has 15 fields, and 27 columns when its vectors are split.
#include <cairn/containers/table.hpp>

struct vec3 {
    float x = 0, y = 0, z = 0;
    friend vec3 operator*(const vec3& a, float s) { return {a.x * s, a.y * s, a.z * s}; }
    vec3& operator+=(const vec3& b) {
        x += b.x;
        y += b.y;
        z += b.z;
        return *this;
    }
};
template <class K = cairn::value>
struct wide {
    cairn::field<K, vec3> p, v, a, b, c, d;
    cairn::field<K, float> e, f, g, h, i, j, k, l, m;
};
template <class K = cairn::value>
struct six {
    cairn::field<K, float> x, y, vx, vy, life, heat;
};

extern "C" {
void index_soa(cairn::table_view<wide<>, cairn::soa> rows, float dt) {
    for (std::size_t n = 0; n < rows.size(); ++n) { rows[n].p += rows[n].v * dt; }
}
void range_soa(cairn::table_view<wide<>, cairn::soa> rows, float dt) {
    for (auto&& r : rows) { r.p += r.v * dt; }
}
void range_split(cairn::table_view<wide<>, cairn::split_soa> rows, float dt) {
    for (auto&& r : rows) { r.p += r.v * dt; }
}
void index_split(cairn::table_view<wide<>, cairn::split_soa> rows, float dt) {
    for (std::size_t n = 0; n < rows.size(); ++n) { rows[n].p += rows[n].v * dt; }
}
}

// Called by name in run_called(), which gcc does not inline: the loops stand there.
void for_each_six(cairn::table_view<six<>, cairn::soa> rows, float dt) {
    rows.for_each([dt](auto&& r) {
        r.x += r.vx * dt;
        r.y += r.vy * dt;
        r.life -= dt;
    });
}
void each_two(cairn::table_view<six<>, cairn::soa> rows, float dt) {
    rows.each<&six<>::x, &six<>::vx>([dt](float& x, const float& vx) { x += vx * dt; });
}
void each_four(cairn::table_view<six<>, cairn::soa> rows, float dt) {
    rows.each<&six<>::x, &six<>::vx, &six<>::y, &six<>::vy>(
        [dt](float& x, const float& vx, float& y, const float& vy) {
            x += vx * dt;
            y += vy * dt;
        });
}
