// How do I compare names by one comparison of pointers, and keep each of them once? string_pool.
#include <cairn/containers/string_pool.hpp>

#include <cstdio>
#include <string_view>

int main() {
    // [intern]
    cairn::string_pool names;
    const std::string_view line = "play main_theme";
    const std::string_view command = names.intern(line.substr(0, 4));  // copied: the line may go
    const std::string_view track = names.intern(line.substr(5));
    if (track.data() == nullptr) { return 1; }  // out of memory
    const bool is_theme = track.data() == names.intern("main_theme").data();
    // [/intern]
    if (!is_theme || names.find("stop").data() != nullptr) { return 1; }
    std::printf("%s, then %s\n", command.data(), track.data());  // each text ends with a 0
    return 0;
}
