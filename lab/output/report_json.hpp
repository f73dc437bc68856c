// lab/output/report_json.hpp - a run as JSON (docs/lab-schema.md): what a file holds and what the
// terminal prints are one document, so a run that is over is shown as one that has just ended.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lab/harness/results.hpp"

namespace lab {

using json = nlohmann::ordered_json;

[[nodiscard]] json json_of(const experiment_result& e);
[[nodiscard]] json json_of(const run_result& run);

/// Reads what `cairn lab --json` wrote. Returns: false, and one sentence in `why`, for any other file.
[[nodiscard]] bool read_report(const std::string& path, json& run, std::string& why);

/// All tables of an experiment.
[[nodiscard]] std::string tables_of(const json& experiment, unsigned columns);

/// The screen at the end of a run: the machine, the verdict, whom to compare with, the needs.
/// `file`: where the run lies, for the commands that the screen names; empty: nowhere.
[[nodiscard]] std::string screen_of(const json& run, const std::string& file);

/// Every case in which cairn and a family of peers stand, the best for cairn first. Returns: false,
/// and one sentence, where nobody of that name was measured.
[[nodiscard]] bool against(const json& run, const std::string& whom, std::string& text);

}  // namespace lab
