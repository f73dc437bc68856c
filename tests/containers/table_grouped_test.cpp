// Groups of fields that share a column (cairn/containers/layout.hpp): the text that every layout takes,
// and a model.
#include <cairn/containers/slot_table.hpp>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "support/test_upstream.hpp"

using namespace cairn;

namespace {

struct vec3 {
    float x = 0, y = 0, z = 0;
    friend bool operator==(const vec3&, const vec3&) = default;
    friend vec3 operator*(const vec3& a, float s) { return {a.x * s, a.y * s, a.z * s}; }
    vec3& operator+=(const vec3& b) { return x += b.x, y += b.y, z += b.z, *this; }
};

template <class K = value>
struct particle {
    field<K, vec3> position;
    field<K, std::string> name;
    field<K, vec3> velocity;
    field<K, char> tag = 'p';
    field<K, split<vec3>> color = vec3{};
    field<K, double> mass = 2;
};
using P = particle<>;
using motion_and_body = grouped_soa<group<&P::position, &P::velocity>, group<&P::tag, &P::mass>>;

struct plain {
    int id = 0;
    vec3 position;
    char letter = 'a';
    double weight = 1;
    friend bool operator==(const plain&, const plain&) = default;
};
using light = grouped_soa<group<&plain::letter, &plain::weight>>;

/// The bytes from one field to another.
template <class A, class B>
std::ptrdiff_t between(const A& a, const B& b) {
    return reinterpret_cast<const char*>(&b) - reinterpret_cast<const char*>(&a);
}

}  // namespace

TEST(table_grouped, fields_of_a_group_lie_side_by_side_and_others_in_columns) {
    table<P, motion_and_body> t;
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(t.emplace_back(vec3{}, std::to_string(i), vec3{}));
    }
    EXPECT_EQ(between(t[0].position, t[0].velocity), 12);
    EXPECT_EQ(between(t[0].position, t[1].position), 24);
    EXPECT_EQ(between(t[0].tag, t[0].mass), 8) << "each is aligned";
    EXPECT_EQ(between(t[0].tag, t[1].tag), 16);
    EXPECT_EQ(between(t[0].name, t[1].name), static_cast<std::ptrdiff_t>(sizeof(std::string)));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&t[0].position) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&t[0].tag) % 64, 0u);
    EXPECT_EQ(t.column<&P::color>().component(1).size(), 100u) << "split fields still are";
    EXPECT_EQ(t.column<&P::velocity>().size(), 100u);
    EXPECT_EQ(t.column<&P::mass>()[99], 2.0);
}

TEST(table_grouped, takes_the_text_that_every_layout_takes) {
    table<P, motion_and_body> t;
    for (int i = 0; i < 300; ++i) {
        ASSERT_TRUE(t.emplace_back(vec3{static_cast<float>(i), 0, 0}, "n", vec3{1, 2, 3}));
    }
    for (std::size_t i = 0; i < t.size(); ++i) { t[i].position += t[i].velocity * 0.5f; }
    for (auto&& p : t) { p.color = vec3{1, 1, 1} * static_cast<float>(p.mass); }
    t.for_each([](auto&& p) { p.mass += static_cast<double>(p.position.x); });
    t.each<&P::velocity, &P::position, &P::mass, &P::color>(
        [](vec3& v, const vec3& p, double& m, vec3& c) {
            v += p;
            m -= static_cast<double>(p.x);
            c += p;
        });
    for (std::size_t i = 0; i < t.size(); ++i) {
        const float x = static_cast<float>(i) + 0.5f;
        ASSERT_EQ(t[i].position, (vec3{x, 1, 1.5f}));
        ASSERT_EQ(t[i].velocity, (vec3{x + 1, 3, 4.5f}));
        ASSERT_EQ(t[i].mass, 2.0);
        ASSERT_EQ(t[i].color.load(), (vec3{x + 2, 3, 3.5f}));
    }
    const P copy = t[7];
    EXPECT_EQ(copy.velocity, t[7].velocity);
    swap(t[7], t[8]);
    EXPECT_EQ(copy.velocity, t[8].velocity);
    t[9] = copy;
    EXPECT_EQ(t[9].name, "n");
    std::size_t rows = 0;
    for (auto batch : t.view().batches(100)) { rows += batch.size(); }
    EXPECT_EQ(rows, 300u);
}

TEST(table_grouped, plain_rows_by_member_pointers_and_bindings) {
    table<plain, light> t;
    for (int i = 0; i < 50; ++i) { ASSERT_TRUE(t.push_back({i, {}, 'x', i * 2.0})); }
    t.each<&plain::letter, &plain::weight>(
        [](char& c, const double& w) { c = w > 20 ? 'h' : 'l'; });
    auto [id, position, letter, weight] = t[20];
    EXPECT_EQ(id, 20);
    EXPECT_EQ(letter, 'h');
    EXPECT_EQ(weight, 40.0);
    weight = 1;
    EXPECT_EQ(get<&plain::weight>(t[20]), 1.0);
    EXPECT_EQ(position, vec3{});
    auto [l, i] = t.row<&plain::letter, &plain::id>(3);
    EXPECT_EQ(l, 'l');
    EXPECT_EQ(i, 3);
}

TEST(table_grouped, random_operations_agree_with_a_vector) {
    for (unsigned seed = 1; seed <= 10; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        std::mt19937 random{seed};
        test_upstream upstream;
        table<plain, light> t{upstream};
        std::vector<plain> model;
        for (int op = 0; op < 5000; ++op) {
            const auto what = random() % 100;
            const std::size_t i = model.empty() ? 0 : random() % model.size();
            if (random() % 8 == 0) { upstream.refuse_from(upstream.request_count()); }
            if (what < 60 || model.empty()) {
                const plain p{op, {1, 2, 3}, static_cast<char>(op % 100), op * 0.5};
                if (t.push_back(p)) { model.push_back(p); }
            } else if (what < 85) {
                t.swap_erase(i);
                model[i] = model.back();
                model.pop_back();
            } else if (what < 90) {
                t.erase(i);
                model.erase(model.begin() + static_cast<std::ptrdiff_t>(i));
            } else if (what < 95) {
                t[i] = plain{op, {}, 'z', 0.25};
                model[i] = plain{op, {}, 'z', 0.25};
            } else if (what < 97) {
                (void)t.shrink_to_fit();
            } else if (what < 98 && t.sort_by<&plain::letter>()) {
                std::vector<plain> sorted;
                for (int c = -128; c < 128; ++c) {
                    for (const plain& p : model) {
                        if (p.letter == c) { sorted.push_back(p); }
                    }
                }
                model = sorted;
            }
            upstream.refuse_nothing();
            ASSERT_EQ(t.size(), model.size());
            if (op % 100 == 0) {
                t.validate();
                for (std::size_t k = 0; k < model.size(); ++k) {
                    ASSERT_EQ(static_cast<plain>(t[k]), model[k]) << op;
                }
            }
        }
    }
}

TEST(table_grouped, handles_over_groups) {
    slot_table<plain, light> world;
    ASSERT_TRUE(world.reserve_address_space(5000));
    const auto a = world.emplace(1, vec3{}, 'a', 1.0);
    const auto b = world.emplace(2, vec3{}, 'b', 2.0);
    EXPECT_TRUE(world.erase(a));
    EXPECT_EQ(get<&plain::letter>(*world.find(b)), 'b');
    EXPECT_EQ(world.dense_index(b), 0u);
    world.validate();
}
