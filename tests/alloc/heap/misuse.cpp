// Sentences of cairn/alloc/heap.hpp about misuse: how it is told.
#include <cairn/alloc/heap.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/os/page_memory.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <utility>

#include "alloc/heap/pieces.hpp"
#include "support/heap_model.hpp"
#include "support/sanitizers.hpp"

using namespace cairn;
using namespace cairn::literals;
using namespace heap_tests;

TYPED_TEST(heap_test, misuse_is_named) {
    if (!asserts_enabled) { GTEST_SKIP() << "asserts are off"; }
    GTEST_FLAG_SET(death_test_style, "fast");
    test_region memory{64_KiB};
    heap<TypeParam> h{memory.span()};
    void* const p = h.allocate(100);
    void* const q = h.allocate(100);
    void* const guard = h.allocate(100);
    EXPECT_DEATH((h.deallocate(q, 100), h.deallocate(q, 100)), "a block is freed once");
    EXPECT_DEATH((h.deallocate(p, 100), h.deallocate(q, 100), h.deallocate(q, 100)),
                 "a block is freed once");
    EXPECT_DEATH((h.deallocate(q), h.deallocate(q)), "a block is freed once");
    EXPECT_DEATH(h.deallocate(p, 300), "freed with the size that it was asked with");
    EXPECT_DEATH(h.deallocate(&h, 100), "freed to the heap it came from");
    EXPECT_DEATH(h.deallocate(static_cast<std::byte*>(p) + 8), "start of a block");
    h.deallocate(p, 100), h.deallocate(q, 100), h.deallocate(guard, 100);
}

TYPED_TEST(heap_test, live_blocks_at_the_end_are_told_when_that_was_asked_for) {
    test_region memory{64_KiB};
    {
        heap<TypeParam> dropped{memory.span()};  // a level that is left as a whole
        EXPECT_NE(dropped.allocate(100), nullptr);
    }
    {
        heap<TypeParam> h{memory.span()};
        h.expect_empty_end();
        void* const p = h.allocate(100);
        heap<TypeParam> moved{std::move(h)};
        moved.deallocate(p, 100);  // it may wait
    }
    if (!asserts_enabled) { return; }
    GTEST_FLAG_SET(death_test_style, "fast");
    EXPECT_DEATH(
        {
            heap<TypeParam> h{memory.span()};
            h.expect_empty_end();
            (void)h.allocate(100);
        },
        "every block of this heap has come back when it ends");
    EXPECT_DEATH(
        {
            heap<TypeParam> h{memory.span()};
            h.expect_empty_end();
            (void)h.allocate(100);
            heap<TypeParam> moved{std::move(h)};
        },
        "every block of this heap has come back when it ends");
}

TYPED_TEST(heap_test, an_overrun_header_is_noticed) {
    if (!asserts_enabled || checker_is_faster()) { GTEST_SKIP() << "the checker is faster"; }
    GTEST_FLAG_SET(death_test_style, "fast");
    test_region memory{64_KiB};
    heap<TypeParam> h{memory.span()};
    void* const p = h.allocate(104);
    void* const q = h.allocate(104);
    void* const guard = h.allocate(104);
    const std::size_t end = h.usable_size(p);
    for (std::size_t bit = 0; bit < 64; ++bit) {  // every bit of the header after p
        auto* const byte = static_cast<std::byte*>(p) + end + bit / 8;
        *byte ^= std::byte{1} << (bit % 8);
        if (bit != 31) {  // `deferred` set is a block that nobody lists
            EXPECT_DEATH(h.validate(), "broken promise") << bit;
        } else {
            EXPECT_DEATH(h.validate(), "every deferred block waits in a bin");
        }
        if (bit >= 32) {
            EXPECT_DEATH(h.deallocate(p, 104), "overran") << bit;
            EXPECT_DEATH(h.deallocate(q, 104), "broken promise") << bit;
        } else {
            EXPECT_DEATH(h.deallocate(q, 104), "broken promise") << bit;
        }
        *byte ^= std::byte{1} << (bit % 8);
    }
    h.validate();
    h.deallocate(p, 104), h.deallocate(q, 104), h.deallocate(guard, 104);
}

TYPED_TEST(heap_test, an_overrun_free_header_is_noticed_when_the_block_is_taken) {
    if (!asserts_enabled || checker_is_faster()) { GTEST_SKIP() << "the checker is faster"; }
    GTEST_FLAG_SET(death_test_style, "fast");
    test_region memory{4_KiB};
    heap<TypeParam> h{memory.span()};
    void* const p = h.allocate(104);
    void* const q = h.allocate(1000);
    void* const guard = h.allocate(104);
    while (h.allocate(8) != nullptr) {}  // so that q is the only block that fits
    const std::size_t end = h.usable_size(p);
    h.deallocate(q, 1000);
    for (std::size_t bit = 0; bit < 64; ++bit) {  // every bit of the free block's header
        auto* const byte = static_cast<std::byte*>(p) + end + bit / 8;
        *byte ^= std::byte{1} << (bit % 8);
        EXPECT_DEATH((void)h.allocate(1000), "broken promise") << bit;
        *byte ^= std::byte{1} << (bit % 8);
    }
    for (std::size_t bit = 32; bit < 64; ++bit) {  // and what the block after it knows of it
        auto* const byte = static_cast<std::byte*>(guard) - 8 + bit / 8;
        *byte ^= std::byte{1} << (bit % 8);
        EXPECT_DEATH((void)h.allocate(1000), "overran") << bit;
        EXPECT_DEATH((void)h.usable_size(guard), "overran") << bit;
        *byte ^= std::byte{1} << (bit % 8);
    }
    EXPECT_EQ(h.allocate(1000), q);
    h.validate();
}
