// Sentences of cairn/alloc/double_ended_arena.hpp.
#include <cairn/alloc/arena_scope.hpp>
#include <cairn/alloc/double_ended_arena.hpp>
#include <cairn/alloc/frame_arena.hpp>
#include <cairn/core/make.hpp>
#include <cairn/core/sizes.hpp>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "support/allocator_contract.hpp"
#include "support/arena_model.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;

TEST(double_ended_arena, each_end_keeps_the_common_contract) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
        test_upstream upstream;
        double_ended_arena a{64_KiB, upstream};
        check_allocator_contract(a.low(), seed);
        a.reset();
        check_allocator_contract(a.high(), seed);
    }
}

TEST(double_ended_arena, each_end_agrees_with_the_model_beside_a_busy_other_end) {
    for (unsigned seed = 1; seed <= 25; ++seed) {
        double_ended_arena a{64_KiB};
        std::memset(a.high().allocate(5000), 0x77, 5000);
        check_arena_against_model(a.low(), seed);
        a.reset();
        std::memset(a.low().allocate(5000), 0x77, 5000);
        check_arena_against_model(a.high(), seed);
    }
}

TEST(double_ended_arena, the_ends_share_one_gap_to_the_last_byte) {
    alignas(16) std::array<std::byte, 256> buffer;
    double_ended_arena a{buffer};
    EXPECT_EQ(a.low().allocate(64), buffer.data());
    EXPECT_EQ(a.high().allocate(64), buffer.data() + 192);
    EXPECT_EQ(a.free_size(), 128u);
    EXPECT_EQ(a.low().allocate(129), nullptr) << "each end is aware of the other";
    EXPECT_EQ(a.high().allocate(129), nullptr);
    EXPECT_EQ(a.high().allocate(128), buffer.data() + 64);
    EXPECT_EQ(a.low().allocate(1), nullptr);
    a.high().reset();
    EXPECT_NE(a.low().allocate(192), nullptr) << "what one end gives back the other may take";
}

TEST(double_ended_arena, reset_forgets_what_both_ends_hold) {
    double_ended_arena a{1_KiB};
    ASSERT_NE(a.low().allocate(64), nullptr);
    ASSERT_NE(a.high().allocate(96), nullptr);
    a.reset();
    EXPECT_EQ(a.low().used_size(), 0u);
    EXPECT_EQ(a.high().used_size(), 0u);
    EXPECT_EQ(a.free_size(), 1_KiB) << "all of it is free for either end";
    EXPECT_NE(a.low().allocate(1_KiB), nullptr);
}

TEST(double_ended_arena, ends_without_memory_take_nullptr_back_and_still_have_none) {
    test_upstream upstream;
    upstream.refuse_from(0);
    double_ended_arena a{4096, upstream};
    a.high().deallocate(nullptr, 100);
    a.low().deallocate(nullptr, 100);
    EXPECT_EQ(a.capacity(), 0u);
    EXPECT_EQ(a.high().allocate(1), nullptr);
    EXPECT_EQ(a.low().allocate(1), nullptr);
}

TEST(double_ended_arena, temporary_low_and_permanent_high) {
    double_ended_arena a{4_KiB};
    void* kept = nullptr;
    {
        arena_scope loading{a.low()};
        (void)loading.make_array<char>(1000);
        kept = a.high().allocate(100);
        std::memset(kept, 3, 100);
    }
    EXPECT_EQ(a.low().used_size(), 0u);
    EXPECT_EQ(a.used_size(), 112u);
    EXPECT_EQ(static_cast<char*>(kept)[99], 3);
    {
        arena_scope other_way{a.high()};
        (void)other_way.make<int>(1);
    }
    EXPECT_EQ(a.high().used_size(), 112u);
    EXPECT_EQ(a.high().high_water_size(), 128u);
}

TEST(double_ended_arena, the_last_high_block_gives_its_bytes_back) {
    double_ended_arena a{4_KiB};
    void* const p = a.high().allocate(100);
    void* const q = a.high().allocate(50);
    a.high().deallocate(q, 50);
    a.high().deallocate(p, 100);
    EXPECT_EQ(a.used_size(), 0u);
    a.validate();
}

TEST(double_ended_arena, the_high_end_knows_its_peak_after_its_last_block_came_back) {
    double_ended_arena a{4_KiB};
    void* const p = a.high().allocate(112);
    void* const q = a.high().allocate(48);
    a.high().deallocate(q, 48);
    EXPECT_EQ(a.high().high_water_size(), 160u);
    a.high().deallocate(p, 112);
    EXPECT_EQ(a.high().high_water_size(), 160u);
    EXPECT_EQ(a.high().used_size(), 0u);
    a.high().reset_high_water();
    EXPECT_EQ(a.high().high_water_size(), 0u);
}

TEST(double_ended_arena, misuse_is_named_in_checked_builds) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    double_ended_arena a{4_KiB};
    void* const low = a.low().allocate(16);
    void* const high = a.high().allocate(16);
    EXPECT_DEATH(a.high().deallocate(low, 16), "the end that it was allocated from");
    EXPECT_DEATH(a.low().deallocate(high, 16), "the arena that it was allocated from");
    const char* const once = "a block is freed once, with its size, before its arena was rewound";
    EXPECT_DEATH(a.high().deallocate(high, 4000), once);
    void* const last = a.high().allocate(32);
    EXPECT_DEATH(a.high().deallocate(last, SIZE_MAX), once);
    a.high().deallocate(last, 32);
    EXPECT_DEATH(a.high().deallocate(last, 32), once);
    a.high().deallocate(last, 0);
    a.high().deallocate(nullptr, 32);
}

TEST(double_ended_arena, neighbours_of_a_page_multiple_keep_an_alignment_above_a_cache_line) {
    double_ended_arena a{1_MiB};
    for (const std::size_t bytes : {std::size_t{128}, std::size_t{4096}, std::size_t{16384}}) {
        for (int i = 0; i < 4; ++i) {
            EXPECT_TRUE(
                detail::is_aligned(a.high().allocate(16384, alignment{bytes}), alignment{bytes}));
            EXPECT_TRUE(
                detail::is_aligned(a.low().allocate(16384, alignment{bytes}), alignment{bytes}));
        }
    }
}

TEST(double_ended_arena, the_byte_behind_it_belongs_to_somebody_else) {
    alignas(64) static std::byte memory[2][1024];
    double_ended_arena first{byte_slice{memory[0], 1024}};
    double_ended_arena second{byte_slice{memory[1], 1024}};
    const void* const p = second.low().allocate(16);
    ASSERT_EQ(p, &memory[1][0]);
    EXPECT_FALSE(first.high().owns(p));
    EXPECT_FALSE(first.low().owns(p));
    const void* const q = first.high().allocate(16);
    EXPECT_TRUE(first.high().owns(q));
    EXPECT_FALSE(first.low().owns(q));
}

TEST(double_ended_arena, page_multiples_at_an_alignment_of_a_cache_line_are_coloured_too) {
    double_ended_arena a{64_KiB};
    const auto first = reinterpret_cast<std::uintptr_t>(a.high().allocate(4096, alignment{64}));
    const auto second = reinterpret_cast<std::uintptr_t>(a.high().allocate(4096, alignment{64}));
    EXPECT_EQ(first - second, 4096u + cache_line_size);
}
