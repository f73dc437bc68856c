// Small scope, all of it: every state that a heap of 8 to 12 granules can reach by any sequence of
// operations, each state once, invariants checked in each, addresses compared with the oracle's.
#include <cairn/alloc/heap.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "alloc/heap_exhaustive/small_world.hpp"
#include "support/heap_model.hpp"

using namespace cairn;
using namespace heap_exhaustive_tests;

namespace {
template <class Fit>
void explore_all(oracle_rule rule, bool exact, std::uint64_t steps_allowed) {
    for (std::uint32_t granules = 8; granules <= 12; ++granules) {
        SCOPED_TRACE(testing::Message() << granules << " granules");
        small_world<Fit> world{granules, rule, exact};
        const std::size_t states = world.explore(state_max(granules));
        testing::Test::RecordProperty("states_" + std::to_string(granules),
                                      static_cast<int>(states));
        std::printf("%s: %u granules, %zu states, at most %llu steps\n", Fit::name, granules,
                    states, static_cast<unsigned long long>(world.steps_max));
        EXPECT_LE(world.steps_max, steps_allowed);
        if (testing::Test::HasFailure()) { return; }
    }
}

/// Twelve granules hold six holes at most. What only shows among many (pages, a trie that is more
/// than a chain: its first 20 nodes are all on the left) is shown by following the oracle through a
/// random run.
template <class Fit>
void follow_the_oracle(oracle_rule rule, unsigned seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    constexpr std::size_t granules = 30'000;
    test_region memory{granules * 16};
    heap<Fit> h{memory.span()};
    std::byte* first = nullptr;
    h.for_each_block([&](const heap_block& b) { first = static_cast<std::byte*>(b.payload); });
    heap_oracle oracle{static_cast<std::uint32_t>(h.stats().capacity / 16), rule};
    std::mt19937 random{seed};
    std::vector<live_block> live;
    for (int i = 0; i < 3000; ++i) {
        if (random() % 100 < 60 || live.empty()) {
            const auto n = static_cast<std::uint32_t>(1 + random() % (400u >> random() % 6));
            const auto* const p = static_cast<std::byte*>(h.allocate(n * std::size_t{16} - 8));
            const std::uint32_t expected = oracle.allocate(n);
            const std::uint32_t got =
                p == nullptr ? heap_oracle::none : static_cast<std::uint32_t>((p - first) / 16);
            ASSERT_EQ(got, expected) << "operation " << i << ", n " << n;
            if (p != nullptr) {
                live.push_back({got, n});
                continue;
            }
        }
        std::swap(live[random() % live.size()], live.back());
        const live_block b = live.back();
        live.pop_back();
        h.deallocate(first + b.at * std::size_t{16}, b.size * std::size_t{16} - 8);
        oracle.free(b.at, b.size);
    }
    h.validate();
}
}  // namespace

TEST(heap_exhaustive, among_many_holes_the_exact_fits_are_the_oracle_too) {
    for (unsigned seed = 1; seed <= 4; ++seed) {
        follow_the_oracle<first_fit>(oracle_rule::first, seed);
        follow_the_oracle<best_fit>(oracle_rule::best, seed);
        follow_the_oracle<detail::basic_best_fit<2>>(oracle_rule::best, seed);
    }
}

TEST(heap_exhaustive, first_fit_is_the_oracle_in_every_state) {
    explore_all<first_fit>(oracle_rule::first, true, 60);
}
TEST(heap_exhaustive, best_fit_is_the_oracle_in_every_state) {
    explore_all<best_fit>(oracle_rule::best, true, 60);
}
TEST(heap_exhaustive, best_fit_with_nearly_all_sizes_in_the_trie_is_the_oracle_in_every_state) {
    explore_all<detail::basic_best_fit<2>>(oracle_rule::best, true, 100);
}
TEST(heap_exhaustive, good_fit_keeps_its_invariants_in_every_state) {
    explore_all<strict_good_fit>(oracle_rule::best, false, 60);
    explore_all<detail::basic_good_fit<1, 0>>(oracle_rule::best, false, 60);
}
TEST(heap_exhaustive, deferring_keeps_the_invariants_in_every_state) {
    explore_all<detail::basic_good_fit<2, 2, 4>>(oracle_rule::best, false, 200);
}
TEST(heap_exhaustive, half_fit_keeps_its_invariants_in_every_state) {
    explore_all<half_fit>(oracle_rule::best, false, 60);
}
