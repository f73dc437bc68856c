// lab/harness/statistics.hpp - what a list of samples says, and how sure it is.
//
// Medians, because a preempted sample is late by milliseconds and a mean would carry that. The
// interval is the order-statistic interval of the median: it assumes nothing about the
// distribution, only that samples are independent.
#pragma once

#include <span>

namespace lab {

struct summary {
    unsigned samples = 0;
    double median = 0;
    double min = 0;
    double max = 0;
    double mean = 0;
    double stddev = 0;
    double ci_low = 0;  ///< 95 % interval of the median (the whole range below 6 samples)
    double ci_high = 0;
};

[[nodiscard]] summary summarize(std::span<const double> samples);

enum class verdict { faster, slower, no_difference };

/// Compares two results where lower is better. "No difference" unless the intervals are apart AND
/// the medians differ by more than `threshold` (0.05 = 5 %).
[[nodiscard]] verdict compare(const summary& a, const summary& b, double threshold);

}  // namespace lab
