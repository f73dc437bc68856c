// lab/output/summary.hpp - what a run says as a whole: five sentences, and what to take for which need.
//
// Everything here is derived from the rows of the run; nothing is measured. A difference is one only
// where the harness called it so (in most rounds, beyond 5 % or a quick run's 7 % and twice the noise); the rest are ties.
#pragma once

#include <string>
#include <vector>

#include "lab/harness/results.hpp"

namespace lab {

/// Better, no different, worse: cairn's best against the best peer, over all cases that have both.
struct tally {
    unsigned better = 0;
    unsigned level = 0;
    unsigned worse = 0;
    [[nodiscard]] unsigned all() const { return better + level + worse; }
};
[[nodiscard]] tally count_verdicts(const run_result& run);

/// Five sentences with the figures of this run.
[[nodiscard]] std::vector<std::string> verdict_of(const run_result& run);

/// What to take from an experiment: its own words, or a sentence made from its rows.
[[nodiscard]] std::string take_of(const experiment_result& e);

/// The run as Markdown: verdict, choosing table, one table an experiment.
[[nodiscard]] std::string as_markdown(const run_result& run);

}  // namespace lab
