// A layout that the library does not know keeps the contract of a table: docs/adding-a-layout.md.
#include <cairn/containers/slot_table.hpp>
#include <cairn/containers/table.hpp>
#include <gtest/gtest.h>

#include "containers/table_model.hpp"

namespace {

using namespace cairn;
using table_model::row;

// [layout]
/// The last of the fields has the first column.
struct last_first {
    static constexpr std::size_t lanes = 0;  // all rows in one block
    static consteval void columns(auto& list) {
        list.add(list.field_count - 1);
        for (std::size_t f = 0; f + 1 < list.field_count; ++f) { list.add(f); }
    }
};
static_assert(cairn::table_layout<last_first>);
// [/layout]

/// Blocks of the fewest rows that a block may have.
struct pairs_of_rows : soa {
    static constexpr std::size_t lanes = 2;
};

template <class Layout>
class layout_from_outside : public testing::Test {};
using layouts = testing::Types<last_first, pairs_of_rows>;
TYPED_TEST_SUITE(layout_from_outside, layouts);

}  // namespace

TYPED_TEST(layout_from_outside, keeps_the_contract_of_a_table) {
    for (unsigned seed = 1; seed <= 3; ++seed) {
        table_model::run_against_vector<TypeParam>(seed, 10000);
    }
    table_model::expect_that_all_loops_agree<TypeParam>();
}

TYPED_TEST(layout_from_outside, serves_a_map_with_handles) {
    slot_table<row<>, TypeParam> world;
    const auto a = world.emplace(table_model::make_row(1));
    const auto b = world.emplace(table_model::make_row(2));
    EXPECT_TRUE(world.erase(a));
    ASSERT_TRUE(world.contains(b));
    EXPECT_EQ((*world.find(b)).name, "row number 2");
    EXPECT_EQ(world.dense_index(b), 0u);
    world.validate();
}

TEST(layout_from_outside_library, stores_the_fields_where_it_says) {
    table<row<>, last_first> t;
    for (int i = 0; i < 3; ++i) { ASSERT_TRUE(t.push_back(table_model::make_row(i))); }
    const auto address = [](const auto& field) { return reinterpret_cast<std::uintptr_t>(&field); };
    EXPECT_LT(address(t[0].tag), address(t[0].id));
    EXPECT_EQ(address(t[0].tag) % cache_line_size, 0u);
    EXPECT_EQ(address(t[1].id) - address(t[0].id), sizeof(int));
    EXPECT_LT(address(t[0].id), address(t[0].weight));
}
