// The demo of cairn: one game, on malloc and on cairn, in a window or without one.
#include "headless.hpp"
#include "window.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

constexpr const char* usage =
    "usage: cairn-demo [--memory malloc|cairn]          a window, Escape ends it\n"
    "       cairn-demo --headless [--frames N] [--passes N] [--memory malloc|cairn|both] [--json]\n"
    "                              [--processor-time]\n"
    "       cairn-demo --screenshot FILE.bmp [--frames N] [--memory malloc|cairn]\n"
    "                  [--page overview|frames|map|sites|mark]   the window after N frames\n";

struct arguments {
    demo::headless_options headless{};
    demo::window_options window{};
    bool is_headless = false;
};

/// Returns: false for words that are not understood.
bool read(arguments& to, int count, char** words) {
    for (int i = 1; i < count; ++i) {
        const std::string_view word = words[i];
        if (word == "--headless") {
            to.is_headless = true;
        } else if (word == "--json") {
            to.headless.as_json = true;
        } else if (word == "--processor-time") {
            to.headless.counts_processor_time = true;
        } else if (i + 1 == count) {
            return false;
        } else if (word == "--frames") {
            to.headless.frames = static_cast<std::uint32_t>(std::strtoul(words[++i], nullptr, 10));
            to.window.screenshot_frame = to.headless.frames;
        } else if (word == "--passes") {
            to.headless.passes = static_cast<unsigned>(std::strtoul(words[++i], nullptr, 10));
        } else if (word == "--screenshot") {
            to.window.screenshot = words[++i];
        } else if (word == "--page") {
            to.window.page = words[++i];
        } else if (word == "--memory") {
            const std::string_view which = words[++i];
            if (which != "malloc" && which != "cairn" && which != "both") { return false; }
            to.headless.plays_malloc = which != "cairn";
            to.headless.plays_cairn = which != "malloc";
            to.window.begins_with_malloc = which == "malloc";
        } else {
            return false;
        }
    }
    return to.headless.frames != 0 && to.headless.passes != 0;
}

}  // namespace

int main(int count, char** words) {
    arguments a;
    if (!read(a, count, words)) {
        std::fputs(usage, stderr);
        return 2;
    }
    return a.is_headless ? demo::run_headless(a.headless) : demo::run_window(a.window);
}
