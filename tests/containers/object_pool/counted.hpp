// What the tests of cairn/containers/object_pool.hpp share: objects that are counted.
#pragma once

#include <cairn/containers/object_pool.hpp>

#include "support/counted.hpp"

namespace object_pool_tests {

using namespace cairn;

struct counted : test::counted_object {
    int uses = 0;
};

}  // namespace object_pool_tests
