// lab/harness/counts.hpp - what was counted of a contender's work; a report of valgrind, read.
#pragma once

#include <string>

namespace lab {

/// Of all timed intervals together. Negative: not known.
struct counts {
    double instructions = -1;
    double first_level_misses = -1;  ///< of data
    double last_level_misses = -1;   ///< of data
    double branch_misses = -1;
};

/// The digits behind `word` in `text`, without their commas; -1: there are none.
[[nodiscard]] double number_after(const std::string& text, const std::string& word);

/// What cachegrind and callgrind say in their last lines, on stderr.
[[nodiscard]] counts counts_of_report(const std::string& text);

}  // namespace lab
