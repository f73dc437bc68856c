// Sentences of cairn/core/make.hpp.
#include <cairn/core/make.hpp>
#include <cairn/core/null_allocator.hpp>
#include <cairn/os/system_allocator.hpp>
#include <gtest/gtest.h>

using namespace cairn;

TEST(make, builds_and_destroys_one_object) {
    system_allocator system;
    struct point {
        int x, y;
    };
    point* const p = make<point>(system, 1, 2);
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(p->y, 2);
    destroy(system, p);
    null_allocator none;
    EXPECT_EQ(make<point>(none, 1, 2), nullptr);
}
