#include "lab/layout/in_child.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace lab::layout {

child_end run_in_child(const std::function<int()>& work, unsigned seconds) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child < 0) return {work(), {}};  // no process to be had: then without the net
    if (child == 0) {
        const rlimit time{seconds, seconds + 5};
        (void)::setrlimit(RLIMIT_CPU, &time);
        const rlimit no_core{0, 0};
        (void)::setrlimit(RLIMIT_CORE, &no_core);
        const int code = work();
        std::fflush(nullptr);
        ::_exit(code);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) return {2, std::strerror(errno)};
    }
    if (WIFEXITED(status)) return {WEXITSTATUS(status), {}};
    const int signal = WTERMSIG(status);
    if (signal == SIGXCPU) {
        return {2, "it took " + std::to_string(seconds) + " seconds and no end was in sight"};
    }
    return {2, std::string{"reading it ended with "} + ::strsignal(signal)};
}

}  // namespace lab::layout
