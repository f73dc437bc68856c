// A layout that the library does not know keeps the contract of a table: docs/adding-a-layout.md.
#include <cairn/containers/slot_table.hpp>
#include <cairn/containers/table.hpp>
#include <gtest/gtest.h>

#include "containers/table_model.hpp"

namespace {

using namespace cairn;
using table_model::row;

// [layout]
/// The first and the last of five fields share a column; the others have one each.
struct bookends : cairn::soa {
    static consteval std::size_t group_of(std::size_t field) {
        return field == 0 || field == 4 ? 0 : no_group;
    }
};
static_assert(cairn::table_layout<bookends>);
// [/layout]

/// Blocks of the fewest rows that a block may have.
struct pairs_of_rows : soa {
    static constexpr std::size_t lanes = 2;
};

template <class Layout>
class layout_from_outside : public testing::Test {};
using layouts = testing::Types<bookends, pairs_of_rows>;
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
    table<row<>, bookends> t;
    for (int i = 0; i < 3; ++i) { ASSERT_TRUE(t.push_back(table_model::make_row(i))); }
    const auto between = [](const auto& a, const auto& b) {
        return reinterpret_cast<const char*>(&b) - reinterpret_cast<const char*>(&a);
    };
    EXPECT_EQ(between(t[0].id, t[0].tag), static_cast<std::ptrdiff_t>(sizeof(int)));
    EXPECT_EQ(between(t[0].id, t[1].id), static_cast<std::ptrdiff_t>(2 * sizeof(int)));
    EXPECT_EQ(between(t[0].weight, t[1].weight), static_cast<std::ptrdiff_t>(sizeof(double)));
}
