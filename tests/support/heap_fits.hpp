// tests/support/heap_fits.hpp - the fits that every test of a heap's insides goes through, and
// their names.
//
//      TYPED_TEST_SUITE(heap_adopt, fits, fit_names);     heap_adopt/best_fit_trie.what_it_does
#pragma once

#include <cairn/alloc/heap.hpp>
#include <gtest/gtest.h>

#include <string>

using deferring_fit = cairn::basic_good_fit<4, 64, 16>;  // much waits even in a small region

// basic_best_fit<2>: nearly every free block is a node of the trie.
using fits =
    testing::Types<cairn::good_fit, cairn::strict_good_fit, cairn::best_fit, cairn::first_fit,
                   cairn::half_fit, cairn::basic_best_fit<2>, deferring_fit>;

struct fit_names {
    template <class Fit>
    static std::string GetName(int i) {
        return std::string(Fit::name) + (i == 1   ? "_strict"
                                         : i == 5 ? "_trie"
                                         : i == 6 ? "_deferring"
                                                  : "");
    }
};
