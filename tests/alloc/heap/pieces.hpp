// What the tests of cairn/alloc/heap.hpp share: the list of fits, blocks that know what is written
// in them, and a run of random calls.
#pragma once

#include <cairn/alloc/heap.hpp>
#include <cairn/core/alignment.hpp>
#include <cairn/os/page_memory.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "support/heap_fits.hpp"

namespace heap_tests {

using namespace cairn;

template <class Fit>
class heap_test : public testing::Test {};

TYPED_TEST_SUITE(heap_test, test::named_fits, test::fit_names);

struct piece {
    std::byte* data;
    std::size_t size;
    alignment align;
    std::byte fill;
};

inline void fill(const piece& p) {
    if (p.size != 0) { std::memset(p.data, static_cast<int>(p.fill), p.size); }
}

inline void expect_filled(const piece& p) {
    std::size_t i = 0;  // no macro a byte: it is most of the run time
    while (i < p.size && p.data[i] == p.fill) { ++i; }
    ASSERT_EQ(i, p.size) << "this byte of the block was overwritten by somebody else";
}

/// Random allocate, free (sized and not), resize; contents checked; validate() every `every` steps.
template <class Heap>
void random_run(Heap& h, unsigned seed, int steps, std::size_t size_max, int every) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random{seed};
    std::vector<piece> live;
    const auto some_size = [&] {
        const auto shift = static_cast<unsigned>(random() % 12);
        return random() % (1 + (size_max >> shift));
    };
    for (int step = 0; step < steps; ++step) {
        const auto dice = static_cast<unsigned>(random() % 100);
        if (dice < 48 || live.empty()) {
            const std::size_t size = some_size();
            const alignment align{std::size_t{1} << (random() % 8 == 0 ? random() % 10 : 4)};
            auto* const data = static_cast<std::byte*>(h.allocate(size, align));
            if (data != nullptr) {
                ASSERT_TRUE(detail::is_aligned(data, align));
                ASSERT_TRUE(detail::is_aligned(data, alignment{16}));
                ASSERT_TRUE(h.owns(data));
                ASSERT_GE(h.usable_size(data), size);
                ASSERT_EQ(h.usable_size(data), h.good_size(size));
                live.push_back({data, size, align, static_cast<std::byte>(random())});
                fill(live.back());
                continue;
            }
        }
        if (live.empty()) { continue; }
        std::swap(live[random() % live.size()], live.back());
        piece& p = live.back();
        expect_filled(p);
        if (dice >= 90) {
            const std::size_t size = some_size();
            const std::size_t kept = size < p.size ? size : p.size;
            if (h.try_resize(p.data, p.size, size, p.align)) {
                p.size = size;
                expect_filled({p.data, kept, p.align, p.fill});
                fill(p);
            }
        } else {
            if (dice % 2 == 0) {
                h.deallocate(p.data, p.size, p.align);
            } else {
                h.deallocate(p.data);
            }
            live.pop_back();
        }
        if (step % every == 0) { h.validate(); }
    }
    h.validate();
    for (const piece& p : live) {
        expect_filled(p);
        h.deallocate(p.data, p.size, p.align);
    }
    h.validate();
    h.trim();
    h.validate();
    if constexpr (requires { h.exceeded; }) {
        EXPECT_EQ(h.exceeded, 0u) << "steps beyond the documented maximum, up to " << h.worst;
    }
}

}  // namespace heap_tests
