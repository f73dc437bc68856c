// Sentences of cairn/containers/stable_slot_map.hpp about rooms: slots that are noted one by one
// (stable_slot_map/noted_slots.hpp).
#include <cairn/containers/stable_slot_map.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "containers/stable_slot_map_rooms/full_map.hpp"

using namespace cairn;
using namespace rooms_tests;

TEST(stable_slot_map_rooms, of_chunks_with_few_free_slots_the_one_freed_last_comes_first) {
    stable_slot_map<std::uint64_t> map;  // a batch is 64 slots here; the index learns with the 5th
    constexpr std::size_t per_chunk = decltype(map)::slots_per_chunk;
    std::vector<decltype(map)::handle_type> handles;
    for (std::size_t i = 0; i < 3 * per_chunk; ++i) { handles.push_back(map.emplace(i)); }
    for (const std::size_t chunk : {1u, 2u}) {
        for (std::size_t slot = 0; slot < 7; ++slot) {
            map.erase(handles[chunk * per_chunk + slot]);
        }
    }
    map.validate();
    for (const std::size_t chunk : {2u, 1u}) {
        for (const std::size_t slot : {4u, 3u, 2u, 1u, 0u}) {
            EXPECT_EQ(map.emplace(0u).index(), chunk * per_chunk + slot) << "noted";
        }
    }
    for (const std::size_t chunk : {2u, 1u}) {
        for (const std::size_t slot : {5u, 6u}) {
            EXPECT_EQ(map.emplace(0u).index(), chunk * per_chunk + slot) << "gathered";
        }
    }
    map.validate();
    EXPECT_EQ(map.chunk_count(), 3u);
}

TEST(stable_slot_map_rooms, once_no_chunk_had_a_batch_the_newest_of_many_in_one_chunk_comes_first) {
    stable_slot_map<std::uint64_t> map;  // a batch is 64 slots here
    constexpr std::size_t per_chunk = decltype(map)::slots_per_chunk;
    std::vector<decltype(map)::handle_type> handles;
    for (std::size_t i = 0; i < 3 * per_chunk; ++i) { handles.push_back(map.emplace(i)); }
    const auto erase = [&](std::size_t first, std::size_t end) {
        for (std::size_t slot = first; slot < end; ++slot) {
            EXPECT_TRUE(map.erase(handles[per_chunk + slot]));
        }
        map.validate();
    };
    erase(20, 21);
    EXPECT_EQ(map.emplace(0u).index(), per_chunk + 20) << "the map looked, and found no batch";
    erase(0, 10);
    for (std::size_t slot = 10; slot-- != 0;) {
        EXPECT_EQ(map.emplace(0u).index(), per_chunk + slot);
        map.validate();
    }
    for (std::size_t slot = 0; slot < 10; ++slot) { handles[per_chunk + slot] = {}; }
    erase(100, 164);
    for (std::size_t slot = 100; slot < 164; ++slot) {
        EXPECT_EQ(map.emplace(0u).index(), per_chunk + slot) << "a batch: gathered";
    }
    map.validate();
    EXPECT_EQ(map.chunk_count(), 3u);
    EXPECT_EQ(map.emplace(0u).index(), 3 * per_chunk) << "all are full: a new one";
}

TEST(stable_slot_map_rooms, sixty_five_free_slots_in_as_many_chunks_are_all_found_again) {
    constexpr std::size_t noted = detail::noted_slots::count_max;
    full_map m{noted + 6};
    for (std::size_t chunk = 0; chunk < noted + 6; ++chunk) { m.erase(chunk, chunk % 64); }
    for (std::size_t chunk = noted + 5; chunk != 5; --chunk) {
        EXPECT_EQ(m.next(), (place{chunk, chunk % 64})) << "newest first";
    }
    for (std::size_t chunk = 0; chunk < 6; ++chunk) {
        EXPECT_EQ(m.next(), (place{chunk, chunk % 64})) << "then the lowest";
    }
    EXPECT_EQ(m.map.chunk_count(), noted + 6);
    EXPECT_EQ(m.next(), (place{noted + 6, 0})) << "all are full: a new one";
}

TEST(stable_slot_map_rooms, a_slot_that_was_noted_and_then_gathered_is_given_out_once) {
    full_map m{3};
    m.erase(1, 5);                       // noted
    m.erase(1, 9);                       // with it a batch
    EXPECT_EQ(m.next(), (place{1, 5}));  // gathered both
    m.erase(0, 3);                       // noted
    EXPECT_EQ(m.next(), (place{1, 9}));  // from the batch
    EXPECT_EQ(m.next(), (place{0, 3}));  // newest note
    EXPECT_EQ(m.next(), (place{3, 0})) << "the note of chunk 1 is stale: a new chunk";
}

TEST(stable_slot_map_rooms, a_slot_that_was_noted_in_a_chunk_whose_block_went_back_waits_for_it) {
    full_map m{4};
    m.erase_chunk(2);  // kept as the spare
    m.erase_chunk(3);  // its first slot was noted; its block goes back
    EXPECT_EQ(m.map.chunks_with_memory(), 3u);
    m.erase(0, 1);
    for (std::size_t slot = 0; slot < 64; ++slot) { EXPECT_EQ(m.next(), (place{2, slot})); }
    EXPECT_EQ(m.next(), (place{0, 1}));
    EXPECT_EQ(m.map.chunks_with_memory(), 3u);
    EXPECT_EQ(m.next(), (place{3, 0}));
    EXPECT_EQ(m.map.chunks_with_memory(), 4u);
}

TEST(stable_slot_map_rooms, a_slot_that_comes_back_from_its_fence_is_found_beside_a_noted_one) {
    stable_slot_map<std::uint64_t> map;  // a batch is 64 slots here
    std::vector<stable_slot_map<std::uint64_t>::handle_type> handles;
    for (std::size_t i = 0; i < map.slots_per_chunk; ++i) { handles.push_back(map.emplace(i)); }
    ASSERT_TRUE(map.retire(handles[7], 1));
    map.erase(handles[100]);
    EXPECT_EQ(map.collect(1), 1u);
    map.validate();
    EXPECT_EQ(map.emplace(0u).index(), 100u);
    EXPECT_EQ(map.emplace(0u).index(), 7u);
    map.validate();
    EXPECT_EQ(map.chunk_count(), 1u);
}
