// The game without a window: plays frames of one or both versions and prints their times.
#include "headless.hpp"

#include "frame_times.hpp"
#include "game.hpp"

#include <cstdio>
#include <ctime>

namespace demo {
namespace {

/// A version of the game and its frame times: the least of all passes for each frame.
struct player {
    const char* name;
    std::unique_ptr<game> (*start)();
    const headless_options* how;
    std::unique_ptr<game> playing{};
    frame_times times{};
    std::uint64_t sum = 0;
    double start_milliseconds = 0;

    void begin_pass() {
        sum = 0;
        const auto begin = clock::now();
        playing = start();
        start_milliseconds = milliseconds_since(begin);
    }
    void play(std::uint32_t frame, bool is_first_pass) {
        const double begin = how->now();
        sum = sum * 31 + playing->frame(100 + frame);
        const auto took = static_cast<float>(how->now() - begin);
        if (is_first_pass) {
            times.milliseconds.push_back(took);
        } else {
            times.milliseconds[frame] = std::min(times.milliseconds[frame], took);
        }
    }
    void print(bool as_json, const char* before) const {
        std::printf(as_json ? "%s{\"memory\": \"%s\", \"frames\": %zu, \"start_ms\": %.1f, "
                              "\"median_ms\": %.4f, \"p99_ms\": %.4f, \"p99_9_ms\": %.4f, "
                              "\"worst_ms\": %.4f, \"late_at_90_hz\": %zu, \"sum\": \"%016llx\"}"
                            : "%s%-7s %6zu frames, start %.1f ms, median %.3f ms, 99 %% %.3f, "
                              "99.9 %% %.3f, worst %.3f, late at 90 Hz %zu, sum %016llx\n",
                    before, name, times.milliseconds.size(), start_milliseconds, times.at(0.5),
                    times.at(0.99), times.at(0.999), times.at(1), times.late_count(),
                    static_cast<unsigned long long>(sum));
    }
};

}  // namespace

double headless_options::now() const {
    if (counts_processor_time) {
        return 1000.0 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
    }
    return std::chrono::duration<double, std::milli>(clock::now().time_since_epoch()).count();
}

int run_headless(const headless_options& how) {
    std::vector<player> players;
    if (how.plays_malloc) { players.push_back({"malloc", &new_malloc_game, &how}); }
    if (how.plays_cairn) { players.push_back({"cairn", &new_cairn_game, &how}); }
    for (unsigned pass = 0; pass < how.passes; ++pass) {
        for (player& p : players) { p.begin_pass(); }
        for (std::uint32_t f = 0; f < how.frames; ++f) {  // in turn: both meet the same machine
            for (player& p : players) { p.play(f, pass == 0); }
        }
        for (player& p : players) { p.playing.reset(); }
    }
    if (how.as_json) { std::puts("["); }
    for (const player& p : players) {
        p.print(how.as_json, how.as_json && &p != players.data() ? ",\n" : "");
    }
    if (how.as_json) { std::puts("\n]"); }
    const bool is_same = players.size() < 2 || players[0].sum == players[1].sum;
    if (!is_same) { std::fputs("demo: the versions of the game disagree\n", stderr); }
    return is_same ? 0 : 1;
}

}  // namespace demo
