// lab/output/summary.hpp - what a run says as a whole: five sentences, and what to take for which need.
//
// Everything here is derived from the rows of the run; nothing is measured. A difference is one only
// where the harness called it so (in most rounds, beyond 5 % or a quick run's 7 % and twice the noise); the rest are ties.
#pragma once

#include <string>
#include <vector>

#include "lab/harness/results.hpp"

namespace lab {

/// One line of the choosing table: the row that stands for cairn against its best peer.
struct choice {
    std::string need;
    std::string take;
    double figure = 0;
    std::string unit;
    std::string instead;  ///< the best peer, empty where nobody else does it
    double other = 0;
    double ratio = 1;     ///< cost of `instead` / cost of `take`: above 1, cairn is better
    std::string verdict;  ///< faster, slower, no difference
    std::string experiment;
    std::string case_name;
};

/// A need and where it is measured.
struct need {
    const char* words;
    const char* experiment;
    std::vector<const char*> cases;   ///< the first whose name begins with one of these
    std::vector<const char*> takers;  ///< who meets the need; empty: all rows of cairn do
    /// The type, where the case calls its contenders by something else ("50 us a frame").
    const char* type = "";
};

/// lab/experiments/summary.cpp.
[[nodiscard]] const std::vector<need>& needs();

[[nodiscard]] std::vector<choice> choosing(const run_result& run);

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

/// The best row of a kind, or null.
[[nodiscard]] const contender_result* best_row(const case_result& c, kind k);

/// Who stands for cairn: the first of its rows that is no worse than its best beyond the noise. Of
/// five allocators that tie, the plainest is named, in this run and in the next.
/// `among`: only these (empty: all).
[[nodiscard]] const contender_result* cairn_row(const case_result& c,
                                                const std::vector<const char*>& among = {});

/// The choosing table and the verdict for a terminal.
[[nodiscard]] std::string summary_as_text(const run_result& run);

/// The run as Markdown: verdict, choosing table, one table an experiment.
[[nodiscard]] std::string as_markdown(const run_result& run);

}  // namespace lab
