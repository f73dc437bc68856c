// Sentences of cairn/alloc/heap.hpp about blocks that are freed twice.
#include <cairn/alloc/heap.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <string>

#include "alloc/heap_hardening/sentences.hpp"
#include "support/heap_model.hpp"
#include "support/sanitizers.hpp"

using namespace cairn;
using namespace heap_hardening_tests;

/// What a second free ends in. Where blocks wait, unchecked builds do not read a header for a free:
/// the request that would be given the block a second time does.
void expect_second_free_is_told(const std::string& said) {
    EXPECT_EQ(said, "a block is freed once");
    EXPECT_EQ(kind, misuse_kind::double_free);
}

// Each module of a program may have sentences of its own.
TEST(heap_hardening_of_modules, the_text_of_a_sentence_says_what_the_misuse_is) {
    const auto kind_of = [](std::string sentence) {
        (void)sentence_of([&] { detail::heap_is_corrupt(sentence.c_str(), nullptr); });
        return kind;
    };
    EXPECT_EQ(kind_of(detail::heap_promise::freed_once), misuse_kind::double_free);
    EXPECT_EQ(kind_of(detail::heap_promise::freed_here), misuse_kind::foreign_pointer);
    EXPECT_EQ(kind_of(detail::heap_promise::freed_start), misuse_kind::foreign_pointer);
    EXPECT_EQ(kind_of(detail::heap_promise::freed_size), misuse_kind::wrong_size);
    EXPECT_EQ(kind_of(detail::heap_promise::links), misuse_kind::corrupted);
}

TYPED_TEST(heap_hardening, a_second_free_in_a_row_is_told_before_the_block_has_two_owners) {
    for (std::size_t size = 8; size < 3000; size += 61) {
        const std::string said = sentence_of([&] {
            test_region memory{memory_size};
            heap<TypeParam> h{memory.span()};
            void* const p = h.allocate(size);
            (void)h.allocate(size);
            h.deallocate(p, size);
            h.deallocate(p, size);
            (void)h.allocate(size);
            (void)h.allocate(size);
        });
        expect_second_free_is_told(said);
        ASSERT_FALSE(testing::Test::HasFailure()) << size;
    }
}

TYPED_TEST(heap_hardening, a_second_free_after_the_block_has_merged_is_told) {
    for (const bool sized : {true, false}) {
        // A free with its size reads no header where blocks wait: docs/hardening.md.
        if (sized && !asserts_enabled && TypeParam::deferred_max != 0) { continue; }
        const std::string said = sentence_of([&] {
            test_region memory{memory_size};
            heap<TypeParam> h{memory.span()};
            void* const p = h.allocate(200);
            void* const q = h.allocate(200);
            (void)h.allocate(200);
            h.deallocate(p, 200);
            h.deallocate(q, 200);
            h.trim();  // p and q are one free block
            if (sized) {
                h.deallocate(q, 200);
            } else {
                h.deallocate(q);
            }
        });
        EXPECT_EQ(said, "a block is freed once") << sized;
        EXPECT_EQ(kind, misuse_kind::double_free);
    }
}

TYPED_TEST(heap_hardening, the_report_of_an_unchecked_build_names_the_memory_of_the_heap) {
    if (asserts_enabled) { GTEST_SKIP() << "the heap itself is named"; }
    test_region memory{memory_size};
    const caught_promise told = expect_broken_promise([&] {
        heap<TypeParam> h{memory.span()};
        void* const p = h.allocate(200);
        (void)h.allocate(200);
        h.deallocate(p, 200);
        h.trim();
        h.deallocate(p);
    });
    const auto at = reinterpret_cast<std::uintptr_t>(told.object());
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.span().data());
    EXPECT_LT(at - begin, memory_size) << told;
}

TYPED_TEST(heap_hardening, a_block_freed_twice_is_not_given_out_twice) {
    const std::string said = sentence_of([] {
        test_region memory{memory_size};
        heap<TypeParam> h{memory.span()};
        void* const p = h.allocate(100);
        void* const q = h.allocate(100);
        (void)h.allocate(100);
        h.deallocate(p, 100);
        h.deallocate(q, 100);
        h.deallocate(p, 100);
        std::set<void*> got;
        for (int i = 0; i < 3; ++i) {
            if (!got.insert(h.allocate(100)).second) { tell(went_wrong); }
        }
    });
    expect_second_free_is_told(said);
}

TYPED_TEST(heap_hardening, a_pointer_from_elsewhere_is_named_as_such_and_not_as_an_overrun) {
    // Too large to wait: its free is one of the core.
    const std::string said = sentence_of([] {
        test_region memory{memory_size};
        test_region elsewhere{memory_size};
        heap<TypeParam> h{memory.span()};
        (void)h.allocate(9000);
        h.deallocate(elsewhere.span().data() + 1024, 9000);
    });
    EXPECT_EQ(said, "a block is freed to the heap it came from");
    EXPECT_EQ(kind, misuse_kind::foreign_pointer);
}

TYPED_TEST(heap_hardening, a_pointer_from_elsewhere_is_named_before_anything_is_read_there) {
    // Heaps whose blocks wait read the header for the size in unchecked builds.
    if (!asserts_enabled && TypeParam::deferred_max != 0) { return; }
    const std::string said = sentence_of([] {
        test_region memory{memory_size};
        heap<TypeParam> h{memory.span()};
        (void)h.allocate(100);
        h.deallocate(reinterpret_cast<void*>(std::uintptr_t{0x1010}));  // no memory
    });
    EXPECT_EQ(said, "a block is freed to the heap it came from");
}

TYPED_TEST(heap_hardening, a_second_free_is_named_where_the_header_was_written_over_since) {
    if (checker_is_faster()) { GTEST_SKIP() << "the checker is faster"; }
    if (!asserts_enabled && TypeParam::deferred_max != 0) { return; }  // docs/hardening.md
    const caught_promise told = expect_broken_promise([&] {
        test_region memory{memory_size};
        heap<TypeParam> h{memory.span()};
        void* const left = h.allocate(100);
        auto* const p = static_cast<std::byte*>(h.allocate(256));
        (void)h.allocate(100);
        h.deallocate(left, 100);
        h.deallocate(p, 256);
        h.trim();  // both are one free block now
        std::memset(p - 8, 0x5A, 64);
        h.deallocate(p, 256);
    });
    EXPECT_STREQ(told.sentence(), "a block is freed once");
    if (asserts_enabled) { EXPECT_EQ(told.kind(), misuse_kind::double_free); }
}

TYPED_TEST(heap_hardening, a_pointer_into_a_block_is_named_as_such_and_not_as_an_overrun) {
    for (const bool sized : {true, false}) {
        if (!asserts_enabled && TypeParam::deferred_max != 0) { continue; }  // docs/hardening.md
        for (const int fill : {0x00, 0x07, 0x7F, 0xFF}) {
            const caught_promise told = expect_broken_promise([&] {
                test_region memory{memory_size};
                heap<TypeParam> h{memory.span()};
                (void)h.allocate(100);
                auto* const p = static_cast<std::byte*>(h.allocate(256));
                (void)h.allocate(100);
                std::memset(p, fill, 256);
                if (sized) {
                    h.deallocate(p + 16, 256);
                } else {
                    h.deallocate(p + 16);
                }
            });
            EXPECT_STREQ(told.sentence(), "a pointer to the start of a block is freed") << fill;
            EXPECT_EQ(told.kind(), misuse_kind::foreign_pointer);
            if (asserts_enabled) {
                EXPECT_TRUE(told.says("heap at")) << told;
                EXPECT_TRUE(told.says("bytes into the block 16")) << told;
                EXPECT_TRUE(told.says("second_frees.cpp")) << told;
            }
        }
    }
}
