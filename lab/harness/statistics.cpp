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

verdict compare(const summary& a, const summary& b, double threshold) {
    if (a.samples == 0 || b.samples == 0) return verdict::no_difference;
    const bool apart = a.ci_high < b.ci_low || b.ci_high < a.ci_low;
    const double larger = std::max(std::abs(a.median), std::abs(b.median));
    const bool differs = std::abs(a.median - b.median) > threshold * larger;
    if (!apart || !differs) return verdict::no_difference;
    return a.median < b.median ? verdict::faster : verdict::slower;
}

}  // namespace lab
