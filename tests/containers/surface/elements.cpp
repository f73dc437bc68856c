// The same word does the same in every container (docs/containers.md): appending, visiting, erasing
// and sorting elements.
#include <cairn/containers/table.hpp>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "containers/surface/every_container.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;
using namespace surface_tests;

TYPED_TEST(every_container, appends_counts_and_visits_each_element) {
    TypeParam all;
    EXPECT_TRUE(all.empty());
    EXPECT_TRUE(all.reserve(3));
    EXPECT_GE(all.capacity(), 3u);
    for (int i = 0; i < 3; ++i) { EXPECT_TRUE(add(all, i)); }
    EXPECT_EQ(all.size(), 3u);
    EXPECT_EQ(ids(all), (numbers{0, 1, 2}));
    int sum = 0;
    for (auto&& row : all) { sum += row.id; }
    EXPECT_EQ(sum, 3);
    all.for_each([](auto&& row) { row.health = 7; });
    for (auto&& row : std::as_const(all)) { EXPECT_EQ(row.health, 7); }
    TypeParam other;
    swap(all, other);
    EXPECT_EQ(other.size(), 3u);
    other.clear();
    EXPECT_TRUE(other.empty());
    EXPECT_TRUE(other.begin() == other.end());
    other.validate();
}

TYPED_TEST(every_container, erase_if_asks_each_once_and_counts) {
    TypeParam all;
    for (int i = 0; i < 300; ++i) { EXPECT_TRUE(add(all, i)); }
    int asked = 0;
    EXPECT_EQ(all.erase_if([&](const auto& row) {
        ++asked;
        return row.id >= 2;
    }),
              298u);
    EXPECT_EQ(asked, 300);
    EXPECT_EQ(ids(all), (numbers{0, 1}));
}

TYPED_TEST(every_store, for_each_visits_each_element_once) {
    TypeParam all;
    for (int i = 0; i < 300; ++i) { EXPECT_TRUE(add(all, i)); }
    EXPECT_EQ(count_of(all), 300u);
    std::vector<int> visits(300);
    all.for_each([&](auto&& row) {
        ++visits[static_cast<std::size_t>(row.id)];
        row.health = 7;
    });
    EXPECT_EQ(visits, std::vector<int>(300, 1));
    int health = 0;
    std::as_const(all).for_each([&](const auto& row) { health += row.health; });
    EXPECT_EQ(health, 2100);
    drop_all(all);
    EXPECT_EQ(count_of(all), 0u);
    all.for_each([](auto&&) { ADD_FAILURE() << "nothing is there"; });
    all.validate();
}

TYPED_TEST(every_store, room_that_was_reserved_asks_the_upstream_for_nothing) {
    test_upstream upstream;
    TypeParam all{upstream};
    EXPECT_TRUE(add(all, 0));
    ASSERT_TRUE(all.reserve(500));
    EXPECT_GE(all.capacity(), 500u);
    EXPECT_TRUE(all.reserve(10)) << "there is more than that already";
    EXPECT_GE(all.capacity(), 500u);
    all.validate();
    upstream.refuse_from(0, 1000000);
    for (int i = 1; i < 500; ++i) { EXPECT_TRUE(add(all, i)); }
    EXPECT_EQ(count_of(all), 500u);
    EXPECT_FALSE(all.reserve(1000000));
    EXPECT_FALSE(all.reserve(static_cast<std::size_t>(-1)));
    EXPECT_EQ(count_of(all), 500u);
    all.validate();
    drop_all(all);
}

TYPED_TEST(every_store, an_exhausted_upstream_is_an_answer) {
    test_upstream upstream;
    TypeParam all{upstream};
    EXPECT_TRUE(add(all, 1));
    upstream.refuse_from(0, 1000000);
    EXPECT_FALSE(all.reserve(1000000));
    std::size_t count = 1;
    while (add(all, 2)) { ++count; }
    EXPECT_EQ(count_of(all), count);
    all.validate();
    drop_all(all);
}

TYPED_TEST(every_container, a_sorted_one_keeps_equal_elements_in_order) {
    if constexpr (requires(TypeParam& t) {
                      t.sort([](const auto&, const auto&) { return true; });
                  }) {
        TypeParam all;
        for (const int id : {23, 11, 25, 13}) { EXPECT_TRUE(add(all, id)); }
        EXPECT_TRUE(all.sort([](const auto& a, const auto& b) { return a.id / 10 < b.id / 10; }));
        numbers order;
        all.for_each([&](const auto& row) { order.push_back(row.id); });
        EXPECT_EQ(order, (numbers{11, 13, 23, 25}));
    } else {
        GTEST_SKIP() << "its elements stay where they were made";
    }
}

TYPED_TEST(every_container, erasing_while_iterating_visits_each_once) {
    if constexpr (requires(TypeParam& t) { t.erase(t.begin()) == t.begin(); }) {
        TypeParam all;
        for (int i = 0; i < 300; ++i) { EXPECT_TRUE(add(all, i)); }
        std::vector<int> visits(300);
        for (auto it = all.begin(); it != all.end();) {
            ++visits[static_cast<std::size_t>((*it).id)];
            if ((*it).id % 3 == 0) {
                it = all.erase(it);
            } else {
                ++it;
            }
        }
        EXPECT_EQ(visits, std::vector<int>(300, 1));
        EXPECT_EQ(all.size(), 200u);
        all.validate();
    } else {
        GTEST_SKIP() << "a table erases by row number";
    }
}
