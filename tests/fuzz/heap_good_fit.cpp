// tests/fuzz/heap_good_fit.cpp - good_fit, with the strict one, and one that defers much of a small region.
#include "fuzz/heap.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace cairn;
    return fuzzing::run_one_of<good_fit, quick_fit, strict_good_fit,
                               detail::basic_good_fit<2, 4, 16>>(data, size);
}
