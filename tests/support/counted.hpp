// tests/support/counted.hpp - objects that are counted, and whose n-th construction throws.
#pragma once

#include <atomic>

namespace cairn::test {

struct counted_object {
    static inline std::atomic<int> built = 0;
    static inline std::atomic<int> alive = 0;
    static inline std::atomic<int> throw_at = -1;  // the n-th construction from now throws
    counted_object() {
#if defined(__cpp_exceptions)
        if (throw_at >= 0 && throw_at-- == 0) { throw 42; }
#endif
        ++built, ++alive;
    }
    counted_object(const counted_object&) = delete;
    ~counted_object() { --alive; }
};

}  // namespace cairn::test
