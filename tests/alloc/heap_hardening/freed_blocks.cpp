// Sentences of cairn/alloc/heap.hpp about writes into freed blocks, and the words that guard them.
#include <cairn/alloc/heap.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/os/inside/process_secret.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "alloc/heap_hardening/sentences.hpp"
#include "support/death_words.hpp"
#include "support/heap_fits.hpp"
#include "support/heap_model.hpp"
#include "support/sanitizers.hpp"

using namespace cairn;
using namespace cairn::literals;
using namespace heap_hardening_tests;

namespace {
/// A heap with free blocks of many sizes between live ones; made anew for each case, so it is
/// small.
template <class Fit>
struct holes {
    test_region memory{memory_size};
    heap<Fit> h{memory.span()};
    std::vector<block> live;
    std::vector<block> freed;

    holes() {
        std::mt19937 random{3};
        for (int i = 0; i < 120; ++i) {
            const std::size_t size = 8 + random() % (i % 6 == 0 ? 900 : 90);
            auto* const data = static_cast<std::byte*>(h.allocate(size));
            if (data != nullptr) { (i % 2 == 0 ? freed : live).push_back({data, size}); }
        }
        for (const block& b : freed) { h.deallocate(b.data, b.size); }
    }
};

/// Allocates until the heap is full, then frees all of it. True when each block lay in `h`, and
/// beside the live ones.
template <class Fit>
bool goes_on_correctly(holes<Fit>& w) {
    std::vector<block> got;
    const auto overlaps = [](const block& a, const block& b) {
        return a.data < b.data + b.size && b.data < a.data + a.size;
    };
    const std::byte* const begin = w.memory.span().data();
    for (std::size_t i = 0; i < 100; ++i) {
        const std::size_t size = 8 + i * 37 % 200;
        auto* const p = static_cast<std::byte*>(w.h.allocate(size));
        if (p == nullptr) { continue; }
        const block b{p, size};
        if (p < begin || p + size > begin + memory_size || !detail::is_aligned(p, alignment{16})) {
            return false;
        }
        for (const block& l : w.live) {
            if (overlaps(b, l)) { return false; }
        }
        for (const block& g : got) {
            if (overlaps(b, g)) { return false; }
        }
        got.push_back(b);
    }
    for (const block& b : got) { w.h.deallocate(b.data, b.size); }
    w.h.trim();
    return true;
}
}  // namespace

TYPED_TEST(heap_hardening, a_write_into_a_freed_block_is_noticed_or_does_no_harm) {
    if (checker_is_faster()) { GTEST_SKIP() << "the checker is faster"; }
    const std::uint64_t patterns[] = {
        0,    ~std::uint64_t{0},     0x4141'4141'4141'4141, 0x0000'7FFF'0000'1000,
        0x10, 0x5A5A'5A5A'0000'0000, 0xFFFF'FFFF'0000'0001};
    std::size_t noticed = 0;
    std::size_t cases = 0;
    std::size_t turn = 0;
    for (const std::uint64_t pattern : patterns) {
        for (const std::size_t size : {8u, 4u, 1u}) {  // also parts of a link
            // A process for each: every block meets a third of the patterns.
            for (std::size_t i = turn++ % 3; i < 60; i += 3) {
                const std::string said = sentence_of([&] {
                    holes<TypeParam> w;
                    std::memcpy(w.freed[i % w.freed.size()].data, &pattern, size);
                    if (!goes_on_correctly(w)) { tell(went_wrong); }
                });
                ASSERT_NE(said, went_wrong)
                    << std::hex << pattern << ", " << size << " bytes, into block " << i;
                noticed += said.empty() ? 0u : 1u;
                ++cases;
            }
        }
    }
    if (std::string_view{TypeParam::name} != "first_fit") {  // which keeps nothing in freed blocks
        EXPECT_GT(noticed, cases / 3) << "of " << cases;
    }
}

TYPED_TEST(heap_hardening, an_address_written_into_a_freed_block_is_not_given_out) {
    if (checker_is_faster()) { GTEST_SKIP() << "the checker is faster"; }
    for (std::size_t i = 0; i < 60; ++i) {
        alignas(64) static std::byte target[256];
        const std::string said = sentence_of([&] {
            holes<TypeParam> w;
            block& victim = w.freed[i % w.freed.size()];
            // What an attacker of an unencoded list writes: the distance from the region to the
            // target.
            const std::int64_t offset = target + 16 - w.memory.span().data();
            std::memcpy(victim.data, &offset, sizeof offset);
            for (int n = 0; n < 200; ++n) {
                const auto* const p =
                    static_cast<std::byte*>(w.h.allocate(victim.size, default_alignment));
                if (p >= target && p < target + sizeof target) { tell(went_wrong); }
            }
        });
        ASSERT_NE(said, went_wrong) << i;
    }
}

TYPED_TEST(heap_hardening, what_was_told_ends_the_program) {
    GTEST_FLAG_SET(death_test_style, "fast");
    test_region memory{memory_size};
    heap<TypeParam> h{memory.span()};
    void* const p = h.allocate(100);
    (void)h.allocate(100);
    EXPECT_DEATH(
        {
            h.deallocate(p, 100);
            h.deallocate(p, 100);
            (void)h.allocate(100);
            (void)h.allocate(100);
        },
        "a block is freed once");
    h.reset();
}

TEST(heap_hardening, each_link_of_the_only_large_block_is_looked_at_when_it_is_cut_or_grows) {
    if (checker_is_faster()) { GTEST_SKIP() << "the checker is faster"; }
    for (std::size_t link = 0; link < 5; ++link) {  // next, prev, left, right, parent
        for (const bool cut : {true, false}) {
            const std::string said = sentence_of([&] {
                test_region memory{memory_size};
                heap<best_fit> h{memory.span()};
                auto* const p = static_cast<std::byte*>(h.allocate(104));
                // Behind its own header the next block begins, which is all that is left.
                p[h.usable_size(p) + heap<best_fit>::header_size + link * 4] ^= std::byte{0x40};
                if (cut) {
                    (void)h.allocate(104);
                } else {
                    h.deallocate(p, 104);
                }
            });
            EXPECT_NE(said.find("nothing wrote into it after it was freed"), std::string::npos)
                << said << ": link " << link << (cut ? ", cut" : ", grown");
            EXPECT_EQ(kind, misuse_kind::corrupted);
        }
    }
}

TEST(heap_hardening, the_words_in_freed_blocks_differ_from_heap_to_heap) {
    if (checker_is_faster()) { GTEST_SKIP() << "freed blocks cannot be read"; }
    const auto link_in = [](byte_slice memory) {
        heap<> h{memory};
        void* const p = h.allocate(100);
        void* const q = h.allocate(100);
        h.deallocate(p, 100);
        h.deallocate(q, 100);
        std::uint64_t link = 0;
        std::memcpy(&link, q, sizeof link);
        return link;
    };
    test_region a{memory_size};
    test_region b{memory_size};
    EXPECT_NE(link_in(a.span()), link_in(b.span()));
}

TEST(heap_hardening, the_secret_of_a_process_is_drawn_once) {
    const std::uint64_t first = detail::process_secret();
    EXPECT_NE(first, 0u);
    EXPECT_EQ(detail::process_secret(), first);
    EXPECT_EQ(detail::secret_of(&first), detail::secret_of(&first));
}

TEST(heap_hardening, a_link_that_is_cut_short_ends_in_the_sentence) {
    // The last byte of a link leads far outside, whatever the key is.
    if (checker_is_faster()) { GTEST_SKIP() << "the checker is faster"; }
    const std::string said = sentence_of([] {
        test_region memory{memory_size};
        heap<test::deferring_fit> h{memory.span()};
        auto* const p = static_cast<std::byte*>(h.allocate(100));
        auto* const q = static_cast<std::byte*>(h.allocate(100));
        h.deallocate(p, 100);
        h.deallocate(q, 100);
        q[7] ^= std::byte{1};
        (void)h.allocate(100);
        (void)h.allocate(100);
    });
    EXPECT_NE(said.find("a block that waits is as the heap wrote it"), std::string::npos) << said;
    EXPECT_EQ(kind, misuse_kind::corrupted);
}
