// What the tests of the bounds of heaps share: loads, and how many steps the worst operation took.
#pragma once

#include <cairn/alloc/best_fit.hpp>
#include <cairn/alloc/first_fit.hpp>
#include <cairn/alloc/half_fit.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/core/sizes.hpp>

#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>

#include "support/heap_model.hpp"
#include "support/step_bound.hpp"

namespace heap_bounds_tests {

using namespace cairn;
using namespace cairn::literals;

inline constexpr std::uint64_t checks = test::check_steps;

struct steps_seen {
    std::uint64_t allocate = 0;
    std::uint64_t deallocate = 0;
};

template <class Heap>
class counting {
public:
    explicit counting(Heap& h) : heap_{h} {}
    void* allocate(std::size_t size, alignment align = default_alignment) {
        detail::steps_taken = 0;
        void* const p = heap_.allocate(size, align);
        seen.allocate = std::max(seen.allocate, detail::steps_taken);
        return p;
    }
    void deallocate(void* p, std::size_t size) {
        detail::steps_taken = 0;
        heap_.deallocate(p, size);
        seen.deallocate = std::max(seen.deallocate, detail::steps_taken);
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
        heap<Fit> h{memory.span()};
        counting<heap<Fit>> counted{h};
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

}  // namespace heap_bounds_tests
