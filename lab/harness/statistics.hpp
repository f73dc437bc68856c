// lab/harness/statistics.hpp - what a list of samples says, and how sure it is.
//
// Medians, because a preempted sample is late by milliseconds and a mean would carry that. The
// interval is the order-statistic interval of the median: it assumes nothing about the
// distribution, only that samples are independent.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

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

/// The value that a share of `v` does not exceed: 0.5 its median, 1 its largest; 0 of nothing.
template <class T>
[[nodiscard]] double at_share(std::vector<T> v, double share) {
    if (v.empty()) return 0;
    const auto at =
        v.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(v.size() - 1));
    std::nth_element(v.begin(), at, v.end());
    return static_cast<double>(*at);
}

enum class verdict { faster, slower, no_difference };

/// a / b, round by round.
[[nodiscard]] std::vector<double> ratios_of_rounds(std::span<const double> a,
                                                   std::span<const double> b);

/// Compares two contenders that were sampled in the same rounds, lower is better. What slows a whole
/// round down (the clock, a neighbour) is in both numbers of the round and leaves their ratio alone;
/// where a process's memory happens to lie changes with its life, so each life must say the same.
///
///      round   0    1    2  |  3    4    5     life[round] = 0 0 0 1 1 1
///      a       2.0  4.1  2.1|  2.0  2.2  2.0
///      b       1.0  2.0  1.0|  1.1  1.1  1.0
///      a / b   2.0  2.05 2.1|  1.8  2.0  2.0   -> slower: median 2.0, all rounds and both lives > 1
///
/// "No difference" unless the median ratio differs by more than `threshold` (0.05 = 5 %), four of
/// five rounds (two of three) lie on that side, from nine rounds on the 95 % interval of the ratio does too,
/// and so does every life's median, by half the threshold; and the medians differ by `least_difference`
/// (what the instrument itself may add to one of them).
///
/// The intervals of `a` and `b` alone may overlap all the while: they hold what slows whole rounds down.
[[nodiscard]] verdict compare_rounds(std::span<const double> a, std::span<const double> b,
                                     std::span<const unsigned> life, double threshold,
                                     double least_difference = 0);

}  // namespace lab
