// lab/harness/machine.hpp - the machine a figure belongs to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lab {

struct cache_facts {
    int level;
    std::string type;  ///< Data, Instruction, Unified
    std::uint64_t bytes;
    std::uint64_t line;
    unsigned ways;                  ///< of its associativity; 0: the system does not tell
    std::optional<bool> inclusive;  ///< of the level below, as the processor says; none: unknown
};

struct machine_facts {
    std::string cpu;
    unsigned hardware_threads = 0;  ///< in the machine
    unsigned usable_threads = 0;    ///< that we may run on
    std::uint64_t memory_bytes = 0;
    std::uint64_t page_bytes = 0;
    std::vector<cache_facts> caches;
    std::string system;  ///< distribution
    std::string kernel;
    std::string c_library;
    std::string huge_pages;  ///< the kernel's setting for transparent ones
    std::string governor;    ///< how the clock is chosen, where the kernel reports it
    bool virtual_machine = false;
    double tsc_ghz = 0;      ///< 0 where there is no time stamp counter
    bool pinned = false;     ///< measured on one processor only
    bool real_time = false;  ///< ran under a real-time scheduling class
};

[[nodiscard]] machine_facts look_at_machine();

/// What one turn of an empty loop costs, in ns: less than this, nothing can be done per turn.
[[nodiscard]] double empty_loop_ns();

/// Times a fixed chain of integer operations (about 0.3 ms) once; its spread is the noise floor.
[[nodiscard]] double noise_probe_ns();

/// Ticks of the time stamp counter per ns, 0 where there is none. Calibrated once.
[[nodiscard]] double tsc_ghz();
/// Cycles of the core in a nanosecond, now: a chain of additions takes one cycle each. The counter of
/// time stamps runs at the base frequency, whatever the core does. 0 where there is no such counter.
[[nodiscard]] double core_ghz();

}  // namespace lab
