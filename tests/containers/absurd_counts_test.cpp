// What no memory holds is refused before anything is taken: by every function that takes a count.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/builder.hpp>
#include <cairn/alloc/concurrent_pool.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/pool_of.hpp>
#include <cairn/alloc/virtual_arena.hpp>
#include <cairn/containers/attached_column.hpp>
#include <cairn/containers/concurrent_object_pool.hpp>
#include <cairn/containers/object_pool.hpp>
#include <cairn/containers/packed_array.hpp>
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/slot_table.hpp>
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/containers/table.hpp>
#include <cairn/movable/offset_heap.hpp>
#include <cairn/movable/relocatable_heap.hpp>
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "support/test_upstream.hpp"

using namespace cairn;

namespace {

using block_of_64 = std::array<std::byte, 64>;

/// Has 256 MiB.
struct small_machine : test_upstream {
    small_machine() { limit_size(std::size_t{256} << 20); }
};

/// Counts of elements of `size` bytes that no memory holds, those next to each limit among them.
std::vector<std::size_t> absurd_counts(std::size_t size) {
    std::vector<std::size_t> counts;
    for (const std::size_t most : {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / size, PTRDIFF_MAX / size}) {
        for (const std::size_t less : {0u, 1u, 15u, 63u, 4095u}) { counts.push_back(most - less); }
        if (most != SIZE_MAX) { counts.push_back(most + 1); }
    }
    return counts;
}

/// reserve(count) is false for each of them, and nothing came from `upstream`.
template <class Reserve>
void expect_refused(test_upstream& upstream, std::size_t element_size, Reserve reserve) {
    const std::size_t before = upstream.live_size();
    for (const std::size_t count : absurd_counts(element_size)) {
        EXPECT_FALSE(reserve(count)) << count;
        ASSERT_EQ(upstream.live_size(), before) << count;
    }
}

template <class K = value>
struct gate {
    field<K, double> width;
    field<K, int> number = 7;
    field<K, char> side = 'l';
};

template <class Layout>
class absurd_tables : public testing::Test {};
using layouts = testing::Types<aos, soa, split_soa, aosoa<8>, aosoa<64>>;
TYPED_TEST_SUITE(absurd_tables, layouts);

}  // namespace

TEST(absurd_counts, of_a_packed_array) {
    small_machine upstream;
    packed_array<block_of_64> rows{upstream};
    const auto reserve = [&](std::size_t count) { return rows.reserve(count); };
    expect_refused(upstream, 64, reserve);
    rows.emplace();
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
    const auto reserve_slots = [&](std::size_t count) { return map.reserve_slots(count); };
    expect_refused(upstream, 64, reserve);
    expect_refused(upstream, 64, reserve_slots);
    const auto h = map.emplace();
    expect_refused(upstream, 64, reserve);
    expect_refused(upstream, 64, reserve_slots);
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
    expect_refused(upstream, 16, [&](std::size_t count) { return map.reserve_slots(count); });
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

TEST(absurd_counts, of_pools) {
    small_machine upstream;
    pool slots{64, default_alignment, upstream};
    const auto reserve = [&](std::size_t count) { return slots.reserve(count); };
    expect_refused(upstream, 64, reserve);
    slots.deallocate(slots.allocate());
    expect_refused(upstream, 64, reserve);
    for (const std::size_t count : absurd_counts(64)) {
        EXPECT_GE(pool::required_size(count, 64, default_alignment), SIZE_MAX / 2 - 63 * 64 * 64)
            << count;
    }
}

TEST(absurd_counts, of_a_concurrent_pool) {
    small_machine upstream;
    concurrent_pool slots{64, default_alignment, upstream};
    const auto reserve = [&](std::size_t count) { return slots.reserve(count); };
    expect_refused(upstream, 64, reserve);
    expect_refused(upstream, 64, [&](std::size_t count) { return slots.reserve(1, count); });
    slots.deallocate(slots.allocate());
    expect_refused(upstream, 64, reserve);
    expect_refused(upstream, 64, [&](std::size_t count) { return slots.reserve(1, count); });
    upstream.limit_size(std::size_t{32} << 20);
    const std::size_t before = upstream.live_size();
    EXPECT_FALSE(slots.reserve(std::size_t{100} << 20))
        << "6 GiB of slots, 13 MB of magazines' table";
    EXPECT_EQ(upstream.live_size(), before);
    EXPECT_FALSE(slots.reserve(490'000)) << "31 MB of slots, 5 MB of magazines";
    EXPECT_EQ(upstream.live_size(), before);
    EXPECT_TRUE(slots.reserve(1000));
}

TEST(absurd_counts, of_arenas) {
    small_machine upstream;
    growing_arena arena{4096, upstream};
    const auto reserve = [&](std::size_t size) { return arena.reserve(size); };
    const auto make = [&](std::size_t count) {
        return arena.make_array<double>(count).size() != 0;
    };
    expect_refused(upstream, 1, reserve);
    expect_refused(upstream, 8, make);
    (void)arena.allocate(100);
    expect_refused(upstream, 1, reserve);
    expect_refused(upstream, 8, make);
    for (const std::size_t size : absurd_counts(1)) {
        virtual_arena absurd{size};
        EXPECT_EQ(absurd.capacity(), 0u) << size;
        EXPECT_EQ(absurd.allocate(1), nullptr) << size;
    }
    virtual_arena addresses{100'000};
    for (const std::size_t size : absurd_counts(1)) {
        EXPECT_EQ(addresses.allocate(size), nullptr) << size;
    }
    EXPECT_NE(addresses.allocate(100'000), nullptr);
}

TEST(absurd_counts, of_a_builder_are_wishes) {
    for (const std::size_t count : absurd_counts(8)) {
        arena room{1024};
        builder<double> list{room, count};
        EXPECT_TRUE(list.push_back(1)) << count;
        EXPECT_EQ(list.finish().size(), 1u);
        EXPECT_EQ(room.used_size(), 16u) << "what was taken beyond it goes back";
    }
}

TEST(absurd_counts, of_heaps_that_compact) {
    small_machine upstream;
    relocatable_heap heap{std::size_t{64} << 10, upstream};
    expect_refused(upstream, 1,
                   [&](std::size_t size) { return static_cast<bool>(heap.allocate(size)); });
    heap.validate();
    offset_heap ranges{1000, offset_heap::unlimited, upstream};
    expect_refused(upstream, 1,
                   [&](std::size_t size) { return static_cast<bool>(ranges.allocate(size)); });
    const auto a = ranges.allocate(10);
    expect_refused(upstream, 1, [&](std::size_t size) { return ranges.try_resize(a, size); });
    for (const std::uint64_t align : {std::uint64_t{1} << 62, std::uint64_t{1} << 63}) {
        EXPECT_FALSE(ranges.allocate(1, align)) << align;
        EXPECT_FALSE(ranges.allocate(1000, align)) << align;
    }
    EXPECT_TRUE(ranges.grow(SIZE_MAX)) << "offsets cost nothing";
    EXPECT_FALSE(ranges.allocate(SIZE_MAX));
    EXPECT_FALSE(ranges.allocate(SIZE_MAX - 9));
    EXPECT_TRUE(ranges.allocate(SIZE_MAX - 10));
    ranges.validate();
    offset_heap many{1000, (1u << 29) - 1, upstream};
    EXPECT_EQ(many.capacity(), 0u) << "40 GB of nodes";
}
