// lab/experiments/demo.cpp - the game of demo/ without a window, on each malloc and on cairn.
//
// A sample is a process that plays all frames. Of each frame the least time of some passes counts, in
// time of the processor: what else runs on the machine is left out.
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "lab/harness/experiment.hpp"
#include "lab/harness/registry.hpp"
#include "lab/system/process.hpp"

namespace {

struct figure {
    const char* of_json;
    const char* name;
    const char* unit;
    bool compares = true;  // in a full run
};
constexpr figure further[] = {
    {"p99_9_ms", "99.9th percentile", "ms/frame"},
    {"worst_ms", "worst frame", "ms/frame"},
    {"late_at_90_hz", "frames late at 90 Hz", "frames", false},
    {"start_ms", "start", "ms", false},
};

struct play_of {
    const char* memory;       // malloc or cairn
    std::string malloc_path;  // empty: that of the C library
    const char* frames;
    const char* passes;
    void operator()(lab::sample& s) const {
        const std::string text = lab::output_of(
            {"env", "LD_PRELOAD=" + malloc_path, LAB_DEMO, "--headless", "--memory", memory,
             "--frames", frames, "--passes", passes, "--processor-time", "--json"});
        const auto played = nlohmann::json::parse(text, nullptr, false);
        if (!played.is_array() || played.empty()) {
            throw std::runtime_error{text.substr(0, text.find('\n'))};
        }
        s.value(played[0].at("median_ms").get<double>());
        for (const figure& f : further) s.also(f.name, played[0].at(f.of_json).get<double>());
        s.checksum(std::stoull(played[0].at("sum").get<std::string>(), nullptr, 16));
    }
};

const lab::registration demo{
    "demo", "What does memory do to the frames of a game?", [](lab::experiment& e) {
        e.quick_seconds = 4;
        e.how =
            "The game of demo/. A frame is timed by the time of the processor of its two threads "
            "together, and so is one late that takes more of it than a display of 90 Hz leaves; "
            "the start is timed by the clock on the wall. Of each frame the least time of all "
            "passes counts: four of 10,000 frames in a full run, one of 400 frames in a quick one, "
            "whose slowest frames are those of one pass, so nobody is called better by them.";
        if (::access(LAB_DEMO, X_OK) != 0) {
            e.set_up = [](double) {
                throw std::runtime_error{
                    "the demo was not built: SDL 2, Dear ImGui, Lua and OpenGL are its libraries"};
            };
            return;
        }
        const bool full = e.options().full;
        lab::comparison& c = e.compare("median frame", {.unit = "ms/frame",
                                                        .measure = lab::measure::value,
                                                        .equal_checksums = true,
                                                        .one_sample = full,
                                                        .unpinned = true,
                                                        .quick_samples = 3,
                                                        .time_limits = 5});
        const auto plays = [full](const char* memory, std::string path = {}) {
            return [play = play_of{memory, std::move(path), full ? "10000" : "400",
                                   full ? "4" : "1"}] { return play; };
        };
        c.cairn("cairn", plays("cairn"));
        for (const lab::malloc_library& m : lab::malloc_libraries()) {
            c.peer(m.name, plays("malloc", m.path));
        }
        for (const figure& f : further) {
            e.also(c, f.name, {.unit = f.unit, .compares = full && f.compares});
        }
    }};

}  // namespace
