// lab/harness/worker.hpp - a process for each contender, commanded sample by sample over pipes.
//
//      sampler                                worker (forked; or started anew: with LD_PRELOAD, on Windows)
//        |  repetitions, warm-up -------------->  run(sample)          timed in there
//        |  <------------- ns, operations, values, curves
//        |  end of pipe ---------------------->  exits
//
// Own processes because two malloc replacements cannot share one, and because a contender that
// crashes or hangs must cost only its own row. All contenders of a case live at once and wait in
// read(): rounds interleave, and a wake-up lies outside the timed part.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lab/harness/experiment.hpp"
#include "lab/harness/message.hpp"
#include "lab/system/process.hpp"
#include "lab/system/system.hpp"

namespace lab {

class worker {
public:
    worker() = default;
    worker(worker&& other) noexcept { *this = std::move(other); }
    worker& operator=(worker&& other) noexcept;
    ~worker() { stop(); }

    /// Starts the process and waits until the contender's factory has run.
    /// Returns: false on failure; why() says it.
    bool start(const experiment& e, const comparison& c, const contender& who, double seconds);

    /// For debuggers and callgrind: no process, the contender is built right here.
    bool start_in_process(const contender& who);

    /// Begins the sample that the next run() waits for: other processes may take theirs beside it.
    void ask(std::uint64_t repetitions, std::uint64_t warm_up);
    /// One sample of `repetitions`, after a warm-up of `warm_up` repetitions that is not timed.
    bool run(std::uint64_t repetitions, std::uint64_t warm_up, outcome& result, double seconds);

    [[nodiscard]] bool alive() const noexcept { return child_.is_running() || here_ != nullptr; }

    /// One sentence: crashed, took longer than the time limit, threw.
    [[nodiscard]] const std::string& why() const noexcept { return why_; }

    /// It did not begin: another malloc was in its process than its row says.
    [[nodiscard]] bool lacks_library() const noexcept { return lacks_library_; }

    void stop() noexcept;

private:
    message receive(double seconds);
    bool await_answer(double seconds);
    bool fail(std::string why);

    child_process child_;
    std::string why_;
    bool lacks_library_ = false;
    bool is_asked_ = false;
    unsigned tries_ = 1;  // for a sample that another process interrupts
    std::unique_ptr<body> here_;
};

/// The other end, for `cairn --lab-worker ...`: never returns to its caller's business.
int worker_main(int argc, char** argv);

/// The processors we may use, and binding to the first for everything that is measured.
void remember_cpus(std::vector<unsigned> cpus);
bool pin_to(unsigned cpu) noexcept;
void unpin() noexcept;

/// Set by Ctrl-C: the sampler stops after the sample in flight, and reports are still written.
extern volatile int interrupted;

}  // namespace lab
