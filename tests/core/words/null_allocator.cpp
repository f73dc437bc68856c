// Sentences of cairn/core/null_allocator.hpp.
#include <cairn/core/null_allocator.hpp>
#include <gtest/gtest.h>

using namespace cairn;

TEST(null_allocator, refuses_everything) { EXPECT_EQ(no_memory().allocate(1), nullptr); }

TEST(null_allocator, owns_nothing) {
    const int local = 0;
    EXPECT_FALSE(null_allocator{}.owns(&local));
}
