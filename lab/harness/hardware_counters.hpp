// lab/harness/hardware_counters.hpp - the processor's own counters, where the system lends them.
//
// Linux: perf_event_open. A virtual machine has mostly none, and a kernel may refuse them to users.
#pragma once

#include <string>

#include "lab/harness/counts.hpp"
#include "lab/harness/sample.hpp"

namespace lab {

/// For the calling thread, outside of the kernel.
class hardware_counters final : public interval_watch {
public:
    hardware_counters() noexcept;
    hardware_counters(const hardware_counters&) = delete;
    hardware_counters& operator=(const hardware_counters&) = delete;
    ~hardware_counters();

    /// At least instructions are counted.
    [[nodiscard]] bool available() const noexcept { return files_[0] >= 0; }
    /// Why not: one part of a sentence; empty where they are.
    [[nodiscard]] const std::string& why() const noexcept { return why_; }

    void begins() noexcept override;
    void ends() noexcept override;
    /// Between begins() and ends(), all intervals together.
    [[nodiscard]] counts result() const noexcept;

private:
    int files_[4] = {-1, -1, -1, -1};
    std::string why_;
};

/// Why this process may not use them; empty where it may. Asked once.
[[nodiscard]] const std::string& why_no_hardware_counters();

/// The sentence for an error of perf_event_open.
[[nodiscard]] std::string words_of_counter_error(int error);

}  // namespace lab
