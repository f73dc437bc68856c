// Sentences of cairn/containers/stable_slot_map.hpp about rooms: which chunk the next object goes
// into.
#include <cairn/containers/stable_slot_map.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "containers/stable_slot_map_rooms/full_map.hpp"

using namespace cairn;
using namespace rooms_tests;

TEST(stable_slot_map_rooms, the_lowest_chunk_with_a_batch_of_free_slots_comes_first) {
    full_map m{5};
    m.erase(0, 7);  // one is too few for a visit
    m.erase(3, 1);
    m.erase(3, 2);
    m.erase(2, 9);
    m.erase(2, 8);
    EXPECT_TRUE(m.map.shrink_to_fit());  // holds none ready
    for (const place& expected :
         {place{2, 8}, place{2, 9}, place{3, 1}, place{3, 2}, place{0, 7}}) {
        EXPECT_EQ(m.next(), expected);
    }
    EXPECT_EQ(m.map.chunk_count(), 5u);
    EXPECT_EQ(m.next(), (place{5, 0})) << "all are full: a new one";
}

TEST(stable_slot_map_rooms, where_no_chunk_has_a_batch_the_slot_freed_last_comes_first) {
    full_map m{4};
    m.erase(0, 6);
    m.erase(1, 5);
    m.erase(3, 7);
    EXPECT_EQ(m.next(), (place{3, 7}));
    EXPECT_EQ(m.next(), (place{1, 5}));
    EXPECT_EQ(m.next(), (place{0, 6}));
    EXPECT_EQ(m.map.chunk_count(), 4u);
}

TEST(stable_slot_map_rooms, churn_of_a_map_that_is_full_but_for_a_few_slots_stays_in_its_chunks) {
    full_map m{80};
    std::mt19937 random{9};
    for (const std::size_t gone : {1u, 64u, 200u}) {
        for (int round = 0; round < 100; ++round) {
            std::vector<std::size_t> freed(gone);
            for (std::size_t& at : freed) {
                at = random() % m.handles.size();
                m.map.erase(m.handles[at]);
            }
            m.map.validate();
            for (const std::size_t at : freed) {
                if (!m.map.contains(m.handles[at])) { m.handles[at] = m.map.emplace(); }
            }
        }
        m.map.validate();
        EXPECT_EQ(m.map.size(), 80u * 64u);
        EXPECT_EQ(m.map.chunk_count(), 80u);
    }
}

TEST(stable_slot_map_rooms, a_chunk_goes_from_full_to_few_to_a_batch_and_back_many_times) {
    full_map m{3};
    for (int round = 0; round < 5; ++round) {
        m.erase(1, 3);
        EXPECT_EQ(m.next(), (place{1, 3}));
        m.handles[64 + 3] = m.map.handle_of(m.map.begin());
        for (auto it = m.map.begin(); it != m.map.end(); ++it) {
            m.handles[it.handle().index()] = it.handle();
        }
        for (const std::size_t slot : {60u, 2u, 30u}) { m.erase(1, slot); }
        for (const std::size_t slot : {30u, 2u, 60u}) { EXPECT_EQ(m.next(), (place{1, slot})); }
        for (auto it = m.map.begin(); it != m.map.end(); ++it) {
            m.handles[it.handle().index()] = it.handle();
        }
    }
    EXPECT_EQ(m.map.chunk_count(), 3u);
    EXPECT_EQ(m.map.size(), 3u * 64u);
}

TEST(stable_slot_map_rooms, a_block_is_asked_for_when_no_chunk_with_memory_has_a_free_slot) {
    full_map m{4};
    m.erase_chunk(2);
    m.erase_chunk(3);
    EXPECT_EQ(m.map.chunks_with_memory(), 3u) << "one of two is kept";
    m.erase(0, 1);
    const std::size_t requests = m.upstream.request_count();
    EXPECT_EQ(m.next(), (place{0, 1}));
    for (std::size_t slot = 64; slot-- != 0;) { EXPECT_EQ(m.next(), (place{2, slot})); }
    EXPECT_EQ(m.upstream.request_count(), requests);
    m.upstream.refuse_from(requests, 1);
    EXPECT_FALSE(m.map.emplace()) << "chunk 3 has no memory and gets none";
    m.map.validate();
    EXPECT_EQ(m.map.size(), 3u * 64u);
    EXPECT_EQ(m.next(), (place{3, 0})) << "now it gets some";
    EXPECT_EQ(m.map.chunk_count(), 4u);
}

TEST(stable_slot_map_rooms,
     a_reservation_that_is_refused_leaves_chunks_without_memory_as_they_were) {
    full_map m{4};
    m.erase_chunk(1);
    m.erase_chunk(2);
    m.erase_chunk(3);
    EXPECT_EQ(m.map.chunks_with_memory(), 2u);
    for (std::size_t refused = 0; refused < 4; ++refused) {
        m.upstream.refuse_from(m.upstream.request_count() + refused, 6);
        EXPECT_FALSE(m.map.reserve(6 * 64)) << refused;
        m.upstream.refuse_from(m.upstream.request_count(), 0);
        EXPECT_EQ(m.map.chunks_with_memory(), 2u);
        EXPECT_EQ(m.map.chunk_count(), 4u);
        m.map.validate();
    }
    EXPECT_TRUE(m.map.reserve(6 * 64));
    EXPECT_EQ(m.map.chunks_with_memory(), 6u);
    m.map.validate();
    const std::size_t requests = m.upstream.request_count();
    for (std::size_t i = 0; i < 5 * 64; ++i) { EXPECT_TRUE(m.map.emplace()); }
    EXPECT_EQ(m.upstream.request_count(), requests);
}

TEST(stable_slot_map_rooms, chunks_run_empty_when_half_of_the_objects_are_replaced_at_random) {
    full_map m{64};
    std::vector<full_map::handle_type> live = m.handles;
    std::mt19937 random{5};
    std::ranges::shuffle(live, random);
    while (live.size() > 16 * 64) {
        m.map.erase(live.back());
        live.pop_back();
    }
    for (int i = 0; i < 20 * 64 * 64; ++i) {
        auto& h = live[random() % live.size()];
        m.map.erase(h);
        h = m.map.emplace();
    }
    m.map.validate();
    EXPECT_EQ(m.map.size(), 16u * 64u);
    EXPECT_LE(m.map.chunks_with_memory(), 18u)
        << "a quarter of the objects needs a quarter of them";
}

TEST(stable_slot_map_rooms, a_clone_and_a_map_that_was_moved_find_the_same_rooms) {
    stable_slot_map<int> map;
    std::vector<stable_slot_map<int>::handle_type> handles;
    for (std::size_t i = 0; i < 3 * map.slots_per_chunk; ++i) { handles.push_back(map.emplace(1)); }
    for (std::size_t i = 0; i < handles.size(); i += 50) { map.erase(handles[i]); }
    (void)map.emplace(2);  // some of the slots wait in the batch
    auto copy = map.clone();
    ASSERT_TRUE(copy);
    copy->validate();
    const std::size_t chunk_count = map.chunk_count();
    stable_slot_map<int> moved{std::move(map)};
    moved.validate();
    map.validate();
    EXPECT_TRUE(moved == *copy);
    while (moved.size() < moved.capacity()) { ASSERT_TRUE(moved.emplace(3)); }
    while (copy->size() < copy->capacity()) { ASSERT_TRUE(copy->emplace(3)); }
    EXPECT_EQ(moved.chunk_count(), chunk_count);
    EXPECT_EQ(copy->chunk_count(), chunk_count);
    moved.validate();
    copy->validate();
}
