// lab/experiments/temporary-objects.cpp - what a frame of temporary objects costs.
#include "lab/families/arena_family.hpp"
#include "lab/harness/experiment.hpp"

namespace {

// Two nanoseconds of arithmetic added to each allocation made a frame of 1000 faster, not slower
// (2.5 -> 2.2 ns, Xeon of 2 GHz): it is bound by the writes that miss the first cache.
constexpr double write_bound_ns = 1;

const lab::registration frame{
    "temporary-objects", "What do 1000 temporary objects of 8 to 256 bytes cost in a frame?",
    [](lab::experiment& e) {
        e.quick_seconds = 7;
        e.how =
            "A frame of 1000 writes into more lines than the first cache holds; there the order in "
            "which the writes meet the arithmetic counts as much as the allocation (touching the "
            "objects without any allocator is no faster), so less than 1 ns is called no "
            "difference. A frame of 200 lies in the cache and shows the allocators.";
        using namespace lab::arenas;
        add_arenas(e.compare("200 of 8..256 b", {.unit = "ns/allocation", .weight = 0.8}),
                   []<class A>() { return lab::made<mixed<A, near_allocations, false>>(); });
        add_arenas(
            e.compare("mixed 8..256 b",
                      {.unit = "ns/allocation", .weight = 1.2, .least_difference = write_bound_ns}),
            []<class A>() { return lab::made<mixed<A, frame_allocations, false>>(); });
        add_arenas(
            e.compare("mixed 8..256 b, calls between",
                      {.unit = "ns/allocation", .weight = 0.8, .least_difference = write_bound_ns}),
            []<class A>() { return lab::made<mixed<A, frame_allocations, true>>(); });
        lab::comparison& load =
            e.compare("changing load", {.unit = "ns/allocation", .weight = 0.8});
        add_arenas<true>(load, []<class A>() { return lab::made<changing<A>>(); });
        e.also(load, "changing load, upstream calls", {.unit = "calls/frame"});
    }};

}  // namespace
