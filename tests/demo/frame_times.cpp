// Sentences of demo/frame_times.hpp.
#include "../../demo/frame_times.hpp"

#include <cstdio>

int main() {
    const auto is = [](double value, double expected, const char* what) {
        if (value != expected) { std::printf("%s: %f, not %f\n", what, value, expected); }
        return value == expected;
    };
    const demo::frame_times none;
    const demo::frame_times three{{3, 1, 20}};
    return is(none.at(0.5), 0, "the median of no frame") && is(none.at(1), 0, "its longest") &&
                   is(three.at(0.5), 3, "the median") && is(three.at(1), 20, "the longest") &&
                   three.late_count() == 1
               ? 0
               : 1;
}
