// lab/families/particle_limits.hpp - the update of the particles by hand, eight floats at a time.
//
//      v += f * dt;  p += v * dt;          over whole columns, and over the blocks of an aosoa
//
// The limits of experiments/aos-soa.cpp, where the compiler may use AVX2 (has_avx2).
#pragma once

#if defined(__AVX2__)
#    include <immintrin.h>
#endif

#include "lab/families/particle.hpp"
#include "lab/harness/experiment.hpp"

namespace lab::particles {

constexpr float dt = 1.0f / 64;

#if defined(__AVX2__)
constexpr bool has_avx2 = true;

[[gnu::noinline]] inline void update_avx2(float* p, float* v, const float* f, std::size_t count) {
    const __m256 step = _mm256_set1_ps(dt);
    std::size_t i = 0;
    for (; i + 16 <= count; i += 16) {
        for (std::size_t k = i; k < i + 16; k += 8) {
            const __m256 velocity =
                _mm256_add_ps(_mm256_load_ps(v + k), _mm256_mul_ps(_mm256_load_ps(f + k), step));
            _mm256_store_ps(v + k, velocity);
            _mm256_store_ps(p + k,
                            _mm256_add_ps(_mm256_load_ps(p + k), _mm256_mul_ps(velocity, step)));
        }
    }
    for (; i < count; ++i) {
        v[i] += f[i] * dt;
        p[i] += v[i] * dt;
    }
}
/// The same by hand over the blocks of an aosoa: the cost of that layout in a loop by hand.
template <class Rows>
[[gnu::noinline]] void update_blocks_avx2(Rows& t) {
    const auto p = t.template column<&particle<>::position>();
    const auto v = t.template column<&particle<>::linear_velocity>();
    const auto f = t.template column<&particle<>::linear_force>();
    const __m256 step = _mm256_set1_ps(dt);
    for (std::size_t b = 0; b < p.block_count(); ++b) {
        float* const position = &p.block(b)[0].x;
        float* const velocity = &v.block(b)[0].x;
        const float* const force = &f.block(b)[0].x;
        for (std::size_t k = 0; k < p.block(b).size() * 3; k += 8) {
            const __m256 moved = _mm256_add_ps(_mm256_loadu_ps(velocity + k),
                                               _mm256_mul_ps(_mm256_loadu_ps(force + k), step));
            _mm256_storeu_ps(velocity + k, moved);
            _mm256_storeu_ps(position + k, _mm256_add_ps(_mm256_loadu_ps(position + k),
                                                         _mm256_mul_ps(moved, step)));
        }
    }
}

#else
constexpr bool has_avx2 = false;

inline void update_avx2(float*, float*, const float*, std::size_t) {}
template <class Rows>
void update_blocks_avx2(Rows&) {}
#endif

}  // namespace lab::particles
