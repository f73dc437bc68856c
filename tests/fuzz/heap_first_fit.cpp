// tests/fuzz/heap_first_fit.cpp - first_fit, the tree of maxima.
#include "fuzz/heap.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace cairn;
    return fuzzing::run_one_of<first_fit>(data, size);
}
