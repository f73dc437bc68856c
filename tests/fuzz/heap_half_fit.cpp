// tests/fuzz/heap_half_fit.cpp - half_fit, powers of two.
#include "fuzz/heap.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace cairn;
    return fuzzing::run_one_of<half_fit>(data, size);
}
