// lab/command/lab_command.hpp - `cairn lab`: from the words of the user to reports.
#pragma once

#include <string>
#include <vector>

namespace lab {

struct lab_arguments {
    std::vector<std::string> experiments;  ///< empty: all
    bool full = false;
    bool list = false;
    bool quiet = false;
    bool in_process = false;
    std::string json;
    std::string html;
    std::vector<std::string> compare;  ///< two JSON files: nothing is measured
    std::string show;                  ///< a JSON file: nothing is measured
    std::string against;               ///< whom every case is shown against
    bool tables = false;               ///< all tables, though no experiment is named
    bool markdown = false;             ///< to `markdown_file`, or to the terminal
    std::string markdown_file;
    bool cachegrind = false;
    double speed = 1;
    double time_limit = 0;
};

/// Exit codes: 0 measured (a contender that failed costs its row, not the run), 1 not one row could be
/// measured, 2 the user's input could not be used (one sentence each on stderr, everything else measured
/// and written), 130 interrupted (partial results written).
int run_lab(const lab_arguments& arguments);

}  // namespace lab
