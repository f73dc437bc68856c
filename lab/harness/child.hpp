// lab/harness/child.hpp - a process that ends together with its parent, and what it is called with.
//
// A contender that hangs is killed at its time limit. What it had forked would run on, and take the
// processor from all that is measured later.
#pragma once

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

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

/// The words and the environment of a program, as exec() takes them. They are made before fork_child():
/// nothing may allocate between that and exec().
class exec_words {
public:
    /// `preload`: the library to preload, in place of what this process has; empty: none.
    explicit exec_words(std::vector<std::string> words, const std::string& preload = {})
        : words_{std::move(words)}, preload_{"LD_PRELOAD=" + preload} {
        for (std::string& word : words_) { argv_.push_back(word.data()); }
        argv_.push_back(nullptr);
        for (char** v = environ; *v != nullptr; ++v) {
            if (std::strncmp(*v, "LD_PRELOAD=", 11) != 0) { environment_.push_back(*v); }
        }
        if (!preload.empty()) { environment_.push_back(preload_.data()); }
        environment_.push_back(nullptr);
    }
    exec_words(const exec_words&) = delete;
    exec_words& operator=(const exec_words&) = delete;
    [[nodiscard]] char** argv() { return argv_.data(); }
    [[nodiscard]] char** environment() { return environment_.data(); }

private:
    std::vector<std::string> words_;
    std::string preload_;
    std::vector<char*> argv_;
    std::vector<char*> environment_;
};

}  // namespace lab
