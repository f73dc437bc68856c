// lab/experiments/struct-layout.cpp - thesis listings 5.1 and 5.2: what the order of members costs.
//
// The same fifteen members in two orders: how many bytes each wastes, how many cache lines the
// update of velocity and position touches on average, and how long it takes; which members lie on two
// lines, and how much of the lines that one of them loads is not used (98.4 % for a byte alone, and
// 90.6 % for the angular velocity of listing 5.2).
#include <cairn/containers/packed_array.hpp>
#include <fmt/format.h>

#include "lab/families/particle.hpp"
#include "lab/families/random_order.hpp"
#include "lab/harness/counters.hpp"
#include "lab/harness/experiment.hpp"
#include "lab/harness/results.hpp"
#include "lab/layout/findings.hpp"
#include "lab/output/output.hpp"

namespace {

using lab::particles::vec3;

struct as_written {  // listing 5.1: grouped by meaning
    float age = 0, max_age = 0;
    bool pending_kill = false;
    vec3 position, rotation, scale, linear_velocity, angular_velocity, linear_force, torque;
    int color = 0, texture_handle = 0;
    void *parent = nullptr, *user_ptr = nullptr;
    std::uint64_t flags = 0;
};

/// As `cairn layout --uses` proposes it: 128 bytes, the update's members on one line.
struct by_use {
    vec3 position, linear_velocity, linear_force;
    float age = 0, max_age = 0;
    int color = 0, texture_handle = 0;
    vec3 rotation, scale, angular_velocity, torque;
    bool pending_kill = false;
    void *parent = nullptr, *user_ptr = nullptr;
    std::uint64_t flags = 0;
};

/// Twice as large: the members of the update lie further from those of the next particle.
struct as_written_256 : as_written {
    std::byte more[256 - sizeof(as_written)] = {};
};
struct by_use_256 : by_use {
    std::byte more[256 - sizeof(by_use)] = {};
};

constexpr std::size_t member_bytes = 125;  // what listing 5.2 adds up to

/// Cache lines that the update touches per particle, averaged over an array.
template <class P>
double lines_per_update() {
    constexpr lab::layout::piece used[] = {{offsetof(P, position), sizeof(vec3)},
                                           {offsetof(P, linear_velocity), sizeof(vec3)},
                                           {offsetof(P, linear_force), sizeof(vec3)}};
    return lab::layout::usage_of(sizeof(P), used, 64).lines_in_array;
}

struct member {
    const char* name;
    std::size_t offset, size;
};
template <class P>
std::vector<member> members_of() {
#define MEMBER(name) \
    member { #name, offsetof(P, name), sizeof(P::name) }
    return {MEMBER(age),
            MEMBER(max_age),
            MEMBER(pending_kill),
            MEMBER(position),
            MEMBER(rotation),
            MEMBER(scale),
            MEMBER(linear_velocity),
            MEMBER(angular_velocity),
            MEMBER(linear_force),
            MEMBER(torque),
            MEMBER(color),
            MEMBER(texture_handle),
            MEMBER(parent),
            MEMBER(user_ptr),
            MEMBER(flags)};
#undef MEMBER
}

/// Of the lines that `size` bytes at `at` lie on: the share that is something else, in percent.
double unused_share(std::size_t at, std::size_t size) {
    const std::size_t lines = (at + size - 1) / 64 - at / 64 + 1;
    return 100 - 100.0 * static_cast<double>(size) / static_cast<double>(64 * lines);
}
/// The same for the angular velocity of each particle of an array that begins at a line, averaged.
template <class P>
double unused_by_angular_velocity() {
    constexpr std::size_t count = 64;
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
        sum += unused_share(i * sizeof(P) + offsetof(P, angular_velocity), sizeof(vec3));
    }
    return sum / count;
}

/// The members of a particle at the beginning of a line that lie on two lines.
template <class P>
std::vector<member> straddling() {
    std::vector<member> found;
    for (const member& m : members_of<P>()) {
        if (lab::layout::straddles(m.offset, m.size, 64)) found.push_back(m);
    }
    return found;
}
template <class P>
std::string straddling_words() {
    std::string s;
    for (const member& m : straddling<P>()) {
        s += (s.empty() ? "" : ", ") + std::string{m.name} + ": " +
             std::to_string(64 - m.offset % 64) + " of " + std::to_string(m.size) +
             " bytes before the boundary";
    }
    return s;
}

template <class P>
void move_one(P& p) {
    p.linear_velocity += p.linear_force * 0.016f;
    p.position += p.linear_velocity * 0.016f;
}

/// From a cache line on, as lines_per_update counts: malloc's 16 bytes more shift every particle.
template <class P>
struct particles {
    cairn::packed_array<P> all;
    explicit particles(std::size_t count) {
        if (!all.reserve(count)) { std::abort(); }
        for (std::size_t i = 0; i < count; ++i) { (void)all.emplace(); }
    }
};

template <class P>
struct shuffled_particles : particles<P> {
    std::vector<std::uint32_t> order;
    explicit shuffled_particles(std::size_t count)
        : particles<P>{count}, order{lab::shuffled(count, 7)} {}
};

template <class P>
auto update_at_random(std::size_t count) {
    return lab::repeated_on(count, lab::made<shuffled_particles<P>>(count), [](auto& p) {
        P* const begin = p.all.begin();
        for (const std::uint32_t i : p.order) { move_one(begin[i]); }
        lab::clobber();
    });
}
template <class P>
auto update(std::size_t count) {
    return lab::repeated_on(count, lab::made<particles<P>>(count), [](particles<P>& p) {
        for (P& one : p.all) { move_one(one); }
        lab::clobber();
    });
}

/// The order's lines, and what they were worth.
std::string take(const lab::experiment_result& e) {
    std::string s;
    for (const lab::case_result& c : e.cases) {
        const double before = median_of(c, "as written");
        const double after = median_of(c, "by use");
        if (before == 0 || after == 0) continue;
        if (c.name != "cache lines touched" && !c.name.starts_with("update of")) continue;
        s += fmt::format("{}{}: {} as written, {} as cairn layout proposes", s.empty() ? "" : "; ",
                         c.name, lab::figure(before), lab::figure(after));
    }
    return s.empty() ? s
                     : s + ". Processors load neighbouring lines in pairs and in advance: fewer "
                           "lines pay where accesses are random, and columns (aos-soa) pay more.";
}

/// A row that a function computes.
template <class Function>
lab::contender& add_figure(lab::comparison& c, const std::string& name, Function figure) {
    return c.baseline(
        name, lab::repeated_on(
                  1, [=] { return figure; },
                  [](const auto& f, lab::sample& s) { s.value(static_cast<double>(f())); }));
}

struct tables {
    lab::comparison& waste;
    lab::comparison& lines;
    lab::comparison& straddled;
    lab::comparison& unused;
    lab::comparison& time;
    lab::comparison& random;

    template <class P>
    void add(const char* name, bool is_published = false) {
        auto& w = add_figure(waste, name, [] { return sizeof(P) - member_bytes; });
        auto& two = add_figure(straddled, name, [] { return straddling<P>().size(); });
        two.note(straddling_words<P>());
        auto& alone = add_figure(unused, "angular_velocity, " + std::string{name},
                                 unused_by_angular_velocity<P>);
        if (is_published) {
            w.published(3, "bytes/particle", "thesis listing 5.2 (pahole)");
            two.published(1, "members", "thesis listing 5.2 (pahole), angular_velocity");
            alone.published(90.6, "%/read", "thesis 5.1.1, listing 5.2");
        }
        add_figure(lines, name, lines_per_update<P>);
        time.baseline(name, update<P>(1000000));
        random.baseline(name, update_at_random<P>(1000000));
    }
};

const lab::registration struct_layout{
    "struct-layout", "What does the order of the members of a struct cost?",
    [](lab::experiment& e) {
        e.quick_seconds = 3;
        e.background = true;
        e.take = take;
        const auto exact = [](const char* unit) {
            return lab::case_options{
                .unit = unit, .measure = lab::measure::value, .one_sample = true};
        };
        tables all{e.compare("bytes wasted", exact("bytes/particle")),
                   e.compare("cache lines touched", exact("lines/update")),
                   e.compare("members on two lines", exact("members")),
                   e.compare("loaded and not used", exact("%/read")),
                   e.compare("update of 1000000", {.unit = "ns/particle"}),
                   e.compare("update of 1000000, in random order", {.unit = "ns/particle"})};
        add_figure(all.unused, "one byte", [] {
            return unused_share(0, 1);
        }).published(98.4, "%/read", "thesis 3.1.4");
        lab::comparison& large =
            e.compare("update of 500000 of 256 bytes, in random order", {.unit = "ns/particle"});
        large.baseline("as written (listing 5.1)", update_at_random<as_written_256>(500000));
        large.baseline("by use: as cairn layout proposes", update_at_random<by_use_256>(500000));
        all.add<as_written>("as written (listing 5.1)", true);
        all.add<by_use>("by use: as cairn layout proposes");
        add_counts(e, all.time);
    }};

}  // namespace
