#include "lab/builds/compilation.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>

#include "lab/harness/child.hpp"
#include "lab/harness/clock.hpp"
#include "lab/harness/worker.hpp"
#include "lab/system/process.hpp"

namespace lab {

std::string find_compiler(const std::string& name) {
    if (is_on_path(name)) return name;
    for (int version = 30; version >= 12; --version) {
        const std::string versioned = name + "-" + std::to_string(version);
        if (is_on_path(versioned)) return versioned;
    }
    return {};
}

std::string why_no_compilation() { return {}; }

int open_program(const std::string& path) { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }

// ---- the folder ------------------------------------------------------------------------------

temporary_folder::temporary_folder() {
    const char* const asked = std::getenv("TMPDIR");
    const std::string where = asked != nullptr && *asked != '\0' ? asked : "/tmp";
    path_ = where + "/cairn-lab-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) {
        throw std::runtime_error{fmt::format("no folder for its programs can be made in '{}': {}",
                                             where, std::strerror(errno))};
    }
    int ends[2] = {-1, -1};
    const bool has_pipe = ::pipe(ends) == 0;  // its writing end is left open in the compilers
    remover_ = has_pipe ? ::fork() : -1;
    if (remover_ == 0) {
        ::setsid();  // what ends the lab does not end this
        ::close(ends[1]);
        const int nothing = ::open("/dev/null", O_RDWR);
        for (int fd = 0; fd != 3; ++fd) ::dup2(nothing, fd);
        char unused;
        while (::read(ends[0], &unused, 1) > 0) {}
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
        ::_exit(0);
    }
    if (has_pipe) ::close(ends[0]);
    in_use_ = ends[1];
}

temporary_folder::~temporary_folder() {
    if (in_use_ >= 0) ::close(in_use_);
    if (remover_ > 0) {
        ::waitpid(remover_, nullptr, 0);
    } else {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
}

// ---- compilers -------------------------------------------------------------------------------

namespace {

struct running_job {
    compile_job* job;
    pid_t pid;
    int errors;
    std::int64_t deadline_ns;
};

running_job start(compile_job& job, const std::string& folder, double seconds) {
    const int errors = ::memfd_create("cairn-lab-compiler", MFD_CLOEXEC);
    exec_words compiler{job.words};
    const pid_t pid = fork_child();
    if (pid == 0) {
        ::setpgid(0, 0);  // a compiler is several processes
        ::unsetenv("LD_PRELOAD");
        ::setenv("TMPDIR", folder.c_str(), 1);
        ::setenv("LC_ALL", "C", 1);
        const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
        ::dup2(nothing, 0);
        ::dup2(nothing, 1);
        ::dup2(errors, 2);
        unpin();
        ::execvp(compiler.argv()[0], compiler.argv());
        ::_exit(127);
    }
    return {&job, pid, errors, now_ns() + static_cast<std::int64_t>(seconds * 1e9)};
}

std::string all_of(int file) {
    std::string text;
    char piece[4096];
    for (ssize_t n = 0;
         (n = ::pread(file, piece, sizeof piece, static_cast<off_t>(text.size()))) > 0;) {
        text.append(piece, static_cast<std::size_t>(n));
    }
    return text;
}

/// The first line that speaks of an error, or the first line.
std::string first_error(const std::string& text) {
    std::istringstream lines{text};
    std::string first;
    for (std::string line; std::getline(lines, line);) {
        if (line.find("error: ") != std::string::npos ||
            line.find("undefined reference") != std::string::npos) {
            return line;
        }
        if (first.empty()) first = line;
    }
    return first;
}

/// Returns: false while it runs.
bool has_ended(running_job& running, double seconds) {
    int status = 0;
    const bool ended = ::waitpid(running.pid, &status, WNOHANG) != 0;
    const bool is_late = !ended && now_ns() >= running.deadline_ns;
    if (!ended && !is_late && interrupted == 0) return false;
    const std::string& name = running.job->words.front();
    if (!ended) {
        ::kill(-running.pid, SIGKILL);
        ::kill(running.pid, SIGKILL);  // it may not have its group yet
        ::waitpid(running.pid, nullptr, 0);
        running.job->why =
            is_late ? fmt::format("{} took longer than its time limit of {:.3g} s", name, seconds)
                    : "interrupted";
    } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        running.job->errors = all_of(running.errors);
        const std::string said = first_error(running.job->errors);
        running.job->why =
            fmt::format("{} does not compile it{}{}", name, said.empty() ? "" : ": ", said);
    }
    if (running.errors >= 0) ::close(running.errors);
    return true;
}

}  // namespace

void compile(std::vector<compile_job>& jobs, const temporary_folder& folder, unsigned at_once,
             double seconds) {
    std::vector<running_job> running;
    auto next = jobs.begin();
    while (next != jobs.end() || !running.empty()) {
        while (next != jobs.end() && running.size() < at_once) {
            compile_job& job = *next++;
            if (interrupted != 0) job.why = "interrupted";
            if (!job.why.empty()) continue;
            running.push_back(start(job, folder.path(), seconds));
            if (running.back().pid < 0) {
                job.why = "no process could be started";
                ::close(running.back().errors);
                running.pop_back();
            }
        }
        std::erase_if(running, [&](running_job& one) { return has_ended(one, seconds); });
        ::usleep(2000);
    }
}

// ---- a program -------------------------------------------------------------------------------

running_program::process::~process() {
    if (pid > 0) {
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
    }
    if (questions >= 0) ::close(questions);
    if (answers >= 0) ::close(answers);
}

running_program::running_program(int executable, const std::string& operation) {
    ::signal(SIGPIPE, SIG_IGN);  // a program that has ended is a sentence, no signal
    int down[2] = {-1, -1};
    int up[2] = {-1, -1};
    const bool has_pipes = ::pipe2(down, O_CLOEXEC) == 0 && ::pipe2(up, O_CLOEXEC) == 0;
    process_.questions = down[1];
    process_.answers = up[0];
    exec_words program{{"program", operation}};
    process_.pid = has_pipes ? fork_child() : -1;
    if (process_.pid == 0) {
        ::dup2(down[0], 0);
        ::dup2(up[1], 1);
        ::fexecve(executable, program.argv(), program.environment());
        ::_exit(127);
    }
    for (const int other_end : {down[0], up[1]}) {
        if (other_end >= 0) ::close(other_end);
    }
    if (process_.pid < 0) throw std::runtime_error{"no process could be started"};
    if (line() != "ready") throw std::runtime_error{"the program does not know " + operation};
}

std::string running_program::line() {
    std::string text;
    for (char c = 0; ::read(process_.answers, &c, 1) == 1; text += c) {
        if (c == '\n') return text;
    }
    int status = 0;
    ::waitpid(process_.pid, &status, 0);
    process_.pid = -1;
    throw std::runtime_error{
        WIFSIGNALED(status)
            ? fmt::format("the program crashes (signal {})", WTERMSIG(status))
            : fmt::format("the program ends with {} and no answer", WEXITSTATUS(status))};
}

running_program::answer running_program::repeat(std::uint64_t repetitions) {
    const std::string question = fmt::format("{}\n", repetitions);
    if (::write(process_.questions, question.data(), question.size()) !=
        static_cast<ssize_t>(question.size())) {
        throw std::runtime_error{"the program takes no more questions"};
    }
    answer a;
    std::istringstream{line()} >> a.ns >> a.computed;
    return a;
}

}  // namespace lab
