#include "lab/harness/worker.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "lab/harness/preload.hpp"
#include "lab/harness/registry.hpp"

namespace lab {

volatile int interrupted = 0;

// ---- processors ------------------------------------------------------------------------------

namespace {
std::vector<unsigned> cpus_we_may_use;  // as they were before we pinned ourselves
}

void remember_cpus(std::vector<unsigned> cpus) { cpus_we_may_use = std::move(cpus); }

bool pin_to(unsigned cpu) noexcept { return run_on({cpu}); }

void unpin() noexcept { run_on(cpus_we_may_use); }

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
    std::swap(child_, other.child_);
    std::swap(why_, other.why_);
    std::swap(lacks_library_, other.lacks_library_);
    std::swap(here_, other.here_);
    return *this;
}

bool worker::start(const experiment& e, const comparison& c, const contender& who, double seconds) {
    std::string cpus;
    for (const unsigned n : cpus_we_may_use) cpus += (cpus.empty() ? "" : ",") + std::to_string(n);
    child_order order;
    order.work = [&who](int commands, int replies) { return serve(who, commands, replies); };
    order.words = {"cairn",
                   "--lab-worker",
                   e.name,
                   c.name,
                   who.name,
                   cpus,
                   e.options().full ? "full" : "quick",
                   e.options().source};
    if (const malloc_library* const library =
            who.malloc_library.empty() ? nullptr : find_malloc_library(who.malloc_library)) {
        order.is_anew = true;
        order.preload = library->path;
    }
    if (c.options.unpinned) order.cpus = cpus_we_may_use;
    if (const std::string obstacle = child_.start(order); !obstacle.empty()) return fail(obstacle);

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
    if (!who.malloc_library.empty() && who.malloc_library != name_of_system_malloc()) {
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
    (void)child_.send(&c, sizeof c);  // a process that has ended does not answer either
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
    int polls_since_interrupt = 0;
    for (;;) {
        const std::int64_t left_ms = (deadline - now_ns()) / 1'000'000;
        const auto answer =
            child_.wait(static_cast<int>(std::clamp<std::int64_t>(left_ms, 0, 500)));
        if (answer == child_process::answer::came) break;
        if (answer == child_process::answer::broken) return fail("the pipe broke");
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
    if (child_.receive(&size, sizeof size)) {
        message.resize(size);
        if (child_.receive(message.data(), size)) return true;
    }
    const std::string text = child_.fate();
    const std::string errors = child_.errors();
    const std::string said = errors.substr(0, errors.find_first_of("\r\n"));
    return fail(said.empty() ? text : text + ": " + said);
}

bool worker::fail(std::string why) {
    why_ = std::move(why);
    stop();
    return false;
}

void worker::stop() noexcept {
    here_.reset();
    child_.stop();
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
    const pipe_ends ends = ends_of_this_child();
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
                    if (obstacle.empty()) return serve(who, ends.commands, ends.replies);
                    send_failure(ends.replies, obstacle.c_str(), no_library);
                    return 1;
                }
            }
        }
    } catch (const std::exception& x) {
        send_failure(ends.replies, x.what());
        return 1;
    }
    send_failure(ends.replies, "the contender is not known to the worker");
    return 1;
}

}  // namespace lab
