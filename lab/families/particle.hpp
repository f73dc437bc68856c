// lab/families/particle.hpp - the particle of the thesis (listing 5.1), once for every layout.
#pragma once

#include <cairn/containers/field.hpp>
#include <cstdint>

namespace lab::particles {

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
struct particle {
    cairn::field<K, float> age = 0;
    cairn::field<K, float> max_age = 0;
    cairn::field<K, bool> pending_kill = false;
    cairn::field<K, vec3> position;
    cairn::field<K, vec3> rotation;
    cairn::field<K, vec3> scale;
    cairn::field<K, vec3> linear_velocity;
    cairn::field<K, vec3> angular_velocity;
    cairn::field<K, vec3> linear_force;
    cairn::field<K, vec3> torque;
    cairn::field<K, int> color = 0;
    cairn::field<K, int> texture_handle = 0;
    cairn::field<K, void*> parent = nullptr;
    cairn::field<K, void*> user_ptr = nullptr;
    cairn::field<K, std::uint64_t> flags = 0;
};
static_assert(sizeof(particle<>) == 128, "as pahole says in listing 5.2");

}  // namespace lab::particles
