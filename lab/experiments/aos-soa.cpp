// lab/experiments/aos-soa.cpp - thesis figure 6.9: 128-byte particles of which a loop needs 36 bytes.
//
// velocity += force * dt; position += velocity * dt; for 5,000 particles, which fit the second-level
// cache in every layout, and for 1,000,000, which fit none.
#include <cairn/containers/table.hpp>
#include <fmt/format.h>

#include "lab/families/particle.hpp"
#include "lab/harness/counters.hpp"
#include "lab/harness/experiment.hpp"
#include "lab/harness/results.hpp"
#include "lab/output/output.hpp"
#include "lab/system/aligned_memory.hpp"

namespace {

using namespace lab::particles;
using P = particle<>;
constexpr float dt = 1.0f / 64;

template <class Row>
void start_values(Row&& p) {
    p.position = vec3{1, 2, 3};
    p.linear_velocity = vec3{0, 1, 0};
    p.linear_force = vec3{0.001f, 0, 0.001f};
}

template <class Layout>
std::unique_ptr<cairn::table<P, Layout>> filled(std::size_t count) {
    auto t = std::make_unique<cairn::table<P, Layout>>();
    if (!t->resize(count)) { std::abort(); }
    for (auto&& p : *t) { start_values(p); }
    return t;
}

/// work(state) for `count` rows, again and again.
template <class Make, class Work>
auto over(std::size_t count, Make make, Work work) {
    return lab::repeated_on(count, make, [work](auto& state) {
        work(state);
        lab::clobber();
    });
}

template <class Rows>
[[gnu::noinline]] void update_rows(Rows& t) {
    for (std::size_t i = 0; i < t.size(); ++i) {
        t[i].linear_velocity += t[i].linear_force * dt;
        t[i].position += t[i].linear_velocity * dt;
    }
}
template <class Rows>
[[gnu::noinline]] void update_for_each(Rows& t) {
    t.for_each([](auto&& p) {
        p.linear_velocity += p.linear_force * dt;
        p.position += p.linear_velocity * dt;
    });
}
template <class Rows>
[[gnu::noinline]] void update_each(Rows& t) {
    t.template each<&P::position, &P::linear_velocity, &P::linear_force>(
        [](vec3& p, vec3& v, const vec3& f) {
            v += f * dt;
            p += v * dt;
        });
}
[[gnu::noinline]] void update_columns(float* __restrict p, float* __restrict v,
                                      const float* __restrict f, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        v[i] += f[i] * dt;
        p[i] += v[i] * dt;
    }
}
void update_spans(cairn::table<P, cairn::soa>& t) {
    const auto p = t.column<&P::position>();
    const auto v = t.column<&P::linear_velocity>();
    const auto f = t.column<&P::linear_force>();
    for (std::size_t i = 0; i < p.size(); ++i) {
        v[i] += f[i] * dt;
        p[i] += v[i] * dt;
    }
}
void update_spans(cairn::table<P, cairn::split_soa>& t) {
    const auto p = t.column<&P::position>();
    const auto v = t.column<&P::linear_velocity>();
    const auto f = t.column<&P::linear_force>();
    for (std::size_t c = 0; c < 3; ++c) {
        update_columns(p.component(c).data(), v.component(c).data(), f.component(c).data(),
                       t.size());
    }
}

/// Three columns of 12-byte vectors, as one would allocate them by hand.
struct columns {
    std::size_t floats;
    std::vector<lab::aligned_block> memory;
    float *position, *velocity, *force;
    explicit columns(std::size_t count) : floats{count * 3} {
        for (float** c : {&position, &velocity, &force}) {
            lab::aligned_block& block = memory.emplace_back(64, (floats * 4 + 63) / 64 * 64);
            *c = reinterpret_cast<float*>(block.get());
            std::fill_n(*c, floats, 0.001f);
        }
    }
};

template <class Layout, class Update>
auto table_work(std::size_t count, Update update) {
    return over(count, [=] { return filled<Layout>(count); }, [=](auto& t) { update(*t); });
}

/// What is written by hand, and what people have: a vector of structs.
void add_floors(lab::comparison& c, std::size_t count) {
    const auto by_hand = [=] { return columns{count}; };
    c.limit("plain loop over columns", over(count, by_hand, [](columns& d) {
                update_columns(d.position, d.velocity, d.force, d.floats);
            }));
    c.peer("std::vector<particle>", over(
                                        count, [=] { return std::vector<P>(count); },
                                        [](std::vector<P>& v) { update_rows(v); }));
}

void add_particles(lab::experiment& e, std::size_t count) {
    lab::comparison& c = e.compare(std::to_string(count) + " particles",
                                   {.unit = "ns/particle", .many_per_cycle = true});
    add_floors(c, count);
    using cairn::aos, cairn::soa, cairn::split_soa, cairn::aosoa;
    const auto rows = [](auto& t) { update_rows(t); };
    const auto loop = [](auto& t) { update_for_each(t); };
    const auto each = [](auto& t) { update_each(t); };
    const auto spans = [](auto& t) { update_spans(t); };
    c.cairn("cairn::table aos, rows", table_work<aos>(count, rows));
    c.cairn("cairn::table soa, rows", table_work<soa>(count, rows));
    c.cairn("cairn::table soa, for_each row", table_work<soa>(count, loop));
    c.cairn("cairn::table soa, each", table_work<soa>(count, each));
    c.cairn("cairn::table soa, spans", table_work<soa>(count, spans));
    c.cairn("cairn::table split_soa, rows", table_work<split_soa>(count, rows));
    c.cairn("cairn::table split_soa, for_each row", table_work<split_soa>(count, loop));
    c.cairn("cairn::table split_soa, each", table_work<split_soa>(count, each));
    c.cairn("cairn::table split_soa, spans", table_work<split_soa>(count, spans));
    c.cairn("cairn::table aosoa<8>, for_each row", table_work<aosoa<8>>(count, loop));
    c.cairn("cairn::table aosoa<16>, for_each row", table_work<aosoa<16>>(count, loop));
    if (count == 5000 || e.options().full) { add_counts(e, c); }
}

/// What many classes have: 20 fields, of which a loop uses three.
struct of_20 {
    float x = 1, speed = 0.5f, drag = 0.99f;
    float a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0, i = 0, j = 0, k = 0, l = 0;
    int m = 0, n = 0, o = 0, p = 0, q = 0;
};
[[gnu::noinline]] void move_columns(float* __restrict x, float* __restrict speed,
                                    const float* __restrict drag, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        speed[i] *= drag[i];
        x[i] += speed[i] * dt;
    }
}
template <class Rows>
[[gnu::noinline]] void move_rows(Rows& rows) {
    for (of_20& r : rows) {
        r.speed *= r.drag;
        r.x += r.speed * dt;
    }
}
template <class Rows>
[[gnu::noinline]] void move_each(Rows& rows) {
    rows.template each<&of_20::x, &of_20::speed, &of_20::drag>(
        [](float& x, float& speed, float drag) {
            speed *= drag;
            x += speed * dt;
        });
}

template <class Rows, class Move>
auto moved_20(std::size_t count, Move move) {
    const auto filled = [=] {
        auto rows = std::make_unique<Rows>();
        (void)rows->resize(count);
        return rows;
    };
    return over(count, filled, [=](auto& rows) { move(*rows); });
}

void add_three_of_twenty(lab::experiment& e, std::size_t count) {
    lab::comparison& c =
        e.compare(std::to_string(count) + " rows of 20 fields, of which 3 are used",
                  {.unit = "ns/row", .many_per_cycle = true});
    struct arrays {
        std::size_t count;
        std::vector<float> x = std::vector<float>(count, 1.0f);
        std::vector<float> speed = std::vector<float>(count, 0.5f);
        std::vector<float> drag = std::vector<float>(count, 0.99f);
    };
    c.limit("three arrays by hand", over(count, lab::made<arrays>(count), [](arrays& a) {
                move_columns(a.x.data(), a.speed.data(), a.drag.data(), a.count);
            }));
    const auto each = [](auto& rows) { move_each(rows); };
    const auto all = [](auto& rows) { move_rows(rows); };
    c.cairn("cairn::table soa, each", moved_20<cairn::table<of_20, cairn::soa>>(count, each));
    c.cairn("cairn::table aos, rows", moved_20<cairn::table<of_20, cairn::aos>>(count, all));
    c.peer("std::vector of structs", moved_20<std::vector<of_20>>(count, all));
}

std::string take(const lab::experiment_result& e) {
    std::string s;
    for (const lab::case_result& c : e.cases) {
        const double soa = lab::median_of(c, "cairn::table soa, each");
        const double structs = lab::median_of(c, "std::vector");
        if (soa == 0 || structs == 0) continue;
        s += fmt::format("{}{}: soa takes {} ns, structs {}", s.empty() ? "" : "; ", c.name,
                         lab::figure(soa), lab::figure(structs));
    }
    return s.empty() ? s : s + ". Columns pay where a loop uses few of the fields.";
}

const lab::registration aos_soa{
    "aos-soa", "What does the layout of particles cost a loop that reads a third of each?",
    [](lab::experiment& e) {
        e.quick_seconds = 5;
        e.take = take;
        add_particles(e, 5000);
        add_particles(e, 1000000);
        add_three_of_twenty(e, 5000);
        add_three_of_twenty(e, 1000000);
    }};

}  // namespace
