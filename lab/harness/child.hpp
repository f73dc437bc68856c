// lab/harness/child.hpp - a process that ends together with its parent.
//
// A contender that hangs is killed at its time limit. What it had forked would run on, and take the
// processor from all that is measured later.
#pragma once

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>

namespace lab {

/// As fork(). The child is killed when the thread that called this ends, however it ends.
[[nodiscard]] inline pid_t fork_child() noexcept {
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child != 0) { return child; }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) { ::_exit(1); }  // it ended before this one could ask for that
    return 0;
}

}  // namespace lab
