// The same word does the same in every container (docs/containers.md): finding objects by their
// handles.
#include <cairn/containers/table.hpp>
#include <cairn/storage/clone.hpp>
#include <gtest/gtest.h>

#include <type_traits>
#include <utility>
#include <vector>

#include "containers/surface/every_container.hpp"

using namespace cairn;
using namespace surface_tests;

TYPED_TEST(every_map, an_object_is_found_by_its_handle_and_its_handle_by_it) {
    TypeParam map;
    const auto a = map.emplace(1, 10);
    const auto b = map.insert(unit<>{2, 20});
    const auto c = map.emplace_with([](auto h) { return unit<>{static_cast<int>(h.index()), 30}; });
    EXPECT_EQ(map[a].id, 1);
    EXPECT_EQ(map.at(b).health, 20);
    EXPECT_EQ(std::as_const(map).at(b).id, 2);
    EXPECT_EQ(map[c].id, static_cast<int>(c.index()));
    auto found = map.find(b);
    ASSERT_TRUE(found);
    EXPECT_FALSE(found == nullptr);
    found->health = 21;
    EXPECT_EQ((*std::as_const(map).find(b)).health, 21);
    for (auto it = map.begin(); it != map.end(); ++it) {
        const auto h = map.handle_of(it);
        EXPECT_EQ(map[h].id, (*it).id);
    }
    if constexpr (std::is_lvalue_reference_v<typename TypeParam::reference>) {
        if constexpr (requires { map.handle_of(map[b]); }) { EXPECT_EQ(map.handle_of(map[b]), b); }
        const unit<>* const pointer = map.find(b);
        EXPECT_EQ(pointer, &map[b]);
    }
    EXPECT_EQ(map.erase(b), true);
    EXPECT_FALSE(map.find(b));
    EXPECT_TRUE(map.find(b) == nullptr);
    EXPECT_EQ(map.erase(b), false);
    EXPECT_EQ(map.fault_of(b), handle_fault::stale);
    EXPECT_EQ(map.take(a)->id, 1);
    EXPECT_TRUE(map.contains(c));
}

TYPED_TEST(every_map, items_and_for_each_name_handle_and_object) {
    TypeParam map;
    std::vector<typename TypeParam::handle_type> all;
    for (int i = 0; i < 200; ++i) { all.push_back(map.emplace(i, 0)); }
    for (int i = 0; i < 200; i += 3) { map.erase(all[static_cast<std::size_t>(i)]); }
    std::size_t count = 0;
    for (auto [h, object] : map.items()) {
        EXPECT_EQ(h, all[static_cast<std::size_t>(object.id)]);
        object.health = 5;
        ++count;
    }
    EXPECT_EQ(count, map.size());
    for (auto [h, object] : std::as_const(map).items()) { EXPECT_EQ(map[h].health, object.health); }
    map.for_each([&](auto h, auto&& object) {
        EXPECT_EQ(map[h].id, object.id);
        object.health = 6;
        --count;
    });
    EXPECT_EQ(count, 0u);
    std::as_const(map).for_each([&](auto h, const auto& object) {
        EXPECT_EQ(object.health, 6);
        EXPECT_TRUE(map.contains(h));
    });
}

TYPED_TEST(every_map, equal_maps_find_equal_objects_by_the_same_handles) {
    TypeParam map;
    const auto a = map.emplace(1, 1);
    const auto b = map.emplace(2, 2);
    auto copy = map.clone();
    ASSERT_TRUE(copy);
    (*copy)[b].health = 3;
    EXPECT_FALSE(*copy == map) << "another value";
    (*copy)[b].health = 2;
    EXPECT_TRUE(*copy == map);
    EXPECT_TRUE(copy->erase(a));
    EXPECT_FALSE(*copy == map) << "one object less";
    EXPECT_FALSE(map == *copy);
    EXPECT_TRUE(copy->emplace(1, 1));
    EXPECT_FALSE(*copy == map) << "the same object by another handle";
}

TYPED_TEST(every_map, a_handle_that_finds_nothing_stops_at) {
    TypeParam map;
    const auto h = map.emplace(1, 1);
    map.erase(h);
    EXPECT_DEATH((void)map.at(h), "stale");
    EXPECT_DEATH((void)map.at({}), "null");
}
