#include "lab/harness/preload.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "lab/harness/child.hpp"
#include "lab/harness/clock.hpp"

namespace lab {

std::string try_preload(const std::string& path, const std::string& symbol) {
    const std::string name = detail::name_in(path);
    int answer[2];
    if (::pipe2(answer, O_CLOEXEC) != 0) return name + " could not be tried: no pipe could be made";

    exec_words anew{{"cairn", "--lab-preloaded", path, symbol}, path};
    const pid_t child = fork_child();
    if (child == 0) {
        const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
        ::dup2(answer[1], 1);
        ::dup2(nothing, 2);  // the loader's warning: the sentence below says more
        ::execve("/proc/self/exe", anew.argv(), anew.environment());
        ::_exit(127);
    }
    ::close(answer[1]);
    std::string said;
    const std::int64_t deadline = now_ns() + 10'000'000'000;
    for (bool open = child > 0; open && now_ns() < deadline;) {
        pollfd p{answer[0], POLLIN, 0};
        if (::poll(&p, 1, 500) <= 0) continue;
        char piece[500];
        const ssize_t n = ::read(answer[0], piece, sizeof piece);
        open = n > 0;
        if (open) said.append(piece, static_cast<std::size_t>(n));
    }
    ::close(answer[0]);
    if (child < 0) return name + " could not be tried: no process could be started";
    if (now_ns() >= deadline) ::kill(child, SIGKILL);
    int status = -1;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
    if (WIFEXITED(status) && !said.empty()) return said.substr(0, said.find('\n'));
    return "a process with " + name + " preloaded crashes or does not answer";
}

int preloaded_main(int argc, char** argv) {
    if (argc != 4) return 127;
    const std::string why = preload_obstacle(argv[2], argv[3]);
    if (why.empty()) return 0;
    std::puts(why.c_str());
    return 1;
}

}  // namespace lab
