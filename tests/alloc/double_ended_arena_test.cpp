// Behaviours of cairn/alloc/double_ended_arena.hpp and frame_arena.hpp.
#include <cairn/alloc/arena_scope.hpp>
#include <cairn/alloc/array_recycler.hpp>
#include <cairn/alloc/builder.hpp>
#include <cairn/alloc/double_ended_arena.hpp>
#include <cairn/alloc/frame_arena.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/monotonic.hpp>
#include <cairn/alloc/virtual_arena.hpp>
#include <cairn/core/make.hpp>
#include <cairn/core/sizes.hpp>
#include <gtest/gtest.h>

#include <array>
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
}

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
    frame_arena<2> refused{1_KiB, allocator_ref{upstream}};
    EXPECT_EQ(refused.allocate(1), nullptr);
    static_assert(!std::is_constructible_v<frame_arena<2>, std::size_t, test_upstream>,
                  "an upstream that ends with the line is refused");
    static_assert(!std::is_constructible_v<frame_arena<2>, frame_arena<2>&>);
}

TEST(double_ended_arena, neighbours_of_a_page_multiple_keep_an_alignment_above_a_cache_line) {
    double_ended_arena a{1_MiB};
    for (const std::size_t bytes : {std::size_t{128}, std::size_t{4096}, std::size_t{16384}}) {
        for (int i = 0; i < 4; ++i) {
            EXPECT_TRUE(is_aligned(a.high().allocate(16384, alignment{bytes}), alignment{bytes}));
            EXPECT_TRUE(is_aligned(a.low().allocate(16384, alignment{bytes}), alignment{bytes}));
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
    frame_arena<3> frames{buffer};
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
    const auto load = [](arena& memory) { return memory.make<int>(7); };
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

// ---- wherever an arena is ------------------------------------------------------------------------

namespace {

/// Runs its destructor inside a scope.
struct counted {
    explicit counted(int& n) : alive{n} { ++alive; }
    ~counted() { --alive; }
    int& alive;
};

/// A function that takes an arena, by the concept: everything of the library that is built on one.
template <any_arena Arena>
void use_as_an_arena(Arena& memory) {
    const std::size_t before = memory.used_size();
    const typename Arena::marker begin = memory.mark();
    int alive = 0;
    {
        arena_scope scope{memory};
        EXPECT_NE(scope.template make<counted>(alive), nullptr);
        EXPECT_EQ(alive, 1);
        builder<int> through_a_ref{memory};
        builder<int, Arena> named{memory};
        for (int i = 0; i < 20; ++i) {
            EXPECT_TRUE(through_a_ref.push_back(i));
            EXPECT_TRUE(named.push_back(i));
        }
        EXPECT_EQ(through_a_ref.finish().size() + named.finish().size(), 40u);
    }
    EXPECT_EQ(alive, 0);
    EXPECT_EQ(memory.used_size(), before);
    array_recycler<Arena&> recycled{memory};
    monotonic<Arena&> grown{memory};
    EXPECT_NE(recycled.allocate(64), nullptr);
    EXPECT_NE(grown.allocate(64), nullptr);
    int* const number = cairn::make<int>(memory, 5);
    EXPECT_TRUE(memory.owns(number));
    EXPECT_TRUE(memory.is_last(number, sizeof(int)));
    EXPECT_EQ(memory.template make_array<char>(3).size(), 3u);
    EXPECT_GE(memory.high_water_size(), memory.used_size());
    memory.rewind(begin);
    EXPECT_EQ(memory.used_size(), before);
    memory.validate();
}

/// One that is compiled once.
int* make_a_number(allocator_ref memory) { return cairn::make<int>(memory, 9); }

}  // namespace

TEST(any_arena, is_each_of_them_and_both_ends) {
    arena fixed{4_KiB};
    growing_arena growing{1_KiB};
    virtual_arena large{1_MiB};
    double_ended_arena ends{8_KiB};
    frame_arena<2> frames{4_KiB};
    use_as_an_arena(fixed);
    use_as_an_arena(growing);
    use_as_an_arena(large);
    use_as_an_arena(ends.low());
    use_as_an_arena(ends.high());
    use_as_an_arena(frames);
    frames.swap();
    use_as_an_arena(frames);
    static_assert(!any_arena<test_upstream> && !any_arena<allocator_ref>);
}

TEST(any_arena, serves_functions_that_are_compiled_once_as_an_allocator) {
    double_ended_arena ends{4_KiB};
    const int* const low = make_a_number(ends.low());
    const int* const high = make_a_number(ends.high());
    EXPECT_TRUE(ends.low().owns(low));
    EXPECT_TRUE(ends.high().owns(high));
    EXPECT_EQ(*low + *high, 18);
}
