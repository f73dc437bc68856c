// Sentences of cairn/containers/stable_slot_map.hpp about rooms: slots that are held ready for the
// next objects (stable_slot_map/slots.hpp).
#include <cairn/containers/stable_slot_map.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "containers/stable_slot_map_rooms/full_map.hpp"

using namespace cairn;
using namespace rooms_tests;

namespace {
using numbers = stable_slot_map<std::uint64_t>;  // a batch is 64 slots here
constexpr std::size_t per_chunk = numbers::slots_per_chunk;

std::vector<numbers::handle_type> fill(numbers& map, std::size_t count) {
    std::vector<numbers::handle_type> handles;
    for (std::size_t i = 0; i < count; ++i) { handles.push_back(map.emplace(i)); }
    return handles;
}
}  // namespace

TEST(stable_slot_map_rooms, slots_of_any_chunk_are_reused_newest_first) {
    numbers map;
    const auto handles = fill(map, 3 * per_chunk);
    std::vector<std::uint32_t> freed;
    for (std::size_t i = 0; i < 30; ++i) {
        const auto h = handles[i % 3 * per_chunk + 7 * i];
        EXPECT_TRUE(map.erase(h));
        freed.push_back(h.index());
    }
    map.validate();
    for (; !freed.empty(); freed.pop_back()) {
        EXPECT_EQ(map.emplace(0u).index(), freed.back());
        map.validate();
    }
    EXPECT_EQ(map.emplace(0u).index(), 3 * per_chunk) << "all are full: a new chunk";
}

TEST(stable_slot_map_rooms, sixty_four_slots_are_held_beside_those_of_a_batch) {
    numbers map;
    auto handles = fill(map, per_chunk - 128);  // the next batch is gathered now, and not used up
    handles.push_back(map.emplace(0u));
    for (std::size_t i = 0; i < 70; ++i) { map.erase(handles[i]); }
    map.validate();
    EXPECT_EQ(map.emplace(0u).index(), 64u) << "65 erased, one of them on the place of the last";
}

TEST(stable_slot_map_rooms, slots_behind_a_chunk_with_a_batch_are_not_held) {
    numbers map;
    const auto handles = fill(map, 3 * per_chunk);
    for (std::size_t slot = 0; slot < 300; ++slot) { map.erase(handles[slot]); }
    map.validate();
    EXPECT_TRUE(map.erase(handles[2 * per_chunk]));
    EXPECT_LT(map.emplace(0u).index(), 300u) << "objects come together at the front";
    EXPECT_TRUE(map.erase(handles[300]));
    EXPECT_EQ(map.emplace(0u).index(), 300u) << "in front of it: reused";
    map.validate();
    while (map.size() < 3 * per_chunk) { EXPECT_TRUE(map.emplace(0u)); }
    EXPECT_EQ(map.chunk_count(), 3u);
    map.validate();
}

TEST(stable_slot_map_rooms, a_chunk_goes_back_although_slots_of_it_are_held) {
    full_map m{3};
    m.erase_chunk(2);
    EXPECT_EQ(m.map.chunks_with_memory(), 3u) << "kept as the spare";
    m.erase_chunk(1);
    EXPECT_EQ(m.map.chunks_with_memory(), 2u) << "the lower one is kept";
    m.map.validate();
    for (std::size_t i = 0; i < 2 * 64; ++i) { EXPECT_TRUE(m.map.emplace()); }
    m.map.validate();
    EXPECT_EQ(m.map.chunk_count(), 3u);
}

TEST(stable_slot_map_rooms, the_last_object_of_a_map_may_come_and_go_without_a_request) {
    full_map m{0};
    auto h = m.map.emplace();
    const std::size_t requests = m.upstream.request_count();
    for (int i = 0; i < 1000; ++i) {
        EXPECT_TRUE(m.map.erase(h));
        h = m.map.emplace();
    }
    EXPECT_EQ(m.upstream.request_count(), requests);
    m.map.validate();
}

TEST(stable_slot_map_rooms, clear_and_shrink_to_fit_leave_no_memory_for_objects) {
    full_map m{3};
    m.erase(1, 5);
    m.map.clear();
    m.map.validate();
    EXPECT_EQ(m.map.chunks_with_memory(), 1u);
    EXPECT_TRUE(m.map.shrink_to_fit());
    EXPECT_EQ(m.map.chunks_with_memory(), 0u);
    m.map.validate();
    EXPECT_EQ(m.next(), (place{0, 0}));
}

TEST(stable_slot_map_rooms, a_slot_that_comes_back_from_its_fence_is_found) {
    numbers map;
    const auto handles = fill(map, per_chunk);
    ASSERT_TRUE(map.retire(handles[7], 1));
    map.erase(handles[100]);
    EXPECT_EQ(map.collect(1), 1u);
    map.validate();
    EXPECT_EQ(map.emplace(0u).index(), 100u);
    EXPECT_EQ(map.emplace(0u).index(), 7u);
    map.validate();
    EXPECT_EQ(map.chunk_count(), 1u);
}
