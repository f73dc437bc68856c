// lab/harness/clock.hpp - the one clock of the lab: nanoseconds that only go forward.
//
// Cost: about 20 ns a call where the system has a vDSO; what two calls cost on this machine is
// measured at start-up, subtracted from every timed interval, and printed.
#pragma once

#include <cstdint>
#include <ctime>

namespace lab {

[[nodiscard]] inline std::int64_t now_ns() noexcept {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

/// What an empty interval measures: the median of many. Measured once per process.
[[nodiscard]] double timer_overhead_ns();

}  // namespace lab
