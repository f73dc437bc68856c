// Sentences of cairn/alloc/good_fit.hpp about steps.
#include <cairn/alloc/good_fit.hpp>
#include <cairn/alloc/heap.hpp>
#include <gtest/gtest.h>

#include "alloc/heap_bounds/loads.hpp"

using namespace cairn;
using namespace heap_bounds_tests;

TEST(heap_bounds, steps_of_strict_good_fit) {
    const steps_seen worst = worst_steps<strict_good_fit>();
    EXPECT_LE(worst.allocate, strict_good_fit::allocate_steps_max + checks);
    EXPECT_LE(worst.deallocate, strict_good_fit::deallocate_steps_max + checks);
}

template <class Fit>
void expect_steps_with_and_without_the_last_resort() {
    const steps_seen worst = worst_steps<Fit>();
    // The last resort merges everything deferred: the shares of the classes and the surplus.
    const std::uint64_t blocks = detail::deferred_blocks_max<Fit>(false);
    EXPECT_LE(worst.allocate, blocks * (32u + checks) + 200u);
    EXPECT_LE(worst.deallocate, Fit::deallocate_steps_max + checks);

    // Where memory does not run out there is none.
    test_region memory{16_MiB};
    heap<Fit> h{memory.span()};
    counting<heap<Fit>> counted{h};
    random_load(counted, 7, 40'000, true);
    EXPECT_LE(counted.seen.allocate, Fit::allocate_steps_max + 2 * checks);
    EXPECT_LE(counted.seen.deallocate, Fit::deallocate_steps_max + checks);
}
TEST(heap_bounds, steps_of_good_fit_with_and_without_the_last_resort) {
    expect_steps_with_and_without_the_last_resort<good_fit>();
}
TEST(heap_bounds, steps_of_quick_fit_with_and_without_the_last_resort) {
    expect_steps_with_and_without_the_last_resort<quick_fit>();
}
