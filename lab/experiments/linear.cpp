// lab/experiments/linear.cpp - thesis table 6.1: 1000 allocations of one size, then reset.
//
// The thesis gives cycles for all 1000 on an i7-6700K, without freeing them. Its figure of malloc
// stands beside a row that times the calls of malloc alone; in all other rows freeing is included.
#include <array>
#include <cairn/alloc/arena.hpp>

#include "lab/families/arena_family.hpp"
#include "lab/harness/experiment.hpp"

namespace {

struct published_row {
    double linear;
    double malloc;
};

// From 256 bytes on a frame is bound by writes that miss the first cache: see temporary-objects.cpp.
constexpr double write_bound_ns = 1;

constexpr std::size_t frame = 1000;

/// A thousand blocks, allocated and touched; what frees them is not timed.
template <class Memory>
auto alone(std::size_t size) {
    return lab::repeated_on(frame, lab::made<Memory>(size), [](Memory& m, lab::sample& s) {
        s.timed([&] {
            for (std::size_t i = 0; i != frame; ++i) {
                *static_cast<volatile char*>(m.allocate()) = 1;
            }
        });
        m.free_all();
    });
}
struct of_malloc {
    std::size_t size;
    std::array<void*, frame> blocks = {};  // ready before the clock
    std::size_t count = 0;
    void* allocate() { return blocks[count++] = std::malloc(size); }
    void free_all() {
        while (count != 0) std::free(blocks[--count]);
    }
};
struct of_arena {
    std::size_t size;
    // An arena puts 64 bytes between consecutive blocks whose size is a multiple of a page.
    cairn::arena arena{frame * (size + 80)};
    void* allocate() { return arena.allocate(size, cairn::alignment{16}); }
    void free_all() { arena.reset(); }
};

template <std::size_t Size>
void add_case(lab::experiment& e, const char* name, double least_difference,
              published_row table_6_1) {
    lab::comparison& c =
        e.compare(name, {.unit = "ns/allocation", .least_difference = least_difference});
    lab::arenas::add_arenas(c, []<class A>() { return lab::made<lab::arenas::fixed<A, Size>>(); });
    c.row("cairn::arena")
        ->published(table_6_1.linear / 1000, "cycles/allocation",
                    "thesis table 6.1, linear allocator, i7-6700K");
    c.baseline("malloc, not freed", alone<of_malloc>(Size))
        .published(table_6_1.malloc / 1000, "cycles/allocation",
                   "thesis table 6.1, malloc, i7-6700K")
        .note("the calls of malloc alone; the blocks are freed outside of what is timed");
    c.baseline("cairn::arena, not freed", alone<of_arena>(Size));
    e.relative(c, std::string{name} + ", malloc / arena", "malloc, not freed")
        .publish("cairn::arena, not freed", table_6_1.malloc / table_6_1.linear, "x",
                 "thesis table 6.1, its malloc over its linear allocator");
}

const lab::registration linear{
    "linear", "What does an allocation cost when everything is freed at once, size by size?",
    [](lab::experiment& e) {
        e.quick_seconds = 8;
        add_case<8>(e, "8 b", 0, {12629, 73824});
        add_case<256>(e, "256 b", write_bound_ns, {9395, 189199});
        add_case<8192>(e, "8 kb", write_bound_ns, {9374, 3354756});
        add_case<(1 << 20)>(e, "1 mb", write_bound_ns, {9966, 4927997});
    }};

}  // namespace
