// lab/experiments/linear.cpp - thesis table 6.1: 1000 allocations of one size, then reset.
//
// The thesis gives cycles for all 1000 (without freeing them) on an i7-6700K; we measure a frame of
// them, freeing included, in ns per allocation.
#include "lab/families/arena_family.hpp"
#include "lab/system/system.hpp"

namespace {

struct published_row {
    double linear;
    double malloc;
};

// From 256 bytes on a frame is bound by writes that miss the first cache: see frame.cpp.
constexpr double write_bound_ns = 1;

template <class Select>
void add_case(lab::experiment& e, const char* name, std::string reference, double least_difference,
              published_row table_6_1, Select select) {
    lab::comparison& c = e.compare(name, {.unit = "ns/allocation",
                                          .reference_limit = std::move(reference),
                                          .least_difference = least_difference});
    lab::add_arena_family(c, select);
    for (lab::contender& who : c.contenders) {
        if (who.name == "cairn::arena") {
            who.published(table_6_1.linear / 1000, "cycles/allocation",
                          "thesis table 6.1, linear allocator, i7-6700K");
        } else if (who.name == lab::name_of_system_malloc()) {
            who.published(table_6_1.malloc / 1000, "cycles/allocation",
                          "thesis table 6.1, malloc, i7-6700K");
        }
    }
}

const lab::registration linear{
    "linear", "What does an allocation cost when everything is freed at once, size by size?",
    [](lab::experiment& e) {
        e.quick_seconds = 8;
        add_case(e, "8 b", "bump up", 0, {12629, 73824}, [](auto& a) { return a.fixed_8; });
        add_case(e, "256 b", "bump up", write_bound_ns, {9395, 189199},
                 [](auto& a) { return a.fixed_256; });
        add_case(e, "8 kb", "bump up, coloured", write_bound_ns, {9374, 3354756},
                 [](auto& a) { return a.fixed_8k; });
        add_case(e, "1 mb", "bump up, coloured", write_bound_ns, {9966, 4927997},
                 [](auto& a) { return a.fixed_1m; });
    }};

}  // namespace
