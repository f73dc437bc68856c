// What the tests of cairn/std/std_allocator.hpp share: allocators of both kinds, and a filled
// container.
#pragma once

#include <cairn/std/std_allocator.hpp>

#include <vector>

#include "support/test_upstream.hpp"

namespace std_allocator_tests {

using namespace cairn;

template <class T>
using in_test = std_allocator<T, test_upstream>;  // the allocator's type is known
template <class T>
using in_any = std_allocator<T>;  // chosen at run time

template <class T>
using vector_in = std::vector<T, in_test<T>>;

template <class Container>
void fill(Container& c) {
    for (int i = 0; i < 300; ++i) {
        if constexpr (requires { c[std::size_t{}].size(); }) {
            c.emplace_back("a string that is longer than the small buffer of a string");
        } else if constexpr (requires { typename Container::mapped_type; }) {
            c[i * 7919 % 1009] = i;
        } else {
            c.push_back(static_cast<typename Container::value_type>('a' + i % 26));
        }
    }
}

}  // namespace std_allocator_tests
