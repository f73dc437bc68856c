// Sentences of cairn/containers/table.hpp about reading and writing rows, in every layout.
#include <cairn/containers/table.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "containers/table/rows.hpp"
#include "support/layouts.hpp"

using namespace cairn;
using namespace table_tests;

TYPED_TEST(table_in, the_same_text_reads_and_writes_every_layout) {
    table<particle<>, TypeParam> t;
    fill(t, 100);
    const float dt = 0.5f;
    for (std::size_t i = 0; i < t.size(); ++i) { t[i].position += t[i].velocity * dt; }
    for (auto&& p : t) {
        p.velocity = p.velocity * 2.0f;
        p.life -= 1.0f;
        p.seen = p.is_dead();
    }
    for (int i = 0; i < 100; ++i) {
        particle<> expected = sample(i);
        expected.position += expected.velocity * dt;
        expected.velocity = expected.velocity * 2.0f;
        expected.life -= 1.0f;
        expected.seen = expected.is_dead();
        const particle<> row = t[static_cast<std::size_t>(i)];
        EXPECT_TRUE(equal(row, expected)) << i;
        EXPECT_EQ(t[static_cast<std::size_t>(i)].speed2(), expected.speed2());
    }
    t.validate();
}

TYPED_TEST(table_in, for_each_and_each_and_columns_do_what_rows_do) {
    table<particle<>, TypeParam> rows;
    table<particle<>, TypeParam> loops;
    table<particle<>, TypeParam> fields;
    table<particle<>, TypeParam> columns;
    for (auto* t : {&rows, &loops, &fields, &columns}) { fill(*t, 777); }
    const float dt = 0.25f;
    for (std::size_t i = 0; i < rows.size(); ++i) { rows[i].position += rows[i].velocity * dt; }
    loops.for_each([dt](auto&& p) { p.position += p.velocity * dt; });
    fields.template each<&particle<>::position, &particle<>::velocity>(
        [dt](vec3& p, const vec3& v) { p += v * dt; });
    auto position = columns.template column<&particle<>::position>();
    const auto velocity = std::as_const(columns).template column<&particle<>::velocity>();
    for (std::size_t i = 0; i < position.size(); ++i) { position[i] += velocity[i] * dt; }
    for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_TRUE(equal(rows[i], loops[i]));
        EXPECT_TRUE(equal(rows[i], fields[i]));
        EXPECT_TRUE(equal(rows[i], columns[i]));
    }
}

TYPED_TEST(table_in, rows_are_references_with_the_rules_of_the_header) {
    table<particle<>, TypeParam> t;
    fill(t, 10);
    auto&& row = t[3];
    row = t[4];
    EXPECT_EQ(t[3].id, 4);
    t[5] = sample(99);
    EXPECT_EQ(t[5].id, 99);
    using std::swap;
    swap(t[0], t[1]);
    EXPECT_EQ(t[0].id, 1);
    EXPECT_EQ(t[1].id, 0);
    const auto& constant = t;
    EXPECT_EQ(constant[1].id, 0);
    EXPECT_EQ(get<&particle<>::id>(t[1]), 0);
    const vec3 position = get<&particle<>::position>(t[2]);
    EXPECT_EQ(position, sample(2).position);
    auto&& [p, v, life, id, was_seen] = t[2];
    id = 77;
    p = vec3{1, 2, 3};
    EXPECT_EQ(t[2].id, 77);
    EXPECT_EQ(t[2].position, (vec3{1, 2, 3}));
    (void)v, (void)life, (void)was_seen;
    EXPECT_EQ((*t.begin()).id, 1);
    EXPECT_EQ(t.begin()->id, 1);
    auto [q, number] = t.template row<&particle<>::position, &particle<>::id>(2);
    number = 78;
    EXPECT_EQ(t[2].id, 78);
    EXPECT_TRUE(q == (vec3{1, 2, 3}));
}

TYPED_TEST(table_in, erasing_in_its_four_ways) {
    table<particle<>, TypeParam> t;
    fill(t, 20);
    t.swap_erase(3);
    EXPECT_EQ(t[3].id, 19);
    t.swap_erase(t.size() - 1);
    EXPECT_EQ(t.back().id, 17);
    t.erase(0);
    EXPECT_EQ(t[0].id, 1);
    EXPECT_EQ(t.erase_if([](auto&& p) { return p.id % 2 == 0; }), 8u);
    for (auto&& p : t) { EXPECT_EQ(p.id % 2, 1); }
    t.pop_back();
    ASSERT_TRUE(t.insert(1, sample(1000)));
    EXPECT_EQ(t[0].id, 1);
    EXPECT_EQ(t[1].id, 1000);
    EXPECT_EQ(t[2].id, 19);
    t.clear();
    EXPECT_TRUE(t.empty());
}

TYPED_TEST(table_in, emplace_back_takes_fields_or_rows_and_fills_in_the_defaults) {
    table<particle<>, TypeParam> t;
    ASSERT_TRUE(t.emplace_back(vec3{1, 2, 3}, vec3{4, 5, 6}, 7.0f, 8, true));
    ASSERT_TRUE(t.emplace_back(vec3{1, 2, 3}, vec3{}));
    ASSERT_TRUE(t.emplace_back());
    ASSERT_TRUE(t.emplace_back(t[0]));
    EXPECT_EQ(t[0].id, 8);
    EXPECT_EQ(t[1].id, -1);
    EXPECT_EQ(t[1].life, 1.0f);
    EXPECT_EQ(t[2].position, vec3{});
    EXPECT_EQ(t[3].id, 8);
}

TYPED_TEST(table_in, a_row_becomes_what_is_assigned_to_it) {
    table<particle<>, TypeParam> t;
    fill(t, 3);
    const particle<> other = sample(77);
    t[1] = other;
    EXPECT_TRUE(equal(t[1], other));
    t[2] = sample(78);
    EXPECT_TRUE(equal(t[2], sample(78)));
    EXPECT_TRUE(equal(t[0], sample(0)));
}

TYPED_TEST(table_in, plain_structs_are_named_by_member_pointers) {
    table<plain, TypeParam> t;
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(t.push_back({{static_cast<float>(i), 0, 0}, 2.0f, {static_cast<short>(i)}}));
    }
    t.template each<&plain::position, &plain::life>([](vec3& p, float& life) {
        p.x += life;
        life = 0;
    });
    auto life = t.template column<&plain::life>();
    life[7] = 7.0f;
    for (std::size_t i = 0; i < t.size(); ++i) {
        auto&& [position, remaining, tags] = t[i];
        EXPECT_EQ(part<&vec3::x>(position), static_cast<float>(i) + 2);
        EXPECT_EQ(remaining, i == 7 ? 7.0f : 0.0f);
        EXPECT_EQ(tags[0], static_cast<short>(i));
        const plain copy = t[i];
        EXPECT_EQ(copy.position.x, static_cast<float>(i) + 2);
    }
    t[3] = plain{{9, 9, 9}, 9, {}};
    EXPECT_EQ((get<&plain::life>(t[3])), 9.0f);
    using std::swap;
    swap(t[3], t[4]);
    EXPECT_EQ((get<&plain::life>(t[4])), 9.0f);
    std::ranges::sort(t, std::ranges::greater{}, key<&plain::life>);
    EXPECT_EQ((get<&plain::life>(t[0])), 9.0f);
}

TEST(table, rows_of_aos_are_true_references) {
    static_assert(std::is_same_v<table<particle<>, aos>::reference, particle<>&>);
    static_assert(std::is_same_v<table<plain, aos>::const_reference, const plain&>);
}

namespace {
/// Made from a reference, which it keeps: it writes, and its type does not say so.
struct keeps_reference {
    vec3* to;
    keeps_reference(vec3& v) : to{&v} {}
};
struct copies {
    float x;
    copies(const vec3& v) : x{v.x} {}
};
}  // namespace

TEST(table, each_stores_what_was_written_through_any_type_of_argument) {
    table<particle<>, split_soa> t;
    fill(t, 100);
    using P = particle<>;
    t.each<&P::velocity>([](std::reference_wrapper<vec3> v) { v.get() = {1, 2, 3}; });
    EXPECT_EQ(t[7].velocity, (vec3{1, 2, 3}));
    t.each<&P::velocity>([](keeps_reference v) { v.to->y = 9; });
    EXPECT_EQ(t[7].velocity, (vec3{1, 9, 3}));
    t.each<&P::velocity>([](const keeps_reference& v) { v.to->z = 8; });
    EXPECT_EQ(t[7].velocity, (vec3{1, 9, 8}));
    float sum = 0;
    t.each<&P::velocity>([&](vec3 v) {
        v.x = 100;
        sum += v.y;
    });  // a copy of its own
    t.each<&P::velocity>([&](const vec3 v) { sum += v.y; });
    t.each<&P::velocity>([&](const vec3& v) { sum += v.y; });
    t.each<&P::velocity>([&](copies v) { sum += v.x; });
    EXPECT_EQ(t[7].velocity, (vec3{1, 9, 8}));
    EXPECT_EQ(sum, 100 * (3 * 9 + 1));
}
