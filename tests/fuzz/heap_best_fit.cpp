// tests/fuzz/heap_best_fit.cpp - best_fit, with one that has all sizes in the trie.
#include "fuzz/heap.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace cairn;
    return fuzzing::run_one_of<best_fit, detail::basic_best_fit<2>>(data, size);
}
