// Behaviours of the small words in cairn/core: alignment, sizes, bits, allocator_ref, the ends of
// chains. Each name is a sentence the headers promise.
#include <cairn/alloc/pool.hpp>
#include <cairn/core/alignment.hpp>
#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/bits.hpp>
#include <cairn/core/cache_line.hpp>
#include <cairn/core/make.hpp>
#include <cairn/core/null_allocator.hpp>
#include <cairn/core/or_abort.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/core/slice.hpp>
#include <cairn/debug/expect_broken_promise.hpp>
#include <cairn/debug/guarded.hpp>
#include <cairn/os/system_allocator.hpp>
#include <gtest/gtest.h>

#include <array>
#include <source_location>
#include <span>
#include <string_view>
#include <vector>

#include "support/test_upstream.hpp"

using namespace cairn;

TEST(alignment, rounds_both_ways_and_knows_its_padding) {
    EXPECT_EQ(round_up(0, alignment{64}), 0u);
    EXPECT_EQ(round_up(1, alignment{64}), 64u);
    EXPECT_EQ(round_down(127, alignment{64}), 64u);
    EXPECT_EQ(padding_to(65, alignment{64}), 63u);
    EXPECT_EQ(alignment::of<double>().bytes(), alignof(double));
}

TEST(alignment, anything_but_a_power_of_two_is_named_in_checked_builds) {
    if (asserts_enabled) {
        EXPECT_DEATH((void)alignment{static_cast<std::size_t>(24)},
                     "an alignment is a power of two");
    }
}

TEST(alignment, is_ordered_by_its_bytes) {
    const alignment small{static_cast<std::size_t>(8)};
    const alignment large{static_cast<std::size_t>(16)};
    EXPECT_TRUE(small < large && large > small && small <= large && large >= small);
    EXPECT_FALSE(large < small || small > large || large <= small || small >= large);
    EXPECT_TRUE(small <= small && small >= small);
    EXPECT_FALSE(small < small || small > small);
}

TEST(sizes, literals_are_bytes) {
    EXPECT_EQ(64_KiB, 65536u);
    EXPECT_EQ(2_MiB, 2097152u);
}

TEST(allocator_ref, a_temporary_does_not_convert) {
    static_assert(std::is_constructible_v<allocator_ref, system_allocator&>);
    static_assert(!std::is_constructible_v<allocator_ref, system_allocator>);
    static_assert(!std::is_constructible_v<allocator_ref, const system_allocator&>);
}

TEST(allocator_ref, an_allocator_and_its_first_member_are_two) {
    struct inner {
        void* allocate(std::size_t, alignment) noexcept { return nullptr; }
        void deallocate(void*, std::size_t, alignment) noexcept {}
    };
    struct outer {
        inner first;
        void* allocate(std::size_t, alignment) noexcept { return nullptr; }
        void deallocate(void*, std::size_t, alignment) noexcept {}
    } both;
    EXPECT_FALSE(allocator_ref{both} == allocator_ref{both.first});
    EXPECT_TRUE(allocator_ref{both} == allocator_ref{both});
}

TEST(slice, is_made_of_names_and_of_views_and_of_no_temporary_that_owns) {
    using bytes = std::vector<std::byte>;
    using array = std::array<std::byte, 8>;
    static_assert(std::is_constructible_v<byte_slice, bytes&>);
    static_assert(std::is_constructible_v<byte_slice, array&>);
    static_assert(std::is_constructible_v<byte_slice, std::byte(&)[8]>);
    static_assert(std::is_constructible_v<byte_slice, std::span<std::byte>>);
    static_assert(std::is_constructible_v<byte_slice, const std::span<std::byte, 8>>);
    static_assert(std::is_constructible_v<slice<const char>, std::string_view>);
    static_assert(!std::is_constructible_v<byte_slice, bytes>);
    static_assert(!std::is_constructible_v<byte_slice, array>);
    static_assert(!std::is_constructible_v<byte_slice, const bytes&>);
    // As std::span: constant elements may be a temporary's, for the length of a call.
    static_assert(std::is_constructible_v<slice<void* const>, std::vector<void*>>);
}

TEST(allocator_ref, carries_the_line_that_frees) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    pool slots{64};
    const allocator_ref memory{slots};
    void* const p = memory.allocate(64);
    memory.deallocate(p, 64);
    const unsigned line = std::source_location::current().line() + 1;
    const auto told = expect_broken_promise([&] { memory.deallocate(p, 64); });
    EXPECT_EQ(told.kind(), misuse_kind::double_free) << told;
    EXPECT_EQ(told.line(), line) << told;
    guarded<pool&> guard{slots};  // takes a line in every build
    const allocator_ref guarded_memory{guard};
    const auto foreign = expect_broken_promise([&] { guarded_memory.deallocate(&slots, 64); });
    EXPECT_EQ(foreign.line(), line + 5) << foreign;
}

TEST(allocator_ref, missing_operations_have_a_plain_answer) {
    const allocator_ref system = system_memory();
    void* const p = system.allocate(100);
    ASSERT_NE(p, nullptr);
    EXPECT_FALSE(system.try_resize(p, 100, 200));
    EXPECT_EQ(system.good_size(100), 100u);
    EXPECT_FALSE(system.can_tell_owner());
    system.deallocate(p, 100);
}

TEST(system_allocator, serves_every_alignment_and_refuses_the_absurd) {
    const allocator_ref system = system_memory();
    for (std::size_t align = 1; align <= 4096; align *= 2) {
        void* const p = system.allocate(3, alignment{align});
        ASSERT_NE(p, nullptr);
        EXPECT_TRUE(is_aligned(p, alignment{align}));
        system.deallocate(p, 3, alignment{align});
    }
    EXPECT_EQ(system.allocate(SIZE_MAX), nullptr);
    EXPECT_EQ(system.allocate(SIZE_MAX, alignment{4096}), nullptr);
    void* const empty = system.allocate(0);
    EXPECT_NE(empty, nullptr);
    system.deallocate(empty, 0);
}

TEST(null_allocator, refuses_everything) { EXPECT_EQ(no_memory().allocate(1), nullptr); }

TEST(null_allocator, owns_nothing) {
    const int local = 0;
    EXPECT_FALSE(null_allocator{}.owns(&local));
}

TEST(or_abort, frees_to_the_allocator_inside) {
    test_upstream upstream;
    or_abort memory{upstream};
    memory.deallocate(memory.allocate(10), 10);
    EXPECT_EQ(upstream.live_count(), 0u);
}

TEST(slice, front_and_back_are_the_first_and_the_last) {
    int numbers[] = {1, 2, 3};
    const slice<int> s{numbers, 3};
    EXPECT_EQ(&s.front(), numbers);
    EXPECT_EQ(&s.back(), numbers + 2);
}

TEST(or_abort, ends_the_program_with_the_size_that_was_asked_for) {
    null_allocator none;
    or_abort memory{none};
    EXPECT_DEATH((void)memory.allocate(123, alignment{32}), "123 bytes, aligned to 32");
}

TEST(make, builds_and_destroys_one_object) {
    system_allocator system;
    struct point {
        int x, y;
    };
    point* const p = make<point>(system, 1, 2);
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(p->y, 2);
    destroy(system, p);
    null_allocator none;
    EXPECT_EQ(make<point>(none, 1, 2), nullptr);
}
