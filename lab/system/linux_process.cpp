#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>

#include "lab/harness/child.hpp"
#include "lab/system/process.hpp"
#include "lab/system/system.hpp"

namespace lab {

namespace {

std::string signal_name(int s) {
    const char* const abbreviation = ::sigabbrev_np(s);
    return abbreviation != nullptr ? "SIG" + std::string{abbreviation} : std::to_string(s);
}

constexpr pipe_ends ends_anew{3, 4};

}  // namespace

// ---- a child that answers -----------------------------------------------------------------------

std::string child_process::start(const child_order& order) {
    int down[2];
    int up[2];
    if (::pipe2(down, O_CLOEXEC) != 0) return "no pipe could be made";
    if (::pipe2(up, O_CLOEXEC) != 0) {
        ::close(down[0]);
        ::close(down[1]);
        return "no pipe could be made";
    }
    const int errors = ::memfd_create("cairn-lab-errors", MFD_CLOEXEC);

    exec_words anew{order.words, order.preload};
    const pid_t pid = fork_child();
    if (pid == 0) {
        ::signal(SIGINT, SIG_IGN);
        ::signal(SIGPIPE, SIG_DFL);
        if (errors >= 0) ::dup2(errors, 2);
        const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (nothing >= 0) ::dup2(nothing, 1);
        run_on(order.cpus);
        if (order.is_anew) {
            // Well-known places for the other side; dup2 drops O_CLOEXEC.
            const int command_fd = ::fcntl(down[0], F_DUPFD, 10);
            const int reply_fd = ::fcntl(up[1], F_DUPFD, 10);
            ::dup2(command_fd, ends_anew.commands);
            ::dup2(reply_fd, ends_anew.replies);
            ::close(command_fd);
            ::close(reply_fd);
            ::execve("/proc/self/exe", anew.argv(), anew.environment());
            ::_exit(127);
        }
        ::close(down[1]);
        ::close(up[0]);
        ::_exit(order.work(down[0], up[1]));
    }
    ::close(down[0]);
    ::close(up[1]);
    commands_ = down[1];
    replies_ = up[0];
    errors_ = errors;
    process_ = pid;
    return pid < 0 ? "no process could be started" : "";
}

bool child_process::send(const void* data, std::size_t size) noexcept {
    return write_all(static_cast<int>(commands_), data, size);
}

child_process::answer child_process::wait(int milliseconds) noexcept {
    pollfd p{static_cast<int>(replies_), POLLIN, 0};
    const int n = ::poll(&p, 1, milliseconds);
    return n > 0 ? answer::came : n == 0 || errno == EINTR ? answer::late : answer::broken;
}

bool child_process::receive(void* data, std::size_t size) noexcept {
    return read_all(static_cast<int>(replies_), data, size);
}

std::string child_process::fate() {
    int status = 0;
    const auto pid = static_cast<pid_t>(process_);
    if (::waitpid(pid, &status, 0) != pid) return "ended without an answer";
    process_ = none;
    if (WIFSIGNALED(status)) return "crashed (" + signal_name(WTERMSIG(status)) + ")";
    if (WEXITSTATUS(status) == 127) return "could not be started again with its library";
    return "ended without an answer";
}

std::string child_process::errors() const {
    char buffer[200];
    const ssize_t n =
        errors_ == none ? 0 : ::pread(static_cast<int>(errors_), buffer, sizeof buffer, 0);
    return n <= 0 ? std::string{} : std::string{buffer, static_cast<std::size_t>(n)};
}

void child_process::stop() noexcept {
    for (name* fd : {&commands_, &replies_, &errors_}) {
        if (*fd != none) ::close(static_cast<int>(*fd));
        *fd = none;
    }
    if (process_ > 0) {
        ::kill(static_cast<pid_t>(process_), SIGKILL);
        ::waitpid(static_cast<pid_t>(process_), nullptr, 0);
    }
    process_ = none;
}

pipe_ends ends_of_this_child() { return ends_anew; }

// ---- copies -------------------------------------------------------------------------------------

bool in_copy(const std::function<void()>& work) {
    const pid_t child = fork_child();
    if (child == 0) {
        work();
        ::_exit(0);
    }
    int status = 0;
    return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
}

copy_end in_copy(const std::function<int()>& work, unsigned seconds) {
    std::fflush(nullptr);
    const pid_t child = fork_child();
    if (child < 0) return {work(), {}};  // no process to be had: then without the net
    if (child == 0) {
        const rlimit time{seconds, seconds + 5};
        const rlimit no_core{0, 0};
        (void)::setrlimit(RLIMIT_CPU, &time);
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
    if (signal != SIGXCPU) return {2, std::string{"reading it ended with "} + ::strsignal(signal)};
    return {2, "it took " + std::to_string(seconds) + " seconds and no end was in sight"};
}

shared_memory::shared_memory(std::size_t size)
    : begin_{::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)},
      size_{size} {
    if (begin_ == MAP_FAILED) throw std::bad_alloc{};
}
shared_memory::~shared_memory() {
    if (begin_ != nullptr) ::munmap(begin_, size_);
}

// ---- other programs -----------------------------------------------------------------------------

std::string output_of(const std::vector<std::string>& words) {
    int up[2];
    if (::pipe2(up, O_CLOEXEC) != 0) throw std::runtime_error{"no pipe could be made"};
    exec_words program{words};
    const pid_t child = fork_child();
    if (child == 0) {
        ::dup2(up[1], 1);
        ::dup2(up[1], 2);
        ::execvp(program.argv()[0], program.argv());
        ::_exit(127);
    }
    ::close(up[1]);
    std::string text;
    char piece[4096];
    for (ssize_t n = 1; child > 0 && n != 0;) {
        n = ::read(up[0], piece, sizeof piece);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) break;
        text.append(piece, static_cast<std::size_t>(n));
    }
    ::close(up[0]);
    int status = -1;
    const bool ended = child > 0 && ::waitpid(child, &status, 0) == child;
    if (!ended || (WIFEXITED(status) && WEXITSTATUS(status) == 127)) {
        throw std::runtime_error{words[0] + " could not be started"};
    }
    return text;
}

bool is_on_path(const std::string& program) {
    const char* const path = std::getenv("PATH");
    std::istringstream folders{path == nullptr ? "" : path};
    for (std::string folder; std::getline(folders, folder, ':');) {
        if (!folder.empty() && ::access((folder + "/" + program).c_str(), X_OK) == 0) return true;
    }
    return false;
}

}  // namespace lab
