// Sentences of cairn/containers/table.hpp about memory: growth, reservations and refusals.
#include <cairn/containers/table.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "containers/table/rows.hpp"
#include "support/layouts.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;
using test_layouts::table_of;
using namespace table_tests;

namespace {
template <class K = value>
struct named {
    field<K, std::string> name;
    field<K, int> id = 0;
};
}  // namespace

TYPED_TEST(table_in, a_row_of_the_table_itself_may_be_appended_while_it_grows) {
    table_of<named<>, TypeParam> t;
    ASSERT_TRUE(t.emplace_back(std::string(50, 'a'), 1));
    for (int i = 0; i < 300; ++i) {
        ASSERT_TRUE(t.push_back(t[0]));
        ASSERT_TRUE(t.emplace_back(t[0].name, i));
    }
    for (auto&& row : t) { EXPECT_EQ(row.name, std::string(50, 'a')); }
}

TYPED_TEST(table_in, one_allocation_that_goes_back) {
    test_upstream upstream;
    {
        table_of<particle<>, TypeParam> t{upstream};
        ASSERT_TRUE(t.reserve(1000));
        EXPECT_EQ(upstream.live_count(), 1u);
        EXPECT_EQ(upstream.live_size(), t.memory_size());
        fill(t, 1000);
        EXPECT_EQ(upstream.request_count(), 1u);
        ASSERT_TRUE(t.reserve(100));
        EXPECT_EQ(upstream.request_count(), 1u);
        table_of<particle<>, TypeParam> moved{std::move(t)};
        EXPECT_EQ(moved.size(), 1000u);
        EXPECT_EQ(t.size(), 0u);
        moved.clear();
        ASSERT_TRUE(moved.shrink_to_fit());
        EXPECT_EQ(upstream.live_count(), 0u);
    }
}

TYPED_TEST(table_in, without_memory_it_grows_to_nothing_and_says_so) {
    test_upstream upstream;
    table<particle<>, soa> source;
    fill(source, 1000);
    table<particle<>, TypeParam> t{upstream};
    fill(t, 10);
    upstream.refuse_from(upstream.request_count());
    EXPECT_FALSE(t.resize(1000));
    EXPECT_FALSE(t.resize_for_overwrite(1000));
    EXPECT_FALSE(t.copy_from(source));
    EXPECT_EQ(t.size(), 10u);
    EXPECT_FALSE((t.template sort_by<&particle<>::id>()));
    t.validate();
    EXPECT_TRUE(t.resize(1));
    EXPECT_TRUE((t.template sort_by<&particle<>::id>())) << "one row is in order";
    t.clear();
    EXPECT_TRUE((t.template sort_by<&particle<>::id>())) << "and so is none";
}

TYPED_TEST(table_in, reserving_what_there_is_asks_for_nothing) {
    test_upstream upstream;
    table<particle<>, TypeParam> t{upstream};
    ASSERT_TRUE(t.reserve(100));
    const std::size_t requests = upstream.request_count();
    EXPECT_TRUE(t.reserve(t.capacity()));
    EXPECT_EQ(upstream.request_count(), requests);
}

TEST(table, an_address_space_of_nothing_is_refused_and_the_table_grows_as_before) {
    table<particle<>, soa> t;
    EXPECT_FALSE(t.reserve_address_space(0));
    fill(t, 100);
    EXPECT_EQ(t.size(), 100u);
    t.validate();
}

TEST(table, reserved_rows_are_touched_ahead_of_need_and_take_huge_pages_where_that_is_asked_for) {
    for (const bool huge : {false, true}) {
        table<particle<>, soa> t;
        ASSERT_TRUE(t.reserve_address_space(100000, {.huge_pages = huge, .prefault = true}));
        ASSERT_TRUE(t.reserve(10000));
        fill(t, 10000);
        for (const std::size_t row : {0u, 5000u, 9999u}) {
            const void* const place = &t.column<&particle<>::id>()[row];
            const auto page = reinterpret_cast<std::uintptr_t>(place) / page_memory::size();
            const void* const first = reinterpret_cast<void*>(page * page_memory::size());
            EXPECT_NE(page_memory::resident_bytes(first, page_memory::size()), 0u);
        }
        ASSERT_TRUE(t.reserve(100000));
        t.validate();
        table<particle<>, soa> moved{std::move(t)};
        EXPECT_EQ(moved.size(), 10000u);
        moved.validate();
    }
}

TEST(table, in_reserved_addresses_it_does_not_shrink) {
    table<particle<>, soa> t;
    ASSERT_TRUE(t.reserve_address_space(100000));
    fill(t, 10);
    const auto* const first = t.column<&particle<>::id>().data();
    const std::size_t capacity = t.capacity();
    EXPECT_TRUE(t.shrink_to_fit());
    EXPECT_EQ(t.column<&particle<>::id>().data(), first);
    EXPECT_EQ(t.capacity(), capacity);
    fill(t, 1000);
    EXPECT_EQ(t.column<&particle<>::id>().data(), first);
    t.validate();
}
