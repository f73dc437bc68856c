// tests/support/heap_fits.hpp - the fits that every heap test runs with. A new fit joins here.
#pragma once

#include <cairn/alloc/best_fit.hpp>
#include <cairn/alloc/first_fit.hpp>
#include <cairn/alloc/half_fit.hpp>
#include <cairn/alloc/heap.hpp>
#include <gtest/gtest.h>

#include <string>
#include <type_traits>

namespace cairn::test {

/// The fits that users name.
using named_fits =
    testing::Types<good_fit, quick_fit, strict_good_fit, best_fit, first_fit, half_fit>;

/// Beside them, the shapes that reach what a small region otherwise does not: nearly every free
/// block is a node of the trie; much waits.
using trie_fit = detail::basic_best_fit<2>;
using deferring_fit = detail::basic_good_fit<4, 64, 16>;
using all_fits = testing::Types<good_fit, quick_fit, strict_good_fit, best_fit, first_fit, half_fit,
                                trie_fit, deferring_fit>;

struct fit_names {
    template <class Fit>
    static std::string GetName(int) {
        return std::string(Fit::name) + (std::is_same_v<Fit, strict_good_fit> ? "_strict"
                                         : std::is_same_v<Fit, quick_fit>     ? "_quick"
                                         : std::is_same_v<Fit, trie_fit>      ? "_trie"
                                         : std::is_same_v<Fit, deferring_fit> ? "_deferring"
                                                                              : "");
    }
};

}  // namespace cairn::test
