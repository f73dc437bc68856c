// lab/families/instruction_count.hpp - how many instructions an operation takes at most: a child
// process is single-stepped through it.
#pragma once

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>

namespace lab {

/// Calls operation(mark) in a child; each mark() is a place where the count of instructions since
/// the last mark is noted. Returns the largest count between the odd and the even marks.
template <class Operation>
[[nodiscard]] std::uint64_t most_instructions(Operation operation, std::size_t& worst_index) {
    const pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        raise(SIGSTOP);
        operation([] { raise(SIGUSR1); }, [] { raise(SIGUSR2); });
        _exit(0);
    }
    std::uint64_t most = 0;
    std::size_t index = 0;
    bool counting = false;
    bool first = true;
    std::uint64_t count = 0;
    std::uint64_t overhead = UINT64_MAX;  // of raising the signals, from the empty operation
    int status = 0;
    waitpid(child, &status, 0);
    ptrace(PTRACE_CONT, child, nullptr, nullptr);
    for (;;) {
        if (waitpid(child, &status, 0) < 0 || WIFEXITED(status) || WIFSIGNALED(status)) break;
        const int sig = WSTOPSIG(status);
        if (sig == SIGUSR1) {
            counting = true;
            count = 0;
        } else if (sig == SIGUSR2) {
            counting = false;
            if (first) {
                overhead = count;
                first = false;
            } else {
                ++index;
                const std::uint64_t own = count > overhead ? count - overhead : 0;
                if (own > most) {
                    most = own;
                    worst_index = index;
                }
            }
        } else if (sig == SIGTRAP && counting) {
            ++count;
        }
        ptrace(counting ? PTRACE_SINGLESTEP : PTRACE_CONT, child, nullptr, nullptr);
    }
    return most;
}

}  // namespace lab
