// Sentences of cairn/containers/table.hpp about where the fields of a layout lie.
#include <cairn/containers/table.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <type_traits>

#include "containers/table/rows.hpp"

using namespace cairn;
using namespace table_tests;

TEST(table, columns_of_soa_are_aligned_spans_and_no_two_share_a_cache_set) {
    table<particle<>, soa> t;
    ASSERT_TRUE(t.reserve(4096));
    fill(t, 100);
    const std::span<vec3> positions = t.column<&particle<>::position>();
    const std::span<float> life = t.column<&particle<>::life>();
    EXPECT_EQ(positions.size(), 100u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(positions.data()) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(life.data()) % 64, 0u);
    const auto* const ids = t.column<&particle<>::id>().data();
    const auto distance =
        reinterpret_cast<std::uintptr_t>(ids) - reinterpret_cast<std::uintptr_t>(life.data());
    EXPECT_NE(distance % 4096, 0u) << "power-of-two columns do not collide";
    EXPECT_EQ(distance / 64 % 2, 1u) << "an odd number of cache lines";
}

TEST(table, split_columns_hand_out_components) {
    table<particle<>, split_soa> t;
    fill(t, 100);
    auto velocity = t.column<&particle<>::velocity>();
    const std::span<float> x = velocity.part<&vec3::x>();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(x.data()) % 64, 0u);
    x[5] = 55;
    const vec3 v = velocity[5];
    EXPECT_EQ(v.x, 55.0f);
    EXPECT_EQ(t[5].velocity, v);
    std::size_t row = 0;
    for (const vec3 each : velocity) { EXPECT_EQ(t[row++].velocity, each); }
    EXPECT_EQ(row, 100u);
}

namespace {
template <class K = value>
struct marked {
    field<K, split<vec3>> fast;
    field<K, vec3> whole;
};
}  // namespace

TEST(table, a_marked_field_is_split_and_the_others_are_not) {
    static_assert(std::is_same_v<decltype(marked<>::fast), vec3>);
    table<marked<>, soa> t;
    ASSERT_TRUE(t.emplace_back(vec3{1, 2, 3}, vec3{4, 5, 6}));
    static_assert(std::is_same_v<decltype(t.column<&marked<>::fast>()), split_span<vec3>>);
    static_assert(std::is_same_v<decltype(t.column<&marked<>::whole>()), std::span<vec3>>);
    t[0].fast += t[0].whole;
    EXPECT_EQ(t[0].fast, (vec3{5, 7, 9}));
    EXPECT_EQ(2.0f * part<&vec3::y>(t[0].fast), 14.0f);
}
