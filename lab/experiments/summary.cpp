// lab/experiments/summary.cpp - which allocator for which need: the choosing table of
// docs/choosing.md, filled by the run. It measures nothing itself: each need names all cases that
// its words cover, and lab/output/choosing.hpp judges by all of them. `cairn lab summary` runs
// those experiments.
//
// Not listed: what repeats a seed's table (fast-alloc, malloc-in-a-loop), what divides or counts
// the same run again ("share of a frame"), and cases without a peer.
#include "lab/output/choosing.hpp"

namespace lab {

const std::vector<need>& needs() {
    // The first two that were measured become sentences of the verdict. tools/check_report.py demands
    // a line for each, and that each pattern covers a case.
    static const std::vector<need> all{
        {"temporary memory of a frame",
         {{"temporary-objects", {"200 of *", "mixed *", "changing load"}},
          {"linear", {"8 b", "256 b"}}}},
        {"objects of one size, freed in any order",
         {{"pool", {"pair *", "in order *", "reversed *", "random *", "churn *", "thesis 6.2"}}}},
        {"the same, from many threads", {{"threads", {"* threads", "producer and consumer"}}}},
        {"blocks of any size, from many threads",
         {{"threads", {"* threads: churn *", "* threads: larson", "* threads: producer *"}}}},
        {"blocks of any size, freed in any order",
         {{"heap", {"single *", "* alone", "* fifo", "* random", "churn"}}}},
        {"blocks of any size, in little memory", {{"heap", {"footprint *"}}}},
        {"blocks of any size, in memory that is nearly full",
         {{"defrag", {"footprint over live, *"}}},
         {},
         "cairn::relocatable_heap"},
        {"no late operation, blocks of any size",
         {{"tail",
           {"allocate, * of minima", "deallocate, * of minima", "instructions, *allocate"}}}},
        {"no late operation, objects of one size",
         {{"tail",
           {"one size: allocate, * of minima", "one size: deallocate, * of minima",
            "one size: instructions, *allocate"}}},
         {"cairn::pool", "cairn::concurrent_pool"}},
        {"memory of a frame that jobs on several threads fill", {{"jobs", {"jobs of * threads"}}}},
        {"large blocks that die all at once", {{"linear", {"8 kb", "1 mb"}}}},
        {"all the memory work of a game's frame", {{"game-frame", {"time in memory, *"}}}},
        {"nodes of lists, maps and trees", {{"nodes", {"*"}}}},
        {"a growing phase of work (parser, level)", {{"parser", {"lines per second"}}}},
        {"a list of unknown length", {{"unknown-length", {"*push_backs*"}}}},
        {"messages between threads", {{"messages", {"one to one", "all to all*"}}}},
        // Those with handles: packed_array has none, and columns are a need of their own below.
        {"objects iterated often, referred to safely",
         {{"showdown", {"* iterate*"}}},
         {"cairn::slot_map", "cairn::stable_slot_map"}},
        {"objects that come and go, referred to safely",
         {{"showdown", {"* alloc and free", "* churn", "refill *"}}},
         {"cairn::slot_map", "cairn::stable_slot_map"}},
        {"finding an object that may be gone", {{"owners", {"weak*"}}}, {}, "cairn::slot_map"},
        {"growing without a pause",
         {{"worst-insert", {"worst insert"}}},
         {"packed_array, reserved", "stable_slot_map, paged"}},
        {"loops that read a part of each object", {{"aos-soa", {"* particles"}}}},
        {"objects that are dear to construct", {{"object-pool", {"constructor of *"}}}},
        {"one owner", {{"owners", {"unique: *"}}}},
        {"many owners", {{"owners", {"shared: *"}}}},
        {"objects in cycles, without an owner and without a late frame",
         {{"collector", {"*, longest of minima", "*, all time", "*, memory"}}},
         {"collected_heap, 50 us"},
         "cairn::collected_heap"},
    };
    return all;
}

const std::vector<asked_question>& asked_questions() {
    static const std::vector<asked_question> all{
        {"What does the checked build cost?", "builds"},
        {"Is SoA worth it where a loop reads few of the fields?", "aos-soa"},
        {"What does the memory of a whole game cost?", "whole-game"},
        {"What does removing the dead cost?", "remove-dead"},
    };
    return all;
}

}  // namespace lab
