// lab/experiments/summary.cpp - which allocator for which need: the choosing table of
// docs/choosing.md, filled by the run. It measures nothing itself: each need names the experiment
// that answers it. `cairn lab summary` runs those.
#include "lab/output/summary.hpp"

namespace lab {

const std::vector<need>& needs() {
    // The first two that were measured become sentences of the verdict.
    static const std::vector<need> all{
        {"temporary memory of a frame", "frame", {"200 of", "mixed"}},
        {"objects of one size, freed in any order", "pool", {"pair 64", "pair"}},
        {"the same, from many threads", "threads", {}},
        {"blocks of any size, freed in any order", "heap", {"churn"}},
        {"blocks of any size, in memory that is nearly full", "defrag", {"footprint"}},
        {"no late operation", "tail", {"allocate, p99.99 of minima"}},
        {"all the memory work of a game's frame",
         "frames",
         {"time in memory, p99", "time in memory"}},
        {"nodes of lists, maps and trees", "nodes", {}},
        {"a growing phase of work (parser, level)", "parser", {}},
        {"what another thread still reads", "double-buffer", {}},
        {"objects iterated often, referred to safely", "showdown", {}},
        {"finding an object by its handle", "lookup", {}},
        {"growing without a pause", "growth", {}},
        {"loops that read a part of each object", "aos-soa", {}},
        {"objects that are dear to construct", "object-pool", {}},
        {"shared and unique ownership", "owners", {}},
    };
    return all;
}

}  // namespace lab
