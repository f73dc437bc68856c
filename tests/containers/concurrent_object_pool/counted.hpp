// What the tests of cairn/containers/concurrent_object_pool.hpp share: objects that are counted.
#pragma once

#include <cairn/containers/concurrent_object_pool.hpp>

#include "support/counted.hpp"

namespace concurrent_object_pool_tests {

using namespace cairn;

struct counted : test::counted_object {
    void on_exit_free_list() { ++exits; }
    void on_enter_free_list() { ++enters; }
    int value = 7;  // plain: the pool must order its uses
    int exits = 0;
    int enters = 0;
};
using pool_type = concurrent_object_pool<counted>;

}  // namespace concurrent_object_pool_tests
