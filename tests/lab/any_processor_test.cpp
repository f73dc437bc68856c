// What the lab does on a processor that it does not know: this program is compiled as for one, and
// any use of x86's own functions is an error in it. A plain program: the lab needs no gtest.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

// The system's headers are those of this processor; the lab's are not.
#undef __x86_64__
#undef __SSE2__
#undef __AVX2__
#undef __aarch64__
#pragma GCC poison __rdtsc __rdtscp _mm_lfence __readeflags __writeeflags __builtin_ia32_pause

#include "lab/families/instruction_count.hpp"
#include "lab/families/latency_tail.hpp"
#include "lab/harness/processor.hpp"

namespace {

int failures = 0;

void check(bool ok, const char* promise) {
    if (ok) return;
    std::printf("FAILED: %s\n", promise);
    ++failures;
}

}  // namespace

int main() {
    check(!lab::ticks_are_cycles, "ticks are those of the clock");
    check(!lab::has_single_steps, "instructions are not counted");
    const std::uint64_t first = lab::ticks_before();
    lab::pause();
    const std::uint64_t second = lab::ticks_after();
    check(first != 0 && first <= second && second <= lab::ticks_now(), "time does not go back");
    lab::begin_single_steps();
    lab::end_single_steps();
    if (failures == 0) std::printf("all promises hold\n");
    return failures == 0 ? 0 : 1;
}
