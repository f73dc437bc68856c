// lab/experiments/frame.cpp - what a frame of temporary objects costs.
#include "lab/families/arena_family.hpp"

namespace {

const lab::registration frame{
    "frame", "What do 1000 temporary objects of 8 to 256 bytes cost in a frame?",
    [](lab::experiment& e) {
        e.quick_seconds = 6;
        lab::comparison& mixed =
            e.compare("mixed 8..256 b", {.weight = 1.2, .reference_limit = "bump up"});
        lab::add_arena_family(mixed, [](auto& a) { return a.mixed; });

        lab::comparison& opaque = e.compare("mixed 8..256 b, calls between",
                                            {.weight = 0.8, .reference_limit = "bump up"});
        lab::add_arena_family(opaque, [](auto& a) { return a.mixed_opaque; });

        lab::comparison& load = e.compare("changing load", {.weight = 0.8});
        lab::add_arena_family(load, [](auto& a) { return a.changing; }, true);
        e.also(load, "changing load, upstream calls", {.unit = "calls/frame"});
    }};

}  // namespace
