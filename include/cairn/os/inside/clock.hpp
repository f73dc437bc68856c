// cairn/os/inside/clock.hpp - nanoseconds that only grow.
//
//      before = monotonic_nanoseconds();   work();   took = monotonic_nanoseconds() - before;
//
// Use it for: budgets of time.
// Look elsewhere for: the time of day.
//
// Cost:    one call; 20 to 30 ns where the system answers from user space (Linux: the vDSO).
// Threads: any.
#pragma once

#include <cstdint>

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Nanoseconds since some moment in the past; never less than an earlier answer.
[[nodiscard]] std::uint64_t monotonic_nanoseconds() noexcept;

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
