// What checked builds name in cairn/alloc/tagged_arenas.hpp.
#include <cairn/alloc/tagged_arenas.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <source_location>

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

TEST(tagged_arenas_death, a_tag_of_another_object) {
    if (!asserts_enabled) { GTEST_SKIP() << "unchecked builds do not look"; }
    tagged_arenas memory{{.name = "frames"}};
    tagged_arenas other;
    const auto t = other.begin("frame");
    const unsigned line = std::source_location::current().line();
    const auto ended = expect_broken_promise([&] { memory.end(t); });
    const auto used = expect_broken_promise([&] { (void)memory.local(t); });
    EXPECT_STREQ(ended.sentence(), "a tag is used with the tagged_arenas that began it") << ended;
    EXPECT_EQ(ended.kind(), misuse_kind::foreign_handle);
    EXPECT_EQ(ended.object(), &memory);
    EXPECT_TRUE(ended.says("'frames'")) << ended;
    EXPECT_EQ(ended.line(), line + 1);
    EXPECT_EQ(used.kind(), misuse_kind::foreign_handle) << used;
    EXPECT_EQ(used.line(), line + 2);
    other.end(t);
}

TEST(tagged_arenas_death, a_wrong_free_of_a_view) {
    if (!asserts_enabled) { GTEST_SKIP() << "unchecked builds do not look"; }
    tagged_arenas memory{{.block_size = 4_KiB}};
    const auto t = memory.begin("frame");
    {
        auto view = memory.local(t);
        auto other = memory.local(t);
        auto* const first = static_cast<std::byte*>(view.allocate(64));
        void* const large = other.allocate(8_KiB);
        void* const small = other.allocate(64);
        alignas(16) std::byte foreign[64];
        const unsigned line = std::source_location::current().line();
        const auto stack = expect_broken_promise([&] { view.deallocate(foreign, 64); });
        const auto before = expect_broken_promise([&] { view.deallocate(first - 16, 80); });
        const auto size = expect_broken_promise([&] { view.deallocate(first, 640); });
        const auto elsewhere = expect_broken_promise([&] { view.deallocate(small, 8_KiB); });
        EXPECT_EQ(stack.kind(), misuse_kind::foreign_pointer) << stack;
        EXPECT_EQ(stack.object(), &memory);
        EXPECT_TRUE(stack.says("'frame'")) << stack;
        EXPECT_EQ(stack.line(), line + 1);
        EXPECT_EQ(before.kind(), misuse_kind::foreign_pointer) << before;
        EXPECT_STREQ(size.sentence(), "a block is freed once, with its size") << size;
        EXPECT_EQ(size.line(), line + 3);
        EXPECT_EQ(elsewhere.kind(), misuse_kind::wrong_size) << elsewhere;
        // Any view of the tag takes a block back, and nullptr is none.
        view.deallocate(large, 8_KiB);
        view.deallocate(small, 64);
        view.deallocate(nullptr, 64);
        view.deallocate(first, 64);
        EXPECT_TRUE(expect_broken_promise([&] { view.deallocate(first, 64); })) << "freed twice";
    }
    memory.end(t);
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
