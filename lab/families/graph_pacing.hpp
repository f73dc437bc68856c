// lab/families/graph_pacing.hpp - does a budget suffice?
//
//      pacing               required_budget() beside the least budget that a search finds: the same
//                           frames again and again, in bytes of work, which are exact
//      frames_until_help    how long a budget of time lasts
#pragma once

#include "lab/families/graph_family.hpp"
#include "lab/families/graph_memories.hpp"
#include "lab/harness/experiment.hpp"

namespace lab::graphs {

/// A game, until make() had to help because memory was short.
struct frames_until_help {
    random_plan p;
    pace how;

    /// Returns: the frames until then; nothing where it never had to.
    [[nodiscard]] std::optional<unsigned> count() const {
        collected memory{p.extent_of(), how};
        random_graph<collected> g{memory, p};
        g.build();
        for (unsigned f = 0; f != p.frames; ++f) {
            if (memory.work_in_make() != 0 || memory.stop_count() != 0) return f;
            g.change([](auto work) { work(); });
            memory.safe_point();
        }
        return memory.work_in_make() != 0 || memory.stop_count() != 0 ? std::optional{p.frames}
                                                                      : std::nullopt;
    }
    void operator()(sample& s) const { s.value(count().value_or(p.frames)); }
};

/// required_budget() over the least budget, to 3 %, with which make() never had to help.
struct pacing {
    using game = random_graph<collected>;
    random_plan p;

    void operator()(sample& s) const {
        const auto work = static_cast<double>(required());
        double enough = work;
        double too_small = work / 4;
        while (suffices(too_small)) {
            enough = too_small;
            too_small /= 2;
        }
        const bool is_enough = suffices(work);
        while (enough / too_small > 1.03) {
            const double middle = (enough + too_small) / 2;
            (suffices(middle) ? enough : too_small) = middle;
        }
        s.value(is_enough ? work / enough : 0);
        s.also("pacing: required", work);
        s.also("pacing: least", enough);
    }

private:
    /// By the most that is live at any tenth frame.
    [[nodiscard]] std::size_t required() const {
        collected memory{p.extent_of(), {}};
        game g{memory, p};
        g.build();
        std::size_t live = 0;
        for (unsigned f = 0; f != p.frames; ++f) {
            g.change([](auto work) { work(); });
            if (f % 10 != 0) continue;
            memory.collect();
            live = std::max(live, memory.heap.stats().used_size);
        }
        return memory.heap.required_budget(
            {.live_max = live,
             .array_size = p.extent_of().slots * sizeof(cairn::ref<collected::node>),
             .allocated_per_frame = p.replaced * sizeof(collected::node),
             .roots = 1});
    }
    [[nodiscard]] bool suffices(double bytes) const {
        return !frames_until_help{p, {.bytes = static_cast<std::size_t>(bytes)}}.count();
    }
};

}  // namespace lab::graphs
