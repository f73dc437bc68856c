// lab/output/output.hpp - what a run looks like: on the terminal, as JSON, as Markdown, as a page.
//
// Everything here is derived from the rows of the run; nothing is measured. A difference is one only
// where the harness called it so (in most rounds, beyond 5 % or a quick run's 7 % and twice the noise);
// the rest are ties.
#pragma once

#include <string>
#include <vector>

#include "lab/harness/results.hpp"

namespace lab {

/// One experiment as tables of text; `wide` adds minimum and interval.
[[nodiscard]] std::string as_text(const experiment_result& e, unsigned columns);

/// The machine, the compiler, the peers that are absent: what stands above the tables.
[[nodiscard]] std::string heading(const run_result& run);

/// Schema 1; docs/lab-schema.md describes it. `for_the_page`: in one line, and six digits a figure.
[[nodiscard]] std::string as_json(const run_result& run, bool for_the_page = false);

/// Five sentences with the figures of this run.
[[nodiscard]] std::vector<std::string> verdict_of(const run_result& run);
/// What to take from an experiment: its own words, or a sentence made from its rows.
[[nodiscard]] std::string take_of(const experiment_result& e);

/// Verdict, choosing table, one table an experiment.
[[nodiscard]] std::string as_markdown(const run_result& run);

/// What changed between two files that `cairn lab --json` wrote, beyond the noise of both. Returns:
/// 0 and the report in `text`, or 2 and one sentence in it.
int compare_runs(const std::string& old_path, const std::string& new_path, bool markdown,
                 std::string& text);

/// One self-contained page.
[[nodiscard]] std::string as_html(const run_result& run);

/// The page of report/, or as_html() where it could not be bundled.
[[nodiscard]] std::string as_page(const run_result& run);
[[nodiscard]] bool has_page();

/// A seed's figure, with its unit where that is not the case's: "12.6 cycles". Empty: there is none.
[[nodiscard]] std::string published(const case_result& c, const contender_result& r);
/// What a seed's figure is: "cycles/pair, thesis table 6.2"; "lines/s, stddev, parser article".
[[nodiscard]] std::string words_of(const published_figure& p);

/// "0.57", "12.3", "1,234": three significant digits, whatever the size.
[[nodiscard]] std::string figure(double v);
/// "12.3 ns/op".
[[nodiscard]] std::string with_unit(double v, const std::string& unit);

[[nodiscard]] const char* name_of(kind k);
[[nodiscard]] const char* name_of(row_status s);

}  // namespace lab
