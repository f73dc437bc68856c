// What the tests of cairn/containers/concurrent_object_pool.hpp share: objects that are counted.
#pragma once

#include <cairn/containers/concurrent_object_pool.hpp>

#include <atomic>

namespace concurrent_object_pool_tests {

using namespace cairn;

struct counted {
    static inline std::atomic<int> built = 0;
    static inline std::atomic<int> alive = 0;
    static inline std::atomic<int> throw_at = -1;  // the n-th construction from now throws
    counted() {
#if defined(__cpp_exceptions)
        if (throw_at >= 0 && throw_at-- == 0) { throw 42; }
#endif
        ++built, ++alive;
    }
    counted(const counted&) = delete;
    ~counted() { --alive; }
    void on_exit_free_list() { ++exits; }
    void on_enter_free_list() { ++enters; }
    int value = 7;  // plain: the pool must order its uses
    int exits = 0;
    int enters = 0;
};
using pool_type = concurrent_object_pool<counted>;

}  // namespace concurrent_object_pool_tests
