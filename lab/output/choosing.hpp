// lab/output/choosing.hpp - which allocator for which need, judged by all cases that the words
// cover.
//
//      objects of one size, freed in any order                                    best peer / pool
//        pool / pair 64 b      cairn::pool 1.0    boost::pool 0.7   slower               0.70
//        pool / random 64 b    cairn::pool 4.9    tcmalloc 14       faster               2.9
//        pool / churn 64 b     cairn::pool 5.5    boost::pool 5.4   no difference        1
//        ...                                                        mean 1.27, worst 0.70
//
// A ratio is the cost of the best peer of that case over the cost of the row taken: above 1, cairn
// is better. No difference counts as 1; the mean is geometric. A program takes one allocator, not
// the best of each case: the advice compares the row taken with the one peer that is cheapest over
// all cases.
#pragma once

#include <string>
#include <vector>

#include "lab/harness/results.hpp"

namespace lab {

/// Cases that a need's words cover: full names, `*` stands for any text. "pair, * threads".
struct covered {
    const char* experiment;
    std::vector<const char*> cases;
};

/// A need and where it is measured.
struct need {
    const char* words;
    std::vector<covered> where;
    std::vector<const char*> takers;  ///< who meets the need; empty: all rows of cairn do
    /// The type, where the cases call their contenders by something else ("50 us a frame").
    const char* type = "";
};

/// lab/experiments/summary.cpp.
[[nodiscard]] const std::vector<need>& needs();

/// What people ask beside the needs, and the experiment that answers.
struct asked_question {
    const char* question;
    const char* experiment;
};
[[nodiscard]] const std::vector<asked_question>& asked_questions();

[[nodiscard]] bool covers(const covered& where, std::string_view experiment, std::string_view name);

/// One case beside its best peer.
struct judged_case {
    std::string experiment;
    std::string name;
    std::string unit;
    double figure = 0;    ///< of the row taken
    std::string peer;     ///< the best one here; empty where there is no peer
    double other = 0;     ///< its figure
    double ratio = 1;     ///< cost of `peer` / cost of the row taken, as measured
    std::string verdict;  ///< faster, slower, no difference
};

enum class advice {
    take,     ///< cheaper than any one peer over all cases, and in no fewer of them than it
    tie,      ///< no different from one over all cases, and not ahead in some and behind in others
    depends,  ///< neither of the two outweighs
    peer      ///< one peer is cheaper over all cases, and in more of them
};
[[nodiscard]] const char* name_of(advice a);

/// One line of the choosing table. Of the peers that stand in most cases the cheapest is the rival;
/// it is empty where no peer stands in more than half of them.
struct choice {
    std::string need;
    std::string take;
    std::vector<judged_case> cases;  ///< never empty
    double mean = 1;                 ///< of the ratios, geometric
    double worst = 1;                ///< the smallest of them
    std::size_t worst_case = 0;      ///< where that is
    unsigned better = 0;             ///< cases in which the row taken beats every peer,
    unsigned level = 0;              ///< in which it is no different from the best,
    unsigned worse = 0;              ///< and in which a peer beats it
    std::string rival;               ///< the one peer that is cheapest over all; see below
    double rival_ratio = 1;          ///< cost of `rival` / cost of the row taken, geometric mean
    unsigned rival_cases = 0;        ///< in which `rival` stands, more than half of `cases`
    unsigned rival_better = 0;       ///< cases in which the row taken beats `rival`,
    unsigned rival_worse = 0;        ///< and in which `rival` beats it
    lab::advice advice = lab::advice::take;

    [[nodiscard]] const judged_case& worst_of() const { return cases[worst_case]; }
};

/// A line for each need of which a case was measured.
[[nodiscard]] std::vector<choice> choosing(const run_result& run,
                                           const std::vector<need>& all = needs());

/// "cheapest over all 16 cases: boost::pool costs 3.1 x" and where a peer is cheaper all the same.
[[nodiscard]] std::string advice_of(const choice& c);

/// The same as a sentence, with the need: for the verdict.
[[nodiscard]] std::string sentence_of(const choice& c);

/// "0.89 to 5.4 ns/op": what it costs over the cases; empty where their units differ.
[[nodiscard]] std::string range_of(const choice& c);

}  // namespace lab
