// demo/headless.hpp - the game without a window.
#pragma once

#include <cstdint>

namespace demo {

struct headless_options {
    std::uint32_t frames = 1'000;
    unsigned passes = 1;  // of each frame the least time of so many runs counts
    bool plays_malloc = true;
    bool plays_cairn = true;
    bool as_json = false;
    bool counts_processor_time = false;  // of both threads, for a machine that others use, too

    [[nodiscard]] double now() const;  // milliseconds
};

/// Returns: the exit status; 1 when both versions played and did not do the same.
int run_headless(const headless_options& how);

}  // namespace demo
