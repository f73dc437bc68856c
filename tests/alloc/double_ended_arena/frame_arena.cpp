// Sentences of cairn/alloc/frame_arena.hpp.
#include <cairn/alloc/double_ended_arena.hpp>
#include <cairn/alloc/frame_arena.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/core/make.hpp>
#include <cairn/core/sizes.hpp>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <type_traits>

#include "support/allocator_contract.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;

TEST(frame_arena, last_frames_data_survives_one_swap_and_dies_with_the_second) {
    frame_arena frames{4_KiB};
    int* const first = frames.active().make<int>(1);
    frames.swap();
    EXPECT_EQ(*first, 1);
    EXPECT_TRUE(frames.inactive().owns(first));
    int* const second = frames.active().make<int>(2);
    EXPECT_FALSE(frames.inactive().owns(second));
    frames.swap();
    EXPECT_TRUE(frames.active().owns(first));
    EXPECT_EQ(frames.active().used_size(), 0u) << "the newly active arena was reset";
    EXPECT_EQ(*second, 2);
}

TEST(frame_arena, keeps_the_content_of_the_newly_active_arena_when_told_to) {
    frame_arena<2> frames{4_KiB};
    (void)frames.active().make<int>(1);
    frames.swap();
    frames.swap(on_swap::keep);
    EXPECT_EQ(frames.active().used_size(), 16u);
}

TEST(frame_arena, counts_back_through_n_frames) {
    frame_arena<3> frames{1_KiB};
    int* made[6];
    for (int frame = 0; frame < 6; ++frame) {
        made[frame] = frames.active().make<int>(frame);
        if (frame >= 2) {
            EXPECT_TRUE(frames.inactive(1).owns(made[frame - 1]));
            EXPECT_TRUE(frames.inactive(2).owns(made[frame - 2]));
            EXPECT_EQ(*made[frame - 2], frame - 2);
        }
        frames.swap();
    }
    if (asserts_enabled) { EXPECT_DEATH((void)frames.inactive(3), "frames older than N - 1"); }
}

TEST(frame_arena, takes_any_arena_and_any_upstream) {
    test_upstream upstream;
    {
        frame_arena<2, growing_arena> frames{1_KiB, upstream};
        check_allocator_contract(frames, 7);
        frames.swap();
        (void)frames.active().allocate(10000);
        frames.swap();
        frames.validate();
    }
    upstream.refuse_from(upstream.request_count());
    frame_arena<2, arena> refused{1_KiB, allocator_ref{upstream}};
    EXPECT_EQ(refused.allocate(1), nullptr);
    static_assert(!std::is_constructible_v<frame_arena<2>, std::size_t, test_upstream>,
                  "an upstream that ends with the line is refused");
    static_assert(!std::is_constructible_v<frame_arena<2>, frame_arena<2>&>);
}

TEST(frame_arena, has_growing_arenas_where_nothing_is_said) {
    frame_arena<3> frames;
    void* made[3];
    for (void*& p : made) {
        p = frames.allocate(300 * 1024);
        EXPECT_NE(p, nullptr);
        frames.swap();
    }
    EXPECT_TRUE(frames.inactive(1).owns(made[2]));
    EXPECT_TRUE(frames.inactive(2).owns(made[1]));
}

TEST(frame_arena, takes_an_upstream_alone) {
    test_upstream upstream;
    {
        frame_arena<2> frames{upstream};
        EXPECT_NE(frames.allocate(100), nullptr);
        frame_arena<2> child{allocator_ref{frames}};
        EXPECT_NE(child.allocate(100), nullptr);
        EXPECT_EQ(upstream.request_count(), 2u) << "the child's block does not fit the first one";
    }
    EXPECT_EQ(upstream.live_count(), 0u);
}

TEST(frame_arena, of_memory_of_the_caller_has_two_fixed_arenas) {
    alignas(64) std::array<std::byte, 1024> buffer;
    frame_arena frames{buffer};
    static_assert(std::is_same_v<decltype(frames), frame_arena<2, arena>>);
    EXPECT_EQ(frames.active().capacity(), 512u);
}

TEST(frame_arena, gives_the_last_block_of_this_frame_back) {
    frame_arena<2> frames{1_KiB};
    void* const p = frames.allocate(100);
    frames.deallocate(p, 100);
    EXPECT_EQ(frames.active().used_size(), 0u);
}

TEST(frame_arena, validates_each_of_its_arenas) {
    struct watched : arena {
        explicit watched(int* c) : arena{64}, checks{c} {}
        void validate() const noexcept { ++*checks; }
        int* checks;
    };
    int checks = 0;
    frame_arena<3, watched> frames{&checks};
    frames.validate();
    EXPECT_EQ(checks, 3);
}

TEST(frame_arena, divides_a_buffer_of_the_callers_among_its_arenas) {
    alignas(64) std::array<std::byte, 1024> buffer;
    frame_arena<3, arena> frames{buffer};
    void* made[3];
    for (void*& p : made) {
        EXPECT_GE(frames.active().capacity(), 336u);
        EXPECT_LE(frames.active().capacity(), 341u);
        p = frames.allocate(300);
        ASSERT_NE(p, nullptr);
        EXPECT_GE(p, static_cast<void*>(buffer.data()));
        EXPECT_LE(static_cast<std::byte*>(p) + 300, buffer.data() + buffer.size());
        frames.swap();
    }
    EXPECT_LE(static_cast<std::byte*>(made[0]) + 300, made[1]) << "no two share a byte";
    EXPECT_LE(static_cast<std::byte*>(made[1]) + 300, made[2]);
}

TEST(frame_arena, converts_to_the_arena_of_this_frame) {
    frame_arena<2> frames{4_KiB};
    const auto load = [](growing_arena& memory) { return memory.make<int>(7); };
    const int* const first = load(frames);
    EXPECT_TRUE(frames.active().owns(first));
    frames.swap();
    const int* const second = load(frames);
    EXPECT_TRUE(frames.active().owns(second));
    EXPECT_TRUE(frames.inactive().owns(first));
    EXPECT_EQ(*first + *second, 14);
}

TEST(frame_arena, resizes_owns_and_rounds_as_the_arena_of_this_frame) {
    frame_arena<2> frames{4_KiB};
    void* const p = frames.allocate(100);
    EXPECT_TRUE(frames.is_last(p, 100));
    EXPECT_TRUE(frames.try_resize(p, 100, 1000));
    EXPECT_EQ(frames.used_size(), 1008u);
    EXPECT_EQ(frames.good_size(1, default_alignment), 16u);
    EXPECT_TRUE(frames.owns(p));
    frames.swap();
    EXPECT_FALSE(frames.owns(p)) << "last frame's memory is not this frame's";
    EXPECT_EQ(frames.used_size(), 0u);
    const auto begin = frames.mark();
    (void)frames.make_array<int>(100);
    frames.rewind(begin);
    EXPECT_EQ(frames.used_size(), 0u);
    EXPECT_EQ(frames.high_water_size(), 400u);
    frames.reset_high_water();
    EXPECT_EQ(frames.high_water_size(), 0u);
    (void)frames.make<int>(1);
    frames.reset();
    EXPECT_EQ(frames.used_size(), 0u);
    EXPECT_EQ(frames.inactive().used_size(), 1008u) << "only this frame was forgotten";
}

TEST(frame_arena, trim_gives_back_the_spare_blocks_of_each_arena) {
    test_upstream upstream;
    frame_arena<3> frames{upstream};
    EXPECT_EQ(frames.trim(), 0u);
    for (int frame = 0; frame < 3; ++frame) {
        for (int i = 0; i < 1000; ++i) { ASSERT_NE(frames.allocate(4_KiB), nullptr); }
        frames.swap();
    }
    for (int frame = 0; frame < 3; ++frame) { frames.swap(); }
    const std::size_t peak = upstream.live_size();
    const std::size_t given = frames.trim();
    EXPECT_EQ(given, peak - upstream.live_size());
    EXPECT_LT(upstream.live_size(), peak / 2);
}
