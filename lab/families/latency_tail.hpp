// lab/families/latency_tail.hpp - how long each operation of a trace takes, replay after replay.
//
//      operation        0    1    2    3    4   ...
//      replay 0        31   33   31  912   35          the machine interrupts where it likes
//      replay 1        31   32  801   33   64
//      least           31   32   31   33   35          the algorithm is slow where it must be
#pragma once

#include <cmath>

#include "lab/harness/experiment.hpp"
#include "lab/harness/processor.hpp"
#include "lab/harness/statistics.hpp"

namespace lab {

[[nodiscard]] inline double ns_per_tick() {
    static const double value = measured_ns_per_tick(20'000'000);
    return value;
}

/// What all readings are a multiple of, in ns: 0.4 where each tick is counted, 10 on some virtual
/// machines.
[[nodiscard]] inline double clock_step_ns() {
    std::uint64_t step = 0;
    std::uint64_t last = ticks_before();
    for (int i = 0; i != 10'000; ++i) {
        const std::uint64_t now = ticks_before();
        step = std::gcd(step, now - last);
        last = now;
    }
    return static_cast<double>(step) * ns_per_tick();
}

/// The readings of one kind of operation.
class latency_tail {
public:
    explicit latency_tail(std::size_t operations) : least_(operations, UINT32_MAX) {}

    void saw(std::size_t operation, std::uint64_t ticks) {
        const auto t = static_cast<std::uint32_t>(std::min<std::uint64_t>(ticks, UINT32_MAX));
        replay_.push_back(t);
        least_[operation] = std::min(least_[operation], t);
    }
    /// Forgets the readings; the least times go on.
    void begin_sample() {
        all_.clear();
        for (auto& v : of_replays_) v.clear();
    }
    void end_replay() {
        all_.insert(all_.end(), replay_.begin(), replay_.end());
        std::sort(replay_.begin(), replay_.end());
        for (std::size_t i = 0; i != std::size(shares); ++i) {
            of_replays_[i].push_back(at(replay_, shares[i].second));
        }
        replay_.clear();
    }

    /// The raw p99.99, in ns: of those of the replays the median.
    [[nodiscard]] double p99_99() const { return median(std::size(shares) - 1); }
    /// ns: the operation at `share` (1: the slowest), each in its best replay.
    [[nodiscard]] double of_least(double share) const { return at(sorted(least_), share); }

    /// All percentiles, as columns "`what`, p50" and so on.
    void report(sample& s, const std::string& what) const {
        for (std::size_t i = 0; i != std::size(shares); ++i) {
            s.also(what + ", " + shares[i].first, median(i));
        }
        s.also(what + ", p99.99 of minima", of_least(0.9999));
        s.also(what + ", max of minima", of_least(1));
    }
    /// The curves: what share of the operations took longer.
    void draw(sample& s, const std::string& what, bool raw_too) const {
        s.plot(above(sorted(least_), "ns, least of the replays", "share of " + what + " above"));
        if (raw_too) {
            s.plot(above(sorted(all_), "ns, all readings", "share of " + what + " above"));
        }
    }

private:
    using readings = std::vector<std::uint32_t>;
    static constexpr std::pair<const char*, double> shares[] = {
        {"p50", 0.5}, {"p99", 0.99}, {"p99.9", 0.999}, {"p99.99", 0.9999}};

    [[nodiscard]] static readings sorted(readings v) {
        std::sort(v.begin(), v.end());
        return v;
    }
    [[nodiscard]] static double at(const readings& sorted, double share) {
        const auto i = static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1));
        return sorted[i] * ns_per_tick();
    }
    [[nodiscard]] double median(std::size_t share) const {
        return summarize(of_replays_[share]).median;
    }
    /// Ten points a decade; tenths of a ns: the clock knows no more, and the page is smaller.
    [[nodiscard]] static series above(const readings& sorted, std::string x, std::string y) {
        series curve{{}, std::move(x), std::move(y), {}};
        const auto n = static_cast<double>(sorted.size());
        for (double share = 1; share * n >= 1; share /= std::pow(10, 0.1)) {
            const auto i = static_cast<std::size_t>((1 - share) * n);
            const double ns =
                std::round(sorted[std::min(i, sorted.size() - 1)] * ns_per_tick() * 10) / 10;
            if (!curve.points.empty() && curve.points.back().first == ns) {
                curve.points.back().second = share;  // the lower end of the step
            } else {
                curve.points.push_back({ns, share});
            }
        }
        return curve;
    }

    readings replay_;  // of the replay that runs
    readings all_;     // of this sample's replays
    readings least_;   // of each operation
    std::vector<double> of_replays_[std::size(shares)];
};

}  // namespace lab
