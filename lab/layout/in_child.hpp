// lab/layout/in_child.hpp - work that a damaged file may end: in a process of its own.
//
// libdw believes what it reads in places. A file that brings it down costs the child; the command
// says one sentence all the same.
#pragma once

#include <functional>
#include <string>

namespace lab::layout {

struct child_end {
    int exit_code = 0;
    std::string fate;  ///< "" when it ended by itself; otherwise what happened to it
};

/// Runs work() in a child, with standard output and error of this process. It ends when it has used
/// `seconds` of processor time.
[[nodiscard]] child_end run_in_child(const std::function<int()>& work, unsigned seconds);

}  // namespace lab::layout
