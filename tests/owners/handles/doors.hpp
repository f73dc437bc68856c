// What the tests of the owners share: an object that counts its ends, and the suite of maps.
#pragma once

#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/owners/shared_handle.hpp>
#include <gtest/gtest.h>

namespace handles_tests {

using namespace cairn;

struct door {
    static inline int alive = 0;
    explicit door(int n) : number{n} { ++alive; }
    door(door&& other) noexcept : number{other.number} { ++alive; }
    door& operator=(door&&) = default;
    ~door() { --alive; }
    int number;
};

template <class Map>
class owners_in : public testing::Test {};
using maps = testing::Types<slot_map<door>, stable_slot_map<door>>;
TYPED_TEST_SUITE(owners_in, maps);

}  // namespace handles_tests
