// What cairn/alloc/pool.hpp promises of its slots. Growth, trimming and iteration:
// pool_growth_test.cpp.
#include <cairn/alloc/pool.hpp>
#include <cairn/alloc/pool/seen_chunks.hpp>
#include <cairn/core/null_allocator.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "support/allocator_contract.hpp"
#include "support/test_upstream.hpp"

namespace {

using cairn::alignment;
using cairn::pool;

std::vector<void*> take(pool& p, std::size_t count) {
    std::vector<void*> slots;
    for (std::size_t i = 0; i < count; ++i) { slots.push_back(p.allocate()); }
    return slots;
}

TEST(pool, keeps_the_contract_of_all_allocators) {
    for (unsigned seed = 1; seed <= 5; ++seed) {
        test_upstream upstream;
        pool p{200, alignment{128}, upstream};
        check_allocator_contract(p, seed);
        pool fixed_slots{48, alignment{16}, upstream, {.slots_per_chunk = 3}};
        check_allocator_contract(fixed_slots, seed,
                                 {.size_max = 48, .align_log2_max = 4, .fixed_size = true});
    }
}

TEST(pool, takes_no_memory_before_the_first_allocation) {
    test_upstream upstream;
    pool p{64, alignment{64}, upstream};
    EXPECT_EQ(upstream.request_count(), 0u);
    p.deallocate(p.allocate());
    EXPECT_EQ(upstream.request_count(), 1u) << "a chunk, with the side block behind it";
}

TEST(pool, any_size_from_one_byte_and_any_alignment) {
    for (const std::size_t size : {0u, 1u, 2u, 3u, 7u, 8u, 12u, 24u, 100u, 4096u, 5000u}) {
        for (const std::size_t align : {1u, 2u, 8u, 16u, 64u, 256u, 4096u}) {
            test_upstream upstream;
            pool p{size, alignment{align}, upstream, {.slots_per_chunk = 5}};
            EXPECT_EQ(p.slot_size() % align, 0u);
            EXPECT_GE(p.slot_size(), std::max<std::size_t>(size, 1));
            EXPECT_LT(p.slot_size(), std::max<std::size_t>(size, 1) + align);
            std::set<std::byte*> seen;
            for (int i = 0; i < 40; ++i) {
                auto* const s = static_cast<std::byte*>(p.allocate());
                ASSERT_NE(s, nullptr);
                EXPECT_TRUE(cairn::detail::is_aligned(s, alignment{align}));
                std::memset(s, 0x5A, size);
                const auto next = seen.lower_bound(s);
                if (next != seen.end()) { EXPECT_GE(*next - s, std::ptrdiff_t(p.slot_size())); }
                EXPECT_TRUE(seen.insert(s).second);
            }
            p.validate();
        }
    }
}

TEST(pool, the_slot_freed_last_is_given_out_first) {
    pool p{32};
    auto s = take(p, 4);
    p.deallocate(s[1]);
    p.deallocate(s[3]);
    p.deallocate(s[0]);
    EXPECT_EQ(p.allocate(), s[0]);
    EXPECT_EQ(p.allocate(), s[3]);
    EXPECT_EQ(p.allocate(), s[1]);
}

// The slot freed last waits outside of the stack, and counts with those that are on it.
TEST(pool, the_slot_freed_last_is_free_like_any_other) {
    test_upstream upstream;
    pool p{32, cairn::default_alignment, upstream, {.slots_per_chunk = 4, .slot_count_max = 4}};
    const auto s = take(p, 4);
    p.deallocate(s[1]);
    EXPECT_EQ(p.stats().live_count, 3u);
    EXPECT_TRUE(p.reserve(1));
    EXPECT_FALSE(p.reserve(2));
    p.validate();
    EXPECT_EQ(p.allocate(), s[1]);
    EXPECT_EQ(p.allocate(), nullptr) << "it is given out once";

    p.deallocate(s[2]);
    std::vector<void*> live;
    p.for_each_live([&](void* slot) { live.push_back(slot); });
    EXPECT_EQ(live, (std::vector<void*>{s[0], s[1], s[3]}));
    EXPECT_EQ(p.allocate(), s[2]);

    p.deallocate(s[3]);
    p.deallocate(s[0]);
    pool moved{std::move(p)};
    EXPECT_EQ(p.stats().live_count, 0u);
    moved.validate();
    EXPECT_EQ(moved.allocate(), s[0]);
    EXPECT_EQ(moved.allocate(), s[3]);
    EXPECT_EQ(moved.allocate(), nullptr);

    moved.deallocate(s[3]);
    moved.reset();
    EXPECT_EQ(take(moved, 4), s) << "a reset pool begins with its first slot";

    moved.deallocate_n(s);
    EXPECT_NE(moved.trim(), 0u);
    EXPECT_EQ(moved.stats().slot_count, 0u);
    EXPECT_EQ(upstream.live_size(), 0u);
    EXPECT_NE(moved.allocate(), nullptr);
    moved.validate();
}

TEST(pool, addresses_ascend_on_first_use_and_after_reset) {
    test_upstream upstream;
    pool p{24, alignment{8}, upstream, {.slots_per_chunk = 10, .chunk_size_max = 240}};
    const auto first = take(p, 35);
    for (std::size_t i = 1; i < first.size(); ++i) {
        if (i % 10 != 0) {
            EXPECT_EQ(static_cast<std::byte*>(first[i]) - static_cast<std::byte*>(first[i - 1]),
                      24);
        }
    }
    std::mt19937 random{7};
    auto shuffled = first;
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    for (void* s : shuffled) { p.deallocate(s); }
    p.reset();
    p.validate();
    const std::size_t requests = upstream.request_count();
    const auto second = take(p, 40);
    EXPECT_TRUE(std::is_sorted(second.begin(), second.end()));
    EXPECT_EQ(upstream.request_count(), requests) << "reset keeps the chunks";
    EXPECT_EQ(p.stats().live_count, 40u);
}

TEST(pool, reset_frees_every_slot_at_once) {
    pool p{16};
    (void)take(p, 100);
    p.deallocate_all();
    EXPECT_EQ(p.stats().live_count, 0u);
    p.reset();
    p.validate();
}

TEST(pool, a_fixed_pool_of_n_slots_gives_n_slots) {
    for (const std::size_t size : {1u, 3u, 16u, 24u, 64u, 100u}) {
        for (const std::size_t align : {1u, 4u, 16u, 64u}) {
            for (const std::size_t n : {1u, 2u, 7u, 8u, 9u, 100u}) {
                const std::size_t bytes = pool::required_size(n, size, alignment{align});
                std::vector<std::byte> memory(bytes + 64);
                std::byte* const begin =
                    memory.data() +
                    cairn::detail::padding_to(reinterpret_cast<std::uintptr_t>(memory.data()),
                                              alignment{64});
                {
                    pool p{{begin, bytes}, size, alignment{align}};
                    std::vector<void*> slots = take(p, n);
                    EXPECT_EQ(std::count(slots.begin(), slots.end(), nullptr), 0)
                        << n << " of " << size;
                    EXPECT_EQ(p.allocate(), nullptr) << "and not one more";
                    for (void* s : slots) {
                        EXPECT_GE(static_cast<std::byte*>(s), begin);
                        EXPECT_LE(static_cast<std::byte*>(s) + size, begin + bytes);
                    }
                    for (void* s : slots) { p.deallocate(s); }
                    EXPECT_EQ(p.stats().slot_count, n);
                    p.validate();
                    EXPECT_EQ(p.trim(), 0u) << "the buffer is the caller's";
                    EXPECT_NE(p.allocate(), nullptr);
                }
                pool less{{begin, bytes - 1}, size, alignment{align}};
                EXPECT_EQ(less.stats().slot_count, n - 1)
                    << "required_size asks for no byte too many";
            }
        }
    }
}

TEST(pool, a_bounded_pool_stops_at_exactly_its_bound) {
    test_upstream upstream;
    pool p{16, alignment{8}, upstream, {.slots_per_chunk = 3, .slot_count_max = 20}};
    auto slots = take(p, 20);
    EXPECT_EQ(std::count(slots.begin(), slots.end(), nullptr), 0);
    EXPECT_EQ(p.allocate(), nullptr);
    p.deallocate(slots[5]);
    EXPECT_EQ(p.allocate(), slots[5]);
    EXPECT_FALSE(p.reserve(1));
}

TEST(pool, owns_its_slots_and_nothing_else) {
    test_upstream upstream;
    pool p{32, alignment{32}, upstream, {.slots_per_chunk = 4, .chunk_size_max = 128}};
    int on_the_stack = 0;
    EXPECT_FALSE(p.owns(&on_the_stack));
    EXPECT_FALSE(p.owns(nullptr));
    auto slots = take(p, 40);
    for (void* s : slots) {
        EXPECT_TRUE(p.owns(s));
        EXPECT_TRUE(p.owns(static_cast<std::byte*>(s) + 31));
    }
    p.deallocate(slots[3]);
    EXPECT_TRUE(p.owns(slots[3])) << "free ones too";
    EXPECT_FALSE(p.owns(&on_the_stack));
    pool other{32, alignment{32}, upstream};
    EXPECT_FALSE(p.owns(other.allocate()));
}

TEST(pool, batches_take_and_give_many_slots) {
    test_upstream upstream;
    pool p{16, alignment{8}, upstream, {.slots_per_chunk = 10, .slot_count_max = 90}};
    std::array<void*, 100> slots{};
    EXPECT_EQ(p.allocate_n(slots), 90u) << "as many as there are";
    EXPECT_EQ(p.allocate_n(slots), 0u);
    slots = {};
    p.reset();
    EXPECT_EQ(p.allocate_n({slots.data(), 50}), 50u);
    EXPECT_EQ(std::set<void*>(slots.begin(), slots.begin() + 50).size(), 50u);
    p.deallocate_n({slots.data(), 50});
    EXPECT_EQ(p.stats().live_count, 0u);
    p.validate();
}

TEST(pool, a_moved_from_pool_is_empty_and_valid) {
    test_upstream upstream;
    pool a{16, alignment{8}, upstream};
    void* const s = a.allocate();
    a.deallocate(a.allocate());
    pool b{std::move(a)};
    EXPECT_TRUE(b.owns(s));
    b.validate();
    b.deallocate(s);
    a.validate();
    EXPECT_EQ(a.stats().slot_count, 0u);
    EXPECT_NE(a.allocate(), nullptr);
    a = std::move(b);
    EXPECT_TRUE(a.owns(s));
    EXPECT_EQ(a.allocate(), s);
    std::array<std::byte, 1024> buffer;
    pool fixed{buffer, 16};
    pool taken{std::move(fixed)};
    EXPECT_EQ(fixed.allocate(), nullptr);
    EXPECT_NE(taken.allocate(), nullptr);
}

TEST(pool, free_slots_are_poisoned_and_live_ones_are_not) {
    if (!cairn::detail::poison_is_queryable) { GTEST_SKIP() << "only where a checker answers"; }
    pool p{64, alignment{64}};
    auto s = take(p, 3);
    auto* const first = static_cast<std::byte*>(s[0]);
    EXPECT_FALSE(cairn::is_poisoned(first + 63));
    EXPECT_TRUE(cairn::is_poisoned(first + 3 * 64)) << "never given out";
    p.deallocate(s[0]);
    p.deallocate(s[1]);
    EXPECT_TRUE(cairn::is_poisoned(first));
    EXPECT_TRUE(cairn::is_poisoned(s[1]));
    EXPECT_EQ(p.allocate(), s[1]);
    EXPECT_FALSE(cairn::is_poisoned(s[1]));
    p.reset();
    EXPECT_TRUE(cairn::is_poisoned(s[2]));
}

TEST(pool, a_chunk_of_any_size_has_8_to_17_of_the_32_windows_in_which_it_is_seen) {
    using cairn::detail::seen_chunks;
    for (const std::size_t stride : {16u, 32u, 48u, 64u, 80u, 1000u}) {
        for (std::size_t count = 1; count < 3000; ++count) {
            const std::size_t size = count * stride;
            const unsigned shift = seen_chunks::shift_for(size);
            ASSERT_LE(((size - 1) >> shift) + 1, 16u) << size << " bytes, from a window on";
            ASSERT_GE(((size - 1) >> shift) + 1, 8u) << size;
        }
    }
}

TEST(pool, a_window_of_seen_chunks_has_a_sixteenth_to_an_eighth_of_the_largest_chunk) {
    for (std::size_t size = 16; size < 5'000; ++size) {
        const std::size_t window = std::size_t{1} << cairn::detail::seen_chunks::shift_for(size);
        EXPECT_TRUE(window * 16 >= size && window * 8 <= size) << size;
    }
}

TEST(pool, a_window_of_seen_chunks_knows_two_and_the_last_of_more) {
    cairn::detail::seen_chunks seen{64};
    seen.shift = 20;
    const auto chunk = [](std::uintptr_t first) {
        cairn::detail::seen_chunk c;
        c.first = first;
        c.size = 256;
        return c;
    };
    const auto slot = [](std::uintptr_t at) { return reinterpret_cast<const void*>(at); };
    const auto found = [&](std::uintptr_t at) { return seen.at(slot(at)).first; };
    for (const std::uintptr_t first : {0x2000u, 0x3000u, 0x1000u}) {
        seen.remember(chunk(first), slot(first));
        EXPECT_EQ(found(first + 64), first);
    }
    EXPECT_EQ(found(0x3000), 0x3000u) << "of the others the higher one stays";
    seen.remember(chunk(0x4000), slot(0x4000));
    EXPECT_EQ(found(0x4000), 0x4000u);
    EXPECT_EQ(found(0x1000), 0x1000u);
    seen.remember(chunk(0x1000), slot(0x1000));
    EXPECT_EQ(found(0x4000), 0x4000u) << "what is remembered again takes no other's place";
}

TEST(pool, takes_the_value_of_a_pool_in_one_of_its_own_slots) {
    pool outer{sizeof(pool), alignment::of<pool>()};
    auto* const inner = ::new (outer.allocate()) pool{64};
    void* const block = inner->allocate();
    outer = std::move(*inner);
    EXPECT_EQ(outer.stats().live_count, 1u);
    outer.deallocate(block);
}

}  // namespace
