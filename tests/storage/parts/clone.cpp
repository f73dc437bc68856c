// Sentences of cairn/storage/clone.hpp. Each container's copy is in containers/surface/clones.cpp.
#include <cairn/containers/packed_array.hpp>
#include <cairn/storage/clone.hpp>
#include <gtest/gtest.h>

#include <optional>

#include "support/test_upstream.hpp"

using namespace cairn;

TEST(clone, takes_memory_of_its_own_upstream_or_of_the_one_that_is_named) {
    test_upstream first;
    test_upstream second;
    packed_array<int> from{first};
    for (int i = 0; i < 10; ++i) { ASSERT_TRUE(from.push_back(i)); }
    const std::optional beside = clone(from);
    ASSERT_TRUE(beside.has_value());
    EXPECT_EQ(first.live_count(), 2u);
    EXPECT_TRUE(*beside == from);
    const std::optional elsewhere = clone(from, second);
    ASSERT_TRUE(elsewhere.has_value());
    EXPECT_EQ(second.live_count(), 1u);
    EXPECT_TRUE(elsewhere->upstream() == allocator_ref{second});
    EXPECT_TRUE(*elsewhere == from);
}

TEST(clone, is_nothing_where_memory_is_exhausted) {
    test_upstream memory;
    packed_array<int> from;
    ASSERT_TRUE(from.push_back(1));
    memory.refuse_from(0);
    EXPECT_FALSE(clone(from, memory).has_value());
    EXPECT_EQ(memory.live_count(), 0u);
    EXPECT_EQ(from.size(), 1u);
}
