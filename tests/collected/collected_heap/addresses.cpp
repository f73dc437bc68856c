// Sentences of collected_heap's constructors: where its pages come from, and who counts them.
#include <cairn/alloc/budget.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/locked.hpp>
#include <cairn/collected/collected_heap.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/os/system_allocator.hpp>
#include <gtest/gtest.h>

#include <utility>

#include "collected/collected_heap/nodes.hpp"
#include "support/sanitizers.hpp"

#if defined(__linux__)
#    include <sys/resource.h>

#    include <cstdio>

#    include "support/forking.hpp"
#endif

namespace {

using namespace nodes;
using namespace cairn::literals;

TEST(collected_heap_test, a_heap_without_a_size_has_the_default_one) {
    collected_heap heap;
    EXPECT_EQ(heap.capacity(), collected_heap::size_default);
    EXPECT_NE(made(heap), nullptr);
    cairn::system_allocator memory;
    collected_heap other{memory};
    EXPECT_EQ(other.capacity(), collected_heap::size_default);
    EXPECT_NE(made(other), nullptr);
}

TEST(collected_heap_test, a_budget_counts_its_pages_and_gives_none) {
    cairn::system_allocator memory;
    cairn::budget limit{2_MiB, memory};
    {
        collected_heap heap{1_MiB, limit};
        EXPECT_EQ(heap.capacity(), 1_MiB);
        EXPECT_GT(limit.live_size(), 1_MiB);
        EXPECT_NE(made(heap), nullptr);
        const std::size_t counted = limit.live_size();
        collected_heap second{1_MiB, limit};
        EXPECT_EQ(second.capacity(), 0u) << "beyond the limit";
        EXPECT_EQ(second.make<node>(), nullptr);
        EXPECT_EQ(limit.refused_count(), 1u);
        EXPECT_EQ(limit.live_size(), counted);
        const collected_heap moved = std::move(heap);
        EXPECT_EQ(limit.live_size(), counted);
    }
    EXPECT_EQ(limit.live_size(), 0u);
}

TEST(collected_heap_test, each_budget_of_a_chain_counts_its_pages) {
    cairn::system_allocator memory;
    cairn::budget all{4_MiB, memory};
    cairn::locked shared{all};
    cairn::budget part{3_MiB, shared};
    {
        const collected_heap heap{1_MiB, part};
        EXPECT_GT(part.live_size(), 1_MiB);
        EXPECT_EQ(part.live_size(), all.live_size());
        const collected_heap large{2_MiB, part};
        EXPECT_EQ(large.capacity(), 0u);
        all.set_limit_size(1_MiB);
        part.set_limit_size(64_MiB);
        const collected_heap refused{1_MiB, part};
        EXPECT_EQ(refused.capacity(), 0u) << "the budget behind has no room";
        EXPECT_EQ(part.live_size(), all.live_size()) << "the budget in front has not counted it";
    }
    EXPECT_EQ(part.live_size(), 0u);
    EXPECT_EQ(all.live_size(), 0u);
}

TEST(collected_heap_test, any_allocator_may_be_its_upstream) {
    cairn::growing_arena arena;
    collected_heap heap{1_MiB, arena};
    EXPECT_EQ(heap.capacity(), 1_MiB);
    EXPECT_NE(made(heap), nullptr);
}

#if defined(__linux__)

/// Bytes of addresses that this process has.
std::size_t addresses_in_use() {
    std::size_t pages = 0;
    std::FILE* const f = std::fopen("/proc/self/statm", "r");
    if (f == nullptr) { return 0; }
    if (std::fscanf(f, "%zu", &pages) != 1) { pages = 0; }
    std::fclose(f);
    return pages * cairn::page_memory::size();
}

TEST(collected_heap_test, it_works_where_addresses_are_limited) {
    if (under_tsan || checker_is_faster()) {
        GTEST_SKIP() << "a checker needs addresses without a limit";
    }
    const auto works_within = [](std::size_t more, std::size_t size) {
        const std::size_t all = addresses_in_use() + more;
        const rlimit limit{all, all};
        if (::setrlimit(RLIMIT_AS, &limit) != 0) { return false; }
        collected_heap heap{size};
        return heap.make<node>() != nullptr && heap.collect().is_idle;
    };
    EXPECT_TRUE(child_finds([&] { return works_within(32_MiB, 1_MiB); }));
    EXPECT_TRUE(child_finds([&] { return works_within(128_MiB, 64_MiB); }));
    EXPECT_TRUE(child_finds([&] {
        const bool has_room = works_within(32_MiB, 64_MiB);
        collected_heap refused{64_MiB};
        return !has_room && refused.capacity() == 0 && refused.make<node>() == nullptr;
    }));
}

#endif

}  // namespace
