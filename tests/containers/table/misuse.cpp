// Sentences of cairn/containers/table.hpp about misuse: what checked builds notice.
#include <cairn/containers/table.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <cstdint>

#include "containers/table/rows.hpp"

using namespace cairn;
using namespace table_tests;

TEST(table, misuse_is_named_in_checked_builds) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    table<particle<>, soa> t;
    fill(t, 2);
    EXPECT_DEATH((void)t[2], "a row is read inside the table");
    const auto beyond = expect_broken_promise([&] { (void)t[2]; });
    EXPECT_EQ(beyond.kind(), misuse_kind::out_of_range) << beyond;
    EXPECT_EQ(beyond.value("index"), 2u);
    EXPECT_DEATH(t.swap_erase(2), "the erased row is inside the table");
    EXPECT_DEATH((table<particle<>, soa>{}.pop_back()),
                 "a row is removed from a table that has one");
    EXPECT_DEATH((void)t.insert(3, sample(0)), "a row is inserted inside the table");
    std::uint32_t twice[] = {1, 1};
    std::uint32_t outside[] = {0, 2};
    EXPECT_DEATH((void)t.permute(twice), "a permutation names every row once");
    EXPECT_DEATH((void)t.permute(outside), "a permutation names every row once");
    EXPECT_DEATH((void)t.view().batches(0), "a batch has rows");
    std::uint32_t swapped[] = {1, 0};
    EXPECT_TRUE(t.permute(swapped));
    EXPECT_EQ(t[0].id, 1);
}

TEST(table, rows_beyond_the_tail_are_poisoned) {
    if constexpr (detail::poison_is_queryable) {
        table<particle<>, soa> t;
        ASSERT_TRUE(t.reserve(128));
        fill(t, 17);
        const int* const ids = t.column<&particle<>::id>().data();
        EXPECT_FALSE(is_poisoned(ids + 31));
        EXPECT_TRUE(is_poisoned(ids + 32));
        t.swap_erase(0);
        EXPECT_TRUE(is_poisoned(ids + 16));
    }
}

TEST(table, callbacks_that_change_their_table_are_named_in_checked_builds) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    table<particle<>, soa> t;
    fill(t, 20);
    constexpr auto sentence = "a container is not changed by a function that it calls";
    EXPECT_DEATH(t.for_each([&](auto&&) { t.pop_back(); }), sentence);
    EXPECT_DEATH(t.each<&particle<>::id>([&](int&) { (void)t.reserve(1000); }), sentence);
    const auto grows = [&](auto&&) { return t.reserve(1000) && false; };
    EXPECT_DEATH(t.erase_if(grows), sentence);
    EXPECT_DEATH(t.swap_erase_if(grows), sentence);
    const auto removes = [&](const auto& a, const auto& b) {
        t.pop_back();
        return a.id < b.id;
    };
    EXPECT_DEATH((void)t.sort(removes), sentence);
}
