// lab/output/compare.hpp - what changed between two runs, beyond the noise of both.
#pragma once

#include <string>

namespace lab {

/// Reads two files that `cairn lab --json` wrote. On success 0 and the report in `text`; otherwise
/// 2 and one sentence in `text`.
int compare_runs(const std::string& old_path, const std::string& new_path, bool markdown,
                 std::string& text);

}  // namespace lab
