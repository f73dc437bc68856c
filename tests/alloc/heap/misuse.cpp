// Sentences of cairn/alloc/heap.hpp about misuse: its reports.
#include <cairn/alloc/heap.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/os/page_memory.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
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
    // Nothing is read there: no memory is.
    void* const nowhere = reinterpret_cast<void*>(std::uintptr_t{0x1010});
    EXPECT_DEATH(h.deallocate(nowhere, 100), "freed to the heap it came from");
    EXPECT_DEATH(h.deallocate(nowhere), "freed to the heap it came from");
    heap<TypeParam> empty{grow_by{64_KiB}};
    EXPECT_DEATH(empty.deallocate(p, 100), "freed to the heap it came from");
    EXPECT_DEATH(empty.deallocate(p), "freed to the heap it came from");
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

TYPED_TEST(heap_test, its_options_are_the_last_argument_of_every_beginning) {
    test_region memory{64_KiB};
    const auto leaves = [](auto make) {
        return expect_broken_promise([&] {
            auto h = make();
            (void)h.allocate(8);
        });
    };
    using kind = heap<TypeParam>;
    const typename kind::options how{.name = "level", .all_back_at_end = true};
    if (asserts_enabled) {
        for (const auto& told :
             {leaves([&] { return kind{memory.span(), how}; }),
              leaves([&] { return kind{64_KiB, system_memory(), how}; }),
              leaves([&] { return kind{grow_by{4_KiB}, system_memory(), how}; })}) {
            EXPECT_EQ(told.kind(), misuse_kind::leak) << told;
            EXPECT_TRUE(told.says("heap 'level' at")) << told;
        }
    }
    kind plain{grow_by{4_KiB}, system_memory(), {.name = "left as a whole"}};
    EXPECT_NE(plain.allocate(8), nullptr);
    static_assert(
        std::is_same_v<decltype(heap{grow_by{4_KiB}, system_memory(), {.name = ""}}), heap<>>);
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

TYPED_TEST(heap_test, an_overrun_header_at_the_end_of_memory_is_named_and_nothing_behind_it_read) {
    if (!asserts_enabled || checker_is_faster()) { GTEST_SKIP() << "the checker is faster"; }
    GTEST_FLAG_SET(death_test_style, "fast");
    const std::size_t page = page_memory::size();
    auto* const begin = static_cast<std::byte*>(page_memory::reserve(2 * page));
    ASSERT_NE(begin, nullptr);
    ASSERT_TRUE(page_memory::commit(begin, page));  // and no memory behind it
    {
        heap<TypeParam> h{std::span{begin, page}};
        std::byte* last = nullptr;
        while (void* const p = h.allocate(8)) {
            last = static_cast<std::byte*>(p) > last ? static_cast<std::byte*>(p) : last;
        }
        std::uint32_t size;  // in granules, of a block that would end behind all memory
        std::memcpy(&size, last - 8, sizeof size);
        const std::size_t kept = size;
        size += 3;
        std::memcpy(last - 8, &size, sizeof size);
        EXPECT_DEATH(h.deallocate(last, h.good_size(kept * 16 + 3 * 16 - 8)), "broken promise");
        EXPECT_DEATH(h.deallocate(last), "broken promise");
    }
    page_memory::release(begin, 2 * page);
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

namespace {
/// Regions far apart, and no memory between them.
struct far_apart {
    static constexpr std::size_t distance = 1_MiB;
    std::byte* next;
    void* allocate(std::size_t size, alignment) noexcept {
        std::byte* const p = next;
        next += distance;
        return page_memory::commit(p, page_memory::round_up_to_pages(size)) ? p : nullptr;
    }
    static void deallocate(void*, std::size_t, alignment) noexcept {}
};
}  // namespace

TEST(heap, a_link_that_leads_between_two_regions_is_named_and_nothing_is_read_there) {
    if (!asserts_enabled || checker_is_faster()) { GTEST_SKIP() << "the checker is faster"; }
    GTEST_FLAG_SET(death_test_style, "fast");
    void* const begin = page_memory::reserve(2 * far_apart::distance);
    ASSERT_NE(begin, nullptr);
    far_apart upstream{static_cast<std::byte*>(begin)};
    {
        heap<> h{grow_by{64_KiB}, upstream};
        void* const first = h.allocate(104);
        void* const newest = h.allocate(104);
        ASSERT_NE(h.allocate(100_KiB), nullptr);
        ASSERT_EQ(h.stats().region_count, 2u);
        h.deallocate(first, 104);
        h.deallocate(newest, 104);
        std::uint64_t link;  // to the first
        std::memcpy(&link, newest, sizeof link);
        link += far_apart::distance / 2;
        std::memcpy(newest, &link, sizeof link);
        ASSERT_EQ(h.allocate(104), newest);
        EXPECT_DEATH((void)h.allocate(104), "a block that waits is as the heap wrote it");
    }
    page_memory::release(begin, 2 * far_apart::distance);
}
