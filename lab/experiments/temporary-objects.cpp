// lab/experiments/temporary-objects.cpp - what a frame of temporary objects costs.
#include "lab/families/arena_family.hpp"

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
            "difference. "
            "A frame of 200 lies in the cache and shows the allocators.";
        lab::comparison& near =
            e.compare("200 of 8..256 b", {.unit = "ns/allocation", .weight = 0.8});
        lab::add_arena_family(near, [](auto& a) { return a.mixed_near; });

        lab::comparison& mixed =
            e.compare("mixed 8..256 b",
                      {.unit = "ns/allocation", .weight = 1.2, .least_difference = write_bound_ns});
        lab::add_arena_family(mixed, [](auto& a) { return a.mixed; });

        lab::comparison& opaque =
            e.compare("mixed 8..256 b, calls between",
                      {.unit = "ns/allocation", .weight = 0.8, .least_difference = write_bound_ns});
        lab::add_arena_family(opaque, [](auto& a) { return a.mixed_opaque; });

        lab::comparison& load =
            e.compare("changing load", {.unit = "ns/allocation", .weight = 0.8});
        lab::add_arena_family(load, [](auto& a) { return a.changing; }, true);
        e.also(load, "changing load, upstream calls", {.unit = "calls/frame"});
    }};

}  // namespace
