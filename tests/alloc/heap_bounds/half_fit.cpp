// Sentences of cairn/alloc/half_fit.hpp about steps.
#include <cairn/alloc/half_fit.hpp>
#include <cairn/alloc/heap.hpp>
#include <gtest/gtest.h>

#include "alloc/heap_bounds/loads.hpp"

using namespace cairn;
using namespace heap_bounds_tests;

TEST(heap_bounds, steps_of_half_fit) {
    const steps_seen worst = worst_steps<half_fit>();
    EXPECT_LE(worst.allocate, half_fit::allocate_steps_max + checks);
    EXPECT_LE(worst.deallocate, half_fit::deallocate_steps_max + checks);
}
