// lab/experiments/middleware.cpp - libraries of games: what does their memory cost them?
//
// Each library is a program of its own (lab/middleware), started for each sample: with its own
// functions and each malloc preloaded, or with the memory that its adapter of cairn recommends. All do
// the same work. A library that is absent is left out.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>

#include "lab/harness/experiment.hpp"
#include "lab/harness/registry.hpp"
#include "lab/system/process.hpp"

namespace {

struct library {
    const char* file;  // lab/middleware/FILE.cpp
    const char* name;
    const char* package;
    const char* memory;  // the adapter's default
    bool is_quick;
    const char* why_peak = nullptr;  // where glibc's is smaller
};
constexpr library libraries[] = {
    {"lua", "Lua", "liblua5.4-dev", "heap<>", true},
    {"sqlite", "SQLite", "libsqlite3-dev", "concurrent_heap", true,
     "1.8 MiB are live at the peak, within `vacuum`. Pages of 4,360 bytes in slots of 5,120 take "
     "0.2 more, other sizes 0.1, free slots of the thread 0.3, and free slots that other "
     "statements used 0.5. glibc's memory is counted behind the call, when it gave some back; "
     "before that it is 1.9."},
    {"imgui", "Dear ImGui", "libimgui-dev", "heap<>", false},
    {"sdl2", "SDL 2", "libsdl2-dev", "concurrent_heap", false},
    {"freetype", "FreeType", "libfreetype-dev", "heap<>", false},
    {"libpng", "libpng with zlib", "libpng-dev", "growing_arena, reset", false},
    {"expat", "Expat", "libexpat1-dev", "heap<>", false},
    {"bullet", "Bullet", "libbullet-dev", "heap<>", false},
};

std::string program_of(const library& l) {
    return std::string{LAB_MIDDLEWARE "/lab_middleware_"} + l.file;
}

/// Whether this build made the program: one of an earlier configuration may lie there, too.
bool is_built(const library& l) {
    constexpr std::string_view all = LAB_MIDDLEWARE_BUILT;  // " lua  sdl2 "
    return all.find(std::string{" "} + l.file + " ") != all.npos &&
           ::access(program_of(l).c_str(), X_OK) == 0;
}

/// A sample: one process that plays some times.
struct run_of {
    const library* which;
    const char* memory;  // own or cairn
    const char* plays;
    std::string malloc_path;  // empty: that of the C library
    void operator()(lab::sample& s) const {
        const std::string text =
            lab::output_of({"env", "LD_PRELOAD=" + malloc_path, program_of(*which), memory, plays});
        double milliseconds = 0, slowest = 0, peak = 0;
        unsigned long long sum = 0;
        if (std::sscanf(text.c_str(), "%lf %lf %lf %llu", &milliseconds, &slowest, &peak, &sum) !=
            4) {
            throw std::runtime_error{text.substr(0, text.find('\n'))};
        }
        s.value(milliseconds);
        s.also(which->name + std::string{", slowest call"}, slowest);
        s.also(which->name + std::string{", peak"}, peak);
        s.checksum(sum);
    }
};

void add_library(lab::experiment& e, const library& l) {
    const std::string name = l.name;
    lab::comparison& c = e.compare(name + ", time", {.unit = "ms",
                                                     .measure = lab::measure::value,
                                                     .equal_checksums = true,
                                                     .one_repetition = true,
                                                     .quick_samples = 3});
    const char* const plays = e.options().full ? "10" : "4";
    const auto runs = [&l, plays](const char* memory, std::string path = {}) {
        return [run = run_of{&l, memory, plays, std::move(path)}] { return run; };
    };
    c.cairn(std::string{"cairn::"} + l.memory, runs("cairn"));
    for (const lab::malloc_library& m : lab::malloc_libraries())
        c.peer(m.name, runs("own", m.path));
    e.also(c, name + ", slowest call", {.unit = "us"});
    lab::case_options peak{.unit = "MiB", .least_difference = 0.2};
    if (l.why_peak != nullptr) peak.causes = {{l.why_peak, "glibc"}};
    e.also(c, name + ", peak", peak);
}

const lab::registration middleware{
    "middleware", "What does the memory of a library cost, in cairn's and in its own?",
    [](lab::experiment& e) {
        e.quick_seconds = 4;
        e.full_seconds = 120;
        e.how =
            "A malloc's row is the library's own default: all eight ask malloc. A play is a "
            "sequence "
            "of calls; of each call the least time in all plays of a process counts, the slowest "
            "call is the "
            "longest of these. The peak is what the process took since its start. ";
        for (const library& l : libraries) {
            if (!is_built(l)) {
                e.how += std::string{l.name} + " was not here: Debian package " + l.package + ". ";
            } else if (l.is_quick || e.options().full) {
                add_library(e, l);
            }
        }
        if (e.comparisons.empty()) {
            e.set_up = [](double) {
                throw std::runtime_error{"none of the eight libraries was here"};
            };
        }
    }};

}  // namespace
