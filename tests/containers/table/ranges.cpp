// Sentences of cairn/containers/table.hpp about tables as ranges: parts, batches and sorting.
#include <cairn/containers/table.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <type_traits>
#include <utility>

#include "containers/table/rows.hpp"
#include "support/layouts.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;
using namespace table_tests;

TYPED_TEST(table_in, batches_cover_every_row_once_and_begin_at_multiples_of_64) {
    table<particle<>, TypeParam> t;
    fill(t, 1000);
    std::size_t seen = 0;
    t.for_each_batch(100, [&](auto batch) {
        EXPECT_TRUE(batch.size() == 128 || seen + batch.size() == 1000);
        batch.template each<&particle<>::id>(
            [&](int& id) { EXPECT_EQ(id, static_cast<int>(seen++)); });
    });
    EXPECT_EQ(seen, 1000u);
    EXPECT_EQ(t.batches(100).size(), 8u);
    EXPECT_EQ(t.batches(100)[7].size(), 1000u - 7 * 128);
    const int last = t.batches(100)[7][0].id;
    EXPECT_EQ(last, 7 * 128);
}

TYPED_TEST(table_in, is_a_random_access_range_that_algorithms_can_sort) {
    using t_type = table<particle<>, TypeParam>;
    static_assert(std::ranges::random_access_range<t_type>);
    static_assert(std::ranges::random_access_range<const t_type>);
    static_assert(std::ranges::sized_range<t_type>);
    static_assert(std::random_access_iterator<typename t_type::iterator>);
    static_assert(std::permutable<typename t_type::iterator>);
    static_assert(
        std::sortable<typename t_type::iterator, std::ranges::less, key_of<&particle<>::id>>);
    t_type t;
    for (int i = 0; i < 200; ++i) { ASSERT_TRUE(t.push_back(sample(i * 37 % 200))); }
    std::ranges::sort(t, {}, key<&particle<>::id>);
    for (int i = 0; i < 200; ++i) { EXPECT_TRUE(equal(t[static_cast<std::size_t>(i)], sample(i))); }
    std::ranges::reverse(t);
    EXPECT_EQ(t.front().id, 199);
    const auto found = std::ranges::find(t, 5, key<&particle<>::id>);
    EXPECT_EQ(found - t.begin(), 194);
    EXPECT_EQ(std::ranges::count_if(t, [](auto&& p) { return p.id < 50; }), 50);
    for (auto&& p : t | std::views::reverse | std::views::take(1)) { EXPECT_EQ(p.id, 0); }
}

TYPED_TEST(table_in, sort_by_orders_rows_by_one_column_and_keeps_equal_keys_in_order) {
    table<particle<>, TypeParam> t;
    for (int i = 0; i < 500; ++i) {
        particle<> p = sample(i);
        p.life = static_cast<float>((i * 7919) % 10) - 5.0f;
        ASSERT_TRUE(t.push_back(p));
    }
    ASSERT_TRUE((t.template sort_by<&particle<>::life>()));
    for (std::size_t i = 1; i < t.size(); ++i) {
        const particle<> a = t[i - 1];
        const particle<> b = t[i];
        EXPECT_LE(a.life, b.life);
        EXPECT_TRUE(a.life < b.life || a.id < b.id);
        EXPECT_EQ(b.position, sample(b.id).position) << "rows stay together";
    }
    ASSERT_TRUE(t.sort([](auto&& a, auto&& b) { return a.id > b.id; }));
    for (int i = 0; i < 500; ++i) { EXPECT_EQ(t[static_cast<std::size_t>(i)].id, 499 - i); }
    ASSERT_TRUE((t.template sort_by<&particle<>::seen>()));
    EXPECT_EQ(t[0].id, 499);
    EXPECT_EQ(t[499].id, 0);
}

TYPED_TEST(table_in, a_part_that_begins_and_ends_anywhere_is_visited_in_order) {
    table<particle<>, TypeParam> t;
    fill(t, 40);
    for (std::size_t first = 0; first <= 17; ++first) {
        for (std::size_t count = 0; count <= 20; ++count) {
            const auto part = t.view().subview(first, count);
            int next = static_cast<int>(first);
            part.for_each([&](auto&& row) { EXPECT_EQ(row.id, next++); });
            EXPECT_EQ(next, static_cast<int>(first + count));
            next = static_cast<int>(first);
            part.template each<&particle<>::id, &particle<>::life>([&](int id, float life) {
                EXPECT_EQ(id, next);
                EXPECT_EQ(life, sample(next++).life);
            });
            EXPECT_EQ(next, static_cast<int>(first + count));
        }
    }
}

TYPED_TEST(table_in, the_tail_may_be_read_by_kernels_and_holds_no_garbage) {
    if (std::is_same_v<TypeParam, aos>) { GTEST_SKIP() << "rows of aos have no tail"; }
    test_upstream upstream;  // fills fresh memory with 0xA5
    table<particle<>, TypeParam> t{upstream};
    for (int count = 0; count < 200; ++count) {
        EXPECT_GE(t.padded_size(), t.size());
        EXPECT_LE(t.padded_size(), t.capacity());
        const auto view = std::as_const(t).view();
        const typename table<particle<>, TypeParam>::const_view_type whole{view};
        if (count != 0) {
            const int* const ids = &get<&particle<>::id>(whole[0]);
            if constexpr (TypeParam::lanes == 0) {
                for (std::size_t i = t.size(); i < t.padded_size(); ++i) { EXPECT_EQ(ids[i], 0); }
            }
        }
        ASSERT_TRUE(t.push_back(sample(count)));
    }
}

TEST(table, a_batch_may_be_larger_than_any_table) {
    table<particle<>, soa> t;
    fill(t, 100);
    for (const std::size_t huge : {SIZE_MAX, SIZE_MAX - 62, SIZE_MAX - 63, SIZE_MAX / 2 + 2}) {
        std::size_t rows = 0;
        t.for_each_batch(huge, [&](auto part) { rows += part.size(); });
        EXPECT_EQ(rows, 100u) << huge;
    }
}
