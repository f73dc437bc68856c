// Sentences of cairn/os/inside/fork.hpp.
#include <cairn/os/inside/fork.hpp>
#include <gtest/gtest.h>

#if !defined(_WIN32)
#    include "support/forking.hpp"

namespace {

int before = 0;
int in_parent = 0;
int in_child = 0;

TEST(around_fork, calls_one_function_before_and_one_on_each_side_after) {
    ASSERT_TRUE(
        cairn::detail::around_fork([] { ++before; }, [] { ++in_parent; }, [] { ++in_child; }));
    EXPECT_TRUE(child_finds([] { return before == 1 && in_parent == 0 && in_child == 1; }));
    EXPECT_EQ(before, 1);
    EXPECT_EQ(in_parent, 1);
    EXPECT_EQ(in_child, 0);
}

}  // namespace
#endif
