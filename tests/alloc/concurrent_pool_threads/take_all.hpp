// What the tests of cairn/alloc/concurrent_pool.hpp with threads share: all slots of a pool.
#pragma once

#include <cairn/alloc/concurrent_pool.hpp>

#include <cstdint>
#include <vector>

namespace concurrent_pool_threads_tests {

template <class Pool>
std::vector<void*> take_all(Pool& p, std::size_t count_max = SIZE_MAX) {
    std::vector<void*> slots;
    while (slots.size() < count_max) {
        void* const s = p.allocate();
        if (s == nullptr) { break; }
        slots.push_back(s);
    }
    return slots;
}

}  // namespace concurrent_pool_threads_tests
