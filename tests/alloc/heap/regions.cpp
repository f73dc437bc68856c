// Sentences of cairn/alloc/heap.hpp about the regions that a heap takes from its upstream and gives
// back.
#include <cairn/alloc/heap.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/os/page_memory.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "alloc/heap/pieces.hpp"
#include "support/allocator_contract.hpp"
#include "support/heap_model.hpp"
#include "support/step_bound.hpp"
#include "support/test_upstream.hpp"

#if defined(__linux__)
#    include <sys/mman.h>
#endif

using namespace cairn;
using namespace cairn::literals;
using namespace heap_tests;

TYPED_TEST(heap_test, grows_and_gives_empty_regions_back) {
    test_upstream upstream;
    test::bounded_heap<TypeParam> h{grow_by{8_KiB}, upstream};
    EXPECT_EQ(upstream.live_count(), 0u) << "nothing is taken before it is needed";
    for (unsigned seed = 1; seed <= 3; ++seed) { random_run(h, seed, 8000, 9000, 400); }
    EXPECT_EQ(upstream.live_count(), 0u) << "nothing stays after trim()";
    EXPECT_NE(h.allocate(100), nullptr) << "and all begins again";
}

TYPED_TEST(heap_test, grows_from_the_system_where_nothing_is_said) {
    heap<TypeParam> h;
    EXPECT_EQ(h.stats().region_count, 0u) << "nothing is taken before it is needed";
    for (const std::size_t size : {std::size_t{8}, std::size_t{1000}, 100_KiB, 3_MiB}) {
        void* const p = h.allocate(size);
        ASSERT_NE(p, nullptr) << size;
        std::memset(p, 1, size);
        h.deallocate(p, size);
    }
    h.validate();
}

TYPED_TEST(heap_test, gives_regions_back_without_trim) {
    test_upstream upstream;
    heap<TypeParam> h{grow_by{64_KiB}, upstream};
    std::vector<void*> live;
    for (int i = 0; i < 4000; ++i) { live.push_back(h.allocate(1000)); }
    const std::size_t most = h.stats().capacity;
    for (void* const p : live) { h.deallocate(p, 1000); }
    // Blocks that are too large to wait: each operation is one of the core.
    std::size_t operations = 0;
    for (; operations < 8 * detail::empty_region_delay && h.stats().capacity >= most / 4;
         operations += 2) {
        h.deallocate(h.allocate(6000), 6000);
    }
    EXPECT_LT(h.stats().capacity, most / 4);
    EXPECT_GT(operations, detail::empty_region_delay / 2) << "a burst that repeats keeps them";
    h.validate();
}

TYPED_TEST(heap_test, trim_leaves_the_only_region_where_something_lives) {
    test_upstream upstream;
    heap<TypeParam> h{grow_by{8_KiB}, upstream};
    void* const p = h.allocate(100);
    h.trim();
    EXPECT_TRUE(h.owns(p));
    EXPECT_EQ(upstream.live_count(), 1u);
    h.deallocate(p, 100);
    h.trim();
    EXPECT_EQ(upstream.live_count(), 0u);
}

TYPED_TEST(heap_test, takes_one_block_for_a_request_that_exceeds_the_block_size) {
    test_upstream upstream;
    heap<TypeParam> h{grow_by{4_KiB}, upstream};
    void* const p = h.allocate(1_MiB);
    ASSERT_NE(p, nullptr);
    std::memset(p, 1, 1_MiB);
    EXPECT_EQ(upstream.live_count(), 1u);
    void* const q = h.allocate(300, alignment{4096});
    ASSERT_NE(q, nullptr);
    EXPECT_TRUE(detail::is_aligned(q, alignment{4096}));
    h.deallocate(p, 1_MiB);
    h.deallocate(q, 300, alignment{4096});
}

TYPED_TEST(heap_test, works_on_after_upstream_refuses_at_any_point) {
    for (std::size_t refused = 0; refused < 8; ++refused) {
        test_upstream upstream;
        upstream.refuse_from(refused, 3);
        heap<TypeParam> h{grow_by{4_KiB}, upstream};
        random_run(h, static_cast<unsigned>(refused), 1500, 6000, 50);
    }
    test_upstream upstream;
    upstream.refuse_from(0);
    heap<TypeParam> none{64_KiB, upstream};
    EXPECT_EQ(none.allocate(1), nullptr);
    EXPECT_EQ(none.allocate(0), nullptr);
    EXPECT_FALSE(none.owns(&none));
    none.validate();
    none.reset();
    none.trim();
}

TYPED_TEST(heap_test, takes_what_a_request_needs_where_upstream_has_no_whole_block) {
    test_upstream upstream;
    heap<TypeParam> h{grow_by{64_KiB}, upstream};
    upstream.refuse_larger(8_KiB);
    void* const p = h.allocate(1000);
    ASSERT_NE(p, nullptr);
    std::memset(p, 1, 1000);
    EXPECT_LE(upstream.live_size(), 8_KiB);
    EXPECT_EQ(h.allocate(8_KiB), nullptr);
    upstream.refuse_larger(test_upstream::never);
    void* const q = h.allocate(8_KiB);
    EXPECT_NE(q, nullptr);
    EXPECT_GE(upstream.live_size(), 64_KiB) << "a whole block where there is one";
    h.validate();
    h.deallocate(p, 1000);
    h.deallocate(q, 8_KiB);
}

TYPED_TEST(heap_test, an_impossible_size_costs_no_block) {
    test_upstream upstream;
    heap<TypeParam> h{grow_by{4_KiB}, upstream};
    contract::expect_absurd_sizes_refused(h);
    for (std::size_t i = 0; i <= 64; ++i) { EXPECT_EQ(h.allocate(SIZE_MAX - i), nullptr); }
    for (unsigned k = 48; k < 64; ++k) {
        for (std::size_t d = 0; d <= 17; ++d) {
            EXPECT_EQ(h.allocate((std::size_t{1} << k) + d), nullptr);
            EXPECT_EQ(h.allocate((std::size_t{1} << k) - d), nullptr);
            EXPECT_EQ(h.allocate(16, alignment{std::size_t{1} << k}), nullptr);
        }
    }
    EXPECT_EQ(upstream.live_count(), 0u);
    test_region memory{64_KiB};
    heap<TypeParam> fixed{memory.span()};
    contract::expect_absurd_sizes_refused(fixed);
    EXPECT_EQ(fixed.stats().free_size, fixed.stats().capacity);
}

TYPED_TEST(heap_test, the_first_request_of_a_growing_heap_may_be_over_aligned) {
    for (std::size_t align = 32; align <= 64_KiB; align *= 2) {
        for (const std::size_t size :
             {std::size_t{1}, std::size_t{100}, std::size_t{1500}, align}) {
            test_upstream upstream;
            heap<TypeParam> h{grow_by{1_KiB}, upstream};
            void* const p = h.allocate(size, alignment{align});
            ASSERT_NE(p, nullptr) << size << " bytes at " << align;
            EXPECT_TRUE(detail::is_aligned(p, alignment{align}));
            h.deallocate(p, size, alignment{align});
        }
    }
}

TYPED_TEST(heap_test, regions_become_larger_so_that_64_of_them_reach_anywhere) {
    test_upstream upstream;
    heap<TypeParam> h{grow_by{1_KiB}, upstream};
    for (int i = 0; i < 8000; ++i) { ASSERT_NE(h.allocate(1000), nullptr) << i; }
    EXPECT_LT(h.stats().region_count, 50u);
}

TYPED_TEST(heap_test, a_moved_heap_still_gives_its_empty_regions_back) {
    test_upstream upstream;
    heap<TypeParam> first{grow_by{20_KiB}, upstream};
    void* const home = first.allocate(10'000);
    void* const one = first.allocate(40'000);  // too large to wait, and each in a region of its own
    void* const two = first.allocate(60'000);
    for (int i = 0; i < 1000; ++i) { first.deallocate(first.allocate(6000), 6000); }
    const std::size_t all = upstream.live_count();
    ASSERT_GE(all, 3u);
    first.deallocate(one, 40'000);
    heap<TypeParam> h{std::move(first)};
    h.deallocate(two, 60'000);
    const std::size_t look = detail::operations_for_a_look * h.region_count_max;
    std::size_t operations = 0;
    const auto pairs_until = [&](std::size_t end) {
        for (; operations < end; operations += 2) { h.deallocate(h.allocate(6000), 6000); }
    };
    pairs_until(detail::empty_region_delay - 10);
    EXPECT_EQ(upstream.live_count(), all) << "not at once";
    pairs_until(detail::empty_region_delay + look);
    EXPECT_LT(upstream.live_count(), all);
    h.validate();
    h.deallocate(home, 10'000);
}

TEST(heap, small_heaps_grow_in_small_steps) {
    std::size_t held = 0;
    for (std::uint32_t count = 0; held < 64_MiB; ++count) {
        held += detail::next_region_size(64_KiB, held, count);
    }
    EXPECT_LT(held, 64_MiB + 64_MiB / 3);
}

#if defined(__linux__)
namespace {

/// Hands out addresses: only the pages that the heap writes its headers into become memory.
struct upstream_of_addresses {
    void* allocate(std::size_t size, alignment) noexcept {
        void* const p = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        return p == MAP_FAILED ? nullptr : p;
    }
    void deallocate(void* p, std::size_t size, alignment) noexcept { ::munmap(p, size); }
};

}  // namespace

TEST(heap, reaches_64_GiB_of_live_blocks_from_small_steps) {
    if (detail::poison_is_seen()) { GTEST_SKIP() << "a checker writes a map of all addresses"; }
    upstream_of_addresses upstream;
    if (void* const all = upstream.allocate(96_GiB, default_alignment)) {
        upstream.deallocate(all, 96_GiB, default_alignment);
    } else {
        GTEST_SKIP() << "the system refuses so many addresses";
    }
    heap<> h{upstream};
    std::vector<std::pair<void*, std::size_t>> live;
    std::size_t live_size = 0;
    // Blocks of a 256th of what lives: the heap grows through all sizes, never by a large request.
    while (live_size < 64_GiB) {
        const std::size_t size = std::max<std::size_t>(100, live_size / 256);
        void* const p = h.allocate(size);
        ASSERT_NE(p, nullptr) << live_size << " bytes live in " << h.stats().region_count;
        live.push_back({p, size});
        live_size += size;
    }
    EXPECT_LE(h.stats().region_count, heap<>::region_count_max);
    h.validate();
    for (const auto& [p, size] : live) { h.deallocate(p, size); }
    h.validate();
}
#endif

TEST(heap, takes_the_fullest_region_that_serves) {
    for (const std::uint32_t wanted : {1u, 5u, 300u}) {
        detail::region_set set;
        alignas(16) static std::byte memory[64 * 64] = {};
        for (std::uint32_t i = 0; i < 64; ++i) {
            set.insert(reinterpret_cast<detail::region_base*>(memory + 64 * i), 64);
            EXPECT_EQ(set.fullest(wanted), detail::region_set::count_max)
                << "none has a free block";
        }
        for (std::uint32_t i = 0; i < 64; ++i) { set.set_rank(i, wanted - 1); }
        EXPECT_EQ(set.fullest(wanted), detail::region_set::count_max);
        set.set_rank(40, 431);
        EXPECT_EQ(set.fullest(wanted), 40u);
        set.set_rank(9, wanted + 1);
        EXPECT_EQ(set.fullest(wanted), 9u);
        set.set_rank(63, wanted);
        EXPECT_EQ(set.fullest(wanted), 63u);
        set.set_rank(0, wanted);
        EXPECT_EQ(set.fullest(wanted), 0u) << "the lower of two";
    }
}

/// Of two full regions, `region` has a hole of 4 granules at a multiple of 128. The other one has a
/// hole of 4 granules at none.
void expect_an_aligned_hole_is_found_in(std::size_t region) {
    SCOPED_TRACE(region);
    test_upstream upstream;
    heap<> h{grow_by{4_KiB}, upstream};
    std::vector<std::byte*> blocks;
    while (h.stats().region_count < 2) { blocks.push_back(static_cast<std::byte*>(h.allocate(8))); }
    upstream.refuse_from(upstream.request_count());
    while (void* const p = h.allocate(8)) { blocks.push_back(static_cast<std::byte*>(p)); }
    std::sort(blocks.begin(), blocks.end());
    // Neighbours are 16 bytes apart; where they are not, the second region begins.
    const auto second = std::adjacent_find(blocks.begin(), blocks.end(),
                                           [](auto* a, auto* b) { return b - a != 16; }) +
                        1;
    ASSERT_GT(blocks.end() - second, 64);
    std::byte* aligned = nullptr;
    for (const std::size_t i : {0u, 1u}) {
        auto at = i == 0 ? blocks.begin() + 8 : second + 8;
        while (!detail::is_aligned(*at, alignment{128})) { ++at; }
        if (i == region) { aligned = *at; }
        at += i == region ? 0 : 1;
        for (int k = 0; k < 4; ++k) { h.deallocate(at[k], 8); }
    }
    h.trim();
    EXPECT_EQ(h.allocate(56, alignment{128}), aligned);
    h.validate();
}

TEST(heap, finds_an_aligned_hole_in_any_region_where_it_cannot_grow) {
    expect_an_aligned_hole_is_found_in(0);
    expect_an_aligned_hole_is_found_in(1);
}

TEST(heap, grows_without_merging_what_waits) {
    test_upstream upstream;
    heap<> h{grow_by{64_KiB}, upstream};
    std::vector<void*> live;
    for (int i = 0; i < 400; ++i) { live.push_back(h.allocate(100)); }
    for (int i = 0; i < 100; ++i) { h.deallocate(live[static_cast<std::size_t>(i)], 100); }
    const std::size_t waiting = h.stats().deferred_count;
    ASSERT_GT(waiting, 30u);
    const std::size_t regions = h.stats().region_count;
    void* const large = h.allocate(200_KiB);
    EXPECT_EQ(h.stats().region_count, regions + 1);
    EXPECT_GE(h.stats().deferred_count + 1, waiting);
    h.validate();
    void* const again = h.allocate(100);
    EXPECT_EQ(again, live[99]) << "links count from the first region, wherever the new one lies";
    h.deallocate(again, 100);
    h.deallocate(large, 200_KiB);
    for (int i = 100; i < 400; ++i) { h.deallocate(live[static_cast<std::size_t>(i)], 100); }
    h.validate();
}

TEST(heap, best_fit_compares_all_regions) {
    test_upstream upstream;
    heap<best_fit> h{grow_by{16_KiB}, upstream};
    const auto hole_of = [&](std::size_t size) {
        void* const p = h.allocate(size);
        EXPECT_NE(h.allocate(24), nullptr);
        return p;
    };
    void* const large = hole_of(2008);
    std::vector<void*> holes;
    while (h.stats().region_count < 3) { holes.push_back(hole_of(1000)); }
    void* const exact = holes.back();
    while (h.stats().region_count < 4) { (void)hole_of(504); }
    h.deallocate(large, 2008);
    h.deallocate(exact, 1000);
    EXPECT_EQ(h.allocate(1000), exact);
    EXPECT_EQ(h.allocate(1000), large);
}

TEST(free_lists, are_cleared_with_as_many_heads_as_there_are_bins) {
    std::uint32_t heads[65];
    heads[64] = 7;  // what lies behind them
    detail::free_lists<64> lists;
    lists.clear(heads, 64);
    for (int bin = 0; bin < 64; ++bin) { EXPECT_EQ(heads[bin], detail::no_block); }
    EXPECT_EQ(heads[64], 7u);
}
