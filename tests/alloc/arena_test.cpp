// Behaviours of cairn/alloc/arena.hpp. Each name is a sentence the header promises.
#include <cairn/alloc/arena.hpp>
#include <cairn/core/null_allocator.hpp>
#include <cairn/core/sizes.hpp>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "support/allocator_contract.hpp"
#include "support/arena_model.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;

namespace {

template <std::size_t Size>
struct buffer_of {
    alignas(64) std::array<std::byte, Size> bytes;
};

}  // namespace

TEST(arena, keeps_the_common_contract) {
    for (unsigned seed = 1; seed <= 30; ++seed) {
        test_upstream upstream;
        arena a{32_KiB, upstream};
        check_allocator_contract(a, seed);
        EXPECT_EQ(upstream.request_count(), 1u) << "an absurd size costs no block";
    }
}

TEST(arena, agrees_with_the_model) {
    for (unsigned seed = 1; seed <= 50; ++seed) {
        test_upstream upstream;
        arena a{64_KiB, upstream};
        check_arena_against_model(a, seed);
    }
}

TEST(arena, can_be_filled_to_the_last_byte) {
    buffer_of<64> buffer;
    arena a{buffer.bytes};
    EXPECT_EQ(a.allocate(64, alignment{1}), buffer.bytes.data());
    EXPECT_EQ(a.free_size(), 0u);
    EXPECT_EQ(a.allocate(1, alignment{1}), nullptr);
}

TEST(arena, uses_the_whole_granules_of_an_odd_buffer) {
    buffer_of<64> buffer;
    arena a{std::span<std::byte>{buffer.bytes}.subspan(1, 50)};
    EXPECT_EQ(a.capacity(), 32u);
    EXPECT_EQ(a.allocate(1), buffer.bytes.data() + 16);
    arena tiny{std::span<std::byte>{buffer.bytes}.subspan(1, 5)};
    EXPECT_EQ(tiny.capacity(), 0u);
}

TEST(arena, a_refused_allocation_changes_nothing) {
    buffer_of<64> buffer;
    arena a{buffer.bytes};
    ASSERT_NE(a.allocate(10), nullptr);
    EXPECT_EQ(a.allocate(49), nullptr);
    EXPECT_EQ(a.used_size(), 16u);
}

TEST(arena, an_upstream_that_refuses_leaves_an_empty_usable_arena) {
    test_upstream upstream;
    upstream.refuse_from(0);
    arena a{1_MiB, upstream};
    EXPECT_EQ(a.capacity(), 0u);
    EXPECT_EQ(a.allocate(1), nullptr);
    EXPECT_NE(a.allocate(0), nullptr);
    a.reset();
    a.validate();
}

TEST(arena, alignment_up_to_4096_is_served) {
    arena a{64_KiB};
    for (std::size_t align = 1; align <= 4096; align *= 2) {
        EXPECT_TRUE(detail::is_aligned(a.allocate(1, alignment{align}), alignment{align}));
    }
    const std::size_t before = a.used_size();
    EXPECT_EQ(a.allocate(1, alignment{std::size_t{1} << 40}), nullptr);
    EXPECT_EQ(a.used_size(), before);
}

TEST(arena, rewind_makes_the_same_bytes_available_again) {
    arena a{1_KiB};
    (void)a.allocate(3);
    const arena::marker before = a.mark();
    void* const first = a.allocate(16);
    a.rewind(before);
    EXPECT_EQ(a.allocate(16), first);
    a.rewind(before);
    EXPECT_EQ(a.allocate(16), first) << "a marker can be rewound to again";
}

TEST(arena, the_last_block_gives_its_bytes_back) {
    arena a{1_KiB};
    void* const first = a.allocate(100);
    void* const second = a.allocate(200);
    a.deallocate(second, 200);
    EXPECT_EQ(a.allocate(300), second);
    a.deallocate(first, 100);
    EXPECT_EQ(a.used_size(), 112u + 304u) << "an inner block waits for a rewind";
}

TEST(arena, the_last_block_grows_and_any_block_shrinks_in_place) {
    arena a{1_KiB};
    void* const first = a.allocate(100);
    EXPECT_TRUE(a.try_resize(first, 100, 500));
    void* const second = a.allocate(16);
    EXPECT_FALSE(a.try_resize(first, 500, 600));
    EXPECT_TRUE(a.try_resize(first, 500, 510)) << "up to the granule there is room";
    EXPECT_TRUE(a.try_resize(first, 510, 10));
    EXPECT_FALSE(a.try_resize(second, 16, 10000));
    EXPECT_FALSE(a.try_resize(second, 16, SIZE_MAX));
    EXPECT_TRUE(a.try_resize(second, 16, a.free_size() + 16));
    EXPECT_EQ(a.free_size(), 0u);
}

TEST(arena, high_water_is_known_through_frees_rewinds_and_resets) {
    arena a{4_KiB};
    void* const p = a.allocate(1000);
    EXPECT_EQ(a.high_water_size(), 1008u);
    a.deallocate(p, 1000);
    (void)a.allocate(16);
    EXPECT_EQ(a.high_water_size(), 1008u);
    a.reset();
    EXPECT_EQ(a.high_water_size(), 1008u);
    (void)a.allocate(2000);
    EXPECT_EQ(a.high_water_size(), 2000u);
    a.reset();
    a.reset_high_water();
    EXPECT_EQ(a.high_water_size(), 0u);
}

TEST(arena, consecutive_page_multiple_blocks_start_in_different_cache_sets) {
    arena a{1_MiB};
    auto* const first = static_cast<std::byte*>(a.allocate(8_KiB));
    auto* const second = static_cast<std::byte*>(a.allocate(8_KiB));
    EXPECT_EQ(second - first, static_cast<std::ptrdiff_t>(8_KiB + cache_line_size));
    a.deallocate(second, 8_KiB);
    EXPECT_EQ(a.allocate(8_KiB), second) << "a pair of calls in a loop does not creep";
    a.reset();
    auto* const third = static_cast<std::byte*>(a.allocate(8_KiB + 64));
    auto* const fourth = static_cast<std::byte*>(a.allocate(8_KiB + 64));
    EXPECT_EQ(fourth - third, static_cast<std::ptrdiff_t>(8_KiB + 64)) << "no colour needed";
}

TEST(arena, colouring_never_costs_the_last_block_its_place) {
    buffer_of<16384> buffer;
    arena a{buffer.bytes};
    EXPECT_NE(a.allocate(8192), nullptr);
    EXPECT_NE(a.allocate(8192), nullptr);
    EXPECT_EQ(a.free_size(), 0u);
}

TEST(arena, makes_objects_and_arrays_of_trivial_types) {
    struct particle {
        float x, y;
    };
    arena a{1_KiB};
    particle* const p = a.make<particle>(1.0f, 2.0f);
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(p->y, 2.0f);
    std::span<int> numbers = a.make_array<int>(10);
    ASSERT_EQ(numbers.size(), 10u);
    for (int n : numbers) { EXPECT_EQ(n, 0); }
    EXPECT_TRUE(a.make_array<int>(SIZE_MAX / 2).empty());
    EXPECT_TRUE(a.make_array<int>(1000).empty());
    EXPECT_EQ(a.make_array_for_overwrite<int>(5).size(), 5u);
}

TEST(arena, good_size_is_what_a_request_takes) {
    arena a{1_KiB};
    for (std::size_t size = 1; size <= 64; ++size) {
        const std::size_t before = a.used_size();
        void* const p = a.allocate(size);
        EXPECT_EQ(a.good_size(size, default_alignment), a.used_size() - before);
        a.deallocate(p, size);
    }
    EXPECT_EQ(a.good_size(SIZE_MAX, default_alignment), SIZE_MAX)
        << "what no arena has is not rounded past it";
}

TEST(arena, every_element_of_an_array_is_value_initialized) {
    arena a{1_KiB};
    std::memset(a.allocate(1024), 0xA5, 1024);
    a.reset();
    for (const int i : a.make_array<int>(100)) { EXPECT_EQ(i, 0); }
}

TEST(arena, moves_with_its_blocks_and_markers) {
    test_upstream upstream;
    arena a{1_KiB, upstream};
    void* const p = a.allocate(100);
    const auto here = a.mark();
    (void)a.allocate(100);
    arena b{std::move(a)};
    EXPECT_TRUE(b.owns(p));
    EXPECT_EQ(a.capacity(), 0u);  // NOLINT: a moved-from arena is empty and valid
    if (!asserts_enabled) { EXPECT_EQ(a.allocate(1), nullptr); }  // NOLINT: else it is named
    b.rewind(here);
    EXPECT_EQ(b.used_size(), 112u);
    arena c{64, upstream};
    c = std::move(b);
    EXPECT_TRUE(c.owns(p));
    EXPECT_EQ(upstream.live_count(), 1u);
}

TEST(arena, chains_serve_as_upstreams_of_each_other) {
    test_upstream upstream;
    arena level{64_KiB, upstream};
    {
        arena frame{16_KiB, level};
        EXPECT_TRUE(level.owns(frame.allocate(100)));
    }
    EXPECT_EQ(level.used_size(), 0u) << "the last block came back";
}

TEST(arena, freed_and_unallocated_memory_is_poisoned) {
    if (!detail::poison_is_queryable) { GTEST_SKIP() << "needs AddressSanitizer"; }
    arena a{1_KiB};
    auto* const first = static_cast<char*>(a.allocate(20));
    auto* const second = static_cast<char*>(a.allocate(20));
    EXPECT_FALSE(is_poisoned(first + 19));
    EXPECT_TRUE(is_poisoned(first + 20)) << "the rounding is a red zone";
    EXPECT_TRUE(is_poisoned(second + 32));
    a.deallocate(first, 20);
    EXPECT_TRUE(is_poisoned(first));
    a.reset();
    EXPECT_TRUE(is_poisoned(second));
    alignas(16) std::array<std::byte, 64> buffer;
    { arena b{buffer}; }
    EXPECT_FALSE(is_poisoned(buffer.data())) << "the caller gets its buffer back";
}

#if CAIRN_ASSERTS
TEST(mark_check, a_moved_from_one_marks_with_a_number_that_none_had_before) {
    detail::mark_check a;
    detail::mark_check b;
    std::set<std::uint64_t> numbers{a.mark(1).arena_id, b.mark(1).arena_id};
    const detail::mark_check from_a{std::move(a)};
    const detail::mark_check from_b{std::move(b)};
    numbers.insert(a.mark(1).arena_id);  // NOLINT: a new life begins
    numbers.insert(b.mark(1).arena_id);  // NOLINT
    EXPECT_EQ(numbers.size(), 4u);
}
#endif

// ------------------------------------------------------------------ misuse is named

TEST(arena_misuse, is_named_in_checked_builds) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    arena a{1_KiB};
    arena other{1_KiB};
    int local = 0;
    EXPECT_DEATH(a.deallocate(&local, 4), "comes back to the arena that it was allocated from");
    EXPECT_DEATH(
        {
            void* const p = a.allocate(16);
            a.deallocate(p, 16);
            a.deallocate(p, 16);
        },
        "freed once");
    EXPECT_DEATH(a.rewind(other.mark()), "on the arena that it was taken from");
    EXPECT_DEATH(
        {
            const auto old = a.mark();
            a.reset();
            a.rewind(old);
        },
        "does not outlive reset");
    EXPECT_DEATH(
        {
            const auto outer = a.mark();
            (void)a.allocate(16);
            const auto inner = a.mark();
            a.rewind(outer);
            (void)a.allocate(64);
            a.rewind(inner);
        },
        "newest first");
}
