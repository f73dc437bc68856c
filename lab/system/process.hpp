// lab/system/process.hpp - other processes of this program.
//
//                           Linux                          Windows
//      child_process        a fork, or the program anew    the program anew
//      in_copy(work)        a fork                         no copy: work() runs here
//
// A new process gets as arguments what a fork would inherit: experiment, case, row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace lab {

#if defined(_WIN32)
inline constexpr bool has_copies = false;
#else
inline constexpr bool has_copies = true;
#endif

/// How a child begins.
struct child_order {
    /// What a fork does. Its result is the exit code. Files: as in pipe_ends.
    std::function<int(int commands, int replies)> work;
    /// What this program is called with where there are no forks, or is_anew. words[0] is its name.
    std::vector<std::string> words;
    bool is_anew = false;
    std::string preload;         ///< a library, for a program anew on Linux
    std::vector<unsigned> cpus;  ///< those it may run on; empty: those of this process
};

/// A process of this program that is asked over a pipe and answers over another. It ends when this
/// object does, and when this process does, however that ends.
class child_process {
public:
    child_process() = default;
    child_process(child_process&& other) noexcept { *this = std::move(other); }
    child_process& operator=(child_process&& other) noexcept {
        std::swap(process_, other.process_);
        std::swap(commands_, other.commands_);
        std::swap(replies_, other.replies_);
        std::swap(errors_, other.errors_);
        std::swap(extra_, other.extra_);
        return *this;
    }
    ~child_process() { stop(); }

    /// Returns: "" or why there is no process, in one sentence.
    [[nodiscard]] std::string start(const child_order& order);
    [[nodiscard]] bool is_running() const noexcept { return process_ != none; }

    /// Returns: false when it takes nothing any more.
    bool send(const void* data, std::size_t size) noexcept;

    enum class answer { came, late, broken };
    /// Waits for the next byte, or the end of the process, which is an answer too.
    [[nodiscard]] answer wait(int milliseconds) noexcept;
    /// Returns: false when it ended before it had said so much.
    [[nodiscard]] bool receive(void* data, std::size_t size) noexcept;

    /// After receive() was false: what became of it, in a few words.
    [[nodiscard]] std::string fate();
    /// The first bytes that it wrote to stderr.
    [[nodiscard]] std::string errors() const;
    void stop() noexcept;

private:
    // What the system calls a process, a pipe, a file: -1 is none of them.
    using name = std::intptr_t;
    static constexpr name none = -1;
    name process_ = none;
    name commands_ = none;
    name replies_ = none;
    name errors_ = none;
    name extra_ = none;  ///< Windows: the read of replies_ that is on its way
};

/// The files of the other end, in a process that was started anew.
struct pipe_ends {
    int commands;
    int replies;
};
[[nodiscard]] pipe_ends ends_of_this_child();
/// All of it, in as many calls as that takes. Returns: false when the other end is closed.
bool write_all(int file, const void* data, std::size_t size) noexcept;
[[nodiscard]] bool read_all(int file, void* data, std::size_t size) noexcept;

/// Calls work() in a copy of this process, which ends with it, and waits for it; where there are no
/// copies, here. Returns: false when it did not come to its end.
[[nodiscard]] bool in_copy(const std::function<void()>& work);

/// How work in a copy ended.
struct copy_end {
    int exit_code = 0;  ///< what work() returned
    std::string fate;   ///< what ended the copy before that, in a few words; "": nothing
};
/// The same with standard output and error of this process, and `seconds` of processor time.
[[nodiscard]] copy_end in_copy(const std::function<int()>& work, unsigned seconds);

/// Zeroed memory that copies share with this process. Throws: std::bad_alloc.
class shared_memory {
public:
    explicit shared_memory(std::size_t size);
    shared_memory(shared_memory&& other) noexcept
        : begin_{std::exchange(other.begin_, nullptr)}, size_{other.size_} {}
    shared_memory& operator=(shared_memory&&) = delete;
    ~shared_memory();
    [[nodiscard]] void* get() const noexcept { return begin_; }

private:
    void* begin_;
    std::size_t size_;
};

/// All that a program writes, on stdout and stderr; words[0] is looked for on PATH. It ends when
/// the calling process does. Throws: std::runtime_error when it cannot be started.
[[nodiscard]] std::string output_of(const std::vector<std::string>& words);

/// True when a program of this name lies in a folder of PATH.
[[nodiscard]] bool is_on_path(const std::string& program);

}  // namespace lab
