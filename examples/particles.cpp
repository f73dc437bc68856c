// What is the fastest memory for things that come and go one by one?
#include <cairn/alloc/pool_of.hpp>
#include <cstdio>
#include <vector>

struct particle {
    float position[3];
    float velocity[3];
    float seconds_left;
};

int main() {
    // [particles]
    cairn::pool_of<particle> particles;
    if (!particles.reserve(10'000)) { return 1; }  // now, not in the frame

    std::vector<particle*> alive;
    for (int frame = 0; frame < 100; ++frame) {
        for (int i = 0; i < 50; ++i) {
            const float seconds = 0.01f * static_cast<float>(i + 1);
            alive.push_back(particles.make(particle{{0, 0, 0}, {0, 1, 0}, seconds}));
        }
        std::erase_if(alive, [&](particle* p) {
            p->seconds_left -= 1.0f / 90;
            const bool is_over = p->seconds_left <= 0;
            if (is_over) { particles.destroy(p); }
            return is_over;
        });
    }
    // [/particles]

    std::size_t counted = 0;
    particles.for_each([&](particle&) { ++counted; });
    std::printf("%zu alive, %zu counted, %zu bytes for all\n", alive.size(), counted,
                particles.stats().upstream_size);
    return counted == alive.size() && particles.stats().chunk_count == 1 ? 0 : 1;
}
