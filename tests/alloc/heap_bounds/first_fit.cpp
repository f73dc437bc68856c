// Sentences of cairn/alloc/first_fit.hpp about steps. That it is exact: alloc/heap_exhaustive.
#include <cairn/alloc/first_fit.hpp>
#include <cairn/alloc/heap.hpp>
#include <gtest/gtest.h>

#include "alloc/heap_bounds/loads.hpp"

using namespace cairn;
using namespace heap_bounds_tests;

TEST(heap_bounds, steps_of_first_fit) {
    const steps_seen worst = worst_steps<first_fit>();
    EXPECT_LE(worst.allocate, first_fit::allocate_steps_max + checks);
    EXPECT_LE(worst.deallocate, first_fit::deallocate_steps_max + checks);
}
