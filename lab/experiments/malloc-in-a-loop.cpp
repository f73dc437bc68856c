// lab/experiments/malloc-in-a-loop.cpp - thesis 2.2.1, listings 2.2 and 2.3: 5000 particles.
//
//      listing 2.2     vector<Particle*> particles(5000); for 5000: particles.push_back(new Particle())
//      listing 2.3     vector<Particle> particles(5000);  for 5000: particles.push_back(Particle())
//
// Both say 5000 in the constructor, so their pushes double the vector: they are measured as printed,
// and listing 2.3 with the reserve() that it means, too. In the case "5000 particles" all build that
// many and take them down again. Nothing that is printed takes them down, so the quotient of the two
// listings is that of building alone.
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/pool_of.hpp>

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

/// Pointers to 5000 particles: make(allocator) for each, and end(allocator, particles).
template <class A, class Make, class End>
auto in(Make make, End end) {
    struct state {
        A allocator;
        std::vector<particle*> particles;
    };
    return lab::repeated_on(count, lab::made<state>(), [=](state& s) {
        s.particles.clear();
        for (std::size_t k = 0; k != count; ++k) s.particles.push_back(make(s.allocator));
        lab::keep(s.particles.data());
        end(s.allocator, s.particles);
    });
}

const lab::registration loop{
    "malloc-in-a-loop", "What does it cost to allocate inside a loop, and what to do about it?",
    [](lab::experiment& e) {
        e.quick_seconds = 4;
        e.background = true;
        lab::comparison& c = e.compare("5000 particles", {.unit = "ns/particle"});
        using cairn::growing_arena, cairn::pool_of;
        c.cairn("cairn::growing_arena",
                in<growing_arena>([](auto& a) { return a.template make<particle>(); },
                                  [](auto& a, auto&) { a.reset(); }));
        c.cairn("cairn::pool_of, one by one",
                in<pool_of<particle>>([](auto& pool) { return pool.make(); },
                                      [](auto& pool, auto& particles) {
                                          for (particle* p : particles) pool.destroy(p);
                                      }));
        c.mallocs(lab::repeated(count, listing_2_2), ", listing 2.2");
        c.peer("std::vector with reserve()", lab::repeated(count, with_reserve));

        lab::comparison& ratio =
            e.compare("listing 2.2 / listing 2.3",
                      {.unit = "x", .measure = lab::measure::value, .weight = 0.3});
        const auto beside = [](std::int64_t (*other)()) {
            return lab::repeated_on(
                1, [=] { return other; },
                [](auto by, lab::sample& s) { s.value(quotient(listing_2_2, by)); });
        };
        const std::string system = lab::name_of_system_malloc();
        ratio.baseline(system + ", as printed", beside(listing_2_3))
            .published(2.66, "x", "thesis fig. 2.2 and 2.2.1");
        ratio.baseline(system + ", listing 2.3 with the reserve() that it means",
                       beside(with_reserve));
    }};

}  // namespace
