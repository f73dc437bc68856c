// A count that no memory can hold is refused, and nothing was taken: by allocators.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/builder.hpp>
#include <cairn/alloc/concurrent_pool.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/pool.hpp>
#include <cairn/alloc/virtual_arena.hpp>
#include <cairn/containers/table.hpp>
#include <cairn/movable/offset_heap.hpp>
#include <cairn/movable/relocatable_heap.hpp>
#include <gtest/gtest.h>

#include <cstdint>

#include "containers/absurd_counts/expect_refused.hpp"

using namespace cairn;
using namespace absurd_counts_tests;

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
    offset_heap ranges{1000, upstream};
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
    offset_heap many{1000, upstream, {.allocation_count_max = (1u << 29) - 1}};
    EXPECT_EQ(many.capacity(), 0u) << "40 GB of nodes";
}
