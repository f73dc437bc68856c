// Sentences of cairn/containers/slot_policy.hpp. Orders of reuse: storage/slot_reuse_test.cpp.
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/slot_policy.hpp>
#include <cairn/containers/stable_slot_map.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>

using namespace cairn;

namespace {

template <class Policy>
using handle_of = typename slot_map<int, Policy>::handle_type;

}  // namespace

TEST(slot_policy, its_numbers_are_the_bits_of_the_handle) {
    static_assert(sizeof(handle_of<slot_policy<>>) == 8);
    static_assert(sizeof(handle_of<slot_policy<32>>) == 4);
    static_assert(slot_policy<32>::generation_bits == 12);
    static_assert(slot_policy<32, 16>::generation_bits == 16);
    static_assert(slot_policy<32, 16, reuse::lifo, 64, 4>::generation_bits == 12);
    EXPECT_EQ((handle_of<slot_policy<32, 16>>::generation_max), 0xFFFFu);
}

TEST(slot_policy, free_min_slots_wait_before_the_oldest_lives_again) {
    slot_map<int, slot_policy<32, 20, reuse::fifo, 3>> map;
    const auto first = map.emplace(1);
    ASSERT_TRUE(first);
    map.erase(first);
    int lives_between = 0;
    for (;; ++lives_between) {
        const auto next = map.emplace(2);
        ASSERT_TRUE(next);
        if (next.index() == first.index()) { break; }
        map.erase(next);
        ASSERT_LT(lives_between, 100);
    }
    EXPECT_GE(lives_between, 3);
}

TEST(slot_policy, handles_of_a_tag_are_of_their_own_type) {
    using red_map = slot_map<int, slot_policy<>::tagged<struct red>>;
    using blue_map = slot_map<int, slot_policy<>::tagged<struct blue>>;
    static_assert(!std::is_same_v<red_map::handle_type, blue_map::handle_type>);
    static_assert(!std::is_convertible_v<red_map::handle_type, blue_map::handle_type>);
    static_assert(
        std::is_same_v<red_map::handle_type,
                       stable_slot_map<int, slot_policy<>::tagged<struct red>>::handle_type>);
    red_map team;
    const auto h = team.emplace(4);
    EXPECT_EQ(team[h], 4);
}
