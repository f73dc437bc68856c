// The worst case of each call of cairn/alloc/concurrent_heap.hpp, in steps (step_counter.hpp).
#include <cairn/alloc/concurrent_heap.hpp>
#include <cairn/storage/inside/step_counter.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "support/test_upstream.hpp"

namespace {

using cairn::concurrent_heap;

void start() { cairn::detail::steps_taken = 0; }
std::uint64_t taken() { return cairn::detail::steps_taken; }

// A stack that grows looks at 40 classes for room, of which one leaves 60 slots, or 8 to chunks.
constexpr std::uint64_t chunk_steps = 1 + 3 * 4;  // a slot, whose chunk may become four free units
constexpr std::uint64_t room_steps = 40 + 60 + 8 * chunk_steps;
// 60 slots, from as many chunks, move in, and to the stack; a new chunk is cut into 64 words, and
// off a run of units, in a list of which 8 are looked at.
constexpr std::uint64_t allocate_steps_max = room_steps + 2 * 60 + 60 + 64 + 8 + 4;
// 60 slots move out, or 8 to their chunks.
constexpr std::uint64_t deallocate_steps_max = room_steps + 60 + 8 * chunk_steps;

TEST(concurrent_heap_steps, no_call_takes_more_than_the_bound) {
    concurrent_heap h;
    std::mt19937 random{1};
    std::vector<std::pair<void*, std::size_t>> live;
    std::uint64_t allocate_worst = 0;
    std::uint64_t deallocate_worst = 0;
    for (int phase = 0; phase < 12; ++phase) {
        const std::size_t size_max = phase % 3 == 0 ? 64 : phase % 3 == 1 ? 2000 : 32'000;
        for (int i = 0; i < 30'000; ++i) {
            const bool grows = phase % 2 == 0;
            if (random() % 100 < (grows ? 80 : 10)) {
                const std::size_t size = random() % size_max;
                start();
                void* const p = h.allocate(size);
                allocate_worst = std::max(allocate_worst, taken());
                live.emplace_back(p, size);
            } else if (!live.empty()) {
                auto& b = live[random() % live.size()];
                start();
                h.deallocate(b.first, b.second);
                deallocate_worst = std::max(deallocate_worst, taken());
                b = live.back();
                live.pop_back();
            }
        }
    }
    EXPECT_GT(allocate_worst, 60u) << "the build counts";
    EXPECT_LE(allocate_worst, allocate_steps_max);
    EXPECT_LE(deallocate_worst, deallocate_steps_max);
    for (const auto& [p, size] : live) { h.deallocate(p, size); }
}

}  // namespace
