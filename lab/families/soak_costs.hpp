// lab/families/soak_costs.hpp - what a frame of `defrag` pays: its pause, and the planning in it.
//
//      pauses_run      ten replays of the soak in one process: the least pause of each frame, then the worst of these
//      planning        20,000 objects throughout; what compact() takes, less the same copies made alone
#pragma once

#include <climits>

#include "lab/families/soak_memories.hpp"
#include "lab/harness/experiment.hpp"
#include "lab/harness/statistics.hpp"

namespace lab::soak {

// ---- pauses ------------------------------------------------------------------------------------

/// The least pause of each frame over several replays, in one process: what the heap contributes to
/// it, and no interrupt. The worst frame counts.
struct pauses_run {
    static constexpr unsigned replays = 10;
    plan p;
    cairn::work_limit budget;
    void operator()(lab::sample& s) {
        std::vector<float> minima(p.frames, 1e30f);
        for (unsigned n = 0; n != replays; ++n) {
            relocatable memory{p, budget};
            player game{memory, p};
            const outcome r = game.play(memory.heap.slack(), [](unsigned) {});
            for (std::size_t i = 0; i != minima.size(); ++i) {
                minima[i] = std::min(minima[i], r.pauses_ns[i]);
            }
            game.remove_all();
        }
        s.value(at_share(minima, 1) / 1e3);
        s.also("soak: pause, p99.9 of minima", at_share(minima, 0.999) / 1e3);
    }
};

// ---- planning ----------------------------------------------------------------------------------

/// What a frame was asked to copy.
struct copy {
    void* to;
    const void* from;
    std::size_t size;
};
inline std::vector<copy> copies;
inline void note_copy(void* to, void* from, std::size_t size) noexcept {
    copies.push_back({to, from, size});
}
inline constexpr cairn::relocation noted{.on_relocated = note_copy};

/// The same copies are made once more, in a second region where nothing else is done: what the heap
/// took beyond them is its planning and bookkeeping.
struct planning {
    // 57 MB of objects of 2.85 KB. What goes is replaced at once, also when half of all go.
    plan p{.region = std::size_t{64} << 20,
           .smallest = {64, 64},
           .largest = 15'800,
           .arrivals = UINT_MAX,
           .object_count = 1u << 15};
    void operator()(lab::sample& s) {
        relocatable memory{p, {.bytes = std::size_t{256} << 10, .steps = 40}, noted};
        const resident_region second{p.region};
        const std::ptrdiff_t shift = second.memory.get() - memory.region.memory.get();
        player game{memory, p};
        std::vector<float> alone_ns;
        double objects = 0;
        std::size_t fewest = SIZE_MAX;
        copies.reserve(1024);
        copies.clear();
        const outcome r = game.play(memory.heap.slack(), [&](unsigned) {
            const double start = now();
            for (const copy& c : copies) {
                std::memmove(static_cast<std::byte*>(c.to) + shift,
                             static_cast<const std::byte*>(c.from) + shift, c.size);
            }
            alone_ns.push_back(static_cast<float>(now() - start));
            copies.clear();
            objects += static_cast<double>(game.object_count());
            fewest = std::min(fewest, game.object_count());
        });
        std::vector<float> beyond_ns;
        double copying = 0;
        for (std::size_t i = 0; i != alone_ns.size(); ++i) {
            beyond_ns.push_back(r.pauses_ns[i] - alone_ns[i]);
            copying += alone_ns[i];
        }
        // The median of the frames: an interrupt during one of the two is no planning.
        s.value(at_share(beyond_ns, 0.5) / 1e3);
        double sum = 0;
        for (const float ns : beyond_ns) sum += ns;
        s.also("planning, mean", sum / 1e3 / p.frames);
        s.also("planning, copies alone", copying / 1e3 / p.frames);
        s.also("planning, objects", objects / p.frames);
        s.also("planning, fewest objects", static_cast<double>(fewest));
        s.also("planning, moves", static_cast<double>(memory.heap.stats().move_count) / p.frames);
        game.remove_all();
    }
};

}  // namespace lab::soak
