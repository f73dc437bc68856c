// What the heaps promise about the worst case: steps per operation, and region sizes that suffice.
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/required_size.hpp>
#include <cairn/core/sizes.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>

#include "support/heap_model.hpp"
#include "support/step_bound.hpp"

using namespace cairn;
using namespace cairn::literals;

namespace {

constexpr std::uint64_t checks = test::check_steps;

struct steps_seen {
    std::uint64_t allocate = 0;
    std::uint64_t deallocate = 0;
};

template <class Heap>
class counting {
public:
    explicit counting(Heap& h) : heap_{h} {}
    void* allocate(std::size_t size, alignment align = default_alignment) {
        counted_steps::taken = 0;
        void* const p = heap_.allocate(size, align);
        seen.allocate = std::max(seen.allocate, counted_steps::taken);
        return p;
    }
    void deallocate(void* p, std::size_t size) {
        counted_steps::taken = 0;
        heap_.deallocate(p, size);
        seen.deallocate = std::max(seen.deallocate, counted_steps::taken);
    }
    steps_seen seen;

private:
    Heap& heap_;
};

struct piece {
    void* p;
    std::size_t size;
};

/// Random use until full, over and over.
template <class Heap>
void random_load(counting<Heap>& h, unsigned seed, int steps, bool aligned) {
    std::mt19937 random{seed};
    std::vector<piece> live;
    for (int i = 0; i < steps; ++i) {
        if (random() % 100 < 52 || live.empty()) {
            const std::size_t size = random() % (1 + (40'000u >> random() % 12));
            const std::size_t align = aligned && random() % 4 == 0 ? 16u << random() % 6 : 16;
            if (void* const p = h.allocate(size, alignment{align})) {
                live.push_back({p, size});
                continue;
            }
        }
        if (live.empty()) { continue; }
        std::swap(live[random() % live.size()], live.back());
        h.deallocate(live.back().p, live.back().size);
        live.pop_back();
    }
    for (const piece& b : live) { h.deallocate(b.p, b.size); }
}

/// As many holes as there can be, of all sizes, then requests between them; frees between two holes.
template <class Heap>
void comb_load(counting<Heap>& h) {
    std::vector<piece> holes;
    std::vector<piece> teeth;
    for (std::size_t i = 0;; ++i) {
        const std::size_t size = 24 + i * 37 % 20'000;
        void* const hole = h.allocate(size);
        void* const tooth = h.allocate(8);
        if (hole != nullptr) { holes.push_back({hole, size}); }
        if (tooth != nullptr) { teeth.push_back({tooth, 8}); }
        if (hole == nullptr || tooth == nullptr) { break; }
    }
    for (const piece& b : holes) { h.deallocate(b.p, b.size); }
    for (std::size_t i = 0; i < 3000; ++i) {
        const std::size_t size = i * 61 % 21'000;
        if (void* const p = h.allocate(size)) { h.deallocate(p, size); }
    }
    for (const piece& b : teeth) { h.deallocate(b.p, b.size); }
}

template <class Fit>
steps_seen worst_steps() {
    steps_seen worst;
    for (const std::size_t size : {64_KiB, 4_MiB}) {
        test_region memory{size};
        heap<Fit, counted_steps> h{memory.span()};
        counting<heap<Fit, counted_steps>> counted{h};
        for (unsigned seed = 1; seed <= 3; ++seed) {
            random_load(counted, seed, 12'000, true);
            h.trim();
        }
        comb_load(counted);
        h.validate();
        worst.allocate = std::max(worst.allocate, counted.seen.allocate);
        worst.deallocate = std::max(worst.deallocate, counted.seen.deallocate);
    }
    std::printf("%s: at most %llu steps to allocate, %llu to deallocate\n", Fit::name,
                static_cast<unsigned long long>(worst.allocate),
                static_cast<unsigned long long>(worst.deallocate));
    return worst;
}

}  // namespace

TEST(heap_bounds, steps_of_strict_good_fit) {
    const steps_seen worst = worst_steps<strict_good_fit>();
    EXPECT_LE(worst.allocate, strict_good_fit::allocate_steps_max + checks);
    EXPECT_LE(worst.deallocate, strict_good_fit::deallocate_steps_max + checks);
}

TEST(heap_bounds, steps_of_half_fit) {
    const steps_seen worst = worst_steps<half_fit>();
    EXPECT_LE(worst.allocate, half_fit::allocate_steps_max + checks);
    EXPECT_LE(worst.deallocate, half_fit::deallocate_steps_max + checks);
}

TEST(heap_bounds, steps_of_best_fit) {
    const steps_seen worst = worst_steps<best_fit>();
    EXPECT_LE(worst.allocate, best_fit::allocate_steps_max + checks);
    EXPECT_LE(worst.deallocate, best_fit::deallocate_steps_max + checks);
}

TEST(heap_bounds, steps_of_first_fit) {
    const steps_seen worst = worst_steps<first_fit>();
    EXPECT_LE(worst.allocate, first_fit::allocate_steps_max + checks);
    EXPECT_LE(worst.deallocate, first_fit::deallocate_steps_max + checks);
}

TEST(heap_bounds, steps_of_good_fit_with_and_without_the_last_resort) {
    const steps_seen worst = worst_steps<good_fit>();
    // The last resort merges everything deferred: the shares of the classes and the surplus.
    const std::uint64_t blocks = detail::deferred_blocks_max<good_fit>();
    EXPECT_LE(worst.allocate, blocks * (32u + checks) + 200u);
    EXPECT_LE(worst.deallocate, good_fit::deallocate_steps_max + checks);

    // Where memory does not run out there is none.
    test_region memory{16_MiB};
    heap<good_fit, counted_steps> h{memory.span()};
    counting<heap<good_fit, counted_steps>> counted{h};
    random_load(counted, 7, 40'000, true);
    EXPECT_LE(counted.seen.allocate, good_fit::allocate_steps_max + 2 * checks);
    EXPECT_LE(counted.seen.deallocate, good_fit::deallocate_steps_max + checks);
}

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
}
