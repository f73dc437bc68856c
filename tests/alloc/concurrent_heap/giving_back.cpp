// Sentences of cairn/alloc/concurrent_heap.hpp about memory that goes back, and refusals.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/concurrent_heap.hpp>
#include <cairn/core/null_allocator.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/debug/guarded.hpp>
#include <cairn/debug/tracked.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <vector>

#include "support/expectations.hpp"
#include "support/sanitizers.hpp"
#include "support/test_upstream.hpp"

namespace {

using cairn::alignment;
using cairn::concurrent_heap;
using namespace cairn::literals;

struct block {
    void* p;
    std::size_t size;
};

std::vector<block> fill(concurrent_heap& h, std::size_t count, std::size_t size_max) {
    std::mt19937 random{7};
    std::vector<block> blocks;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t size = 1 + random() % size_max;
        void* const p = h.allocate(size);
        if (p == nullptr) { break; }
        blocks.push_back({p, size});
    }
    return blocks;
}

void free_all(concurrent_heap& h, const std::vector<block>& blocks) {
    for (const block& b : blocks) { h.deallocate(b.p, b.size); }
}

TEST(concurrent_heap, everything_goes_back_by_one_trim_when_all_is_freed) {
    test_upstream upstream;
    concurrent_heap h{upstream};
    free_all(h, fill(h, 20'000, 3000));
    EXPECT_GT(upstream.live_size(), 20_MiB);
    EXPECT_GT(h.trim(), 20_MiB);
    EXPECT_EQ(upstream.live_count(), 0u);
    EXPECT_EQ(h.stats().segment_size, 0u);
    h.validate();
    free_all(h, fill(h, 100, 3000));
    h.validate();
}

TEST(concurrent_heap, units_serve_any_class_after_they_served_one) {
    concurrent_heap h;
    std::size_t first = 0;
    for (const std::size_t size : {16_B, 1000_B, 32_KiB, 100_KiB, 48_B, 7_KiB}) {
        std::vector<void*> blocks;
        for (std::size_t all = 0; all < 8_MiB; all += size) { blocks.push_back(h.allocate(size)); }
        for (void* p : blocks) { h.deallocate(p); }
        if (first == 0) { first = h.stats().segment_size; }
    }
    // What lies in the cache and in batches keeps chunks.
    EXPECT_LE(h.stats().segment_size, 3 * first);
    h.validate();
}

TEST(concurrent_heap, trim_idle_returns_what_was_free_since_its_last_call) {
    concurrent_heap h;
    void* const p = h.allocate(2_MiB);
    std::memset(p, 1, 2_MiB);
    h.deallocate(p);
    EXPECT_EQ(h.trim_idle(), 0u) << "it became free since the last call";
    h.deallocate(h.allocate(2_MiB));
    EXPECT_EQ(h.trim_idle(), 0u) << "it was used since the last call";
    EXPECT_GE(h.trim_idle(), 2_MiB);
    EXPECT_EQ(h.trim_idle(), 0u);
    h.validate();
}

TEST(concurrent_heap, trim_idle_keeps_segments_that_were_used_since_its_last_call) {
    concurrent_heap h;
    void* first[12];
    ASSERT_EQ(h.allocate_n(first, 64_KiB), 12u);
    h.deallocate(first[1]);
    EXPECT_EQ(h.trim_idle(), 0u);
    // Segments of their own, which are empty at the end; one unit of the first is idle.
    void* later[200];
    ASSERT_EQ(h.allocate_n(later, 256_KiB), 200u);
    h.deallocate_n(later, 256_KiB);
    const std::size_t segment_size = h.stats().segment_size;
    EXPECT_EQ(h.trim_idle(), 64_KiB);
    EXPECT_EQ(h.stats().segment_size, segment_size);
    EXPECT_GE(h.trim_idle(), 200 * 256_KiB) << "now they were idle";
    for (void*& p : first) {
        if (&p != &first[1]) { h.deallocate(p); }
    }
    h.validate();
}

TEST(concurrent_heap, trim_idle_returns_a_part_of_a_run_that_was_used_in_part) {
    concurrent_heap h;
    void* const p = h.allocate(10 * 64_KiB);
    void* const behind = h.allocate(64_KiB);
    std::memset(p, 1, 10 * 64_KiB);
    h.deallocate(p);
    EXPECT_EQ(h.trim_idle(), 0u);
    h.deallocate(h.allocate(6 * 64_KiB));
    EXPECT_EQ(h.trim_idle(), 4 * 64_KiB);
    h.validate();
    auto* const zero = static_cast<unsigned char*>(h.allocate_zeroed(10 * 64_KiB));
    EXPECT_TRUE(std::all_of(zero, zero + 10 * 64_KiB, [](unsigned char c) { return c == 0; }));
    h.deallocate(zero);
    EXPECT_EQ(h.trim_idle(), 0u);
    EXPECT_EQ(h.trim_idle(), 10 * 64_KiB);
    EXPECT_EQ(h.trim_idle(), 0u);
    h.deallocate(behind);
    h.validate();
}

TEST(concurrent_heap, trim_idle_leaves_the_rest_of_a_used_run_to_its_next_call) {
    concurrent_heap h;
    void* const p = h.allocate(10 * 64_KiB);
    void* const behind = h.allocate(64_KiB);
    h.deallocate(p);
    EXPECT_EQ(h.trim_idle(), 0u);
    h.deallocate(h.allocate(6 * 64_KiB));
    EXPECT_EQ(h.trim_idle(), 4 * 64_KiB);
    EXPECT_EQ(h.trim_idle(), 6 * 64_KiB);
    h.deallocate(behind);
}

TEST(concurrent_heap, trim_idle_keeps_what_was_reserved_since_its_last_call) {
    concurrent_heap h;
    ASSERT_TRUE(h.reserve(2_MiB));
    EXPECT_EQ(h.trim_idle(), 0u);
    EXPECT_GE(h.stats().segment_size, 2_MiB);
}

TEST(concurrent_heap, trim_gives_back_one_run_in_one_step) {
    concurrent_heap h;
    void* blocks[6];
    ASSERT_EQ(h.allocate_n(blocks, 64_KiB), 6u);
    for (const int i : {0, 2, 4}) { h.deallocate(blocks[i]); }
    for (int i = 0; i < 3; ++i) { EXPECT_EQ(h.trim({.steps = 1}), 64_KiB); }
    EXPECT_EQ(h.trim({.steps = 1}), 0u);
    for (const int i : {1, 3, 5}) { h.deallocate(blocks[i]); }
}

TEST(concurrent_heap, zeroes_a_block_of_its_own_segment_that_upstream_had_before) {
    const auto memory = std::make_unique<std::byte[]>(6_MiB);
    cairn::arena region{cairn::byte_slice{memory.get(), 6_MiB}};
    concurrent_heap h{region};
    for (int i = 0; i < 2; ++i) {
        auto* const p = static_cast<unsigned char*>(h.allocate_zeroed(5_MiB));
        ASSERT_NE(p, nullptr);
        EXPECT_TRUE(std::all_of(p, p + 5_MiB, [](unsigned char c) { return c == 0; }));
        std::memset(p, 7, 5_MiB);
        h.deallocate(p);
    }
}

#if defined(__linux__)

/// Pages of addresses that the program has.
std::size_t count_address_pages() {
    std::size_t count = 0;
    std::ifstream{"/proc/self/statm"} >> count;
    return count;
}

TEST(concurrent_heap, leaves_the_addresses_of_its_caches_to_later_heaps) {
    if (cairn::detail::poison_is_queryable || under_tsan) { GTEST_SKIP() << "shadow memory"; }
    std::size_t first = 0;
    for (int i = 0; i < 500; ++i) {
        concurrent_heap h;
        h.deallocate(h.allocate(100), 100);
        if (i == 0) { first = count_address_pages(); }
    }
    // An emulator needs pages itself, at most two for each heap; a cache has ten or more.
    EXPECT_LE(count_address_pages(), first + 4 * 500);
}

TEST(concurrent_heap, pages_of_a_block_above_4_MiB_move_when_it_is_resized) {
    concurrent_heap h;
    auto* p = static_cast<unsigned char*>(h.allocate(5_MiB));
    std::memset(p, 7, 5_MiB);
    std::size_t size = 5_MiB;
    for (const std::size_t next : {9_MiB, 64_MiB, 6_MiB}) {
        auto* const q = static_cast<unsigned char*>(h.resize_or_move(p, size, next));
        ASSERT_NE(q, nullptr);
        EXPECT_EQ(q[0], 7);
        EXPECT_EQ(q[5_MiB - 1], 7);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(q) % 65536, 0u);
        q[next - 1] = 7;
        EXPECT_GE(h.usable_size(q), next);
        EXPECT_LE(h.stats().segment_size, next + 64_KiB);
        EXPECT_TRUE(q == p || !h.owns(p));
        h.validate();
        p = q;
        size = next;
    }
    EXPECT_EQ(h.resize_or_move(p, size, PTRDIFF_MAX - 64_KiB), nullptr);
    EXPECT_EQ(p[5_MiB - 1], 7) << "a refusal changes nothing";
    EXPECT_EQ(h.resize_or_move(p, size, 1_MiB), p);
    EXPECT_LE(h.stats().segment_size, 1_MiB + 64_KiB);
    h.deallocate(p);
    EXPECT_EQ(h.stats().segment_size, 0u);
}

TEST(concurrent_heap, addresses_that_a_resized_block_has_left_are_not_poisoned) {
    if (!cairn::detail::poison_is_queryable) { GTEST_SKIP() << "no poison to look at"; }
    concurrent_heap h;
    auto* const p = static_cast<std::byte*>(h.allocate(8_MiB));
    void* const q = h.resize_or_move(p, 8_MiB, 5_MiB);
    ASSERT_NE(q, nullptr);
    for (std::size_t at = 6_MiB; at < 8_MiB; at += 4_KiB) {
        ASSERT_FALSE(cairn::is_poisoned(p + at)) << at;
    }
    h.deallocate(q);
}

#endif

TEST(concurrent_heap, trim_keeps_to_its_limit) {
    concurrent_heap h;
    auto blocks = fill(h, 10'000, 1000);
    std::vector<block> kept;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        if (i % 100 == 0) {
            kept.push_back(blocks[i]);
        } else {
            h.deallocate(blocks[i].p, blocks[i].size);
        }
    }
    EXPECT_EQ(h.trim({.steps = 0}), 0u);
    std::size_t calls = 0;
    std::size_t bytes = 0;
    for (; calls < 10'000; ++calls) {
        const std::size_t before = h.stats().waiting_size;
        const std::size_t done = h.trim({.steps = 1});
        bytes += done;
        if (done == 0 && before == 0) { break; }
    }
    EXPECT_LT(calls, 10'000u);
    EXPECT_EQ(h.trim(), 0u);
    h.validate();
    free_all(h, kept);
    EXPECT_GT(bytes + h.trim(), 0u);
    EXPECT_EQ(h.stats().used_size, 0u);
}

TEST(concurrent_heap, a_cache_keeps_to_its_bound) {
    for (const std::size_t bound : {0_KiB, 1_KiB, 64_KiB, 1_MiB}) {
        concurrent_heap h{cairn::system_pages(), {.cache_size_max = bound}};
        for (int round = 0; round < 3; ++round) {
            free_all(h, fill(h, 5000, 30'000));
            EXPECT_LE(h.stats().cached_size, bound);
            h.validate();
        }
        h.release_this_thread();
        EXPECT_EQ(h.stats().cached_size, 0u);
        EXPECT_EQ(h.stats().cache_count, 0u);
        h.validate();
    }
}

TEST(concurrent_heap, a_size_takes_room_in_the_cache_from_another_one) {
    concurrent_heap h{cairn::system_pages(), {.cache_size_max = 64_KiB}};
    std::vector<void*> blocks(64);
    ASSERT_EQ(h.allocate_n(blocks, 1_KiB), 64u);
    h.release_this_thread();
    h.deallocate_n(blocks, 1_KiB);
    EXPECT_EQ(h.stats().cached_size, 64_KiB);
    h.deallocate(h.allocate(16));
    EXPECT_NE(h.stats().cached_size % 1_KiB, 0u) << "slots of 16 bytes are there, too";
    h.validate();
}

TEST(concurrent_heap, only_one_size_leaves_slots_to_the_others_when_another_one_needs_room) {
    concurrent_heap h{cairn::system_pages(), {.cache_size_max = 128_KiB}};
    void* const large = h.allocate(32_KiB);
    std::vector<void*> small(64);
    std::vector<void*> smaller(128);
    ASSERT_EQ(h.allocate_n(small, 1_KiB), 64u);
    ASSERT_EQ(h.allocate_n(smaller, 512), 128u);
    h.release_this_thread();
    h.deallocate_n(small, 1_KiB);
    h.deallocate_n(smaller, 512);
    EXPECT_EQ(h.stats().cached_size, 128_KiB);
    h.deallocate(large);
    EXPECT_GE(h.stats().cached_size, 128_KiB - 60 * 1_KiB);
    EXPECT_LT(h.stats().cached_size, 128_KiB);
    h.validate();
}

TEST(concurrent_heap, a_thread_that_only_frees_keeps_128_slots_of_a_size) {
    concurrent_heap h;
    std::vector<void*> blocks(10'000);
    for (void*& p : blocks) { p = h.allocate(64); }
    h.release_this_thread();
    for (void* const p : blocks) { h.deallocate(p, 64); }
    EXPECT_GT(h.stats().cached_size, 0u);
    EXPECT_LE(h.stats().cached_size, 128 * 64u);
    h.validate();
}

TEST(concurrent_heap, a_view_that_only_frees_keeps_128_slots_after_another_class_took_room) {
    concurrent_heap h{cairn::system_pages(), {.cache_size_max = 16_KiB}};
    std::vector<void*> blocks(1000);
    for (void*& p : blocks) { p = h.allocate(16); }
    void* const other = h.allocate(2_KiB);
    h.release_this_thread();
    auto view = h.local();
    std::size_t most = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        // Its stack would need all bytes of the cache: the full one leaves a batch, and goes on
        // with a limit of 68.
        if (i == 128) { view.deallocate(other, 2_KiB); }
        view.deallocate(blocks[i], 16);
        most = std::max(most, h.stats().cached_size);
    }
    EXPECT_EQ(most, 128 * 16u);
    h.validate();
}

TEST(concurrent_heap, is_unchanged_when_upstream_refuses_any_of_its_requests) {
    for (std::size_t request = 0; request < 12; ++request) {
        test_upstream upstream;
        {
            concurrent_heap h{upstream};
            upstream.refuse_from(request);
            auto blocks = fill(h, 6000, 4000);
            void* const large = h.allocate(300_KiB);
            void* const apart = h.allocate(5_MiB);
            h.validate();
            h.deallocate(large);
            h.deallocate(apart);
            free_all(h, blocks);
            EXPECT_EQ(h.stats().live_size, 0u);
            upstream.refuse_nothing();
            EXPECT_EQ(fill(h, 6000, 4000).size(), 6000u);
            h.validate();
        }
        EXPECT_EQ(upstream.live_count(), 0u);
    }
}

TEST(concurrent_heap, takes_smaller_segments_where_upstream_refuses_large_ones) {
    test_upstream upstream;
    upstream.refuse_larger(256_KiB);
    concurrent_heap h{upstream};
    EXPECT_EQ(fill(h, 3000, 1000).size(), 3000u);
    EXPECT_NE(h.allocate(150_KiB), nullptr);
    EXPECT_EQ(h.allocate(400_KiB), nullptr);
    h.validate();
}

TEST(concurrent_heap, a_refused_request_uses_what_waits_in_other_classes) {
    test_upstream upstream;
    concurrent_heap h{upstream};
    std::vector<void*> blocks;
    for (int i = 0; i < 3000; ++i) { blocks.push_back(h.allocate(256)); }
    for (void* p : blocks) { h.deallocate(p, 256); }
    upstream.refuse_from(upstream.request_count());
    const std::size_t segment_size = h.stats().segment_size;
    std::size_t size = 0;
    while (h.allocate(1024) != nullptr) { size += 1024; }
    // All but the records of the segments.
    EXPECT_GT(size, segment_size - segment_size / 8);
    EXPECT_EQ(h.allocate(1024), nullptr);
    h.validate();
}

TEST(concurrent_heap, a_refused_large_request_uses_what_waits_in_classes) {
    test_upstream upstream;
    concurrent_heap h{upstream};
    std::vector<void*> blocks(3000);
    ASSERT_EQ(h.allocate_n(blocks, 256), 3000u);
    h.deallocate_n(blocks, 256);
    EXPECT_GT(h.stats().waiting_size, 0u);
    upstream.refuse_from(upstream.request_count());
    std::size_t size = 0;
    while (h.allocate(64_KiB) != nullptr) { size += 64_KiB; }
    EXPECT_EQ(h.stats().used_size, size) << "no chunk is left";
    EXPECT_EQ(h.stats().waiting_size, 0u);
}

TEST(concurrent_heap, nothing_is_asked_for_after_reserve_and_a_ban_on_growth) {
    test_upstream upstream;
    concurrent_heap h{upstream};
    ASSERT_TRUE(h.reserve(10_MiB));
    h.allow_growth(false);
    const std::size_t requests = upstream.request_count();
    auto blocks = fill(h, 3000, 2000);
    EXPECT_EQ(blocks.size(), 3000u);
    EXPECT_FALSE(h.reserve(100_MiB));
    EXPECT_EQ(h.allocate(20_MiB), nullptr);
    free_all(h, blocks);
    EXPECT_EQ(h.trim(), 0u) << "the segments stay";
    EXPECT_EQ(fill(h, 3000, 2000).size(), 3000u);
    EXPECT_EQ(upstream.request_count(), requests);
    EXPECT_FALSE(h.reserve(SIZE_MAX));
    h.allow_growth(true);
    EXPECT_NE(h.allocate(20_MiB), nullptr);
}

TEST(concurrent_heap, works_over_a_region_of_the_user) {
    const auto memory = std::make_unique<std::byte[]>(2_MiB);
    cairn::arena region{cairn::byte_slice{memory.get(), 2_MiB}};
    concurrent_heap h{region};
    auto blocks = fill(h, 100'000, 200);
    EXPECT_GT(blocks.size(), 9000u);
    EXPECT_LT(blocks.size(), 100'000u);
    free_all(h, blocks);
    const std::size_t again = fill(h, 100'000, 200).size();
    EXPECT_GT(again, 9000u);
    h.validate();
}

TEST(concurrent_heap, a_heap_without_an_upstream_refuses) {
    concurrent_heap h{cairn::no_memory()};
    EXPECT_EQ(h.allocate(1), nullptr);
    EXPECT_EQ(h.allocate(100_KiB), nullptr);
    EXPECT_EQ(h.allocate(10_MiB), nullptr);
    EXPECT_EQ(h.allocate_zeroed(10), nullptr);
    EXPECT_FALSE(h.reserve(1));
    h.validate();
}

TEST(concurrent_heap, wrappers_watch_it_as_every_allocator) {
    concurrent_heap h;
    cairn::tracked<concurrent_heap&> counted{h};
    cairn::guarded<concurrent_heap&> fenced{h};
    for (const std::size_t size : {40_B, 5000_B, 100_KiB}) {
        void* const p = counted.allocate(size, alignment{16});
        void* const q = fenced.allocate(size, alignment{16});
        std::memset(p, 1, size);
        std::memset(q, 2, size);
        EXPECT_EQ(counted.stats().live_size, size);
        counted.deallocate(p, size, alignment{16});
        fenced.deallocate(q, size, alignment{16});
    }
    EXPECT_EQ(counted.stats().live_size, 0u);
}

TEST(concurrent_heap, hundreds_of_heaps_at_once) {
    std::vector<std::unique_ptr<concurrent_heap>> heaps;
    for (int i = 0; i < 300; ++i) { heaps.push_back(std::make_unique<concurrent_heap>()); }
    std::vector<void*> blocks(heaps.size());
    for (int round = 0; round < 20; ++round) {
        for (std::size_t i = 0; i < heaps.size(); ++i) {
            heaps[i]->deallocate(blocks[i], 64);
            blocks[i] = heaps[i]->allocate(64);
            ASSERT_TRUE(heaps[i]->owns(blocks[i]));
            ASSERT_FALSE(heaps[(i + 1) % heaps.size()]->owns(blocks[i]));
            std::memset(blocks[i], 1, 64);
        }
    }
    for (const auto& h : heaps) { ASSERT_EQ(h->stats().live_size, 64u); }
}

TEST(concurrent_heap, one_address_can_hold_one_heap_after_another) {
    for (int i = 0; i < 100; ++i) {
        concurrent_heap h;
        void* const p = h.allocate(100);
        ASSERT_NE(p, nullptr);
        if (i % 2 == 0) { h.deallocate(p, 100); }
        ASSERT_EQ(h.stats().cache_count, 1u);
    }
}

}  // namespace
