// Sentences of cairn/alloc/required_size.hpp: regions that suffice, under attack.
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/required_size.hpp>
#include <cairn/core/sizes.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "alloc/heap_bounds/loads.hpp"

using namespace cairn;
using namespace heap_bounds_tests;

namespace {

/// Counts what lives, and refuses to exceed the budget that required_size was asked for.
template <class Fit>
class promised {
public:
    promised(std::size_t live_max, std::size_t request_max, std::size_t request_min)
        : live_max_{live_max},
          memory_{required_size<Fit>(live_max, request_max, request_min) + 16},
          heap_{memory_.span(required_size<Fit>(live_max, request_max, request_min))} {}

    /// False when the budget is used up.
    bool allocate(std::size_t size) {
        if (live_size_ + size > live_max_) { return false; }
        void* const p = heap_.allocate(size);
        EXPECT_NE(p, nullptr) << Fit::name << ": the promised region refused " << size;
        if (p == nullptr) { return false; }
        live_size_ += size;
        live.push_back({p, size});
        return true;
    }
    template <class Doomed>
    void free_if(Doomed doomed) {
        std::erase_if(live, [&](const piece& b) {
            if (!doomed(b)) { return false; }
            heap_.deallocate(b.p, b.size);
            live_size_ -= b.size;
            return true;
        });
    }
    ~promised() { EXPECT_EQ(heap_.exceeded, 0u) << Fit::name << ": up to " << heap_.worst; }
    promised(const promised&) = delete;
    promised& operator=(const promised&) = delete;
    std::vector<piece> live;

private:
    std::size_t live_max_;
    test_region memory_;
    test::bounded_heap<Fit> heap_;
    std::size_t live_size_ = 0;
};

/// Robson's adversary: in phase i keep only blocks that cover an address congruent to f modulo
/// 2^i, so that no hole is as large as the next requests.
template <class Fit>
void attack_as_robson(std::size_t live_max) {
    const std::size_t smallest = 8;  // payload of one granule
    promised<Fit> h{live_max, 16 * 128 - 8, smallest};
    while (h.allocate(smallest)) {}
    std::uintptr_t f = 0;
    for (std::size_t step = 2; step <= 128; step *= 2) {
        const std::uintptr_t period = step * 16;
        const auto covers = [&](const piece& b, std::uintptr_t at) {
            const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(b.p) - 8;
            return (at - begin) % period < b.size + 8;
        };
        const auto kept = [&](std::uintptr_t at) {
            std::size_t bytes = 0;
            for (const piece& b : h.live) { bytes += covers(b, at) ? b.size : 0; }
            return bytes;
        };
        const std::uintptr_t other = f + period / 2;
        if (kept(other) < kept(f)) { f = other; }  // the fewer kept bytes, the more new requests
        h.free_if([&](const piece& b) { return !covers(b, f); });
        while (h.allocate(period - 8)) {}
    }
}

/// Knuth's for best fit: exact holes are filled, and every new size just misses all of them.
template <class Fit>
void attack_as_knuth(std::size_t live_max, unsigned seed) {
    promised<Fit> h{live_max, 2000, 8};
    std::mt19937 random{seed};
    for (std::size_t size = 24; size <= 2000; size += 16 + seed % 3 * 16) {
        for (bool more = true; more;) {
            more = h.allocate(size);
            if (more) { more = h.allocate(8); }
        }
        // Keep the teeth, thinly; free every comb.
        h.free_if([&](const piece& b) { return b.size > 8 || random() % 8 == 0; });
        h.free_if([&](const piece&) { return random() % 16 == 0; });
    }
}

template <class Fit>
void attack() {
    for (const std::size_t live_max : {2_KiB, 20_KiB, 200_KiB}) {
        attack_as_robson<Fit>(live_max);
        for (unsigned seed = 0; seed < 4; ++seed) { attack_as_knuth<Fit>(live_max / 2, seed); }
    }
    std::mt19937 random{11};
    for (int run = 0; run < 4; ++run) {  // random sizes within the promise
        promised<Fit> h{30'000, 1000, 16};
        for (int i = 0; i < 4000; ++i) {
            if (!h.allocate(16 + random() % 985)) {
                h.free_if([&](const piece&) { return random() % 3 == 0; });
            }
        }
    }
}

}  // namespace

TEST(required_size, suffices_for_first_fit) { attack<first_fit>(); }
TEST(required_size, suffices_for_best_fit) { attack<best_fit>(); }
TEST(required_size, suffices_for_good_fit) { attack<good_fit>(); }
TEST(required_size, suffices_for_strict_good_fit) { attack<strict_good_fit>(); }
TEST(required_size, suffices_for_half_fit) { attack<half_fit>(); }

TEST(required_size, of_no_smallest_request_is_that_of_one_byte) {
    EXPECT_EQ(required_size<first_fit>(100000, 1000, 0), required_size<first_fit>(100000, 1000, 1));
    EXPECT_EQ(required_size<half_fit>(100000, 1000, 0), required_size<half_fit>(100000, 1000, 1));
}

TEST(required_size, counts_on_the_harmonic_sum_from_its_first_term) {
    EXPECT_EQ(detail::harmonic_over_ln2(1), 1478u) << "1024 / ln 2, rounded up";
    EXPECT_EQ(detail::harmonic_over_ln2(2), 2216u) << "1024 * 1.5 / ln 2";
}

TEST(required_size, first_fit_needs_least_where_sizes_differ_much) {
    const std::size_t live = 1'000'000;
    EXPECT_LT(required_size<first_fit>(live, 4096, 64), required_size<half_fit>(live, 4096, 64));
    EXPECT_LT(required_size<half_fit>(live, 4096, 64), required_size<best_fit>(live, 4096, 64));
    EXPECT_EQ(required_size<best_fit>(SIZE_MAX / 2, 100), SIZE_MAX) << "no region promises that";
    static_assert(required_size<first_fit>(1000, 100, 10) > 1000);
    // M + C (n - 1) granules: 1,024 requests of 64 KiB at least and of 80 KiB at most.
    constexpr std::size_t count = 1024, largest = (80_KiB + 23) / 16;
    EXPECT_EQ(required_size<best_fit>(64_MiB, 80_KiB, 64_KiB),
              heap<best_fit>::region_size_for_granules((64_MiB + 23 * count + 15) / 16 +
                                                       count * (largest - 1)))
        << "nothing is added for a rounding that best_fit does not do";
}
