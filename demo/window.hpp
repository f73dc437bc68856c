// demo/window.hpp - the game in a window, with the graph of its frames and the inspector.
#pragma once

#include <cstdint>
#include <string_view>

namespace demo {

struct window_options {
    bool begins_with_malloc = false;
    const char* screenshot = nullptr;  // a file, written after so many frames; then it ends
    std::uint32_t screenshot_frame = 300;
    std::string_view page = "map";  // of the inspector, in the picture
};

/// Returns: the exit status; 3 where no window can be opened.
int run_window(const window_options& how);

}  // namespace demo
