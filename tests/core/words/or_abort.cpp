// Sentences of cairn/core/or_abort.hpp.
#include <cairn/core/null_allocator.hpp>
#include <cairn/core/or_abort.hpp>
#include <gtest/gtest.h>

#include "support/test_upstream.hpp"

using namespace cairn;

TEST(or_abort, frees_to_the_allocator_inside) {
    test_upstream upstream;
    or_abort memory{upstream};
    memory.deallocate(memory.allocate(10), 10);
    EXPECT_EQ(upstream.live_count(), 0u);
}

TEST(or_abort, ends_the_program_with_the_size_that_was_asked_for) {
    null_allocator none;
    or_abort memory{none};
    EXPECT_DEATH((void)memory.allocate(123, alignment{32}), "123 bytes, aligned to 32");
}
