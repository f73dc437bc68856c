// A count that no memory can hold is refused, and nothing was taken: by containers.
#include <cairn/containers/attached_column.hpp>
#include <cairn/containers/concurrent_object_pool.hpp>
#include <cairn/containers/object_pool.hpp>
#include <cairn/containers/packed_array.hpp>
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/slot_table.hpp>
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/containers/table.hpp>
#include <gtest/gtest.h>

#include "containers/absurd_counts/expect_refused.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;
using namespace absurd_counts_tests;

TEST(absurd_counts, of_a_packed_array) {
    small_machine upstream;
    packed_array<block_of_64> rows{upstream};
    const auto reserve = [&](std::size_t count) { return rows.reserve(count); };
    expect_refused(upstream, 64, reserve);
    ASSERT_NE(rows.emplace(), nullptr);
    expect_refused(upstream, 64, reserve);
    EXPECT_EQ(rows.size(), 1u);
    packed_array<block_of_64> addresses{upstream};
    expect_refused(upstream, 64, [&](std::size_t n) { return addresses.reserve_address_space(n); });
    ASSERT_TRUE(addresses.reserve_address_space(100));
    expect_refused(upstream, 64, [&](std::size_t count) { return addresses.reserve(count); });
    EXPECT_TRUE(addresses.reserve(100));
}

TYPED_TEST(absurd_tables, are_refused) {
    small_machine upstream;
    using rows_type = table<gate<>, TypeParam>;
    rows_type rows{upstream};
    const auto reserve = [&](std::size_t count) { return rows.reserve(count); };
    const auto resize = [&](std::size_t count) { return rows.resize(count); };
    const auto overwrite = [&](std::size_t count) { return rows.resize_for_overwrite(count); };
    expect_refused(upstream, 13, reserve);
    expect_refused(upstream, 16, resize);
    ASSERT_TRUE(rows.emplace_back(gate<>{1, 2, 'r'}));
    attached_column<char> beside{rows, 'x', upstream};
    expect_refused(upstream, 13, reserve);
    expect_refused(upstream, 16, resize);
    expect_refused(upstream, 16, overwrite);
    EXPECT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].number, 2);
    rows_type addresses{upstream};
    expect_refused(upstream, 16, [&](std::size_t n) { return addresses.reserve_address_space(n); });
    ASSERT_TRUE(addresses.reserve_address_space(100));
    expect_refused(upstream, 13, [&](std::size_t count) { return addresses.reserve(count); });
    EXPECT_TRUE(addresses.reserve(100));
}

TYPED_TEST(absurd_tables, take_nothing_for_their_columns_when_the_rows_are_refused) {
    small_machine upstream;
    table<gate<>, TypeParam> rows{upstream};
    attached_column<char> beside{rows, 'x', upstream};
    upstream.limit_size(std::size_t{10} << 20);
    EXPECT_FALSE(rows.reserve(std::size_t{2} << 20)) << "26 MB of rows, and 4 MB beside them";
    EXPECT_EQ(upstream.live_size(), 0u);
    EXPECT_TRUE(rows.reserve(1000));
}

TEST(absurd_counts, of_a_slot_map) {
    small_machine upstream;
    slot_map<block_of_64> map{upstream};
    const auto reserve = [&](std::size_t count) { return map.reserve(count); };
    expect_refused(upstream, 64, reserve);
    const auto h = map.emplace();
    expect_refused(upstream, 64, reserve);
    EXPECT_TRUE(map.contains(h));
    slot_map<block_of_64> addresses{upstream};
    expect_refused(upstream, 64, [&](std::size_t n) { return addresses.reserve_address_space(n); });
    ASSERT_TRUE(addresses.reserve_address_space(100));
    expect_refused(upstream, 64, [&](std::size_t count) { return addresses.reserve(count); });
    EXPECT_TRUE(addresses.reserve(100));
}

TYPED_TEST(absurd_tables, of_a_slot_map_are_refused) {
    small_machine upstream;
    using map_type = slot_table<gate<>, TypeParam>;
    map_type map{upstream};
    const auto reserve = [&](std::size_t count) { return map.reserve(count); };
    expect_refused(upstream, 16, reserve);
    const auto h = map.emplace();
    expect_refused(upstream, 16, reserve);
    EXPECT_TRUE(map.contains(h));
    map_type addresses{upstream};
    expect_refused(upstream, 16, [&](std::size_t n) { return addresses.reserve_address_space(n); });
    ASSERT_TRUE(addresses.reserve_address_space(100));
    expect_refused(upstream, 16, [&](std::size_t count) { return addresses.reserve(count); });
    EXPECT_TRUE(addresses.reserve(100));
}

TEST(absurd_counts, slot_maps_take_no_slots_when_there_is_no_room_for_the_objects) {
    small_machine upstream;
    slot_map<block_of_64> map{upstream};
    slot_table<gate<>> rows{upstream};
    const auto h = map.emplace();
    const auto r = rows.emplace();
    const std::size_t before = upstream.live_size();
    const std::size_t capacity = map.capacity();
    const auto* const first = &map.at(h);
    upstream.limit_size(std::size_t{32} << 20);
    EXPECT_FALSE(map.reserve(std::size_t{1} << 20)) << "64 MiB of objects, 20 MiB beside them";
    EXPECT_EQ(upstream.live_size(), before);
    EXPECT_FALSE(rows.reserve(std::size_t{3} << 20)) << "39 MB of rows, 60 MB beside them";
    EXPECT_EQ(upstream.live_size(), before);
    upstream.limit_size(std::size_t{80} << 20);
    EXPECT_FALSE(map.reserve(std::size_t{1} << 20)) << "room for the objects, none for the slots";
    EXPECT_FALSE(rows.reserve(std::size_t{3} << 20));
    EXPECT_EQ(map.capacity(), capacity);
    EXPECT_EQ(&map.at(h), first) << "nothing has moved";
    EXPECT_TRUE(rows.contains(r));
    map.validate();
    rows.validate();
    upstream.limit_size(test_upstream::never);
    EXPECT_TRUE(map.reserve(1000));
    EXPECT_TRUE(rows.reserve(1000));
}

TEST(absurd_counts, of_a_stable_slot_map) {
    small_machine upstream;
    stable_slot_map<block_of_64> map{upstream};
    const auto reserve = [&](std::size_t count) { return map.reserve(count); };
    expect_refused(upstream, 64, reserve);
    const auto h = map.emplace();
    expect_refused(upstream, 64, reserve);
    EXPECT_TRUE(map.contains(h));
}

TEST(absurd_counts, a_stable_slot_map_gives_back_what_it_took_for_a_reservation_that_fails) {
    small_machine upstream;
    stable_slot_map<block_of_64> map{upstream};
    const auto h = map.emplace();
    const std::size_t before = upstream.live_count();
    const std::size_t pages = map.chunk_count();
    upstream.limit_size(std::size_t{8} << 20);
    EXPECT_FALSE(map.reserve(std::size_t{1} << 20));
    EXPECT_EQ(map.chunk_count(), pages);
    EXPECT_LE(upstream.live_count(), before + 1) << "a larger table of pages may stay";
    EXPECT_TRUE(map.contains(h));
    map.validate();
    for (std::size_t i = map.size(); i < 3 * map.slots_per_chunk; ++i) {
        ASSERT_TRUE(map.emplace());
    }
    map.validate();
}

TEST(absurd_counts, of_object_pools) {
    small_machine upstream;
    object_pool<block_of_64> pool{upstream};
    const auto prewarm = [&](std::size_t count) { return pool.prewarm(count); };
    expect_refused(upstream, 64, prewarm);
    pool.release(pool.acquire_raw());
    expect_refused(upstream, 64, prewarm);
    EXPECT_EQ(pool.idle_count(), 1u) << "no object was built for it";
    concurrent_object_pool<block_of_64> shared{upstream};
    const auto prewarm_shared = [&](std::size_t count) { return shared.prewarm(count, 2); };
    expect_refused(upstream, 64, prewarm_shared);
    shared.release(shared.acquire_raw());
    expect_refused(upstream, 64, prewarm_shared);
    EXPECT_EQ(shared.object_count(), 1u);
}
