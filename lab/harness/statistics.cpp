#include "lab/harness/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace lab {

namespace {

/// How many samples lie outside the 95 % interval of the median, at each end. As many samples are
/// below the median as coins of n show heads; where not even the extremes are rare enough (below 6), none.
std::size_t outside_interval(std::size_t n) {
    const auto log_factorial = [](std::size_t k) {
        return std::lgamma(static_cast<double>(k) + 1);
    };
    double left = 0.025;
    std::size_t outside = 0;
    for (std::size_t k = 0; k < n / 2; ++k) {  // k heads
        left -= std::exp(log_factorial(n) - log_factorial(k) - log_factorial(n - k) -
                         static_cast<double>(n) * std::log(2.0));
        if (left < 0) break;
        outside = k;
    }
    return outside;
}

}  // namespace

summary summarize(std::span<const double> samples) {
    summary r;
    r.samples = static_cast<unsigned>(samples.size());
    if (samples.empty()) return r;
    std::vector<double> v{samples.begin(), samples.end()};
    std::sort(v.begin(), v.end());
    const std::size_t n = v.size();
    r.min = v.front();
    r.max = v.back();
    r.median = n % 2 == 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
    for (const double x : v) r.mean += x;
    r.mean /= static_cast<double>(n);
    if (n > 1) {
        double squares = 0;
        for (const double x : v) squares += (x - r.mean) * (x - r.mean);
        r.stddev = std::sqrt(squares / static_cast<double>(n - 1));
    }
    const std::size_t outside = outside_interval(n);
    r.ci_low = v[outside];
    r.ci_high = v[n - 1 - outside];
    return r;
}

namespace {

double ratio_of(double a, double b) { return a == b ? 1 : a / b; }  // 0 / 0: both cost nothing

/// The medians of runs of rounds with the same life.
std::vector<double> medians_of_lives(std::span<const double> ratios,
                                     std::span<const unsigned> life) {
    std::vector<double> medians;
    for (std::size_t from = 0; from != ratios.size();) {
        std::size_t to = from;
        while (to != ratios.size() && (to >= life.size() || life[to] == life[from])) ++to;
        medians.push_back(summarize(ratios.subspan(from, to - from)).median);
        from = to;
    }
    return medians;
}

}  // namespace

std::vector<double> ratios_of_rounds(std::span<const double> a, std::span<const double> b) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i != std::min(a.size(), b.size()); ++i) {
        ratios.push_back(ratio_of(a[i], b[i]));
    }
    return ratios;
}

verdict compare_rounds(std::span<const double> a, std::span<const double> b,
                       std::span<const unsigned> life, double threshold, double least_difference) {
    if (std::abs(summarize(a).median - summarize(b).median) < least_difference) {
        return verdict::no_difference;
    }
    const std::vector<double> ratios = ratios_of_rounds(a, b);
    if (ratios.empty()) return verdict::no_difference;
    const double median = summarize(ratios).median;
    const std::vector<double> lives = medians_of_lives(ratios, life);
    // 2 of 3 rounds, 4 of 5, 12 of 15: one disturbed round decides nothing. From nine rounds on the
    // 95 % interval of the ratio leaves some out as well, and must lie on that side.
    const std::size_t n = ratios.size();
    const std::size_t most = n < 3 ? n : n < 5 ? n - 1 : (4 * n + 4) / 5;
    const std::size_t needed = n < 9 ? most : std::max(most, n - outside_interval(n));
    const auto says = [&](auto side) {  // and each life by half as much
        const auto rounds = std::count_if(ratios.begin(), ratios.end(), side(0));
        return side(threshold)(median) && static_cast<std::size_t>(rounds) >= needed &&
               std::all_of(lives.begin(), lives.end(), side(threshold / 2));
    };
    const auto below = [](double by) { return [=](double x) { return x * (1 + by) < 1; }; };
    const auto above = [](double by) { return [=](double x) { return x > 1 + by; }; };
    if (says(below)) return verdict::faster;
    if (says(above)) return verdict::slower;
    return verdict::no_difference;
}

}  // namespace lab
