// Sentences of cairn/alloc/heap.hpp about writes beyond the end of a block.
#include <cairn/alloc/heap.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "alloc/heap_hardening/sentences.hpp"
#include "support/heap_model.hpp"
#include "support/sanitizers.hpp"

using namespace cairn;
using namespace cairn::literals;
using namespace heap_hardening_tests;

TYPED_TEST(heap_hardening, an_overrun_into_a_neighbour_is_called_an_overrun) {
    if (checker_is_faster()) { GTEST_SKIP() << "the checker is faster"; }
    for (const int fill : {0x00, 0x41, 0x55, 0x7F, 0x80, 0xAA, 0xFF}) {
        for (const std::size_t over : {4u, 8u, 12u}) {
            const std::string said = sentence_of([&] {
                test_region memory{memory_size};
                heap<TypeParam> h{memory.span()};
                auto* const p = static_cast<std::byte*>(h.allocate(104));
                void* const q = h.allocate(104);
                (void)h.allocate(104);
                std::memset(p + h.usable_size(p), fill, over);
                h.deallocate(q, 104);
                h.trim();
            });
            if (!asserts_enabled && TypeParam::deferred_max != 0 && over == 4) {
                // The half with the size, which a block that begins to wait gets anew: mended.
                EXPECT_TRUE(said.empty() || said.find("overran") != std::string::npos) << said;
                continue;
            }
            EXPECT_NE(said.find("overran"), std::string::npos)
                << said << ": " << fill << ", " << over << " bytes";
            EXPECT_EQ(kind, misuse_kind::corrupted) << said;
        }
    }
}

TYPED_TEST(heap_hardening, an_overrun_is_called_an_overrun_when_its_own_block_is_freed) {
    if (checker_is_faster()) { GTEST_SKIP() << "the checker is faster"; }
    for (const int fill : {0x00, 0x41, 0x7F, 0xFF}) {
        const std::string said = sentence_of([&] {
            test_region memory{memory_size};
            heap<TypeParam> h{memory.span()};
            (void)h.allocate(104);
            auto* const p = static_cast<std::byte*>(h.allocate(104));
            (void)h.allocate(104);
            std::memset(p + h.usable_size(p), fill, 8);  // the header behind it
            h.deallocate(p, 104);
            h.trim();
        });
        EXPECT_NE(said.find("overran"), std::string::npos) << said << ": " << fill;
        EXPECT_EQ(kind, misuse_kind::corrupted) << said;
    }
}

TYPED_TEST(heap_hardening,
           an_overrun_is_reported_with_the_name_of_the_heap_and_the_line_of_the_free) {
    if (checker_is_faster()) { GTEST_SKIP() << "the checker is faster"; }
    if (!asserts_enabled) { GTEST_SKIP() << "names and lines are those of checked builds"; }
    const caught_promise told = expect_broken_promise([] {
        test_region memory{memory_size};
        heap<TypeParam> h{memory.span(), {.name = "level"}};
        auto* const p = static_cast<std::byte*>(h.allocate(104));
        void* const q = h.allocate(104);
        (void)h.allocate(104);
        std::memset(p + h.usable_size(p), 0x41, 8);
        h.deallocate(q, 104);
    });
    EXPECT_TRUE(told.says("overran")) << told;
    EXPECT_TRUE(told.says("heap 'level' at")) << told;
    EXPECT_TRUE(told.says("overruns.cpp")) << told;
}

TYPED_TEST(heap_hardening, an_overrun_that_looks_like_a_second_free_is_called_an_overrun) {
    if (checker_is_faster()) { GTEST_SKIP() << "the checker is faster"; }
    if (!asserts_enabled) { GTEST_SKIP() << "unchecked builds do not ask the neighbours"; }
    for (const std::uint32_t bit : {1u << 30, 1u << 31}) {  // free, waiting
        const std::string said = sentence_of([&] {
            test_region memory{memory_size};
            heap<TypeParam> h{memory.span()};
            auto* const p = static_cast<std::byte*>(h.allocate(104));
            void* const q = h.allocate(104);
            (void)h.allocate(104);
            const std::uint32_t two_granules = bit | 2;
            std::memcpy(p + h.usable_size(p), &two_granules, sizeof two_granules);
            h.deallocate(q, 104);
        });
        EXPECT_NE(said.find("overran"), std::string::npos) << said;
        EXPECT_EQ(kind, misuse_kind::corrupted) << said;
    }
}

TYPED_TEST(heap_hardening, an_overrun_into_a_free_neighbour_is_noticed_before_it_spreads) {
    if (checker_is_faster()) { GTEST_SKIP() << "the checker is faster"; }
    for (const int fill : {0x00, 0x01, 0x41, 0xFF}) {
        for (const std::size_t over : {1u, 4u, 8u}) {
            const std::string said = sentence_of([&] {
                test_region memory{memory_size};
                heap<TypeParam> h{memory.span()};
                auto* const p = static_cast<std::byte*>(h.allocate(104));
                void* const q = h.allocate(1000);
                (void)h.allocate(104);
                h.deallocate(q, 1000);
                h.trim();
                std::byte* const end = p + h.usable_size(p);
                std::byte was[8];
                std::memcpy(was, end, sizeof was);
                std::memset(end, fill, over);
                if (std::memcmp(was, end, sizeof was) == 0) { return; }
                h.deallocate(p, 104);
                h.trim();
                // With its bit gone it did not merge; the next request for it finds out.
                for (int i = 0; i < 70; ++i) { (void)h.allocate(1000); }
                tell(went_wrong);
            });
            EXPECT_NE(said, went_wrong) << fill << ", " << over << " bytes";
            if (!said.empty()) { EXPECT_EQ(kind, misuse_kind::corrupted) << said; }
        }
    }
}
