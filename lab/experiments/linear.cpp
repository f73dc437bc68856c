// lab/experiments/linear.cpp - thesis table 6.1: 1000 allocations of one size, then reset.
//
// The thesis gives cycles for all 1000 on an i7-6700K, without freeing them. Its figure of malloc
// stands beside a row that times the calls of malloc alone; in all other rows freeing is included.
#include <cairn/alloc/arena.hpp>
#include <cstdlib>
#include <memory>
#include <vector>

#include "lab/families/arena_family.hpp"
#include "lab/system/system.hpp"

namespace {

struct published_row {
    double linear;
    double malloc;
};

// From 256 bytes on a frame is bound by writes that miss the first cache: see frame.cpp.
constexpr double write_bound_ns = 1;

constexpr std::size_t frame = 1000;

/// A thousand blocks, allocated and touched; what frees them is not timed. (An arena puts 64 bytes
/// between consecutive blocks whose size is a multiple of a page.)
auto malloc_alone(std::size_t size) {
    return [size] {
        return [size, blocks = std::vector<void*>(frame)](lab::sample& s) mutable {
            for (std::uint64_t r = 0; r != s.repetitions(); ++r) {
                s.start();
                for (void*& p : blocks) {
                    p = std::malloc(size);
                    *static_cast<volatile char*>(p) = 1;
                }
                s.stop();
                for (void* const p : blocks) std::free(p);
            }
            s.did(s.repetitions() * frame);
        };
    };
}
auto arena_alone(std::size_t size) {
    return [size] {
        return [size, a = std::make_unique<cairn::arena>(frame * (size + 80))](lab::sample& s) {
            for (std::uint64_t r = 0; r != s.repetitions(); ++r) {
                s.start();
                for (std::size_t i = 0; i != frame; ++i) {
                    *static_cast<volatile char*>(a->allocate(size, cairn::alignment{16})) = 1;
                }
                s.stop();
                a->reset();
            }
            s.did(s.repetitions() * frame);
        };
    };
}

template <class Select>
void add_case(lab::experiment& e, const char* name, std::size_t size, double least_difference,
              published_row table_6_1, Select select) {
    lab::comparison& c =
        e.compare(name, {.unit = "ns/allocation", .least_difference = least_difference});
    lab::add_arena_family(c, select);
    for (lab::contender& who : c.contenders) {
        if (who.name == "cairn::arena") {
            who.published(table_6_1.linear / 1000, "cycles/allocation",
                          "thesis table 6.1, linear allocator, i7-6700K");
        }
    }
    c.baseline("malloc, not freed", malloc_alone(size))
        .published(table_6_1.malloc / 1000, "cycles/allocation",
                   "thesis table 6.1, malloc, i7-6700K")
        .note("the calls of malloc alone; the blocks are freed outside of what is timed");
    c.baseline("cairn::arena, not freed", arena_alone(size));
    e.relative(c, std::string{name} + ", malloc / arena", "malloc, not freed");
    lab::comparison& quotient = e.comparisons.back();
    quotient.publish("cairn::arena, not freed", table_6_1.malloc / table_6_1.linear, "x",
                     "thesis table 6.1, its malloc over its linear allocator");
}

const lab::registration linear{
    "linear", "What does an allocation cost when everything is freed at once, size by size?",
    [](lab::experiment& e) {
        e.quick_seconds = 8;
        add_case(e, "8 b", 8, 0, {12629, 73824}, [](auto& a) { return a.fixed_8; });
        add_case(e, "256 b", 256, write_bound_ns, {9395, 189199},
                 [](auto& a) { return a.fixed_256; });
        add_case(e, "8 kb", 8192, write_bound_ns, {9374, 3354756},
                 [](auto& a) { return a.fixed_8k; });
        add_case(e, "1 mb", std::size_t{1} << 20, write_bound_ns, {9966, 4927997},
                 [](auto& a) { return a.fixed_1m; });
    }};

}  // namespace
