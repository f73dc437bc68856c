// Sentences of cairn/containers/stable_slot_map.hpp about handles: promised ones, how many there
// are, and what is wrong with one that finds nothing.
#include <cairn/containers/slot_policy.hpp>
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <source_location>
#include <utility>
#include <vector>

using namespace cairn;

TEST(stable_slot_map, a_handle_can_be_promised_now_and_filled_later) {
    stable_slot_map<int> map;
    const auto h = map.promise_handle();
    EXPECT_TRUE(map.is_promised(h));
    EXPECT_EQ(map.find(h), nullptr);
    EXPECT_TRUE(map.shrink_to_fit());
    const int* const filled = map.fulfil(h, 5);
    EXPECT_EQ(filled, map.find(h)) << "it says where";
    ASSERT_NE(filled, nullptr);
    EXPECT_EQ(map[h], 5);
    const auto other = map.promise_handle();
    map.abandon(other);
    EXPECT_FALSE(map.is_promised(other));
    EXPECT_FALSE(stable_slot_map<int>{}.is_promised(other)) << "there is no chunk of this index";
    map.validate();
    if (asserts_enabled) {
        EXPECT_DEATH(map.abandon(other), "only a promised handle");
        EXPECT_DEATH((void)map.fulfil(h, 6), "only a promised handle");
    }
}

TEST(stable_slot_map, find_returns_a_pointer) {
    stable_slot_map<int> map;
    const auto a = map.emplace(1);
    if (auto* const found = map.find(a)) { *found = 2; }
    const auto& read = map;
    const int* const found = read.find(a);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(*found, 2);
    map.erase(a);
    EXPECT_EQ(read.find(a), nullptr);
}

TEST(stable_slot_map, a_small_handle_ends_where_its_indices_end) {
    stable_slot_map<char, slot_policy<16, 7>> map;  // 128 slots of a chunk of 4096
    std::size_t count = 0;
    while (map.emplace('x')) { ++count; }
    EXPECT_EQ(count, 128u);
    map.validate();
}

TEST(stable_slot_map, reserves_as_many_as_the_handle_can_name_and_no_more) {
    stable_slot_map<char, slot_policy<16, 7>> map;
    EXPECT_FALSE(map.reserve(129));
    EXPECT_EQ(map.chunk_count(), 0u);
    EXPECT_TRUE(map.reserve(128));
}

TEST(stable_slot_map, what_is_wrong_with_a_handle_is_named) {
    stable_slot_map<int> map;
    stable_slot_map<int> other;
    const auto stale = map.emplace(1);
    const auto waiting = map.emplace(2);
    const auto reserved = map.promise_handle();
    const auto foreign = other.emplace(1);
    map.erase(stale);
    ASSERT_TRUE(map.retire(waiting, 5));
    EXPECT_EQ(map.fault_of(map.emplace(3)), handle_fault::none);
    EXPECT_EQ(map.fault_of({}), handle_fault::null);
    EXPECT_EQ(map.fault_of(stable_slot_map<int>::handle_type::from_raw(1)), handle_fault::foreign)
        << "an index without a life";
    EXPECT_EQ(map.fault_of(stale), handle_fault::stale);
    EXPECT_EQ(map.fault_of(waiting), handle_fault::stale);
    EXPECT_EQ(map.fault_of(reserved), handle_fault::promised);
    EXPECT_EQ(map.fault_of(foreign), handle_fault::foreign);
    EXPECT_EQ(map.fault_of(stable_slot_map<int>::handle_type::make(1'000'000, 1)),
              handle_fault::foreign);
    if (asserts_enabled) {
        EXPECT_DEATH((void)map[{}], "the handle is not null");
        EXPECT_DEATH((void)map[foreign], "the handle is of this map");
        EXPECT_DEATH((void)map[reserved], "the handle has its object");
        EXPECT_DEATH((void)std::as_const(map)[waiting], "the handle is not stale");
    }
    map.collect(5);
}

TEST(stable_slot_map, a_refused_handle_is_reported_with_both_lives) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    stable_slot_map<int> map{system_memory(), {.first_generation = 3}};
    stable_slot_map<int> other{system_memory(), {.first_generation = 1000}};
    const auto stale = map.emplace(1);
    map.erase(stale);
    const auto refused = expect_broken_promise([&] { (void)map[stale]; });
    EXPECT_EQ(refused.kind(), misuse_kind::stale_handle) << refused;
    EXPECT_EQ(refused.object(), &map);
    EXPECT_STREQ(refused.type(), "stable_slot_map");
    EXPECT_EQ(refused.value("slot"), stale.index());
    EXPECT_EQ(refused.value("life of the slot"), 4u);
    EXPECT_EQ(refused.value("life in the handle"), 3u);

    EXPECT_EQ(expect_broken_promise([&] { (void)map[{}]; }).kind(), misuse_kind::null_handle);
    const auto foreign = expect_broken_promise([&] { (void)map[other.emplace(1)]; });
    EXPECT_EQ(foreign.kind(), misuse_kind::foreign_handle) << foreign;
    EXPECT_EQ(foreign.value("life in the handle"), 1000u);
    const auto reserved = map.promise_handle();
    EXPECT_EQ(expect_broken_promise([&] { (void)map[reserved]; }).kind(),
              misuse_kind::reserved_handle);
    const auto beyond = expect_broken_promise(
        [&] { (void)map[stable_slot_map<int>::handle_type::make(1'000'000, 5)]; });
    EXPECT_EQ(beyond.kind(), misuse_kind::foreign_handle) << beyond;
    EXPECT_EQ(beyond.value("slot"), 1'000'000u);
    EXPECT_EQ(beyond.value("slots of the map"), map.capacity());
    EXPECT_EQ(beyond.value("life in the handle"), 5u);
}

TEST(stable_slot_map, at_finds_the_object_or_ends_every_build_with_the_line_that_asked) {
    stable_slot_map<int> map{system_memory(), {.first_generation = 3}};
    const auto h = map.emplace(7);
    const auto stale = map.emplace(8);
    map.erase(stale);
    map.at(h) = 9;
    EXPECT_EQ(std::as_const(map).at(h), 9);
    EXPECT_EQ(&map.at(h), map.find(h));
    const unsigned line = std::source_location::current().line() + 1;
    const auto refused = expect_broken_promise([&] { (void)map.at(stale); });
    EXPECT_EQ(refused.kind(), misuse_kind::stale_handle) << refused;
    EXPECT_EQ(refused.object(), &map);
    EXPECT_STREQ(refused.type(), "stable_slot_map");
    EXPECT_EQ(refused.value("slot"), stale.index());
    EXPECT_EQ(refused.value("life of the slot"), 4u);
    EXPECT_EQ(refused.value("life in the handle"), 3u);
    const auto null = expect_broken_promise([&] { (void)std::as_const(map).at({}); });
    EXPECT_EQ(null.kind(), misuse_kind::null_handle) << null;
    const auto reserved = map.promise_handle();
    EXPECT_EQ(expect_broken_promise([&] { (void)map.at(reserved); }).kind(),
              misuse_kind::reserved_handle);
    if (asserts_enabled) {
        EXPECT_EQ(refused.line(), line);
        EXPECT_TRUE(null.says("handles.cpp:")) << null;
        const unsigned operator_line = std::source_location::current().line() + 1;
        const auto by_operator = expect_broken_promise([&] { (void)map[stale]; });
        EXPECT_EQ(by_operator.line(), operator_line) << by_operator;
    }
}

TEST(stable_slot_map, lives_that_begin_in_the_middle_are_as_many) {
    using map_type = stable_slot_map<int, slot_policy<16, 12>>;  // 15 lives
    for (const std::uint32_t first : {1u, 2u, 9u, 15u}) {
        map_type map{system_memory(), {.first_generation = first}};
        std::map<std::uint32_t, std::vector<map_type::handle_type>> lives;
        while (const auto h = map.emplace(1)) {
            lives[h.index()].push_back(h);
            if (lives[h.index()].size() % 4 == 3) {  // every way for a life to end
                const auto held = map.promise_handle();
                if (held) {
                    lives[held.index()].push_back(held);
                    map.abandon(held);
                }
                ASSERT_TRUE(map.retire(h, 1));
                EXPECT_EQ(map.collect(1), 1u);
            } else {
                ASSERT_TRUE(map.erase(h));
            }
        }
        EXPECT_EQ(lives.size(), 4096u);
        EXPECT_EQ(map.worn_out_slot_count(), 4096u);
        for (const auto& [index, all] : lives) {
            ASSERT_EQ(all.size(), 15u);
            EXPECT_EQ(all.front().generation(), first);
            EXPECT_EQ(std::set<map_type::handle_type>(all.begin(), all.end()).size(), 15u);
            EXPECT_EQ(map.fault_of(all.front()), handle_fault::stale);
        }
        map.validate();
        EXPECT_EQ(map.recycle_slots(no_handles_left), 4096u);
        EXPECT_EQ(map.emplace(1).generation(), first);
    }
}
