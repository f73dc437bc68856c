// Sentences of cairn/containers/stable_slot_map.hpp about loops over its objects, and what may
// happen to the map meanwhile.
#include <cairn/containers/stable_slot_map.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "support/test_upstream.hpp"

using namespace cairn;

TEST(stable_slot_map, iterates_in_slot_order_by_loop_and_by_for_each) {
    stable_slot_map<int> map;
    std::vector<stable_slot_map<int>::handle_type> handles;
    for (int i = 0; i < 20000; ++i) { handles.push_back(map.emplace(i)); }
    for (std::size_t i = 0; i < handles.size(); ++i) {
        if (i % 7 != 0 || (i > 5000 && i < 15000)) { map.erase(handles[i]); }
    }
    std::vector<int> by_loop;
    for (const int value : map) { by_loop.push_back(value); }
    std::vector<int> by_each;
    map.for_each([&](int& value) { by_each.push_back(value); });
    std::vector<int> by_chunk;
    for (std::size_t p = 0; p < map.chunk_count(); ++p) {
        std::as_const(map).for_each_in_chunk(p,
                                             [&](const int& value) { by_chunk.push_back(value); });
    }
    EXPECT_EQ(by_loop, by_each);
    EXPECT_EQ(by_loop, by_chunk);
    EXPECT_EQ(by_loop.size(), map.size());
    EXPECT_TRUE(std::ranges::is_sorted(by_loop));
    map.for_each([&](auto h, int& value) { EXPECT_EQ(map.find(h), &value); });
    for (auto it = map.begin(); it != map.end(); ++it) { EXPECT_EQ(map.find(it.handle()), &*it); }
}

TEST(stable_slot_map, a_map_that_is_only_read_visits_all_pages) {
    stable_slot_map<int> map;
    const int count = static_cast<int>(2 * map.slots_per_chunk + 1);
    for (int i = 0; i < count; ++i) { (void)map.emplace(i); }
    const auto& read_only = map;
    int next = 0;
    read_only.for_each([&](const int& value) { EXPECT_EQ(value, next++); });
    EXPECT_EQ(next, count);
}

TEST(stable_slot_map, erasing_anything_while_iterating_is_defined) {
    stable_slot_map<int> map;
    std::vector<stable_slot_map<int>::handle_type> handles;
    for (int i = 0; i < 5000; ++i) { handles.push_back(map.emplace(i)); }
    int visited = 0;
    for (auto it = map.begin(); it != map.end(); ++visited) {
        const auto self = static_cast<std::size_t>(*it);
        if (self + 1 < handles.size()) { map.erase(handles[self + 1]); }  // the next one
        it = map.erase(it);
    }
    EXPECT_EQ(visited, 2500);
    EXPECT_TRUE(map.empty());
    for (int i = 0; i < 5000; ++i) { (void)map.emplace(i); }
    map.for_each([&](auto h, int& value) {
        if (value % 2 == 0) { map.erase(h); }
    });
    EXPECT_EQ(map.size(), 2500u);
    EXPECT_EQ(map.erase_if([](int) { return true; }), 2500u);
    map.validate();
}

TEST(stable_slot_map, a_slot_that_is_held_for_the_next_object_is_not_visited) {
    stable_slot_map<int> map;
    std::vector<stable_slot_map<int>::handle_type> handles;
    for (int i = 0; i < 64; ++i) { handles.push_back(map.emplace(i)); }
    auto it = map.begin();
    map.erase(handles[5]);
    map.erase(handles[6]);
    const auto fresh = map.emplace(100);  // slot 6; slot 5 is held
    EXPECT_EQ(fresh.index(), 6u);
    for (; it != map.end(); ++it) { EXPECT_EQ(map.find(it.handle()), &*it); }
}

TEST(stable_slot_map, an_object_that_is_retired_while_iterating_is_not_visited) {
    stable_slot_map<int> map;
    std::vector<stable_slot_map<int>::handle_type> handles;
    for (int i = 0; i < 100; ++i) { handles.push_back(map.emplace(i)); }
    int visited = 0;
    for (const int value : map) {
        ++visited;
        if (value % 2 == 0) {
            ASSERT_TRUE(map.retire(handles[static_cast<std::size_t>(value) + 1], 1));
        }
    }
    EXPECT_EQ(visited, 50);
    EXPECT_EQ(map.collect(1), 50u);
}

TEST(stable_slot_map, a_loop_goes_on_when_its_chunk_goes_back_and_gets_another_block) {
    struct large {
        std::byte bytes[1024];
    };
    test_upstream upstream;
    stable_slot_map<large> map{upstream};
    const std::size_t per_chunk = map.slots_per_chunk;
    std::vector<stable_slot_map<large>::handle_type> handles;
    for (std::size_t i = 0; i < 2 * per_chunk; ++i) { handles.push_back(map.emplace()); }
    for (std::size_t i = 0; i < per_chunk; ++i) { map.erase(handles[i]); }
    auto it = map.begin();  // in chunk 1
    for (std::size_t i = per_chunk; i < 2 * per_chunk; ++i) { map.erase(handles[i]); }
    EXPECT_EQ(map.chunks_with_memory(), 1u);
    const std::size_t block_size = per_chunk * sizeof(large);
    void* const taken = upstream.allocate(block_size, detail::cache_line_alignment);
    for (std::size_t i = 0; i < 2 * per_chunk; ++i) { ASSERT_TRUE(map.emplace()); }
    std::size_t visited = 0;
    while (++it != map.end()) {
        ++visited;
        EXPECT_EQ(map.find(it.handle()), &*it);
    }
    EXPECT_EQ(visited, per_chunk - 1);
    upstream.deallocate(taken, block_size, detail::cache_line_alignment);
}

TEST(stable_slot_map, a_loop_visits_each_object_that_lives_through_it_once_and_no_dead_one) {
    std::mt19937 random{9};
    for (int round = 0; round < 30; ++round) {
        stable_slot_map<int> map;
        std::set<stable_slot_map<int>::handle_type> steady;
        std::vector<stable_slot_map<int>::handle_type> others;
        for (int i = 0; i < 10000; ++i) {
            const auto h = map.emplace(i);
            if (random() % 4 == 0) {
                steady.insert(h);
            } else {
                others.push_back(h);
            }
        }
        for (auto it = map.begin(); it != map.end(); ++it) {
            ASSERT_EQ(map.find(it.handle()), &*it) << "what is visited lives";
            steady.erase(it.handle());
            const auto die = random() % 16;
            for (auto n = die < 3 ? die : 0; n != 0 && !others.empty(); --n) {
                auto& victim = others[random() % others.size()];
                map.erase(victim);
                victim = others.back();
                others.pop_back();
            }
            if (die == 4 && others.size() < 12000) { others.push_back(map.emplace(-1)); }
        }
        EXPECT_TRUE(steady.empty()) << "each that stayed was visited";
        map.validate();
    }
}

TEST(stable_slot_map, iterators_of_one_object_are_equal_whatever_was_erased_between_them) {
    stable_slot_map<int> map;
    const auto a = map.emplace(1);
    const auto b = map.emplace(2);
    const auto c = map.emplace(3);
    const auto before = map.begin();
    map.erase(b);
    EXPECT_EQ(before, map.begin());
    EXPECT_EQ(&*before, map.find(a));
    EXPECT_EQ(&*std::next(before), map.find(c));
    EXPECT_NE(before, std::next(before));
    EXPECT_NE(before, map.end());
    EXPECT_EQ(std::next(before, 2), map.end());
    const stable_slot_map<int>::const_iterator converted = before;
    EXPECT_EQ(converted, std::as_const(map).begin());
    EXPECT_EQ(*converted, 1);
}
