// Sentences of cairn/core/allocator_ref.hpp.
#include <cairn/alloc/pool.hpp>
#include <cairn/core/allocator_ref.hpp>
#include <cairn/debug/guarded.hpp>
#include <cairn/os/system_allocator.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <source_location>
#include <type_traits>

using namespace cairn;

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
