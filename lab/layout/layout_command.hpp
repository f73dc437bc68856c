// lab/layout/layout_command.hpp - `cairn layout BINARY [TYPE]`: from the words of the user to a report.
#pragma once

#include <string>
#include <vector>

namespace lab::layout {

struct layout_arguments {
    std::string binary;
    std::string type;               ///< "": a list of types, worst first
    std::vector<std::string> uses;  ///< each one loop: "position,velocity"
    unsigned line_size = 64;
    bool all = false;
    bool in_process = false;
    std::string json;  ///< a file, or "-": standard output instead of text
};

/// Exit codes: 0 said, 2 the user's input could not be used (one sentence on standard error).
int run_layout(const layout_arguments& arguments);

}  // namespace lab::layout
