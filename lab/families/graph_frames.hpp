// lab/families/graph_frames.hpp - replays of the frames of a graph: stops, total time, memory.
//
//      frame            0    1    2    3   ...
//      replay 0        51   50   912   50      each in a copy of the process: all begin alike
//      replay 1        50  801    52   51
//      least           50   50    52   50      the memory's; more may be the machine's
//
// frames_until_help says how long a budget of time lasts.
#pragma once

#include <span>

#include "lab/families/graph_family.hpp"
#include "lab/families/graph_memories.hpp"
#include "lab/families/heap_family.hpp"
#include "lab/harness/experiment.hpp"
#include "lab/harness/statistics.hpp"
#include "lab/system/process.hpp"
#include "lab/system/system.hpp"

namespace lab::graphs {

/// What share of the frames stopped for longer: two hundred points at most.
[[nodiscard]] inline series stops_above(std::vector<float> stops, std::string name) {
    std::sort(stops.begin(), stops.end());
    series curve{std::move(name), "us, least of the replays", "share of frames above", {}};
    const std::size_t n = stops.size();
    const std::size_t step = std::max<std::size_t>(1, n / 100);
    for (std::size_t i = 0; i < n; i += n - i <= 100 ? 1 : step) {
        curve.points.emplace_back(stops[i], static_cast<double>(n - i) / static_cast<double>(n));
    }
    return curve;
}

/// The results of a replay: in memory that its process shares with the one that asked for it.
class replay_report {
public:
    struct head {
        double made;         // objects
        double memory_size;  // bytes, at the end
    };
    replay_report(unsigned frames, std::size_t safe_points)
        : memory_{sizeof(head) + safe_points * sizeof(std::size_t) + 2 * frames * sizeof(float)},
          head_{static_cast<head*>(memory_.get())},
          frames_{frames},
          safe_points_{safe_points} {}

    [[nodiscard]] head& figures() const { return *head_; }
    [[nodiscard]] std::span<float> stops_us() const { return {floats(), frames_}; }
    [[nodiscard]] std::span<float> frames_us() const { return {floats() + frames_, frames_}; }
    [[nodiscard]] std::size_t* works() const { return reinterpret_cast<std::size_t*>(head_ + 1); }

private:
    [[nodiscard]] float* floats() const { return reinterpret_cast<float*>(works() + safe_points_); }

    shared_memory memory_;
    head* head_;
    unsigned frames_;
    std::size_t safe_points_;
};

template <class Make>
struct frames_run {
    std::string name;  ///< of the case, in front of each column
    random_plan p;
    Make make;
    unsigned replays;

    void operator()(sample& s) {
        std::vector<float> least_stops(p.frames, 1e30f);
        std::vector<float> least_frames(p.frames, 1e30f);
        const std::size_t safe_points = p.safe_points_before() + p.frames;
        const replay_report first{p.frames, safe_points};
        for (unsigned n = 0; n != replays; ++n) {
            const replay_report later{p.frames, 0};
            const replay_report& r = n == 0 ? first : later;
            const works done{first.works(), safe_points, n != 0};
            if (!in_copy([&] { play(r, done); })) std::abort();
            for (std::size_t f = 0; f != p.frames; ++f) {
                least_stops[f] = std::min(least_stops[f], r.stops_us()[f]);
                least_frames[f] = std::min(least_frames[f], r.frames_us()[f]);
            }
        }
        const double sum = std::accumulate(least_frames.begin(), least_frames.end(), 0.0);
        s.value(at_share(least_stops, 1));
        s.also(name + ", p99.9 of minima", at_share(least_stops, 0.999));
        s.also(name + ", all time", sum * 1e3 / first.figures().made);
        s.also(name + ", frames over 1 ms",
               static_cast<double>(std::count_if(least_frames.begin(), least_frames.end(),
                                                 [](float us) { return us > 1000; })));
        if constexpr (requires { make.how.microseconds; }) {
            if (make.how.microseconds != 0) {
                s.also(name + ", overshoot, p99.9 of minima",
                       std::max(0.0, at_share(least_stops, 0.999) - make.how.microseconds));
            }
        }
        const std::vector<float> stops{first.stops_us().begin(), first.stops_us().end()};
        s.also(name + ", p99.9", at_share(stops, 0.999));
        s.also(name + ", max", at_share(stops, 1));
        s.also(name + ", memory", first.figures().memory_size / static_cast<double>(p.live));
        s.plot(stops_above(std::move(least_stops), ""));
    }

private:
    void play(const replay_report& to, works done) const {
        static_cast<void>(us_per_tick());
        const resident_since_here taken;
        auto memory = make(p.extent_of(), done);
        random_graph<typename Make::memory_type> game{*memory, p};
        game.build();
        const outcome r = player{game}.play(p.frames);
        to.figures() = {static_cast<double>(r.made), static_cast<double>(taken.bytes())};
        std::copy(r.stops_us.begin(), r.stops_us.end(), to.stops_us().begin());
        std::copy(r.frames_us.begin(), r.frames_us.end(), to.frames_us().begin());
        static_cast<void>(memory.release());  // the process ends anyway: there are cycles in it
    }
};

/// The frames until make() had to help, because the budget was too small for what was made.
struct frames_until_help {
    random_plan p;
    pace how;

    void operator()(sample& s) const {
        collected memory{p.extent_of(), how};
        random_graph<collected> g{memory, p};
        g.build();
        unsigned f = 0;
        for (; f != p.frames && !memory.was_short(); ++f) {
            g.change([](auto work) { work(); });
            memory.safe_point();
        }
        s.value(f);
    }
};

}  // namespace lab::graphs
