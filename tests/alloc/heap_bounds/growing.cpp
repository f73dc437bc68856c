// Sentences of cairn/alloc/heap/waiting_blocks.hpp about the steps of a heap that grows.
#include <cairn/alloc/good_fit.hpp>
#include <cairn/alloc/heap.hpp>
#include <gtest/gtest.h>

#include "alloc/heap_bounds/loads.hpp"

using namespace cairn;
using namespace heap_bounds_tests;

namespace heap_bounds_tests {

/// What merging one waiting block may take: eight bins are looked into, the region is found by
/// halving, and how large its largest free block is, is written down.
template <class Fit>
constexpr std::uint64_t steps_of_a_merge = Fit::deallocate_steps_max + 2 * checks + 16;

/// A random load, a quarter of it over-aligned, in a heap that keeps `regions` or more.
/// Returns: the worst operations but those that made the heap grow or gave a region back.
template <class Fit>
steps_seen worst_of_growing(std::size_t step, std::size_t regions) {
    heap<Fit> h{grow_by{step}};
    std::mt19937 random{5};
    std::vector<piece> live;
    // A block in each region: none goes back.
    while (h.stats().region_count < regions) { live.push_back({h.allocate(1000), 1000}); }
    const std::size_t kept = live.size();
    steps_seen worst;
    for (int i = 0; i < 60'000; ++i) {
        const std::size_t before = h.stats().region_count;
        detail::steps_taken = 0;
        if (live.size() == kept || random() % 100 < 50) {
            const std::size_t size = 1 + random() % (1u << (4 + random() % 9));
            const std::size_t align = random() % 4 == 0 ? 32u << random() % 5 : 16;
            live.push_back({h.allocate(size, alignment{align}), size});
            if (h.stats().region_count == before) {
                worst.allocate = std::max(worst.allocate, detail::steps_taken);
            }
        } else {
            std::swap(live[kept + random() % (live.size() - kept)], live.back());
            h.deallocate(live.back().p, live.back().size);
            if (h.stats().region_count == before) {
                worst.deallocate = std::max(worst.deallocate, detail::steps_taken);
            }
            live.pop_back();
        }
    }
    for (const piece& b : live) { h.deallocate(b.p, b.size); }
    return worst;
}

template <class Fit>
void expect_the_same_bound_for_any_number_of_regions() {
    const steps_seen few = worst_of_growing<Fit>(4_KiB, 2);
    for (const std::size_t regions : {2u, 12u, 40u}) {
        const steps_seen worst = worst_of_growing<Fit>(4_KiB, regions);
        // A request merges at most one block, a free at most eight.
        EXPECT_LE(worst.allocate, Fit::allocate_steps_max + 2 * checks + steps_of_a_merge<Fit>);
        EXPECT_LE(worst.deallocate,
                  Fit::deallocate_steps_max + 2 * checks + 8 * steps_of_a_merge<Fit>);
        // The loads are alike, so a walk over the regions would show.
        EXPECT_LE(worst.allocate, few.allocate + 16) << regions << " regions";
        EXPECT_LE(worst.deallocate, few.deallocate + 16) << regions << " regions";
        EXPECT_GT(worst.deallocate, 0u);
    }
}

}  // namespace heap_bounds_tests

TEST(heap_bounds, looks_at_few_regions_at_a_time_for_one_that_goes_back) {
    heap<> h;
    while (h.stats().region_count < 40) { (void)h.allocate(6000); }
    // A region becomes empty, so that empty ones are looked for later, and is used again.
    h.deallocate(h.allocate(64_MiB), 64_MiB);
    void* const large = h.allocate(64_MiB);
    ASSERT_EQ(h.stats().region_count, 41u);
    // Blocks of 6,000 bytes never wait: each pair takes the same steps but for the looks.
    std::uint64_t least = UINT64_MAX;
    std::uint64_t most = 0;
    for (std::size_t pair = 0; pair < detail::empty_region_delay; ++pair) {
        detail::steps_taken = 0;
        h.deallocate(h.allocate(6000), 6000);
        least = std::min(least, detail::steps_taken);
        most = std::max(most, detail::steps_taken);
    }
    EXPECT_GT(most, least) << "it was looked for";
    EXPECT_LE(most, least + 4);
    h.deallocate(large, 64_MiB);
}

TEST(heap_bounds, a_call_merges_at_most_eight_waiting_blocks) {
    heap<> h;
    std::vector<piece> live;
    for (std::size_t i = 0; i < 60'000; ++i) {
        live.push_back({h.allocate(16 + i % 2000), 16 + i % 2000});
    }
    std::shuffle(live.begin(), live.end(), std::mt19937{3});
    std::size_t most = 0;
    for (const piece& b : live) {
        const std::size_t before = h.stats().deferred_count;
        h.deallocate(b.p, b.size);
        const std::size_t after = h.stats().deferred_count;
        most = std::max(most, before - std::min(before, after));
    }
    EXPECT_LE(most, 8u);
    EXPECT_GT(most, 1u) << "more waits than lives at the end";
}

TEST(heap_bounds, steps_of_a_growing_heap_do_not_grow_with_its_regions) {
    expect_the_same_bound_for_any_number_of_regions<good_fit>();
}
TEST(heap_bounds, steps_of_a_growing_quick_fit_do_not_grow_with_its_regions) {
    expect_the_same_bound_for_any_number_of_regions<quick_fit>();
}
