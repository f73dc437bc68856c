// What the tests of cairn/containers/table.hpp share: their rows, and the suite of all layouts.
#pragma once

#include <cairn/containers/table.hpp>
#include <gtest/gtest.h>

#include <array>

#include "support/layouts.hpp"

namespace table_tests {

using namespace cairn;

struct vec3 {
    float x = 0, y = 0, z = 0;
    friend bool operator==(const vec3&, const vec3&) = default;
    friend vec3 operator*(const vec3& a, float s) { return {a.x * s, a.y * s, a.z * s}; }
    friend vec3 operator+(const vec3& a, const vec3& b) {
        return {a.x + b.x, a.y + b.y, a.z + b.z};
    }
    vec3& operator+=(const vec3& b) { return *this = *this + b; }
};

template <class K = value>
struct particle {
    field<K, vec3> position;
    field<K, vec3> velocity;
    field<K, float> life = 1.0f;
    field<K, int> id = -1;
    field<K, bool> seen = false;
    auto speed2() const { return part<&vec3::x>(velocity) * part<&vec3::x>(velocity); }
    bool is_dead() const { return life <= 0; }
};

struct plain {
    vec3 position;
    float life = 1.0f;
    std::array<short, 4> tags{};
};

inline particle<> sample(int i) {
    const auto f = static_cast<float>(i);
    return {{f, f + 1, f + 2}, {f * 2, 1, -f}, f / 4, i, i % 2 == 0};
}

inline bool equal(const particle<>& a, const particle<>& b) {
    return a.position == b.position && a.velocity == b.velocity && a.life == b.life &&
           a.id == b.id && a.seen == b.seen;
}

template <class Layout>
class table_in : public testing::Test {};
TYPED_TEST_SUITE(table_in, test_layouts::all);

template <class T>
void fill(T& t, int count) {
    for (int i = 0; i < count; ++i) { ASSERT_TRUE(t.push_back(sample(i))); }
}

}  // namespace table_tests
