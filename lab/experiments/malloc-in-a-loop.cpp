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

struct pool : cairn::pool_of<particle> {
    template <class T>
    T* make() {
        return pool_of::make();
    }
};
/// Pointers to 5000 particles from an allocator, and what ends them.
template <class A, class End, class... Args>
auto in(End end, Args... args) {
    struct state {
        A allocator;
        std::vector<particle*> particles;
    };
    return lab::repeated_on(
        count, [=] { return state{A(args...), {}}; },
        [=](state& s) {
            s.particles.clear();
            for (std::size_t k = 0; k != count; ++k) {
                s.particles.push_back(s.allocator.template make<particle>());
            }
            lab::keep(s.particles.data());
            end(s);
        });
}

const lab::registration loop{
    "malloc-in-a-loop", "What does it cost to allocate inside a loop, and what to do about it?",
    [](lab::experiment& e) {
        e.quick_seconds = 5;
        e.background = true;
        lab::comparison& c = e.compare("5000 particles", {.unit = "ns/particle"});
        const auto all_at_once = [](auto& s) { s.allocator.reset(); };
        c.cairn("cairn::arena", in<cairn::arena>(all_at_once, std::size_t{1} << 20));
        c.cairn("cairn::growing_arena",
                in<cairn::growing_arena>(all_at_once, std::size_t{1} << 16));
        c.cairn("cairn::pool_of, one by one", in<pool>([](auto& s) {
                    for (particle* p : s.particles) s.allocator.destroy(p);
                }));
        c.cairn("cairn::packed_array with reserve()", lab::repeated(count, [] {
                    cairn::packed_array<particle> particles;
                    if (!particles.reserve(count)) std::abort();
                    for (std::size_t i = 0; i != count; ++i) (void)particles.emplace();
                    lab::keep(particles.begin());
                }));
        const auto block = [] { return std::vector<particle>(count); };
        c.limit("one block that stays",
                lab::repeated_on(count, block, [](std::vector<particle>& all) {
                    for (particle& p : all) p = particle();
                    lab::keep(all.data());
                }));
        c.mallocs(lab::repeated(count, listing_2_2), ", listing 2.2");
        c.peer("std::vector, listing 2.3 as printed", lab::repeated(count, listing_2_3));
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
