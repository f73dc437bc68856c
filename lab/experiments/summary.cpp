// lab/experiments/summary.cpp - which allocator for which need: the choosing table of
// docs/choosing.md, filled by the run. It measures nothing itself: each need names the experiment
// that answers it. `cairn lab summary` runs those.
#include "lab/output/summary.hpp"

namespace lab {

const std::vector<need>& needs() {
    // The first two that were measured become sentences of the verdict. tools/check_report.py demands
    // a line for each.
    static const std::vector<need> all{
        {"temporary memory of a frame", "frame", {"200 of", "mixed"}},
        {"objects of one size, freed in any order", "pool", {"pair 64"}},
        {"the same, from many threads", "threads", {"pair, 2 threads"}},
        {"blocks of any size, freed in any order", "heap", {"churn"}},
        {"blocks of any size, in memory that is nearly full",
         "defrag",
         {"footprint"},
         {},
         "cairn::relocatable_heap"},
        {"no late operation", "tail", {"allocate, p99.99 of minima"}},
        {"all the memory work of a game's frame", "frames", {"time in memory, p99"}},
        {"nodes of lists, maps and trees", "nodes", {"map, inserts"}},
        {"a growing phase of work (parser, level)", "parser", {"lines per second"}},
        {"what another thread still reads", "double-buffer", {"1000 commands"}},
        // Those with handles: packed_array has none, and columns are a need of their own below.
        {"objects iterated often, referred to safely",
         "showdown",
         {"set 2 iterate"},
         {"cairn::slot_map", "cairn::stable_slot_map"}},
        {"finding an object that may be gone", "owners", {"weak"}, {}, "cairn::slot_map"},
        {"growing without a pause",
         "growth",
         {"worst insert"},
         {"packed_array, reserved", "stable_slot_map, paged"}},
        {"loops that read a part of each object", "aos-soa", {"5000"}},
        {"objects that are dear to construct", "object-pool", {"constructor of"}},
        {"one owner", "owners", {"unique: make and drop"}},
        {"many owners", "owners", {"shared: copy and drop"}},
    };
    return all;
}

}  // namespace lab
