// What the tests of cairn/containers/object_pool.hpp share: objects that are counted.
#pragma once

#include <cairn/containers/object_pool.hpp>

#include <atomic>

namespace object_pool_tests {

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
    int uses = 0;
};

}  // namespace object_pool_tests
