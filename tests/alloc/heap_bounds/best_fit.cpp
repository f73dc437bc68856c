// Sentences of cairn/alloc/best_fit.hpp about steps. That it is exact: alloc/heap_exhaustive.
#include <cairn/alloc/best_fit.hpp>
#include <cairn/alloc/heap.hpp>
#include <gtest/gtest.h>

#include "alloc/heap_bounds/loads.hpp"

using namespace cairn;
using namespace heap_bounds_tests;

TEST(heap_bounds, steps_of_best_fit) {
    const steps_seen worst = worst_steps<best_fit>();
    EXPECT_LE(worst.allocate, best_fit::allocate_steps_max + checks);
    EXPECT_LE(worst.deallocate, best_fit::deallocate_steps_max + checks);
}
