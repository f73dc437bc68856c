// lab/harness/sample.hpp - one sample: what a contender is handed, and what it hands back.
//
//      [a = arena{...}](lab::sample& s) mutable {
//          s.repeat(1000, [&] { ...1000 allocations... });   // operations of each repetition
//      }
//
// The whole call is timed unless the contender brackets what counts with start() and stop().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/harness/clock.hpp"
#include "lab/harness/optimizer.hpp"

namespace lab {

/// A curve, for plots: speed-up over threads, a tail latency, a memory map.
struct series {
    std::string name;
    std::string x_label;
    std::string y_label;
    std::vector<std::pair<double, double>> points;
};

/// Is called when the timed part begins and ends: counts something other than time.
class interval_watch {
public:
    virtual void begins() noexcept = 0;
    virtual void ends() noexcept = 0;

protected:
    ~interval_watch() = default;
};

class sample {
public:
    explicit sample(std::uint64_t repetitions) noexcept : repetitions_{repetitions} {}

    /// How often to repeat the work; chosen by the sampler so that a sample lasts long enough.
    [[nodiscard]] std::uint64_t repetitions() const noexcept { return repetitions_; }

    /// Says how many operations were done in all. A case that measures time requires it.
    void did(std::uint64_t operations) noexcept { operations_ += operations; }

    /// Calls work() that often, each time for `operations` operations.
    template <class Work>
    void repeat(std::uint64_t operations, Work&& work) {
        for (std::uint64_t left = repetitions_; left != 0; --left) { work(); }
        did(repetitions_ * operations);
    }

    /// What the work produced (of ONE repetition). Where a case asks for equal results, contenders
    /// with another checksum than the majority are reported as wrong.
    void checksum(std::uint64_t sum) noexcept { checksum_ = sum; }

    /// The measured value itself, for cases that do not measure time (bytes, counts, percent).
    void value(double v) noexcept {
        value_ = v;
        has_value_ = true;
    }

    /// A further figure of the same run, for the case declared with comparison::also(name).
    void also(std::string_view name, double v) { extras_.emplace_back(std::string{name}, v); }

    /// A curve. The one of the last sample is kept.
    void plot(series s) { plots_.push_back(std::move(s)); }

    /// From the first start() on, only what lies between start() and stop() is timed. Several
    /// intervals add up; the timer's own cost is subtracted from each. Keep them above 2 us.
    void start() noexcept {
        if (!manual_) {
            manual_ = true;
            elapsed_ns_ = 0;
        }
        if (watch_ != nullptr) watch_->begins();
        started_ns_ = now_ns();
    }
    void stop() noexcept {
        elapsed_ns_ += now_ns() - started_ns_;
        ++intervals_;
        if (watch_ != nullptr) watch_->ends();
    }

    /// Times work() as one interval.
    template <class Work>
    void timed(Work&& work) {
        start();
        work();
        stop();
    }
    /// Adds an interval that was timed elsewhere: in a process of its own.
    void took(std::int64_t ns) noexcept {
        manual_ = true;
        elapsed_ns_ += ns;
        ++intervals_;
    }

    // For the harness.
    void watch(interval_watch* w) noexcept { watch_ = w; }
    [[nodiscard]] bool manual() const noexcept { return manual_; }
    [[nodiscard]] std::int64_t elapsed_ns() const noexcept { return elapsed_ns_; }
    [[nodiscard]] std::uint64_t intervals() const noexcept { return intervals_; }
    [[nodiscard]] std::uint64_t operations() const noexcept { return operations_; }
    [[nodiscard]] std::uint64_t checksum() const noexcept { return checksum_; }
    [[nodiscard]] bool has_value() const noexcept { return has_value_; }
    [[nodiscard]] double value() const noexcept { return value_; }
    [[nodiscard]] const auto& extras() const noexcept { return extras_; }
    [[nodiscard]] const auto& plots() const noexcept { return plots_; }

private:
    std::uint64_t repetitions_;
    std::uint64_t operations_ = 0;
    std::uint64_t checksum_ = 0;
    std::int64_t started_ns_ = 0;
    std::int64_t elapsed_ns_ = 0;
    std::uint64_t intervals_ = 0;
    double value_ = 0;
    bool has_value_ = false;
    bool manual_ = false;
    interval_watch* watch_ = nullptr;
    std::vector<std::pair<std::string, double>> extras_;
    std::vector<series> plots_;
};

}  // namespace lab
