// demo/window.hpp - the game in a window, with the graph of its frames and the inspector.
#pragma once

#include <cstdint>

namespace demo {

struct window_options {
    bool begins_with_malloc = false;
    const char* screenshot = nullptr;  // a file, written after so many frames; then it ends
    std::uint32_t screenshot_frame = 300;
};

/// Returns: the exit status; 3 where no window can be opened.
int run_window(const window_options& how);

}  // namespace demo
