// demo/frame_times.hpp - how long frames took, and what of it matters: the slow ones.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace demo {

inline constexpr double late_milliseconds = 1000.0 / 90;  // a frame of 90 Hz

using clock = std::chrono::steady_clock;
inline double milliseconds_since(clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(clock::now() - begin).count();
}

struct frame_times {
    std::vector<float> milliseconds;  // of each frame

    /// The time that `part` of the frames does not exceed; 0: there is no frame yet.
    [[nodiscard]] double at(double part) const {
        if (milliseconds.empty()) { return 0; }
        std::vector<float> sorted = milliseconds;
        std::sort(sorted.begin(), sorted.end());
        const auto last = static_cast<double>(sorted.size() - 1);
        return sorted[static_cast<std::size_t>(part * last + 0.5)];
    }
    [[nodiscard]] std::size_t late_count() const {
        return static_cast<std::size_t>(
            std::count_if(milliseconds.begin(), milliseconds.end(),
                          [](float ms) { return ms > late_milliseconds; }));
    }
};

}  // namespace demo
