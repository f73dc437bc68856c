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

namespace {

struct three_floats {
    float x, y, z;
};
struct mote {
    three_floats position;
    three_floats velocity;
    float life;
};

/// Bytes from the first byte of a table of 64 rows to `life` of row 5.
template <class Layout>
std::size_t place_of_life() {
    table<mote, Layout> t;
    EXPECT_TRUE(t.reserve(64));
    for (int i = 0; i < 64; ++i) { EXPECT_TRUE(t.push_back({})); }
    EXPECT_EQ(t.capacity(), 64u);
    const auto* const life = compiler::address_of(get<&mote::life>(t[5]));
    return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(life) -
                                    t.rows_memory().base);
}

}  // namespace

TEST(layouts_of_the_library, lie_as_layout_of_hpp_draws_them) {
    constexpr std::size_t skew = detail::column_skew_lines * cache_line_size;
    EXPECT_EQ(place_of_life<aos>(), 5u * 28 + 24);
    EXPECT_EQ(place_of_life<soa>(), 64u * 24 + 2 * skew + 5 * 4);
    EXPECT_EQ(place_of_life<split_soa>(), 64u * 24 + 6 * skew + 5 * 4);
    EXPECT_EQ(place_of_life<aosoa<8>>(), 0u * 256 + 192 + 5 * 4);
    static_assert(detail::layout_of<mote, aosoa<8>>::desc.block_size == 256);
    static_assert(detail::layout_of<mote, aosoa<8>>::desc.granule == 16);
    static_assert(detail::layout_of<mote, split_soa>::column_count == 7);
    static_assert(detail::layout_of<mote, aos>::desc.granule == 1);
    static_assert(detail::layout_of<mote, soa>::desc.granule == 16);
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
