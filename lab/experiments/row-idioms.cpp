// lab/experiments/row-idioms.cpp - the ways in which people write a loop over rows, beside
// for_each.
//
// One case for each idiom that a compiler has been slow at: a branch, a local vector, operators
// that take vectors by value, many columns, split vectors, blocks of eight. Each has for_each (or
// each) with the same body, and the same text over a vector of structs. docs/choosing.md says which
// loop to write.
#include <cairn/containers/table.hpp>

#include "lab/families/particle.hpp"
#include "lab/harness/experiment.hpp"

namespace {

constexpr std::size_t count = 5000;
constexpr float step = 0.001f;

using lab::particles::vec3;
/// vec3 with operators that take and return it by value.
struct value3 {
    float x = 0, y = 0, z = 0;
    friend value3 operator*(value3 a, float s) { return {a.x * s, a.y * s, a.z * s}; }
    friend value3 operator+(value3 a, value3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
};
template <class V>
struct of {
    template <class K = cairn::value>
    struct row {
        cairn::field<K, V> position;
        cairn::field<K, V> velocity;
        cairn::field<K, float> life = 1e9f;  // no step of a run ends it
    };
};
using moving = of<vec3>::row<>;
using valued = of<value3>::row<>;
template <class K = cairn::value>
struct wide_row {
    cairn::field<K, float> a = 1, b = 1, c = 1, d = 1, e = 1, f = 1, g = 1, h = 1;
    cairn::field<K, float> i = 1, j = 1, k = 1, l = 1, m = 1, n = 1, o = 1, p = 1;
};
using wide = wide_row<>;
/// 15 fields, 27 columns when the vectors are split.
template <class K = cairn::value>
struct many_vectors {
    cairn::field<K, vec3> position, velocity, spin, force, pull, home;
    cairn::field<K, float> life = 1e9f, a = 1, b = 1, c = 1, d = 1, e = 1, f = 1, g = 1, h = 1;
};
using vectors = many_vectors<>;
template <class K = cairn::value>
struct four_named {
    cairn::field<K, float> x = 1, speed = 1, life = 1e9f, mass = 1;
};
using named = four_named<>;
struct unnamed {
    float x = 1, speed = 1, life = 1e9f, mass = 1;
};

// Bodies: once as text over a row, for all that have fields of these names.
constexpr auto branch = [](auto&& r) {
    if (r.life > 0) {
        r.position += r.velocity * step;
        r.life -= step;
    }
};
constexpr auto branch_fields = [](auto& p, const auto& v, auto& life) {
    if (life > 0) {
        p += v * step;
        life -= step;
    }
};
constexpr auto factor_fields = [](auto& p, const auto& v, auto& life) {
    const float s = step * static_cast<float>(life > 0);
    p += v * s;
    life -= s;
};
constexpr auto local = [](auto&& r) {
    vec3 way = r.velocity;
    way.x *= step;
    way.y *= step;
    way.z *= step;
    r.position += way;
};
constexpr auto local_fields = [](auto& p, const auto& v) {
    vec3 way = v;
    way.x *= step;
    way.y *= step;
    way.z *= step;
    p += way;
};
constexpr auto plain = [](auto&& r) {
    r.position += r.velocity * step;
    r.life -= step;
};
constexpr auto by_value = [](auto&& r) {
    r.position = r.position + r.velocity * step;
    r.life -= step;
};
constexpr auto by_value_fields = [](auto& p, const auto& v, auto& life) {
    p = p + v * step;
    life -= step;
};
constexpr auto sixteen = [](auto&& r) {
    r.a += r.b * step;
    r.c += r.d * step;
    r.e += r.f * step;
    r.g += r.h * step;
    r.i += r.j * step;
    r.k += r.l * step;
    r.m += r.n * step;
    r.o += r.p * step;
};
constexpr auto small = [](auto&& r) {
    r.x += r.speed * step;
    r.life -= step;
};
constexpr auto small_bound = [](auto&& r) {
    auto&& [x, speed, life, mass] = r;
    x += speed * step;
    life -= step;
};
constexpr auto small_fields = [](auto& x, const auto& speed, auto& life) {
    x += speed * step;
    life -= step;
};

/// work(rows), again and again, in a function of its own.
template <class Make, class Work>
auto repeated(std::size_t rows, Make make, Work work) {
    return lab::repeated_on(rows, make, [work](auto& all) {
        work(*all);
        lab::keep(all.get());
    });
}
template <class Row, class Layout, class Work>
auto over(Work work, std::size_t rows = count) {
    const auto make = [=] {
        auto t = std::make_shared<cairn::table<Row, Layout>>();
        if (!t->resize(rows)) { std::abort(); }
        return t;
    };
    return repeated(rows, make, work);
}
/// The body over a vector of structs: what a program without tables has.
template <class Row, class Body>
auto by_hand(Body body) {
    return repeated(
        count, [] { return std::make_shared<std::vector<Row>>(count); },
        [=](std::vector<Row>& rows) {
            for (Row& r : rows) { body(r); }
        });
}

template <class Body>
auto range_for(Body body) {
    return [=](auto& t) {
        for (auto&& r : t) { body(r); }
    };
}
template <class Body>
auto for_each(Body body) {
    return [=](auto& t) { t.for_each(body); };
}
template <class Body>
auto by_index(Body body) {
    return [=](auto& t) {
        for (std::size_t i = 0; i != t.size(); ++i) { body(t[i]); }
    };
}
template <class Row, class Body>
auto each(Body body) {
    return [=](auto& t) { t.template each<&Row::position, &Row::velocity, &Row::life>(body); };
}

const lab::registration row_idioms{
    "row-idioms", "Which loop over rows does each compiler make fast?", [](lab::experiment& e) {
        e.quick_seconds = 8;
        e.background = true;
        using cairn::aos, cairn::soa, cairn::split_soa, cairn::aosoa;
        const auto compare = [&](const char* name) -> lab::comparison& {
            return e.compare(name, {.unit = "ns/row", .many_per_cycle = true});
        };
        auto& branches = compare("a branch in the loop, split_soa");
        branches.cairn("each", over<moving, split_soa>(each<moving>(branch_fields)));
        branches.cairn("for_each", over<moving, split_soa>(for_each(branch)));
        branches.cairn("each, a factor instead",
                       over<moving, split_soa>(each<moving>(factor_fields)));
        branches.baseline("std::vector of structs", by_hand<moving>(branch));

        auto& values = compare("operators by value, soa");
        values.cairn("each", over<valued, soa>(each<valued>(by_value_fields)));
        values.cairn("for_each", over<valued, soa>(for_each(by_value)));
        values.cairn("range-for", over<valued, soa>(range_for(by_value)));
        values.baseline("std::vector of structs", by_hand<valued>(by_value));

        auto& columns = compare("16 columns");
        columns.cairn("for_each", over<wide, soa>(for_each(sixteen)));
        columns.cairn("range-for", over<wide, soa>(range_for(sixteen)));
        columns.baseline("std::vector of structs", by_hand<wide>(sixteen));

        auto& few = compare("two of four floats change, soa");
        few.cairn("for_each, fields with names", over<named, soa>(for_each(small)));
        few.cairn("for_each, a plain struct", over<unnamed, soa>(for_each(small_bound)));
        few.cairn("each", over<unnamed, soa>([](auto& t) {
                      t.template each<&unnamed::x, &unnamed::speed, &unnamed::life>(small_fields);
                  }));
        few.baseline("std::vector of structs", by_hand<unnamed>(small));

        auto& split = compare("15 fields in 27 columns, split_soa");
        split.cairn("for_each", over<vectors, split_soa>(for_each(plain)));
        split.cairn("each",
                    over<vectors, split_soa>(each<vectors>([](auto& p, const auto& v, auto& life) {
                        p += v * step;
                        life -= step;
                    })));
        split.cairn("range-for", over<vectors, split_soa>(range_for(plain)));
        split.cairn("t[i]", over<vectors, split_soa>(by_index(plain)));
        split.baseline("std::vector of structs", by_hand<vectors>(plain));

        for (const std::size_t rows : {count, std::size_t{1'000'000}}) {
            auto& blocks = compare(rows == count ? "aosoa<8>" : "aosoa<8>, 10^6 rows");
            blocks.cairn("for_each", over<moving, aosoa<8>>(for_each(plain), rows));
            blocks.cairn("range-for", over<moving, aosoa<8>>(range_for(plain), rows));
        }

        auto& locals = compare("a local vector, aos");
        locals.cairn("for_each", over<moving, aos>(for_each(local)));
        locals.cairn("each", over<moving, aos>([](auto& t) {
                         t.template each<&moving::position, &moving::velocity>(local_fields);
                     }));
        locals.baseline("std::vector of structs", by_hand<moving>(local));
    }};

}  // namespace
