// tests/support/layouts.hpp - the layouts of a table, in one place, for every typed test.
//
//      template <class Layout> class table_in : public testing::Test {};
//      TYPED_TEST_SUITE(table_in, test_layouts::all);
//      TYPED_TEST(table_in, ...) { test_layouts::table_of<particle<>, TypeParam> t; ... }
//
// Which fields a grouped_soa groups depends on the row: groups_of<Row> says it, beside the row.
#pragma once

#include <cairn/containers/table.hpp>
#include <gtest/gtest.h>

namespace test_layouts {

/// Stands for a grouped_soa with the groups of the row at hand.
struct grouped : cairn::soa {};
/// The groups of a Row: specialized beside it.
template <class Row>
struct groups_of {
    using type = cairn::grouped_soa<>;
};

using all = testing::Types<cairn::aos, cairn::soa, cairn::split_soa, cairn::aosoa<8>, grouped>;

template <class Row, class Layout>
struct layout_for {
    using type = Layout;
};
template <class Row>
struct layout_for<Row, grouped> : groups_of<Row> {};

template <class Row, class Layout>
using table_of = cairn::table<Row, typename layout_for<Row, Layout>::type>;

}  // namespace test_layouts
