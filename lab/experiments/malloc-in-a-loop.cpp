// lab/experiments/malloc-in-a-loop.cpp - thesis 2.2.1, listings 2.2 and 2.3: 5000 particles.
//
//      listing 2.2     vector<Particle*> particles(5000); for 5000: particles.push_back(new Particle())
//      listing 2.3     vector<Particle> particles(5000);  for 5000: particles.push_back(Particle())
//
// Both say 5000 in the constructor, so their pushes double the vector: they are measured as printed,
// and listing 2.3 with the reserve() that it means, too. In the case "5000 particles" all build that
// many and take them down again. Nothing that is printed takes them down, so the quotient of the two
// listings is that of building alone.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/pool_of.hpp>
#include <cairn/containers/packed_array.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include "lab/families/particle.hpp"
#include "lab/harness/experiment.hpp"
#include "lab/system/system.hpp"

namespace {

using particle = lab::particles::particle<>;
constexpr std::size_t count = 5000;

// Each returns when it had built its particles, in ns; they are gone when it returns.
std::int64_t listing_2_2() {
    std::vector<particle*> particles(count);
    for (std::size_t i = 0; i != count; ++i) particles.push_back(new particle());
    lab::keep(particles.data());
    const std::int64_t built = lab::now_ns();
    for (particle* p : particles) delete p;
    return built;
}

std::int64_t listing_2_3() {
    std::vector<particle> particles(count);
    for (std::size_t i = 0; i != count; ++i) particles.push_back(particle());
    lab::keep(particles.data());
    return lab::now_ns();
}

std::int64_t with_reserve() {
    std::vector<particle> particles;
    particles.reserve(count);
    for (std::size_t i = 0; i != count; ++i) particles.push_back(particle());
    lab::keep(particles.data());
    return lab::now_ns();
}

template <class F>
auto repeated(F once) {
    return [once] {
        return [once](lab::sample& s) {
            for (std::uint64_t i = 0; i != s.repetitions(); ++i) once();
            s.did(s.repetitions() * count);
        };
    };
}

/// What building by `a` costs where building by `b` costs 1.
double quotient(std::int64_t (*a)(), std::int64_t (*b)()) {
    std::array<double, 5> ratios{};
    for (double& ratio : ratios) {
        std::int64_t by_a = 0;
        std::int64_t by_b = 0;
        for (int i = 0; i != 4; ++i) {
            const std::int64_t begun = lab::now_ns();
            by_a += a() - begun;
            const std::int64_t middle = lab::now_ns();
            by_b += b() - middle;
        }
        ratio = static_cast<double>(by_a) / static_cast<double>(by_b);
    }
    std::sort(ratios.begin(), ratios.end());
    return ratios[2];
}

/// Pointers to 5000 particles from an allocator that forgets all of them at once.
template <class A>
auto in(std::size_t size) {
    return [size] {
        struct state {
            explicit state(std::size_t n) : allocator(n) { particles.reserve(count); }
            A allocator;
            std::vector<particle*> particles;
        };
        return [s0 = std::make_shared<state>(size)](lab::sample& s) {
            for (std::uint64_t i = 0; i != s.repetitions(); ++i) {
                s0->particles.clear();
                for (std::size_t k = 0; k != count; ++k) {
                    s0->particles.push_back(s0->allocator.template make<particle>());
                }
                lab::keep(s0->particles.data());
                s0->allocator.reset();
            }
            s.did(s.repetitions() * count);
        };
    };
}

const lab::registration loop{
    "malloc-in-a-loop", "What does it cost to allocate inside a loop, and what to do about it?",
    [](lab::experiment& e) {
        e.quick_seconds = 5;
        e.background = true;
        lab::comparison& c = e.compare("5000 particles", {.unit = "ns/particle"});
        c.cairn("cairn::arena", in<cairn::arena>(1 << 20));
        c.cairn("cairn::growing_arena", in<cairn::growing_arena>(1 << 16));
        c.cairn("cairn::pool_of, one by one", [] {
            struct state {
                cairn::pool_of<particle> pool;
                std::vector<particle*> particles;
            };
            return [s0 = std::make_shared<state>()](lab::sample& s) {
                for (std::uint64_t i = 0; i != s.repetitions(); ++i) {
                    s0->particles.clear();
                    for (std::size_t k = 0; k != count; ++k) {
                        s0->particles.push_back(s0->pool.make());
                    }
                    lab::keep(s0->particles.data());
                    for (particle* p : s0->particles) s0->pool.destroy(p);
                }
                s.did(s.repetitions() * count);
            };
        });
        c.cairn("cairn::packed_array with reserve()", repeated([] {
                    cairn::packed_array<particle> particles;
                    if (!particles.reserve(count)) std::abort();
                    for (std::size_t i = 0; i != count; ++i) (void)particles.emplace();
                    lab::keep(particles.begin());
                }));
        c.limit("one block that stays", [] {
            return [block = std::make_shared<std::vector<particle>>(count)](lab::sample& s) {
                for (std::uint64_t i = 0; i != s.repetitions(); ++i) {
                    for (particle& p : *block) p = particle();
                    lab::keep(block->data());
                }
                s.did(s.repetitions() * count);
            };
        });
        c.mallocs(repeated(listing_2_2), ", listing 2.2");
        c.peer("std::vector, listing 2.3 as printed", repeated(listing_2_3));
        c.peer("std::vector with reserve()", repeated(with_reserve));

        lab::comparison& ratio =
            e.compare("listing 2.2 / listing 2.3",
                      {.unit = "x", .measure = lab::measure::value, .weight = 0.3});
        ratio
            .baseline(
                std::string{lab::name_of_system_malloc()} + ", as printed",
                [] { return [](lab::sample& s) { s.value(quotient(listing_2_2, listing_2_3)); }; })
            .published(2.66, "x", "thesis fig. 2.2 and 2.2.1");
        const std::string reserved = ", listing 2.3 with the reserve() that it means";
        ratio.baseline(lab::name_of_system_malloc() + reserved, [] {
            return [](lab::sample& s) { s.value(quotient(listing_2_2, with_reserve)); };
        });
    }};

}  // namespace
