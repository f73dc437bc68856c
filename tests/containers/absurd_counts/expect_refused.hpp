// What the tests of absurd counts share: which counts are absurd, and that they are refused.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/test_upstream.hpp"

namespace absurd_counts_tests {

using namespace cairn;

using block_of_64 = std::array<std::byte, 64>;

/// Has 256 MiB.
struct small_machine : test_upstream {
    small_machine() { limit_size(std::size_t{256} << 20); }
};

/// Counts of elements of `size` bytes that no memory holds, those next to each limit among them.
inline std::vector<std::size_t> absurd_counts(std::size_t size) {
    std::vector<std::size_t> counts;
    for (const std::size_t most : {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / size, PTRDIFF_MAX / size}) {
        for (const std::size_t less : {0u, 1u, 15u, 63u, 4095u}) { counts.push_back(most - less); }
        if (most != SIZE_MAX) { counts.push_back(most + 1); }
    }
    return counts;
}

/// reserve(count) is false for each of them, and nothing came from `upstream`.
template <class Reserve>
void expect_refused(test_upstream& upstream, std::size_t element_size, Reserve reserve) {
    const std::size_t before = upstream.live_size();
    for (const std::size_t count : absurd_counts(element_size)) {
        EXPECT_FALSE(reserve(count)) << count;
        ASSERT_EQ(upstream.live_size(), before) << count;
    }
}

template <class K = value>
struct gate {
    field<K, double> width;
    field<K, int> number = 7;
    field<K, char> side = 'l';
};

template <class Layout>
class absurd_tables : public testing::Test {};
using layouts = testing::Types<aos, soa, split_soa, aosoa<8>, aosoa<64>>;
TYPED_TEST_SUITE(absurd_tables, layouts);

}  // namespace absurd_counts_tests
