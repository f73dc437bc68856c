#include "lab/harness/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace lab {

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
    // Ranks n/2 -+ 1.96 * sqrt(n)/2 (normal approximation of the binomial, rounded outwards).
    const double half = 1.96 * std::sqrt(static_cast<double>(n)) / 2;
    const double middle = static_cast<double>(n) / 2;
    const double low = std::floor(middle - half);
    const double high = std::ceil(middle + half);
    r.ci_low = low < 0 ? v.front() : v[static_cast<std::size_t>(low)];
    r.ci_high = high >= static_cast<double>(n) ? v.back() : v[static_cast<std::size_t>(high)];
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

verdict compare_rounds(std::span<const double> a, std::span<const double> b,
                       std::span<const unsigned> life, double threshold, double least_difference) {
    if (std::abs(summarize(a).median - summarize(b).median) < least_difference) {
        return verdict::no_difference;
    }
    std::vector<double> ratios;
    for (std::size_t i = 0; i != std::min(a.size(), b.size()); ++i) {
        ratios.push_back(ratio_of(a[i], b[i]));
    }
    if (ratios.empty()) return verdict::no_difference;
    const double median = summarize(ratios).median;
    const std::vector<double> lives = medians_of_lives(ratios, life);
    // 2 of 3 rounds, 4 of 5, 12 of 15: one disturbed round decides nothing.
    const auto n = std::ssize(ratios);
    const auto needed = n < 3 ? n : n < 5 ? n - 1 : (4 * n + 4) / 5;
    const auto says = [&](auto side) {  // and each life by half as much
        const auto rounds = std::count_if(ratios.begin(), ratios.end(), side(0));
        return side(threshold)(median) && rounds >= needed &&
               std::all_of(lives.begin(), lives.end(), side(threshold / 2));
    };
    const auto below = [](double by) { return [=](double x) { return x * (1 + by) < 1; }; };
    const auto above = [](double by) { return [=](double x) { return x > 1 + by; }; };
    if (says(below)) return verdict::faster;
    if (says(above)) return verdict::slower;
    return verdict::no_difference;
}

}  // namespace lab
