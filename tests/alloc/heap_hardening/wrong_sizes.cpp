// Sentences of docs/hardening.md about blocks that are freed with another size than their own.
#include <cairn/alloc/heap.hpp>
#include <gtest/gtest.h>

#include <string>

#include "alloc/heap_hardening/sentences.hpp"
#include "support/heap_model.hpp"

using namespace cairn;
using namespace heap_hardening_tests;

TYPED_TEST(heap_hardening, a_free_with_the_size_of_another_class_is_noticed) {
    struct sizes {
        std::size_t asked, freed;
    };
    for (const auto [asked, freed] :
         {sizes{100, 9000},
          {9000, 20'000},
          {20'000, 9000},
          {9000, 100},
          {100, 400},
          {100, 24},
          // Absurd sizes. The granules of the last three have the lowest 32 bits of the right ones.
          {100, SIZE_MAX - 99},
          {8, SIZE_MAX},
          {100, 64_GiB + 100},
          {9000, 128_GiB + 9000}}) {
        // Unchecked builds read no header for a block that may wait: docs/hardening.md.
        if (!asserts_enabled && TypeParam::deferred_max != 0 && freed < 9000) { continue; }
        const std::string said = sentence_of([&] {
            test_region memory{memory_size};
            heap<TypeParam> h{memory.span()};
            void* const p = h.allocate(asked);
            (void)h.allocate(100);
            h.deallocate(p, freed);
        });
        EXPECT_EQ(said, "a block is freed with the size that it was asked with")
            << asked << " freed with " << freed;
        EXPECT_EQ(kind, misuse_kind::wrong_size);
    }
}
