// Sentences of cairn/core/sizes.hpp.
#include <cairn/core/sizes.hpp>
#include <gtest/gtest.h>

using namespace cairn;

TEST(sizes, literals_are_bytes) {
    EXPECT_EQ(64_KiB, 65536u);
    EXPECT_EQ(2_MiB, 2097152u);
}
