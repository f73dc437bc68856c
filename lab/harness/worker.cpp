#include "lab/harness/worker.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
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

// ---- a message on the pipe: its length, then its bytes ----------------------------------------------------------

namespace {

/// Moves `size` bytes: move_some(bytes, how many) is ::read or ::write.
template <class Bytes, class MoveSome>
bool move_all(Bytes* p, std::size_t size, MoveSome move_some) {
    while (size != 0) {
        const ssize_t n = move_some(p, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        p += n;
        size -= static_cast<std::size_t>(n);
    }
    return true;
}

}  // namespace

bool write_all(int file, const void* data, std::size_t size) noexcept {
    return move_all(static_cast<const char*>(data), size,
                    [file](const char* p, std::size_t n) { return ::write(file, p, n); });
}

bool read_all(int file, void* data, std::size_t size) noexcept {
    return move_all(static_cast<char*>(data), size,
                    [file](char* p, std::size_t n) { return ::read(file, p, n); });
}

namespace {

struct command {
    std::uint64_t repetitions;
    std::uint64_t warm_up;
    std::uint64_t tries;  // as often as this, where the processor goes to another process meanwhile
};

bool send(int fd, const message& m) {
    const message_bytes bytes = bytes_of(m);
    const auto size = static_cast<std::uint32_t>(bytes.size());
    return write_all(fd, &size, sizeof size) && write_all(fd, bytes.data(), bytes.size());
}

int fail_with(int fd, std::string why, message::kind is = message::kind::failed) {
    (void)send(fd, {.is = is, .why = std::move(why)});
    return 1;
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

/// A sample as ordered. On a busy machine another process gets the processor for a millisecond or
/// more, which is longer than a short sample: such a sample is taken again.
outcome take_sample(body& work, const command& c) {
    constexpr double longest_to_repeat_ns = 5e6;
    for (std::uint64_t tries = 1;; ++tries) {
        sample s{c.repetitions};
        const long displaced = times_displaced();
        const double elapsed = timed(work, s);
        if (tries >= c.tries || displaced == times_displaced() || elapsed > longest_to_repeat_ns) {
            return outcome_of(s, elapsed);
        }
    }
}

/// The worker's life: build, report ready, sample until the pipe ends.
int serve(const contender& who, int commands, int replies) {
    try {
        (void)timer_overhead_ns();
        const std::unique_ptr<body> work = who.make->make();
        if (!send(replies, {.is = message::kind::ready})) return 1;
        for (command c{}; read_all(commands, &c, sizeof c);) {
            if (c.warm_up != 0) {
                sample warm{c.warm_up};
                work->run(warm);
            }
            if (!send(replies, {message::kind::sample, "", take_sample(*work, c)})) return 1;
        }
    } catch (const std::exception& e) { return fail_with(replies, e.what()); } catch (...) {
        return fail_with(replies, "an exception of unknown type");
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
    std::swap(is_asked_, other.is_asked_);
    std::swap(tries_, other.tries_);
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
                   e.options().full ? "full" : "quick"};
    if (const malloc_library* const library =
            who.malloc_library.empty() ? nullptr : find_malloc_library(who.malloc_library)) {
        order.is_anew = true;
        order.preload = library->path;
    }
    if (c.options.unpinned || c.options.exact) order.cpus = cpus_we_may_use;
    const bool is_timed = c.options.measure != measure::value && !c.options.one_sample;
    tries_ = is_timed && !c.options.unpinned ? 4 : 1;
    if (const std::string obstacle = child_.start(order); !obstacle.empty()) return fail(obstacle);

    const message answer = receive(seconds);
    lacks_library_ = answer.is == message::kind::no_library;
    return answer.is == message::kind::ready;
}

bool worker::start_in_process(const contender& who) {
    if (!who.malloc_library.empty() && who.malloc_library != name_of_system_malloc()) {
        return fail("needs a process of its own");
    }
    here_ = who.make->make();
    return true;
}

void worker::ask(std::uint64_t repetitions, std::uint64_t warm_up) {
    if (here_ != nullptr) return;
    // Without a warm-up nothing is kept of it but how long it took, all tries together.
    const command c{repetitions, warm_up, warm_up == 0 ? 1 : tries_};
    (void)child_.send(&c, sizeof c);  // a process that has ended does not answer either
    is_asked_ = true;
}

bool worker::run(std::uint64_t repetitions, std::uint64_t warm_up, outcome& result,
                 double seconds) {
    if (!alive()) return false;
    if (here_ != nullptr) {
        sample warm{warm_up};
        if (warm_up != 0) here_->run(warm);
        sample s{repetitions};
        const double elapsed = timed(*here_, s);
        result = outcome_of(s, elapsed);
        return true;
    }
    if (!is_asked_) ask(repetitions, warm_up);
    is_asked_ = false;
    message answer = receive(seconds);
    result = std::move(answer.result);
    return answer.is == message::kind::sample;
}

/// Waits for the first byte of a message, the end of the process or of the time.
bool worker::await_answer(double seconds) {
    const std::int64_t deadline = now_ns() + static_cast<std::int64_t>(seconds * 1e9);
    int polls_since_interrupt = 0;
    for (;;) {
        const std::int64_t left_ms = (deadline - now_ns()) / 1'000'000;
        const auto answer =
            child_.wait(static_cast<int>(std::clamp<std::int64_t>(left_ms, 0, 500)));
        if (answer == child_process::answer::came) return true;
        if (answer == child_process::answer::broken) return fail("the pipe broke");
        // After Ctrl-C the sample in flight has a second to end.
        if (interrupted != 0 && (++polls_since_interrupt > 2 || interrupted >= 2)) {
            return fail("interrupted");
        }
        if (left_ms > 0) continue;
        char limit[32];
        std::snprintf(limit, sizeof limit, "%.0f", seconds);
        return fail("took longer than its time limit of " + std::string{limit} + " s");
    }
}

/// One message. A crash, a hang, the end of the process and a message that is cut are failures.
message worker::receive(double seconds) {
    if (!await_answer(seconds)) return {};
    message_bytes bytes;
    std::uint32_t size = 0;
    if (child_.receive(&size, sizeof size)) {
        bytes.resize(size);
        if (child_.receive(bytes.data(), size)) {
            message m = message_of(bytes);
            if (m.is == message::kind::no_library) fail(m.why);
            if (m.is == message::kind::failed || m.is == message::kind::cut) {
                fail("failed: " + m.why);
            }
            return m;
        }
    }
    const std::string text = child_.fate();
    const std::string errors = child_.errors();
    const std::string said = errors.substr(0, errors.find_first_of("\r\n"));
    fail(said.empty() ? text : text + ": " + said);
    return {};
}

bool worker::fail(std::string why) {
    why_ = std::move(why);
    stop();
    return false;
}

void worker::stop() noexcept {
    here_.reset();
    child_.stop();
    is_asked_ = false;
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
    if (argc < 7) return 127;
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
    try {
        const found_row row = find_row(argv[2], argv[3], argv[4], options);
        if (row.who != nullptr) {
            const std::string obstacle = library_obstacle(*row.who);
            if (obstacle.empty()) return serve(*row.who, ends.commands, ends.replies);
            return fail_with(ends.replies, obstacle, message::kind::no_library);
        }
    } catch (const std::exception& x) { return fail_with(ends.replies, x.what()); }
    return fail_with(ends.replies, "the contender is not known to the worker");
}

}  // namespace lab
