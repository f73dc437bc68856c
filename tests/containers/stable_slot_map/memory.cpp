// Sentences of cairn/containers/stable_slot_map.hpp about chunks and pages of memory: when they are
// taken, kept and given back.
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/core/null_allocator.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/test_upstream.hpp"

using namespace cairn;

TEST(stable_slot_map, empty_chunks_go_back_and_their_handles_stay_stale) {
    test_upstream upstream;
    stable_slot_map<std::uint64_t> map{upstream};
    const std::size_t per_chunk = map.slots_per_chunk;
    std::vector<stable_slot_map<std::uint64_t>::handle_type> handles;
    for (std::size_t i = 0; i < 10 * per_chunk; ++i) { handles.push_back(map.emplace(i)); }
    EXPECT_EQ(map.chunks_with_memory(), 10u);
    const std::size_t before = upstream.live_size();
    for (const auto h : handles) { map.erase(h); }
    EXPECT_EQ(map.chunks_with_memory(), 1u) << "one is kept for what comes next";
    EXPECT_LT(upstream.live_size(), before / 2);
    for (const auto h : handles) { ASSERT_FALSE(map.contains(h)); }
    map.validate();
    EXPECT_TRUE(map.shrink_to_fit());
    EXPECT_EQ(map.chunk_count(), 0u);
    EXPECT_EQ(upstream.live_size(), 0u);
    for (std::size_t i = 0; i < 10 * per_chunk; ++i) { ASSERT_TRUE(map.emplace(i)); }
    for (const auto h : handles) { ASSERT_FALSE(map.contains(h)); }
    map.validate();
}

TEST(stable_slot_map, reserved_chunks_stay_and_insertions_never_allocate) {
    test_upstream upstream;
    stable_slot_map<int> map{upstream};
    ASSERT_TRUE(map.reserve(10000));
    const std::size_t requests = upstream.request_count();
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 10000; ++i) { ASSERT_TRUE(map.emplace(i)); }
        map.clear();
    }
    EXPECT_EQ(upstream.request_count(), requests);
}

TEST(stable_slot_map, a_map_around_a_chunk_boundary_does_not_allocate_at_each_step) {
    test_upstream upstream;
    stable_slot_map<int> map{upstream};
    for (std::size_t i = 0; i < map.slots_per_chunk; ++i) { (void)map.emplace(0); }
    map.erase(map.emplace(0));
    const std::size_t requests = upstream.request_count();
    for (int i = 0; i < 100; ++i) { map.erase(map.emplace(0)); }
    EXPECT_EQ(upstream.request_count(), requests);
}

TEST(stable_slot_map, the_page_that_is_kept_empty_stays_however_often_it_empties) {
    test_upstream upstream;
    stable_slot_map<int> map{upstream};
    std::vector<stable_slot_map<int>::handle_type> handles;
    std::size_t requests = 0;
    for (int round = 0; round < 4; ++round) {
        for (std::size_t i = 0; i < map.slots_per_chunk; ++i) { handles.push_back(map.emplace(0)); }
        for (const auto h : handles) { map.erase(h); }
        handles.clear();
        EXPECT_EQ(map.chunks_with_memory(), 1u);
        if (round == 0) { requests = upstream.request_count(); }
    }
    EXPECT_EQ(upstream.request_count(), requests);
}

TEST(stable_slot_map, empty_pages_go_back_with_the_slots_that_wait_in_hand) {
    stable_slot_map<int> map;
    map.erase(map.emplace(1));
    EXPECT_EQ(map.chunks_with_memory(), 1u);
    EXPECT_TRUE(map.shrink_to_fit());
    EXPECT_EQ(map.chunks_with_memory(), 0u);
    EXPECT_TRUE(map.emplace(2));
    map.validate();
}

TEST(stable_slot_map, a_moved_from_map_keeps_no_more_empty_pages_than_a_new_one) {
    stable_slot_map<int> map;
    ASSERT_TRUE(map.reserve(10));
    const stable_slot_map<int> other{std::move(map)};
    std::vector<stable_slot_map<int>::handle_type> handles;
    for (std::size_t i = 0; i < 2 * map.slots_per_chunk; ++i) { handles.push_back(map.emplace(0)); }
    for (const auto h : handles) { map.erase(h); }
    EXPECT_EQ(map.chunks_with_memory(), 1u);
    EXPECT_EQ(other.chunks_with_memory(), 1u);
}

TEST(stable_slot_map, retired_objects_keep_their_chunks) {
    struct large {
        std::byte bytes[1024];
    };
    stable_slot_map<large> map;
    std::vector<stable_slot_map<large>::handle_type> all;
    for (std::size_t i = 0; i < 4 * map.slots_per_chunk; ++i) { all.push_back(map.emplace()); }
    for (std::size_t p = 0; p < 4; ++p) {
        ASSERT_TRUE(map.retire(all[p * map.slots_per_chunk], 1));
    }
    for (const auto h : all) { map.erase(h); }
    EXPECT_EQ(map.size(), 0u);
    EXPECT_EQ(map.chunks_with_memory(), 4u) << "each has an object that waits";
    EXPECT_EQ(map.collect(1), 4u);
    EXPECT_LE(map.chunks_with_memory(), 2u)
        << "one is kept, and perhaps the one that is filled next";
    map.validate();
}

TEST(stable_slot_map, out_of_memory_is_a_null_handle_and_nothing_has_changed) {
    stable_slot_map<int> none{no_memory()};
    EXPECT_FALSE(none.emplace(1));
    EXPECT_FALSE(none.promise_handle());
    EXPECT_FALSE(none.reserve(1));
    none.validate();
    for (std::size_t refused = 0; refused < 20; ++refused) {
        test_upstream upstream;
        stable_slot_map<std::uint64_t> map{upstream};
        upstream.refuse_from(refused, 6);
        std::vector<stable_slot_map<std::uint64_t>::handle_type> live;
        for (std::uint64_t i = 0; i < 30000; ++i) {
            const auto h = map.emplace(i);
            if (h) {
                live.push_back(h);
            } else {
                map.validate();
            }
            ASSERT_EQ(map.size(), live.size());
        }
        for (const auto h : live) { ASSERT_TRUE(map.contains(h)); }
    }
}

TEST(stable_slot_map, no_chunk_is_added_that_the_table_of_pages_has_no_room_for) {
    test_upstream upstream;
    stable_slot_map<std::uint64_t> map{upstream};
    upstream.refuse_from(0, 4);  // tables of 16, 8, 4 and 2 chunks: it has room for one
    for (std::size_t i = 0; i < map.slots_per_chunk; ++i) { ASSERT_TRUE(map.emplace(0u)); }
    upstream.refuse_from(upstream.request_count(), 4);  // once more, and one is not enough
    EXPECT_FALSE(map.emplace(1u));
    EXPECT_EQ(map.chunk_count(), 1u);
    map.validate();
    EXPECT_TRUE(map.emplace(1u));
    map.validate();
}

TEST(stable_slot_map, a_word_of_promised_handles_only_is_no_word_with_objects) {
    stable_slot_map<int> map;
    std::vector<stable_slot_map<int>::handle_type> held;
    for (int i = 0; i < 64; ++i) { held.push_back(map.promise_handle()); }
    map.validate();
    EXPECT_EQ(map.begin(), map.end());
    for (const auto h : held) { map.abandon(h); }
    map.validate();
    EXPECT_TRUE(map.shrink_to_fit());
    EXPECT_EQ(map.chunks_with_memory(), 0u);
}

TEST(stable_slot_map, refuses_an_absurd_reservation_before_it_takes_anything) {
    stable_slot_map<int> map;
    for (const std::size_t count : {SIZE_MAX, SIZE_MAX - 4095, SIZE_MAX / 2}) {
        EXPECT_FALSE(map.reserve(count));
        EXPECT_EQ(map.chunk_count(), 0u);
    }
}

#if defined(__cpp_exceptions)
TEST(stable_slot_map, a_page_whose_only_object_was_not_made_is_an_empty_page) {
    struct refuses {
        explicit refuses(bool now) {
            if (now) { throw 1; }
        }
        int value = 0;
    };
    stable_slot_map<refuses> map;
    std::vector<stable_slot_map<refuses>::handle_type> handles;
    for (std::size_t i = 0; i < map.slots_per_chunk; ++i) { handles.push_back(map.emplace(false)); }
    for (int i = 0; i < 64; ++i) {  // until none of the chunk's first word waits in the batch
        EXPECT_THROW((void)map.emplace(true), int);
    }
    EXPECT_EQ(map.chunks_with_memory(), 2u);
    for (const auto h : handles) { map.erase(h); }
    EXPECT_EQ(map.chunks_with_memory(), 1u) << "one of two empty pages goes back";
    map.validate();
}
#endif

TEST(stable_slot_map, a_clone_keeps_no_more_empty_pages_than_its_original) {
    stable_slot_map<int> map;
    std::vector<stable_slot_map<int>::handle_type> handles;
    for (std::size_t i = 0; i < 3 * map.slots_per_chunk; ++i) { handles.push_back(map.emplace(0)); }
    for (std::size_t i = 0; i < map.slots_per_chunk; ++i) { map.erase(handles[i]); }
    ASSERT_EQ(map.chunks_with_memory(), 3u) << "the page that is empty stays";
    auto copy = map.clone();
    ASSERT_TRUE(copy);
    for (const auto h : handles) { copy->erase(h); }
    EXPECT_EQ(copy->chunks_with_memory(), 1u);
    copy->validate();
}

TEST(stable_slot_map, a_refused_clone_is_none_and_leaves_nothing) {
    stable_slot_map<int> map;
    for (std::size_t i = 0; i < 3 * map.slots_per_chunk; ++i) { ASSERT_TRUE(map.emplace(0)); }
    test_upstream counted;
    ASSERT_TRUE(map.clone(counted));
    ASSERT_GT(counted.request_count(), 3u);
    for (std::size_t refused = 0; refused < counted.request_count(); ++refused) {
        test_upstream upstream;
        upstream.refuse_from(refused);
        EXPECT_FALSE(map.clone(upstream)) << refused;
        EXPECT_EQ(upstream.live_size(), 0u) << refused;
    }
}

TEST(stable_slot_map, a_clone_leaves_out_a_chunk_whose_block_went_back_and_keeps_worn_out_slots) {
    struct large {
        std::uint64_t value;
        std::byte more[248];
    };
    using map_type = stable_slot_map<large, slot_policy<16, 12>>;  // 15 lives
    map_type map;
    std::vector<map_type::handle_type> handles;
    for (std::size_t i = 0; i < 4 * map.slots_per_chunk; ++i) {
        handles.push_back(map.emplace(large{i, {}}));
    }
    ASSERT_EQ(map.chunks_with_memory(), 4u);
    for (int life = 0; life < 20 && map.worn_out_slot_count() == 0; ++life) {
        ASSERT_TRUE(map.erase(handles[0]));
        handles[0] = map.emplace(large{0, {}});
    }
    EXPECT_EQ(map.worn_out_slot_count(), 1u);
    const auto stays = [&](map_type::handle_type h) {
        const std::size_t chunk = h.index() / map.slots_per_chunk;
        return chunk != 1 && chunk != 2;
    };
    for (const auto h : handles) {
        if (!stays(h)) { EXPECT_TRUE(map.erase(h)); }
    }
    const std::size_t chunks = map.chunks_with_memory();
    EXPECT_LT(chunks, map.chunk_count()) << "a block went back, and chunks behind it stay";
    auto copy = map.clone();
    ASSERT_TRUE(copy);
    copy->validate();
    EXPECT_LE(copy->chunks_with_memory(), chunks);
    EXPECT_EQ(copy->worn_out_slot_count(), 1u);
    EXPECT_EQ(copy->size(), map.size());
    for (std::size_t i = 0; i < handles.size(); ++i) {
        const large* const found = copy->find(handles[i]);
        ASSERT_EQ(found != nullptr, stays(handles[i])) << i;
        if (found != nullptr) { EXPECT_EQ(found->value, i); }
    }
    while (copy->emplace(large{1, {}})) {}
    EXPECT_EQ(copy->worn_out_slot_count(), 1u) << "a worn-out slot is not used again";
    EXPECT_EQ(copy->size(), std::size_t{map_type::handle_type::index_max});
    copy->validate();
}
