// lab/harness/sampler.hpp - measures the cases of an experiment.
//
//      calibrate each contender until one sample lasts as long as planned
//      round 1:   C A D B        every round in another random order, so that drift of the clock,
//      round 2:   B D A C        neighbours on the machine and cold caches hit all alike
//      ...                       each sample: an untimed warm-up, then the timed repetitions
//      medians, intervals, ratios, verdicts
#pragma once

#include <functional>
#include <string>

#include "lab/harness/results.hpp"

namespace lab {

struct sampler_options {
    bool full = false;
    double speed = 1;         ///< scales the time budgets (tests use 0.05)
    double time_limit = 20;   ///< seconds for one sample or one set-up; beyond it a row has failed
    bool in_process = false;  ///< no worker processes (for debuggers and callgrind)
    double empty_loop_ns = 0;
};

/// Called before each round: which case, and how far through the experiment we are (0 to 1).
using progress = std::function<void(const std::string& case_name, double done)>;

[[nodiscard]] experiment_result measure_experiment(const experiment& e, const sampler_options& o,
                                                   const progress& tell);

}  // namespace lab
