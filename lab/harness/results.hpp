// lab/harness/results.hpp - what was measured; what the reports are written from.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/harness/experiment.hpp"
#include "lab/harness/machine.hpp"
#include "lab/harness/statistics.hpp"

namespace lab {

enum class row_status {
    ok,
    suspect,     ///< faster than an empty loop or than is possible, or no operations reported
    wrong,       ///< another result than the other contenders
    failed,      ///< crashed, hung, threw; the note says which
    absent,      ///< its malloc library was not in its process; the note names it
    interrupted  ///< never measured: the user stopped the run
};

struct contender_result {
    std::string name;
    lab::kind kind = kind::peer;
    row_status status = row_status::ok;
    std::string note;
    summary figures;  ///< in the case's unit
    std::vector<double> samples;
    std::vector<published_figure> published;
    std::optional<double> ratio_to_limit;      ///< 1: as good as the limit; 2: costs twice as much
    std::optional<double> ratio_to_best_peer;  ///< likewise; below 1: better than every peer
    std::string best_peer_verdict;             ///< cairn rows: faster, slower, no difference
    summary rounds_to_best_peer;           ///< where there is a verdict: the ratio of each round
    std::optional<double> ratio_to_cairn;  ///< of a peer: its cost over cairn_row()'s
    std::string cairn_verdict;  ///< of a peer: how cairn_row() does beside it, in the words above
    std::vector<series> plots;
    [[nodiscard]] bool counts() const { return status == row_status::ok && figures.samples != 0; }
};

/// A ratio of the medians that is less than this away from 1 is no difference. A quick run's few short
/// samples say 5 % too often in one run and not in the next.
inline constexpr double least_ratio_full = 0.05;
inline constexpr double least_ratio_quick = 0.07;

struct case_result {
    std::string name;
    case_options options;
    double noise = 0;  ///< spread of a fixed loop measured between the samples: 0.01 = 1 %
    double least_ratio = least_ratio_full;  ///< less is no difference
    std::string limit;                      ///< which row ratio_to_limit refers to
    std::string best_peer;                  ///< which row ratio_to_best_peer refers to
    std::vector<unsigned> lives;            ///< of each round: which processes the samples are from
    std::vector<contender_result> contenders;
};

[[nodiscard]] const char* name_of(verdict v);

/// How `a` does beside `b`, two rows of the case that count.
[[nodiscard]] verdict verdict_between(const case_result& c, const contender_result& a,
                                      const contender_result& b);

/// How many times dearer the figure `b` is than `a`; 1 where a quotient says nothing.
[[nodiscard]] double dearer(const case_result& c, double a, double b);

/// The best row of a kind, or null.
[[nodiscard]] const contender_result* best_row(const case_result& c, kind k);

/// The median of the row `name`, or else of the first whose name begins so; 0: none was measured.
[[nodiscard]] double median_of(const case_result& c, std::string_view name);

/// Which row stands for cairn: the first that is no worse than cairn's best beyond the noise. Of
/// five allocators that tie, the plainest is named, in this run and in the next. Null where there
/// is none.
[[nodiscard]] const contender_result* cairn_row(const case_result& c);

/// Says of each peer how cairn_row() does beside it.
void compare_with_cairn(case_result& c);

/// Whose the row of a peer is: "mimalloc" of "mimalloc heap", "boost" of "boost::pool",
/// "std::vector" of "std::vector<particle>".
[[nodiscard]] std::string family_of(std::string_view row_name);

/// Why the best peer is ahead of that row, where it is ahead and the cause is known; empty
/// otherwise.
[[nodiscard]] std::string reason_of(const case_result& c);

struct experiment_result {
    std::string name;
    std::string question;
    std::string error;  ///< why it was not run: bad input
    double seconds = 0;
    bool complete = true;
    bool background = false;  ///< teaches something; nobody chooses by it
    std::string how;          ///< how it was measured, beyond what holds for all
    std::string take;         ///< what to take from it; empty: made from the rows
    std::vector<case_result> cases;
};

/// The figures of a row that counts; null where there is none of these names.
[[nodiscard]] const summary* figures_of(const experiment_result& e, std::string_view case_name,
                                        std::string_view row);

struct run_result {
    machine_facts machine;
    std::string date;  ///< UTC, ISO 8601
    bool full = false;
    double seconds = 0;
    bool interrupted = false;
    double timer_overhead_ns = 0;
    double empty_loop_ns = 0;
    std::vector<std::string> errors;
    std::vector<experiment_result> experiments;
};

}  // namespace lab
