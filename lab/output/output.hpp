// lab/output/output.hpp - what a run looks like: on the terminal, as JSON, as a page.
#pragma once

#include <string>

#include "lab/harness/results.hpp"

namespace lab {

/// One experiment as tables of text; `wide` adds minimum and interval.
[[nodiscard]] std::string as_text(const experiment_result& e, unsigned columns);

/// The machine, the compiler, the peers that are absent: what stands above the tables.
[[nodiscard]] std::string heading(const run_result& run);

/// Schema 1; docs/lab-schema.md describes it. `for_the_page`: in one line, and six digits a figure.
[[nodiscard]] std::string as_json(const run_result& run, bool for_the_page = false);

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

[[nodiscard]] const char* name_of(kind k);
[[nodiscard]] const char* name_of(row_status s);

}  // namespace lab
