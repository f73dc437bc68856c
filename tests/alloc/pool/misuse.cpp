// What cairn/alloc/pool.hpp promises to tell of misuse.
#include <cairn/alloc/pool.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <random>
#include <vector>

#include "support/death_words.hpp"

namespace {

using cairn::alignment;
using cairn::pool;

using pool_death = testing::Test;

TEST(pool_death, misuse_is_named) {
    if (!cairn::asserts_enabled) { GTEST_SKIP() << "promises are checked in checked builds"; }
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    pool p{64, alignment{64}};
    void* const a = p.allocate();
    void* const b = p.allocate();
    p.deallocate(b);
    EXPECT_DEATH(p.deallocate(b), "a slot is freed once");
    EXPECT_DEATH(p.deallocate(static_cast<std::byte*>(a) + 8),
                 "by the address it was given out with");
    int foreign = 0;
    EXPECT_DEATH(p.deallocate(&foreign), "comes back to the pool that gave it out");
    EXPECT_DEATH(p.deallocate(a, 65, alignment{64}), "with the size it was asked with");
    EXPECT_DEATH(p.deallocate(a, 64, alignment{128}),
                 in_this_order({"with the alignment it was asked with", "alignment of a slot 64",
                                "freed 128"}));
    pool other{64, alignment{64}};
    void* const c = other.allocate();
    EXPECT_DEATH(p.deallocate(c), "comes back to the pool that gave it out");
    if (!cairn::detail::poison_is_queryable) {  // ASan reports it earlier, at the write
        static_cast<char*>(b)[17] = 1;
        EXPECT_DEATH((void)p.allocate(), "a free slot is not written to");
    }
}

// The short way finds a slot by its address among many chunks, or as the slot of the last call.
TEST(pool_death, misuse_is_named_in_each_of_many_chunks) {
    if (!cairn::asserts_enabled || cairn::detail::poison_is_seen()) { GTEST_SKIP(); }
    pool p{48};
    std::vector<std::byte*> slots;
    for (int i = 0; i < 20'000; ++i) { slots.push_back(static_cast<std::byte*>(p.allocate())); }
    ASSERT_GE(p.stats().chunk_count, 5u);
    std::shuffle(slots.begin(), slots.end(), std::mt19937{1});
    const auto expect = [&](void* slot, const char* sentence) {
        const auto broken = cairn::expect_broken_promise([&] { p.deallocate(slot); });
        EXPECT_TRUE(broken.says(sentence)) << broken.text();
    };
    for (std::size_t i = 0; i + 1 < slots.size(); i += 500) {
        p.deallocate(slots[i]);
        expect(slots[i], "a slot is freed once");
        expect(slots[i + 1] + 16, "a slot comes back by the address it was given out with");
        p.deallocate(slots[i + 1]);
        expect(slots[i], "a slot is freed once");
        EXPECT_EQ(p.allocate(), slots[i + 1]);
        EXPECT_EQ(p.allocate(), slots[i]);
    }
    p.validate();
    for (void* const slot : slots) { p.deallocate(slot); }
    EXPECT_GT(p.trim(), 0u);
    expect(slots[0], "a slot comes back to the pool that gave it out");
}

// Sizes on both sides of those that go the short way, and bytes around those that it looks at at
// once.
TEST(pool_death, a_write_to_any_byte_of_a_free_slot_is_named) {
    if (!cairn::asserts_enabled || cairn::detail::poison_is_seen()) { GTEST_SKIP(); }
    for (const std::size_t size :
         {1u, 15u, 16u, 17u, 24u, 31u, 32u, 33u, 48u, 64u, 65u, 81u, 256u, 257u}) {
        std::size_t seen = 0;
        for (const std::size_t i :
             {std::size_t{0}, std::size_t{15}, std::size_t{16}, std::size_t{31}, std::size_t{32},
              size / 2, size - 33, size - 32, size - 17, size - 16, size - 1}) {
            if (i >= size) { continue; }
            pool p{size, alignment{1}};  // on Windows the one before is left as it broke
            auto* const bytes = static_cast<unsigned char*>(p.allocate());
            p.deallocate(bytes);
            bytes[i] ^= 1;
            const auto broken = cairn::expect_broken_promise([&] { (void)p.allocate(); });
            bytes[i] ^= 1;
            EXPECT_TRUE(broken.says("a free slot is not written to")) << i << " of " << size;
            ++seen;
        }
        EXPECT_GE(seen, 3u);
    }
}

// The bytes before it look the same: only their place distinguishes the two.
TEST(pool_death, a_write_to_a_free_slot_is_named_among_others_that_are_free) {
    if (!cairn::asserts_enabled || cairn::detail::poison_is_seen()) { GTEST_SKIP(); }
    for (const std::size_t size : {16u, 24u, 40u, 56u, 80u, 81u, 96u, 256u}) {
        for (std::size_t i = 0; i < size; i += 8) {
            pool p{size, alignment{1}};  // on Windows the one before is left as it broke
            void* const before = p.allocate();
            auto* const bytes = static_cast<unsigned char*>(p.allocate());
            ASSERT_EQ(static_cast<unsigned char*>(before) + size, bytes);
            p.deallocate(before);
            p.deallocate(bytes);
            bytes[i] ^= 1;
            const auto broken = cairn::expect_broken_promise([&] { (void)p.allocate(); });
            bytes[i] ^= 1;
            EXPECT_TRUE(broken.says("a free slot is not written to")) << i << " of " << size;
        }
    }
}

TEST(pool_death, a_slot_that_is_free_twice_is_given_out_once) {
    if (!cairn::asserts_enabled || cairn::detail::poison_is_seen()) { GTEST_SKIP(); }
    // The stack of free slots lies behind the slots: a write beyond the last one reaches it.
    alignas(64) std::byte buffer[1024];
    pool p{{buffer, sizeof buffer}, 64, alignment{64}};
    void* slots[3] = {};
    for (void*& slot : slots) { slot = p.allocate(); }
    for (void* const slot : slots) { p.deallocate(slot); }
    for (std::size_t at = 0; at + 8 <= sizeof buffer; at += 8) {
        if (std::memcmp(buffer + at, &slots[0], 8) == 0 &&
            std::memcmp(buffer + at + 8, &slots[1], 8) == 0) {
            std::memcpy(buffer + at, &slots[1], 8);
        }
    }
    EXPECT_EQ(p.allocate(), slots[2]);
    EXPECT_EQ(p.allocate(), slots[1]);
    const auto broken = cairn::expect_broken_promise([&] { (void)p.allocate(); });
    EXPECT_TRUE(broken.says("a slot is given out once")) << broken.text();
}

TEST(pool_death, misuse_is_named_after_the_side_block_has_moved) {
    if (!cairn::asserts_enabled) { GTEST_SKIP(); }
    pool p{64, alignment{64}};
    void* const a = p.allocate();
    p.deallocate(p.allocate());
    ASSERT_TRUE(p.reserve(5000)) << "a second chunk, and a longer stack";
    p.deallocate(a);
    const auto broken = cairn::expect_broken_promise([&] { p.deallocate(a); });
    EXPECT_TRUE(broken.says("a slot is freed once")) << broken.text();
    EXPECT_EQ(p.allocate(), a);
    p.validate();
}
}  // namespace
