// lab/builds/compilation.hpp - compiling and running programs while the lab runs.
//
//      temporary_folder folder;             made now; gone when this goes, and when the lab is killed
//      compile(jobs, folder, 60);           as many at once as there are processors
//      int program = open(...);             a program lives on without its name
//      running_program run{program, "pool"};
//      run.repeat(1000)                     asks it, over pipes, and waits for its answer
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace lab {

/// The first of `name`, `name`-30, `name`-29 ... `name`-12 that stands on the PATH; empty: none.
[[nodiscard]] std::string find_compiler(const std::string& name);

/// A folder in TMPDIR (or /tmp). A process of its own removes it: when this object goes, and when the
/// lab ends in any other way, as soon as the last compiler that writes into it has ended.
class temporary_folder {
public:
    /// Throws std::runtime_error, one sentence, when no folder can be made.
    temporary_folder();
    ~temporary_folder();
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    std::string path_;
    [[maybe_unused]] int in_use_ = -1;  ///< the end of a pipe: open here and in every compiler
    [[maybe_unused]] pid_t remover_ = -1;
};

/// Why nothing can be compiled on this system, in one sentence; empty where it can.
[[nodiscard]] std::string why_no_compilation();

/// A program lives on without its name. Returns: its open file, -1: it cannot be opened.
[[nodiscard]] int open_program(const std::string& path);

struct compile_job {
    std::vector<std::string> words;  ///< the command
    std::string why;                 ///< in one sentence, what went wrong; empty: nothing
    std::string errors = {};         ///< what it wrote to stderr
};

/// Runs all commands, `at_once` of them at a time, and ends those that take longer than `seconds` or
/// that an interrupt (Ctrl-C) meets. A job with a `why` is left alone.
void compile(std::vector<compile_job>& jobs, const temporary_folder& folder, unsigned at_once,
             double seconds);

/// lab/builds/program.cpp, compiled, in a process of its own.
class running_program {
public:
    /// executable: an open file. Returns when the program has made its data.
    /// Throws std::runtime_error when it does not start; so does repeat() when it ends early.
    running_program(int executable, const std::string& operation);

    struct answer {
        std::int64_t ns = 0;
        std::uint64_t computed = 0;
    };
    [[nodiscard]] answer repeat(std::uint64_t repetitions);

private:
    struct process {
        pid_t pid = -1;
        int questions = -1;
        int answers = -1;
        process() = default;
        ~process();
        process(const process&) = delete;
        process& operator=(const process&) = delete;
    };
    [[nodiscard]] std::string line();
    process process_;
};

}  // namespace lab
