#include "lab/harness/worker.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "lab/harness/child.hpp"
#include "lab/harness/preload.hpp"
#include "lab/harness/registry.hpp"

namespace lab {

volatile int interrupted = 0;

// ---- processors ------------------------------------------------------------------------------

namespace {
std::vector<unsigned> cpus_we_may_use;  // as they were before we pinned ourselves
}

void remember_cpus(std::vector<unsigned> cpus) { cpus_we_may_use = std::move(cpus); }

std::vector<unsigned> allowed_cpus() {
    std::vector<unsigned> cpus;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) == 0) {
        for (unsigned c = 0; c != CPU_SETSIZE; ++c) {
            if (CPU_ISSET(c, &set)) cpus.push_back(c);
        }
    }
    return cpus;
}

bool pin_to(unsigned cpu) noexcept {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return ::sched_setaffinity(0, sizeof set, &set) == 0;
}

void unpin() noexcept {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const unsigned c : cpus_we_may_use) CPU_SET(c, &set);
    if (!cpus_we_may_use.empty()) ::sched_setaffinity(0, sizeof set, &set);
}

void pin_this_thread(unsigned n) noexcept {
    if (!cpus_we_may_use.empty()) pin_to(cpus_we_may_use[n % cpus_we_may_use.size()]);
}

// ---- messages: a length, then bytes ----------------------------------------------------------

namespace {

struct command {
    std::uint64_t repetitions;
    std::uint64_t warm_up;
};

bool write_all(int fd, const void* data, std::size_t size) {
    const char* p = static_cast<const char*>(data);
    while (size != 0) {
        const ssize_t n = ::write(fd, p, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        p += n;
        size -= static_cast<std::size_t>(n);
    }
    return true;
}

bool read_all(int fd, void* data, std::size_t size) {
    char* p = static_cast<char*>(data);
    while (size != 0) {
        const ssize_t n = ::read(fd, p, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        p += n;
        size -= static_cast<std::size_t>(n);
    }
    return true;
}

class packer {
public:
    template <class T>
        requires std::is_trivially_copyable_v<T>
    void put(const T& v) {
        const char* p = reinterpret_cast<const char*>(&v);
        bytes_.insert(bytes_.end(), p, p + sizeof v);
    }
    void put(const std::string& s) {
        put(static_cast<std::uint32_t>(s.size()));
        bytes_.insert(bytes_.end(), s.begin(), s.end());
    }
    bool send(int fd) const {
        const auto size = static_cast<std::uint32_t>(bytes_.size());
        return write_all(fd, &size, sizeof size) && write_all(fd, bytes_.data(), bytes_.size());
    }

private:
    std::vector<char> bytes_;
};

class unpacker {
public:
    explicit unpacker(const std::vector<char>& bytes) : bytes_{&bytes} {}
    template <class T>
        requires std::is_trivially_copyable_v<T>
    void get(T& v) {
        if (at_ + sizeof v > bytes_->size()) return;
        std::memcpy(&v, bytes_->data() + at_, sizeof v);
        at_ += sizeof v;
    }
    void get(std::string& s) {
        std::uint32_t size = 0;
        get(size);
        if (at_ + size > bytes_->size()) return;
        s.assign(bytes_->data() + at_, size);
        at_ += size;
    }

private:
    const std::vector<char>* bytes_;
    std::size_t at_ = 0;
};

constexpr char ready = 'r';
constexpr char sampled = 's';
constexpr char failed = 'f';
constexpr char no_library = 'n';

bool send_failure(int fd, const char* what, char kind = failed) {
    packer p;
    p.put(kind);
    p.put(std::string{what});
    return p.send(fd);
}

void pack(packer& p, const sample& s, double elapsed_ns) {
    p.put(sampled);
    p.put(elapsed_ns);
    p.put(s.operations());
    p.put(s.checksum());
    p.put(s.has_value());
    p.put(s.value());
    p.put(static_cast<std::uint32_t>(s.extras().size()));
    for (const auto& [name, value] : s.extras()) {
        p.put(name);
        p.put(value);
    }
    p.put(static_cast<std::uint32_t>(s.plots().size()));
    for (const series& one : s.plots()) {
        p.put(one.name);
        p.put(one.x_label);
        p.put(one.y_label);
        p.put(static_cast<std::uint32_t>(one.points.size()));
        for (const auto& [x, y] : one.points) {
            p.put(x);
            p.put(y);
        }
    }
}

outcome unpack(unpacker& u) {
    outcome r;
    u.get(r.elapsed_ns);
    u.get(r.operations);
    u.get(r.checksum);
    u.get(r.has_value);
    u.get(r.value);
    std::uint32_t count = 0;
    u.get(count);
    for (std::uint32_t i = 0; i != count; ++i) {
        auto& [name, value] = r.extras.emplace_back();
        u.get(name);
        u.get(value);
    }
    u.get(count);
    for (std::uint32_t i = 0; i != count; ++i) {
        series& one = r.plots.emplace_back();
        u.get(one.name);
        u.get(one.x_label);
        u.get(one.y_label);
        std::uint32_t points = 0;
        u.get(points);
        one.points.resize(points);
        for (auto& [x, y] : one.points) {
            u.get(x);
            u.get(y);
        }
    }
    return r;
}

/// Runs the work once and says how long it took, without the timer's own cost.
double timed(body& work, sample& s) {
    const std::int64_t before = now_ns();
    work.run(s);
    const std::int64_t whole = now_ns() - before;
    const double raw = static_cast<double>(s.manual() ? s.elapsed_ns() : whole);
    const double intervals = s.manual() ? static_cast<double>(s.intervals()) : 1.0;
    return std::max(0.0, raw - intervals * timer_overhead_ns());
}

/// The worker's life: build, report ready, sample until the pipe ends.
int serve(const contender& who, int commands, int replies) {
    std::unique_ptr<body> work;
    try {
        (void)timer_overhead_ns();
        work = who.make();
        packer p;
        p.put(ready);
        if (!p.send(replies)) return 1;
        for (command c{}; read_all(commands, &c, sizeof c);) {
            if (c.warm_up != 0) {
                sample warm{c.warm_up};
                work->run(warm);
            }
            sample s{c.repetitions};
            const double elapsed = timed(*work, s);
            packer reply;
            pack(reply, s, elapsed);
            if (!reply.send(replies)) return 1;
        }
    } catch (const std::exception& e) {
        send_failure(replies, e.what());
        return 1;
    } catch (...) {
        send_failure(replies, "an exception of unknown type");
        return 1;
    }
    return 0;
}

std::string signal_name(int s) {
    const char* const abbreviation = ::sigabbrev_np(s);
    return abbreviation != nullptr ? "SIG" + std::string{abbreviation} : std::to_string(s);
}

}  // namespace

double timer_overhead_ns() {
    static const double median = [] {
        std::vector<std::int64_t> v(501);
        for (auto& one : v) {
            const std::int64_t before = now_ns();
            one = now_ns() - before;
        }
        std::nth_element(v.begin(), v.begin() + 250, v.end());
        return static_cast<double>(v[250]);
    }();
    return median;
}

// ---- our side --------------------------------------------------------------------------------

worker& worker::operator=(worker&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(commands_, other.commands_);
    std::swap(replies_, other.replies_);
    std::swap(errors_, other.errors_);
    std::swap(why_, other.why_);
    std::swap(lacks_library_, other.lacks_library_);
    std::swap(here_, other.here_);
    return *this;
}

bool worker::start(const experiment& e, const comparison& c, const contender& who, double seconds) {
    int down[2];
    int up[2];
    if (::pipe2(down, O_CLOEXEC) != 0) return fail("no pipe could be made");
    if (::pipe2(up, O_CLOEXEC) != 0) return fail("no pipe could be made");
    errors_ = ::memfd_create("cairn-lab-errors", MFD_CLOEXEC);

    // Everything that allocates happens before the fork.
    std::vector<std::string> words;
    std::vector<char*> argv;
    std::vector<char*> environment;
    std::string preload;
    const malloc_library* const library =
        who.malloc_library.empty() ? nullptr : find_malloc_library(who.malloc_library);
    if (library != nullptr) {
        std::string cpus;
        for (const unsigned n : cpus_we_may_use)
            cpus += (cpus.empty() ? "" : ",") + std::to_string(n);
        words = {"cairn",
                 "--lab-worker",
                 e.name,
                 c.name,
                 who.name,
                 cpus,
                 e.options().full ? "full" : "quick",
                 e.options().source};
        for (std::string& w : words) argv.push_back(w.data());
        argv.push_back(nullptr);
        for (char** v = environ; *v != nullptr; ++v) {
            if (std::strncmp(*v, "LD_PRELOAD=", 11) != 0) environment.push_back(*v);
        }
        if (!library->path.empty()) {
            preload = "LD_PRELOAD=" + library->path;
            environment.push_back(preload.data());
        }
        environment.push_back(nullptr);
    }

    pid_ = fork_child();
    if (pid_ == 0) {
        ::signal(SIGINT, SIG_IGN);
        ::signal(SIGPIPE, SIG_DFL);
        if (errors_ >= 0) ::dup2(errors_, 2);
        const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (nothing >= 0) ::dup2(nothing, 1);
        if (c.options.unpinned) unpin();
        if (library != nullptr) {
            // Well-known places for the other side; dup2 drops O_CLOEXEC.
            const int command_fd = ::fcntl(down[0], F_DUPFD, 10);
            const int reply_fd = ::fcntl(up[1], F_DUPFD, 10);
            ::dup2(command_fd, 3);
            ::dup2(reply_fd, 4);
            ::close(command_fd);
            ::close(reply_fd);
            ::execve("/proc/self/exe", argv.data(), environment.data());
            ::_exit(127);
        }
        ::close(down[1]);
        ::close(up[0]);
        ::_exit(serve(who, down[0], up[1]));
    }
    ::close(down[0]);
    ::close(up[1]);
    commands_ = down[1];
    replies_ = up[0];
    if (pid_ < 0) return fail("no process could be started");

    std::vector<char> message;
    if (!receive(message, seconds)) return false;
    unpacker u{message};
    char what = 0;
    u.get(what);
    if (what == ready) return true;
    std::string text;
    u.get(text);
    lacks_library_ = what == no_library;
    return fail(lacks_library_ ? text : "failed: " + text);
}

bool worker::start_in_process(const contender& who) {
    if (!who.malloc_library.empty() && who.malloc_library != "glibc") {
        return fail("needs a process of its own");
    }
    here_ = who.make();
    return true;
}

bool worker::run(std::uint64_t repetitions, std::uint64_t warm_up, outcome& result,
                 double seconds) {
    if (!alive()) return false;
    if (here_ != nullptr) {
        sample warm{warm_up};
        if (warm_up != 0) here_->run(warm);
        sample s{repetitions};
        const double elapsed = timed(*here_, s);
        result = {elapsed,   s.operations(), s.checksum(), s.has_value(),
                  s.value(), s.extras(),     s.plots()};
        return true;
    }
    const command c{repetitions, warm_up};
    std::vector<char> message;
    if (!write_all(commands_, &c, sizeof c)) message.clear();
    if (!receive(message, seconds)) return false;
    unpacker u{message};
    char what = 0;
    u.get(what);
    if (what == sampled) {
        result = unpack(u);
        return true;
    }
    std::string text;
    u.get(text);
    return fail("failed: " + text);
}

/// Waits for one message; a crash, a hang and the end of the process all come out of here.
bool worker::receive(std::vector<char>& message, double seconds) {
    const std::int64_t deadline = now_ns() + static_cast<std::int64_t>(seconds * 1e9);
    pollfd p{replies_, POLLIN, 0};
    int polls_since_interrupt = 0;
    for (;;) {
        const std::int64_t left_ms = (deadline - now_ns()) / 1'000'000;
        const int n = ::poll(&p, 1, static_cast<int>(std::clamp<std::int64_t>(left_ms, 0, 500)));
        if (n > 0) break;
        if (n < 0 && errno != EINTR) return fail("the pipe broke");
        // After Ctrl-C the sample in flight has a second to end.
        if (interrupted != 0 && (++polls_since_interrupt > 2 || interrupted >= 2)) {
            return fail("interrupted");
        }
        if (left_ms <= 0) {
            char limit[32];
            std::snprintf(limit, sizeof limit, "%.0f", seconds);
            return fail("took longer than its time limit of " + std::string{limit} + " s");
        }
    }
    std::uint32_t size = 0;
    if (read_all(replies_, &size, sizeof size)) {
        message.resize(size);
        if (read_all(replies_, message.data(), size)) return true;
    }
    int status = 0;
    std::string text = "ended without an answer";
    if (::waitpid(pid_, &status, 0) == pid_) {
        pid_ = -1;
        if (WIFSIGNALED(status))
            text = "crashed (" + signal_name(WTERMSIG(status)) + ")";
        else if (WEXITSTATUS(status) == 127)
            text = "could not be started again with its library";
    }
    const std::string said = first_line_of_errors();
    return fail(said.empty() ? text : text + ": " + said);
}

std::string worker::first_line_of_errors() const {
    char buffer[200];
    const ssize_t n = errors_ < 0 ? 0 : ::pread(errors_, buffer, sizeof buffer, 0);
    if (n <= 0) return {};
    const std::string text{buffer, static_cast<std::size_t>(n)};
    return text.substr(0, text.find('\n'));
}

bool worker::fail(std::string why) {
    why_ = std::move(why);
    stop();
    return false;
}

void worker::stop() noexcept {
    here_.reset();
    for (int* fd : {&commands_, &replies_, &errors_}) {
        if (*fd >= 0) ::close(*fd);
        *fd = -1;
    }
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        pid_ = -1;
    }
}

// ---- the other end, executed anew ------------------------------------------------------------

namespace {

/// Nothing is measured under the name of a library that is not here.
std::string library_obstacle(const contender& who) {
    const malloc_library* const library = find_malloc_library(who.malloc_library);
    if (library == nullptr) return {};
    return preload_obstacle(library->path, library->symbol.c_str());
}

}  // namespace

int worker_main(int argc, char** argv) {
    if (argc < 8) return 127;
    run_options options;
    for (const char* p = argv[5]; *p != '\0';) {
        char* end = nullptr;
        options.cpus.push_back(static_cast<unsigned>(std::strtoul(p, &end, 10)));
        if (end == p) break;
        p = *end == ',' ? end + 1 : end;
    }
    remember_cpus(options.cpus);
    options.full = std::string_view{argv[6]} == "full";
    options.source = argv[7];
    try {
        for (const registered_experiment& which : experiments()) {
            if (which.name != argv[2]) continue;
            const auto e = build(which, options);
            for (const comparison& c : e->comparisons) {
                if (c.name != argv[3]) continue;
                for (const contender& who : c.contenders) {
                    if (who.name != argv[4]) continue;
                    const std::string obstacle = library_obstacle(who);
                    if (obstacle.empty()) return serve(who, 3, 4);
                    send_failure(4, obstacle.c_str(), no_library);
                    return 1;
                }
            }
        }
    } catch (const std::exception& x) {
        send_failure(4, x.what());
        return 1;
    }
    send_failure(4, "the contender is not known to the worker");
    return 1;
}

}  // namespace lab
