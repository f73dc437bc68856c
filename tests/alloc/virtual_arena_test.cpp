// Behaviours of cairn/alloc/virtual_arena.hpp.
#include <cairn/alloc/budget.hpp>
#include <cairn/alloc/builder.hpp>
#include <cairn/alloc/virtual_arena.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/os/page_memory.hpp>
#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "support/allocator_contract.hpp"
#include "support/arena_model.hpp"

using namespace cairn;

TEST(virtual_arena, keeps_the_common_contract) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
        virtual_arena a{1_MiB};
        check_allocator_contract(a, seed);
    }
}

TEST(virtual_arena, agrees_with_the_model) {
    for (unsigned seed = 1; seed <= 50; ++seed) {
        virtual_arena a{8_MiB, {.commit_step_min = 4_KiB, .retain_size = 16_KiB}};
        check_arena_against_model(a, seed, {.large_max = 100000});
    }
}

TEST(virtual_arena, an_upstream_counts_its_committed_pages_and_may_refuse_them) {
    budget memory{1_MiB};
    {
        virtual_arena a{memory};
        EXPECT_EQ(a.capacity(), 1_GiB) << "addresses are not counted";
        EXPECT_EQ(memory.live_size(), 0u);
        ASSERT_NE(a.allocate(300'000), nullptr);
        EXPECT_EQ(memory.live_size(), a.committed_size());
        EXPECT_EQ(a.allocate(2_MiB), nullptr);
        EXPECT_LE(memory.live_size(), 1_MiB);
        EXPECT_NE(a.allocate(600'000), nullptr) << "what is left of the budget still serves";
        virtual_arena taken{std::move(a)};
        EXPECT_EQ(memory.live_size(), taken.committed_size());
    }
    EXPECT_EQ(memory.live_size(), 0u) << "all pages are off the count";
    virtual_arena b{1_MiB, memory, {.retain_size = 64_KiB}};
    ASSERT_NE(b.allocate(500'000), nullptr);
    b.reset();
    EXPECT_EQ(memory.live_size(), b.committed_size());
    EXPECT_EQ(b.committed_size(), 64_KiB);
}

TEST(virtual_arena, serves_also_where_the_handler_of_a_budget_fills_its_committed_tail) {
    const std::size_t page = page_memory::size();
    budget memory{64 * page};
    virtual_arena a{1_MiB, memory, {.commit_step_min = 4 * page}};
    const auto tail = [&] { return a.committed_size() - a.used_size(); };
    do { ASSERT_NE(a.allocate(256), nullptr); } while (tail() > page / 2);
    memory.set_limit_size(memory.live_size());
    struct context {
        budget<system_allocator>& memory;
        virtual_arena& arena;
        std::size_t page;
    } both{memory, a, page};
    memory.set_handler(
        [](void* c, const budget_request&) noexcept {
            auto& [of, arena, page_size] = *static_cast<context*>(c);
            while (arena.committed_size() - arena.used_size() >= 256) { (void)arena.allocate(256); }
            of.set_limit_size(of.live_size() + 2 * page_size);
            return false;
        },
        &both);
    EXPECT_NE(a.allocate(page * 3 / 2 - 300), nullptr);
}

TEST(virtual_arena, takes_addresses_first_and_memory_later) {
    virtual_arena a{64_GiB};
    ASSERT_EQ(a.capacity(), 64_GiB);
    EXPECT_EQ(a.committed_size(), 0u);
    auto* const p = static_cast<char*>(a.allocate(100));
    ASSERT_NE(p, nullptr);
    std::memset(p, 1, 100);
    EXPECT_LT(a.committed_size(), 1_MiB);
    auto* const large = static_cast<char*>(a.allocate(10_MiB));
    ASSERT_NE(large, nullptr);
    large[10_MiB - 1] = 1;
    EXPECT_EQ(p[99], 1) << "nothing moved";
    EXPECT_EQ(a.data(), p);
}

TEST(virtual_arena, can_be_filled_to_the_last_byte_and_no_further) {
    virtual_arena a{256_KiB, {.commit_step_min = 4_KiB}};
    const std::size_t capacity = a.capacity();
    ASSERT_NE(a.allocate(capacity - 16), nullptr);
    ASSERT_NE(a.allocate(16), nullptr);
    EXPECT_EQ(a.allocate(1), nullptr);
    EXPECT_EQ(a.used_size(), capacity);
}

TEST(virtual_arena, begins_again_with_small_steps_after_it_gave_memory_back) {
    virtual_arena a{64_MiB,
                    {.commit_step_min = 64_KiB, .commit_step_max = 8_MiB, .retain_size = 64_KiB}};
    while (a.committed_size() < 16_MiB) { ASSERT_NE(a.allocate(60_KiB), nullptr); }
    a.reset();
    ASSERT_EQ(a.committed_size(), 64_KiB);
    ASSERT_NE(a.allocate(64_KiB), nullptr);
    ASSERT_NE(a.allocate(16), nullptr);  // one step
    EXPECT_LE(a.committed_size(), 3 * 64_KiB);
}

TEST(virtual_arena, refuses_an_absurd_reservation_and_stays_usable) {
    virtual_arena a{SIZE_MAX};
    EXPECT_EQ(a.capacity(), 0u);
    EXPECT_EQ(a.allocate(1), nullptr);
    EXPECT_FALSE(a.commit(1));
    a.reset();
    virtual_arena none{0};
    EXPECT_EQ(none.allocate(1), nullptr);
}

TEST(virtual_arena, the_last_block_grows_in_place_across_commits) {
    virtual_arena a{1_GiB, {.commit_step_min = 4_KiB}};
    builder<int> numbers{a};
    for (int i = 0; i < 1000000; ++i) { ASSERT_TRUE(numbers.push_back(i)); }
    EXPECT_EQ(numbers.moved_count(), 0u) << "not one element was copied";
    const slice<int> all = numbers.finish();
    ASSERT_EQ(all.size(), 1000000u);
    EXPECT_EQ(all[999999], 999999);
    EXPECT_EQ(a.used_size(), 4000000u) << "the slack went back";
}

TEST(virtual_arena, reset_gives_memory_above_the_retain_limit_back) {
    virtual_arena a{64_MiB, {.commit_step_min = 64_KiB, .retain_size = 256_KiB}};
    std::memset(a.allocate(8_MiB), 1, 8_MiB);
    a.reset();
    EXPECT_EQ(a.committed_size(), 256_KiB);
    auto* const p = static_cast<char*>(a.allocate(8_MiB));
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(p[5_MiB], 0) << "decommitted pages read as zero when they come back";
}

TEST(virtual_arena, commits_and_prefaults_on_request) {
    virtual_arena a{16_MiB};
    auto* const p = static_cast<char*>(a.allocate(10));
    std::memcpy(p, "cairn", 6);
    ASSERT_TRUE(a.prefault(1_MiB));
    EXPECT_STREQ(p, "cairn");
    EXPECT_GE(a.committed_size(), 1_MiB);
    EXPECT_GE(page_memory::resident_bytes(a.data(), 1_MiB), 1_MiB);
    EXPECT_FALSE(a.commit(17_MiB));
}

TEST(virtual_arena, huge_pages_are_a_wish) {
    virtual_arena a{64_MiB, {.huge = virtual_arena::huge_pages::advised}};
    std::memset(a.allocate(4_MiB), 1, 4_MiB);
    EXPECT_EQ(a.committed_size() % page_memory::huge_size(), 0u);
    EXPECT_TRUE(detail::is_aligned(a.data(), alignment{page_memory::huge_size()}));
}

TEST(virtual_arena, moves_with_its_reservation) {
    virtual_arena a{1_MiB};
    void* const p = a.allocate(100);
    virtual_arena b{std::move(a)};
    EXPECT_TRUE(b.owns(p));
    EXPECT_EQ(a.capacity(), 0u);  // NOLINT: moved-from is empty and valid
    virtual_arena c{1_MiB};
    c = std::move(b);
    EXPECT_TRUE(c.owns(p));
    EXPECT_EQ(c.used_size(), 112u);
}

TEST(virtual_arena_misuse, running_off_the_end_faults_at_once) {
    virtual_arena a{64_KiB};
    const std::size_t capacity = a.capacity();
    auto* const p = static_cast<volatile char*>(a.allocate(capacity));
    ASSERT_NE(p, nullptr);
    EXPECT_DEATH(p[capacity] = 1, "");
}

TEST(virtual_arena, the_first_step_may_be_all_there_is) {
    virtual_arena a{1_MiB, {.commit_step_min = SIZE_MAX, .commit_step_max = SIZE_MAX}};
    ASSERT_NE(a.allocate(1), nullptr);
    EXPECT_EQ(a.committed_size(), a.capacity());
}

TEST(virtual_arena, steps_double_up_to_the_largest_and_not_beyond) {
    virtual_arena a{16_MiB, {.commit_step_min = 64_KiB, .commit_step_max = 192_KiB}};
    std::size_t before = 0;
    while (a.used_size() < 8_MiB) {
        ASSERT_NE(a.allocate(4096), nullptr);
        ASSERT_LE(a.committed_size() - before, 192_KiB + 2 * 4096);
        before = a.committed_size();
    }
}

TEST(virtual_arena, its_end_gives_the_addresses_back) {
    for (int i = 0; i < 200; ++i) {  // 200 TiB: more than a process has
        const virtual_arena a{std::size_t{1} << 40};
        if (i == 0 && a.capacity() == 0) { GTEST_SKIP() << "this system has no TiB of addresses"; }
        ASSERT_NE(a.capacity(), 0u) << i;
    }
}

TEST(virtual_arena, steps_of_zero_and_no_guard_are_allowed) {
    virtual_arena a{1_MiB, {.commit_step_min = 0, .end_guard = virtual_arena::guard::none}};
    EXPECT_EQ(a.capacity(), 1_MiB);
    std::memset(a.allocate(1_MiB), 1, 1_MiB);
    EXPECT_EQ(a.allocate(1), nullptr);
}

TEST(virtual_arena, a_step_of_zero_is_a_step_of_one_page) {
    virtual_arena zero{1_MiB, {.commit_step_min = 0}};
    virtual_arena page{1_MiB, {.commit_step_min = 1}};
    while (page.allocate(page_memory::size()) != nullptr) {
        ASSERT_NE(zero.allocate(page_memory::size()), nullptr);
        ASSERT_EQ(zero.committed_size(), page.committed_size());
    }
}

TEST(virtual_arena, assigned_to_itself_it_keeps_everything) {
    virtual_arena a{1_MiB};
    void* const p = a.allocate(16);
    virtual_arena& same = a;
    a = std::move(same);
    EXPECT_EQ(a.used_size(), 16u);
    std::memset(p, 1, 16);
}

TEST(virtual_arena, trim_gives_back_what_a_peak_took_and_keeps_what_is_used) {
    virtual_arena memory{64_MiB};
    EXPECT_EQ(memory.trim(), 0u);
    int* const kept = memory.make<int>(7);
    const auto peak = memory.mark();
    ASSERT_NE(memory.allocate(32_MiB), nullptr);
    memory.rewind(peak);
    const std::size_t held = memory.committed_size();
    EXPECT_GE(held, 32_MiB);
    const std::size_t given = memory.trim();
    EXPECT_EQ(given, held - memory.committed_size());
    EXPECT_EQ(memory.committed_size(), page_memory::size());
    EXPECT_EQ(memory.trim(), 0u);
    EXPECT_EQ(*kept, 7);
    void* const again = memory.allocate(32_MiB);
    ASSERT_NE(again, nullptr);
    std::memset(again, 1, 32_MiB);
    memory.reset();
    EXPECT_GT(memory.trim(), 32_MiB);
    EXPECT_EQ(memory.committed_size(), 0u);
}
