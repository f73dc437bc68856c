// Sentences of cairn/containers/stable_slot_map.hpp about its objects: where they are, how they are
// found, erased and retired.
#include <cairn/containers/stable_slot_map.hpp>
#include <gtest/gtest.h>

#include <concepts>
#include <cstdint>
#include <memory>
#include <mutex>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace cairn;

static_assert(std::ranges::forward_range<stable_slot_map<int>>);
static_assert(std::ranges::forward_range<const stable_slot_map<int>>);
static_assert(std::is_nothrow_move_constructible_v<stable_slot_map<std::mutex>>);
static_assert(
    std::is_convertible_v<stable_slot_map<int>::iterator, stable_slot_map<int>::const_iterator>);
static_assert(
    !std::is_convertible_v<stable_slot_map<int>::const_iterator, stable_slot_map<int>::iterator>);
static_assert(std::equality_comparable_with<stable_slot_map<int>::iterator,
                                            stable_slot_map<int>::const_iterator>);

TEST(stable_slot_map, finds_what_lives_and_nothing_else) {
    stable_slot_map<int> map;
    const auto a = map.emplace(1);
    const auto b = map.emplace(2);
    EXPECT_EQ(*map.find(a), 1);
    EXPECT_TRUE(map.erase(a));
    EXPECT_FALSE(map.erase(a));
    EXPECT_EQ(map.find(a), nullptr);
    EXPECT_EQ(map[b], 2);
    EXPECT_EQ(map.find({}), nullptr);
    map.validate();
    if (asserts_enabled) {
        EXPECT_DEATH((void)map[a], "the handle is not stale");
        EXPECT_DEATH((void)*map.end(), "an iterator is used before the end");
        EXPECT_DEATH((void)map.end().handle(), "an iterator is used before the end");
    }
}

TEST(stable_slot_map, addresses_never_change) {
    stable_slot_map<std::string> map;
    std::vector<std::pair<stable_slot_map<std::string>::handle_type, const std::string*>> model;
    for (int i = 0; i < 20000; ++i) {
        const auto h = map.emplace(std::to_string(i));
        model.emplace_back(h, map.find(h));
    }
    for (std::size_t i = 0; i < model.size(); i += 2) { map.erase(model[i].first); }
    for (int i = 0; i < 20000; ++i) { (void)map.emplace("more"); }
    for (std::size_t i = 1; i < model.size(); i += 2) {
        ASSERT_EQ(map.find(model[i].first), model[i].second);
        ASSERT_EQ(*model[i].second, std::to_string(i));
    }
    map.validate();
}

TEST(stable_slot_map, objects_need_not_move) {
    struct fixed {
        std::mutex mutex;
        int value;
        explicit fixed(int v) : value{v} {}
    };
    stable_slot_map<fixed> map;
    const auto h = map.emplace(3);
    const auto own =
        map.emplace_with([](auto self) { return fixed{static_cast<int>(self.index())}; });
    std::lock_guard lock{map[h].mutex};
    EXPECT_EQ(map[h].value, 3);
    EXPECT_EQ(map[own].value, 1);
}

TEST(stable_slot_map, insertion_takes_the_slot_that_was_freed_last) {
    stable_slot_map<int> map;
    std::vector<stable_slot_map<int>::handle_type> handles;
    for (int i = 0; i < 1000; ++i) {
        handles.push_back(map.emplace(i));
        EXPECT_EQ(handles.back().index(), static_cast<std::uint32_t>(i));
    }
    for (const std::size_t i : {700u, 70u, 75u, 650u}) { map.erase(handles[i]); }
    for (const std::uint32_t i : {650u, 75u, 70u, 700u}) { EXPECT_EQ(map.emplace(0).index(), i); }
    EXPECT_EQ(map.emplace(0).index(), 1000u) << "then the lowest free slot";
    map.validate();
}

TEST(stable_slot_map, retired_objects_stay_in_place_until_their_fence) {
    auto counter = std::make_shared<int>(0);
    stable_slot_map<std::shared_ptr<int>> map;
    const auto a = map.emplace(counter);
    const std::shared_ptr<int>* const address = map.find(a);
    EXPECT_TRUE(map.retire(a, 10));
    EXPECT_FALSE(map.retire(a, 10));
    EXPECT_FALSE(map.contains(a));
    EXPECT_TRUE(map.empty());
    map.return_empty_chunks();
    EXPECT_EQ(address->get(), counter.get()) << "whoever still uses it may";
    EXPECT_NE(map.find(map.emplace(nullptr)), address);
    map.validate();
    EXPECT_EQ(map.collect(9), 0u);
    EXPECT_EQ(map.collect(10), 1u);
    EXPECT_EQ(counter.use_count(), 1);
    map.validate();
}

TEST(stable_slot_map, dead_slots_are_poisoned) {
    if (!detail::poison_is_queryable) { GTEST_SKIP(); }
    stable_slot_map<std::uint64_t> map;
    const auto h = map.emplace(1u);
    const std::uint64_t* const p = map.find(h);
    EXPECT_FALSE(is_poisoned(p));
    EXPECT_TRUE(is_poisoned(p + 1));
    map.erase(h);
    EXPECT_TRUE(is_poisoned(p));
}
