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

/// A random load in a heap that keeps `regions` or more. Returns: the worst operations but those
/// that made the heap grow or gave a region back.
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
            live.push_back({h.allocate(size), size});
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

TEST(heap_bounds, steps_of_a_growing_heap_do_not_grow_with_its_regions) {
    expect_the_same_bound_for_any_number_of_regions<good_fit>();
}
TEST(heap_bounds, steps_of_a_growing_quick_fit_do_not_grow_with_its_regions) {
    expect_the_same_bound_for_any_number_of_regions<quick_fit>();
}
