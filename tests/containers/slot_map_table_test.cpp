// Sentences of cairn/containers/slot_map_table.hpp, with handles of every age against a model.
#include <cairn/containers/slot_map_table.hpp>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "support/test_upstream.hpp"

using namespace cairn;

namespace {

struct vec2 {
    float x = 0, y = 0;
};

template <class K = value>
struct unit {
    field<K, int> id;
    field<K, vec2> position;
    field<K, std::string> name;
};

template <class Layout>
class slot_map_of_table : public testing::Test {};
using layouts = testing::Types<aos, split_soa>;
TYPED_TEST_SUITE(slot_map_of_table, layouts);

}  // namespace

TYPED_TEST(slot_map_of_table, handles_follow_their_rows_through_every_column) {
    slot_map<table<unit<>, TypeParam>> world;
    const auto a = world.emplace(1, vec2{1, 1}, "one");
    const auto b = world.emplace(2, vec2{2, 2}, "two");
    const auto c = world.emplace(3, vec2{3, 3}, "three");
    EXPECT_TRUE(world.erase(a));
    EXPECT_FALSE(world.erase(a));
    EXPECT_FALSE(world.find(a));
    EXPECT_TRUE(world.find(a) == nullptr);
    ASSERT_TRUE(world.find(c));
    EXPECT_EQ(world.find(c)->name, "three");
    EXPECT_EQ((*world.find(b)).id, 2);
    EXPECT_EQ(world.dense_index(c), 0u);
    EXPECT_EQ(world.handle_at(0), c);
    world[c].position = vec2{9, 9};
    EXPECT_EQ(part<&vec2::x>(world.template column<&unit<>::position>()[0]), 9.0f);
    const auto d =
        world.emplace_with([](auto h) { return unit<>{static_cast<int>(h.index()), {}, "d"}; });
    EXPECT_EQ(world[d].id, static_cast<int>(d.index()));
    world.clear();
    EXPECT_FALSE(world.contains(b));
    world.validate();
}

TYPED_TEST(slot_map_of_table, sorting_keeps_handles_valid) {
    slot_map<table<unit<>, TypeParam>> world;
    std::vector<typename decltype(world)::handle_type> handles;
    for (int i = 0; i < 300; ++i) {
        handles.push_back(world.emplace(i * 37 % 300, vec2{}, std::to_string(i)));
    }
    ASSERT_TRUE((world.template sort_by<&unit<>::id>()));
    for (int i = 0; i < 300; ++i) {
        EXPECT_EQ(world.rows()[static_cast<std::size_t>(i)].id, i);
        EXPECT_EQ(world[handles[static_cast<std::size_t>(i)]].name, std::to_string(i));
    }
    ASSERT_TRUE((world.template sort_by<&unit<>::name>()));
    for (int i = 0; i < 300; ++i) {
        EXPECT_EQ(world[handles[static_cast<std::size_t>(i)]].id, i * 37 % 300);
    }
    EXPECT_EQ(world.erase_if([](auto&& row) { return row.id % 2 == 0; }), 150u);
    world.validate();
}

TYPED_TEST(slot_map_of_table, random_operations_agree_with_a_map_for_handles_of_every_age) {
    for (unsigned seed = 1; seed <= 10; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        std::mt19937 random{seed};
        test_upstream upstream;
        slot_map<table<unit<>, TypeParam>> world{upstream};
        using handle = typename decltype(world)::handle_type;
        std::map<handle, int> model;
        std::vector<handle> all;
        for (int op = 0; op < 20000; ++op) {
            const bool refuse = random() % 10 == 0;
            if (refuse) { upstream.refuse_from(upstream.request_count()); }
            const auto what = random() % 100;
            if (what < 50 || all.empty()) {
                if (const handle h = world.emplace(op, vec2{}, "unit")) {
                    model[h] = op;
                    all.push_back(h);
                } else {
                    EXPECT_TRUE(refuse);
                }
            } else if (what < 97) {
                const handle h = all[random() % all.size()];
                EXPECT_EQ(world.erase(h), model.erase(h) == 1);
            } else if (what < 99) {
                (void)world.template sort_by<&unit<>::id>();
            } else {
                world.clear();
                model.clear();
            }
            upstream.refuse_nothing();
            const handle h = all.empty() ? handle{} : all[random() % all.size()];
            const auto known = model.find(h);
            const auto row = world.find(h);
            ASSERT_EQ(static_cast<bool>(row), known != model.end());
            if (row) { ASSERT_EQ(row->id, known->second); }
            if (op % 2000 == 0) {
                world.validate();
                ASSERT_EQ(world.size(), model.size());
            }
        }
    }
}
