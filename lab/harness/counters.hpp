// lab/harness/counters.hpp - instructions and cache misses of a contender's work, beside its time.
//
//      lab::comparison& c = e.compare("set 1 iterate", ...);
//      ...rows...
//      lab::add_counts(e, c);              the same rows once more, in four cases of their own:
//                                              instructions, set 1 iterate
//                                              first-level misses, set 1 iterate
//                                              last-level misses, set 1 iterate
//                                              branch misses, set 1 iterate
//
//      in a usual run    the processor's counters (perf_event_open), where the system lends them
//      --cachegrind      valgrind's simulation of this machine's caches, contender by contender;
//                        in a full run, too, where the system lends no counters
//
// Counts the timed part, after one repetition that is not counted: warm caches, as in a sample. Rows
// with another malloc than glibc's are left out. Where nothing can count, the experiment says so in one
// sentence.
#pragma once

#include <cstdint>

#include "lab/harness/counts.hpp"
#include "lab/harness/experiment.hpp"

namespace lab {

#if defined(_WIN32)
inline constexpr bool has_valgrind = false;
#else
inline constexpr bool has_valgrind = true;
#endif

/// Whether the processor counts for this process.
[[nodiscard]] bool processor_counts();

/// Declares the cases that count the work of the rows of `c`, which is complete. An operation is
/// that of the case. `repetitions`: of the work, each counted run.
void add_counts(experiment& e, const comparison& c, std::uint64_t repetitions = 1);

}  // namespace lab
