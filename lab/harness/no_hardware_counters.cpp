// In place of hardware_counters.cpp on Windows.
#include "lab/harness/hardware_counters.hpp"

namespace lab {

std::string words_of_counter_error(int) { return "this system lends them to drivers alone"; }
hardware_counters::hardware_counters() noexcept {}
hardware_counters::~hardware_counters() = default;
void hardware_counters::begins() noexcept {}
void hardware_counters::ends() noexcept {}
counts hardware_counters::result() const noexcept { return {}; }
const std::string& why_no_hardware_counters() {
    static const std::string why = words_of_counter_error(0);
    return why;
}

}  // namespace lab
