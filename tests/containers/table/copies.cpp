// Sentences of cairn/containers/table.hpp about equal tables, clones and copies.
#include <cairn/containers/table.hpp>
#include <gtest/gtest.h>

#include <string>

#include "containers/table/rows.hpp"
#include "support/layouts.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;
using namespace table_tests;

namespace {
struct dated {
    int day = 0;
    std::string note;
    friend bool operator==(const dated&, const dated&) = default;
};
}  // namespace

TYPED_TEST(table_in, tables_with_equal_rows_are_equal_whatever_their_layouts) {
    table<dated, TypeParam> t;
    table<dated, soa> other;
    EXPECT_TRUE(t == other) << "no rows";
    for (int i = 0; i < 40; ++i) {
        ASSERT_TRUE(t.push_back({i, "of " + std::to_string(i)}));
        ASSERT_TRUE(other.push_back({i, "of " + std::to_string(i)}));
    }
    EXPECT_TRUE(t == other);
    other.swap_rows(3, 4);
    EXPECT_FALSE(t == other) << "in another order";
    other.swap_rows(3, 4);
    other.pop_back();
    EXPECT_TRUE(t != other) << "one row less";
    EXPECT_TRUE(other != t);
}

TYPED_TEST(table_in, a_clone_has_equal_rows_in_the_memory_that_is_named) {
    test_upstream upstream;
    {
        table<dated, TypeParam> t;
        for (int i = 0; i < 40; ++i) { ASSERT_TRUE(t.push_back({i, std::to_string(i)})); }
        auto copy = t.clone(upstream);
        ASSERT_TRUE(copy.has_value());
        EXPECT_TRUE(*copy == t);
        EXPECT_NE(upstream.request_count(), 0u);
        t.pop_back();
        EXPECT_EQ(copy->size(), 40u);
        auto again = copy->clone();
        ASSERT_TRUE(again.has_value());
        EXPECT_TRUE(*again == *copy) << "from the upstream of what it copies";
        upstream.refuse_from(upstream.request_count());
        EXPECT_FALSE(copy->clone().has_value());
        EXPECT_EQ(copy->size(), 40u);
    }
}

TYPED_TEST(table_in, copies_come_from_any_layout) {
    table<particle<>, soa> source;
    fill(source, 70);
    table<particle<>, TypeParam> t;
    ASSERT_TRUE(t.copy_from(source));
    ASSERT_EQ(t.size(), 70u);
    for (int i = 0; i < 70; ++i) { EXPECT_TRUE(equal(t[static_cast<std::size_t>(i)], sample(i))); }
    ASSERT_TRUE(t.resize(75));
    EXPECT_EQ(t[74].life, 1.0f);
    ASSERT_TRUE(t.resize(3));
    EXPECT_EQ(t.size(), 3u);
    table<particle<>, TypeParam> other;
    swap(t, other);
    EXPECT_EQ(other.size(), 3u);
    ASSERT_TRUE(other.resize_for_overwrite(400));
    EXPECT_EQ(other.size(), 400u);
    EXPECT_EQ(other[2].id, 2);
}
