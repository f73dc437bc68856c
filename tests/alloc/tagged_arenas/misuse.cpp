// What checked builds name in cairn/alloc/tagged_arenas.hpp.
#include <cairn/alloc/tagged_arenas.hpp>
#include <gtest/gtest.h>

#include "support/death_words.hpp"

using namespace cairn;
using namespace cairn::literals;

TEST(tagged_arenas_death, a_request_after_the_end_of_the_tag) {
    tagged_arenas memory;
    const auto t = memory.begin("frame");
    memory.end(t);
    EXPECT_EQ(memory.local(t).allocate(10), nullptr) << "a view that is made too late refuses";
    if (!asserts_enabled) { GTEST_SKIP() << "unchecked builds do not look"; }
    EXPECT_DEATH(
        {
            const auto u = memory.begin("frame");
            auto view = memory.local(u);
            memory.end(u);
        },
        "the views of a tag end before the tag");
}

TEST(tagged_arenas_death, a_tag_that_ends_twice) {
    tagged_arenas memory;
    const auto t = memory.begin("frame");
    memory.end(t);
    if (asserts_enabled) {
        EXPECT_DEATH(memory.end(t), "a tag ends once");
    } else {
        memory.end(t);
        EXPECT_EQ(memory.stats().tag_count, 0u) << "nothing happens";
    }
}

TEST(tagged_arenas_death, a_tag_that_never_ends) {
    if (!asserts_enabled) { GTEST_SKIP() << "unchecked builds do not look"; }
    EXPECT_DEATH(
        {
            tagged_arenas memory;
            (void)memory.begin("frame 812");
        },
        in_this_order({"every tag ends before its tagged_arenas", "frame 812"}));
}

TEST(tagged_arenas_death, a_block_size_that_is_too_small) {
    if (!asserts_enabled) { GTEST_SKIP() << "unchecked builds do not look"; }
    EXPECT_DEATH((tagged_arenas{{.block_size = 100}}), "at least 1 KiB");
}
