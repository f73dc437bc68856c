// What the tests of cairn/storage/allocator_watch.hpp share: the description of an address.
#pragma once

#include <source_location>
#include <string>

namespace allocator_watch_tests {

using namespace cairn;

inline std::string where(const void* address) {
    char text[512];
    return describe_address(address, text, sizeof text) ? text : "";
}

inline unsigned line_of(std::source_location at = std::source_location::current()) {
    return at.line();
}

inline bool says(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
}

}  // namespace allocator_watch_tests
