// adopt_untrusted(): whatever the bytes are, what it returns works. CAIRN_MUTATED_REGIONS=1000000 in the
// environment asks for that many instead of 4,000 a fit.
#include <cairn/alloc/heap.hpp>
#include <cairn/core/sizes.hpp>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "support/heap_fits.hpp"
#include "support/heap_model.hpp"
#include "support/mutated_region.hpp"

using namespace cairn;
using namespace cairn::literals;

namespace {

template <class Fit>
class heap_adopt : public testing::Test {};

TYPED_TEST_SUITE(heap_adopt, test::all_fits, test::fit_names);

std::size_t regions_wanted() {
    const char* const asked = std::getenv("CAIRN_MUTATED_REGIONS");
    return asked == nullptr ? 4000 : static_cast<std::size_t>(std::atoll(asked));
}

}  // namespace

TYPED_TEST(heap_adopt, mutated_regions_make_an_empty_heap_or_one_that_works) {
    std::size_t heaps = 0;
    const std::size_t count = regions_wanted();
    for (unsigned seed = 1; seed <= 4; ++seed) {
        heaps += test::adopt_mutated<TypeParam>(count / 4, seed);
    }
    EXPECT_GT(heaps, count / 20) << "some changes are in what blocks hold";
    EXPECT_LT(heaps, count) << "and some are not";
}

TYPED_TEST(heap_adopt, an_untouched_region_is_the_same_heap) {
    for (unsigned seed = 1; seed <= 8; ++seed) {
        const std::vector<std::byte> bytes = test::used_region<TypeParam>(8000, seed);
        test_region a{8000};
        test_region b{8000};
        std::memcpy(a.span().data(), bytes.data(), bytes.size());
        std::memcpy(b.span().data(), bytes.data(), bytes.size());
        heap<TypeParam> trusted = heap<TypeParam>::adopt(a.span());
        heap<TypeParam> untrusted = heap<TypeParam>::adopt_untrusted(b.span());
        untrusted.validate();
        trusted.trim();  // what waited merges
        EXPECT_EQ(untrusted.stats().capacity, trusted.stats().capacity);
        EXPECT_EQ(untrusted.stats().free_size, trusted.stats().free_size);
        EXPECT_EQ(untrusted.stats().deferred_count, 0u);
        std::vector<std::ptrdiff_t> of_a;
        std::vector<std::ptrdiff_t> of_b;
        const auto starts = [](const heap<TypeParam>& h, const std::byte* begin,
                               std::vector<std::ptrdiff_t>& to) {
            h.for_each_block([&](const heap_block& x) {
                to.push_back(static_cast<const std::byte*>(x.payload) - begin);
                to.push_back(static_cast<int>(x.state));
            });
        };
        starts(trusted, a.span().data(), of_a);
        starts(untrusted, b.span().data(), of_b);
        EXPECT_EQ(of_a, of_b);
    }
}

TYPED_TEST(heap_adopt, what_was_adopted_serves_all_of_its_memory) {
    const std::vector<std::byte> bytes = test::used_region<TypeParam>(8000, 2);
    test_region memory{8000};
    std::memcpy(memory.span().data(), bytes.data(), bytes.size());
    heap<TypeParam> h = heap<TypeParam>::adopt_untrusted(memory.span());
    std::vector<void*> live;
    h.for_each_block([&](const heap_block& b) {
        if (b.state == block_state::used) { live.push_back(b.payload); }
    });
    EXPECT_FALSE(live.empty());
    for (void* const p : live) { h.deallocate(p); }
    h.trim();
    h.validate();
    EXPECT_EQ(h.stats().free_size, h.stats().capacity);
}

TYPED_TEST(heap_adopt, bytes_that_are_no_region_make_an_empty_heap) {
    test_region memory{4096};
    std::mt19937 random{7};
    for (std::size_t size = 0; size < 4096; size += 16) {
        auto bytes = memory.span(size);
        for (auto& b : bytes) { b = static_cast<std::byte>(random()); }
        EXPECT_EQ(heap<TypeParam>::adopt_untrusted(bytes).stats().region_count, 0u);
    }
    // A region that is cut off.
    const std::vector<std::byte> region = test::used_region<TypeParam>(4000, 1);
    std::memcpy(memory.span().data(), region.data(), region.size());
    for (std::size_t size = 0; size < 3900; size += 16) {
        EXPECT_EQ(heap<TypeParam>::adopt_untrusted(memory.span(size)).stats().region_count, 0u);
    }
    EXPECT_EQ(heap<TypeParam>::adopt_untrusted(memory.span(4000)).stats().region_count, 1u);
}

TYPED_TEST(heap_adopt, a_region_that_begins_between_two_granules_is_refused) {
    const std::vector<std::byte> bytes = test::used_region<TypeParam>(4000, 1);
    test_region memory{4096};
    for (const std::size_t skipped : {0u, 8u, 1u}) {
        std::byte* const begin = memory.span().data() + skipped;
        std::memcpy(begin, bytes.data(), bytes.size());
        const byte_slice region{begin, bytes.size()};
        const std::size_t regions = skipped == 0 ? 1 : 0;
        EXPECT_EQ(heap<TypeParam>::adopt(region).stats().region_count, regions) << skipped;
        EXPECT_EQ(heap<TypeParam>::adopt_untrusted(region).stats().region_count, regions)
            << skipped;
    }
}

TYPED_TEST(heap_adopt, the_smallest_region_is_adopted_and_no_fewer_bytes) {
    const std::size_t size = heap<TypeParam>::region_size_for_granules(1) - 15;  // at a granule
    test_region memory{size};
    { const heap<TypeParam> h{memory.span()}; }
    EXPECT_EQ(heap<TypeParam>::adopt(memory.span()).stats().capacity, 16u);
    EXPECT_EQ(heap<TypeParam>::adopt_untrusted(memory.span()).stats().capacity, 16u);
    EXPECT_EQ(heap<TypeParam>::adopt(byte_slice{}).stats().capacity, 0u);
    EXPECT_EQ(heap<TypeParam>::adopt_untrusted(byte_slice{}).stats().capacity, 0u);
    EXPECT_EQ(heap<TypeParam>::adopt(memory.span(size - 1)).stats().capacity, 0u);
    EXPECT_EQ(heap<TypeParam>::adopt_untrusted(memory.span(size - 1)).stats().capacity, 0u);
}

TYPED_TEST(heap_adopt, a_region_whose_bins_lie_in_its_index_is_refused) {
    const std::vector<std::byte> bytes = test::used_region<TypeParam>(8000, 1);
    test_region memory{8000};
    std::byte* const begin = memory.span().data();
    for (std::uint32_t up = 8;; up += 8) {
        std::memcpy(begin, bytes.data(), bytes.size());
        std::uint32_t words[4];  // granules, ., where the blocks begin, where the bins do
        std::memcpy(words, begin, sizeof words);
        if (words[3] < sizeof words + up) { break; }
        std::memmove(begin + words[3] - up, begin + words[3], words[2] - words[3]);
        words[3] -= up;
        std::memcpy(begin, words, sizeof words);
        ASSERT_EQ(heap<TypeParam>::adopt_untrusted(memory.span()).stats().region_count, 0u) << up;
    }
}
