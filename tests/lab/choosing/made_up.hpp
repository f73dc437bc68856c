// What the tests of the choosing table share: made-up results, and a check of a promise. They are a
// plain program: the lab needs no gtest.
#pragma once

#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "lab/harness/registry.hpp"
#include "lab/output/choosing.hpp"
#include "lab/output/output.hpp"

namespace choosing_tests {

using namespace lab;

inline int failures = 0;

inline void check(bool ok, const std::string& promise, const std::string& instead = {}) {
    if (ok) return;
    std::printf("FAILED: %s%s%s\n", promise.c_str(), instead.empty() ? "" : ": ", instead.c_str());
    ++failures;
}

inline bool near(double a, double b) { return std::abs(a - b) < 1e-9 * std::abs(b); }
inline bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

struct figure_of {
    const char* name;
    double median;
    lab::kind kind = kind::peer;
};
inline constexpr kind ours = kind::cairn;

/// Nine rounds that all gave the same figure.
inline case_result made_up(const char* name, const std::vector<figure_of>& rows,
                           case_options o = {}) {
    case_result c;
    c.name = name;
    c.options = std::move(o);
    c.lives.assign(9, 0);
    for (const figure_of& f : rows) {
        contender_result r;
        r.name = f.name;
        r.kind = f.kind;
        r.samples.assign(9, f.median);
        r.figures = summarize(r.samples);
        c.contenders.push_back(std::move(r));
    }
    if (const contender_result* const peer = best_row(c, kind::peer); peer != nullptr) {
        c.best_peer = peer->name;
        for (contender_result& r : c.contenders) {
            if (r.kind != ours || !c.options.compares) continue;
            r.best_peer_verdict = name_of(verdict_between(c, r, *peer));
        }
    }
    compare_with_cairn(c);
    return c;
}

inline run_result run_of(const char* experiment, std::vector<case_result> cases) {
    run_result run;
    run.experiments.push_back({.name = experiment, .question = "?", .cases = std::move(cases)});
    return run;
}

inline choice judged(const run_result& run, const need& n) {
    const std::vector<choice> lines = choosing(run, {n});
    check(lines.size() == 1, "a need with measured cases has its line");
    return lines.empty() ? choice{.cases = {judged_case{}}} : lines.front();
}

inline choice judged(std::vector<case_result> cases, std::vector<const char*> takers = {}) {
    return judged(
        run_of("pool", std::move(cases)),
        {"objects of one size, freed in any order", {{"pool", {"*"}}}, std::move(takers)});
}

void all_cases_judge();
void peers_win();
void ties();
void rows_that_are_taken();
void one_case();
void patterns();
void furthest_behind();
void reports();

}  // namespace choosing_tests
