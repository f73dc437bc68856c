// tests/support/layouts.hpp - the layouts of a table, in one place, for every typed test.
//
//      template <class Layout> class table_in : public testing::Test {};
//      TYPED_TEST_SUITE(table_in, test_layouts::all);
//      TYPED_TEST(table_in, ...) { table<particle<>, TypeParam> t; ... }
#pragma once

#include <cairn/containers/table.hpp>
#include <gtest/gtest.h>

namespace test_layouts {

/// A layout of a user: soa with the columns in the opposite order.
struct backwards {
    static constexpr std::size_t lanes = 0;
    static consteval void columns(auto& list) {
        for (std::size_t f = list.field_count; f-- != 0;) {
            list.fields[f].is_marked_split ? list.add_components(f) : list.add(f);
        }
    }
};

using all = testing::Types<cairn::aos, cairn::soa, cairn::split_soa, cairn::aosoa<8>, backwards>;

}  // namespace test_layouts
