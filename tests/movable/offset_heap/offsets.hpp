// What the tests of cairn/movable/offset_heap.hpp share: the suite of both widths, and a range.
#pragma once

#include <cairn/movable/offset_heap.hpp>
#include <gtest/gtest.h>

#include <cstdint>

namespace offset_heap_tests {

using namespace cairn;

template <class Offset>
class offset_heap_test : public testing::Test {};
using offsets = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(offset_heap_test, offsets);

struct range {
    offset_allocation name;
    std::uint64_t offset, size, align, user;
};

}  // namespace offset_heap_tests
