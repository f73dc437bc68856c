// lab/experiments/fast-alloc.cpp - the tables of fast-alloc's README, line by line.
//
// Its figures (Release builds, machines not named) stand beside ours as "published": those of Linux in
// the table, those of macOS and Windows below it; its columns "Time" at our counterpart and "vs
// Standard" at glibc. What it calls a single allocation is one allocation of 64 bytes, given back at
// once where the allocator can: a pair, but for the stack.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/best_fit.hpp>
#include <cairn/alloc/first_fit.hpp>
#include <cairn/alloc/half_fit.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/pool.hpp>
#include <fmt/format.h>

#include "lab/families/heap_family.hpp"
#include "lab/families/pool_family.hpp"
#include "lab/harness/counters.hpp"
#include "lab/harness/experiment.hpp"
#include "lab/harness/results.hpp"
#include "lab/output/output.hpp"
#include "lab/system/system.hpp"

namespace {

constexpr std::size_t frame = 1000;

/// A line of its three tables, in ns: the allocator's time and the standard's, 0 where there is none.
struct line {
    double linux_time, linux_standard;
    double macos_time = 0, macos_standard = 0;
    double windows_time = 0, windows_standard = 0;
};

/// The standard's side goes to the malloc of the C library: glibc's, which it was on Linux.
void publish(lab::experiment& e, lab::comparison& c, const char* ours, const line& l,
             const char* standard) {
    const auto add = [&](const char* name, double ns, std::string system) {
        lab::contender* const who = c.row(name);
        if (who != nullptr && ns != 0) {
            who->published(ns, c.options.unit, "fast-alloc README, " + std::move(system));
        }
    };
    const std::string other = std::string{", "} + standard;
    add(ours, l.linux_time, "Linux (GCC)");
    add(ours, l.macos_time, "macOS (Apple Clang)");
    add(ours, l.windows_time, "Windows (MSVC)");
    add(lab::name_of_system_malloc(), l.linux_standard, "Linux (GCC)" + other);
    add(lab::name_of_system_malloc(), l.macos_standard, "macOS (Apple Clang)" + other);
    add(lab::name_of_system_malloc(), l.windows_standard, "Windows (MSVC)" + other);
    e.relative(c, c.name + ", speed-up", lab::name_of_system_malloc())
        .publish(ours, l.linux_standard / l.linux_time, "x", "fast-alloc README, Linux (GCC)");
}

/// Takes and gives back one block of 64 bytes, again and again. `make` makes a pool or a heap.
template <class Make>
auto pairs_in(Make make) {
    return lab::repeated_on(1, make, [](auto& memory) {
        if constexpr (requires { memory.allocate(); }) {
            void* const p = memory.allocate();
            lab::keep(p);
            memory.deallocate(p);
        } else {
            void* const p = memory.allocate(64);
            lab::keep(p);
            memory.deallocate(p, 64);
        }
    });
}
/// The pool of fast-alloc and of thesis 6.1.5: the list lies in the slots.
const auto list_of_slots = lab::made<lab::slots::intrusive_list<64>>(1000);
const auto malloc_pairs = lab::repeated(1, [] {
    void* const p = std::malloc(64);
    lab::keep(p);
    std::free(p);
});

void add_pool(lab::experiment& e) {
    lab::comparison& c = e.compare("pool, single allocation", {.unit = "ns/pair"});
    c.cairn("cairn::pool", pairs_in(lab::made<cairn::pool>(std::size_t{64})));
    c.limit("free list in the slots", pairs_in(list_of_slots));
    c.mallocs(lab::repeated(1, [] {
        void* const p = ::operator new(64);
        lab::keep(p);
        ::operator delete(p);
    }));
    publish(e, c, "cairn::pool", {1.97, 7.07, 4.38, 19.4, 2.22, 36.9}, "new/delete");
}

/// Its benchmark resets the stack in each turn: one megabyte, blocks aligned to 16.
void add_stack(lab::experiment& e) {
    lab::comparison& c = e.compare("stack, allocation and reset", {.unit = "ns/pair"});
    const auto arena = lab::made<cairn::arena>(std::size_t{1} << 20);
    c.cairn("cairn::arena", lab::repeated_on(1, arena, [](cairn::arena& a) {
                lab::keep(a.allocate(64, cairn::alignment{16}));
                a.reset();
            }));
    const auto memory = [] { return std::vector<std::byte>(1 << 20); };
    c.limit("bump a pointer", lab::repeated_on(1, memory, [](std::vector<std::byte>& m) {
                std::byte* next = m.data();
                lab::keep(next);
                next += 64;
                lab::observe(next);  // the cursor lies in memory, as that of an arena
            }));
    c.mallocs(malloc_pairs);
    publish(e, c, "cairn::arena", {2.20, 5.16, 2.37, 16.9, 1.26, 36.2}, "malloc");
}

void add_frames(lab::experiment& e) {
    lab::comparison& c = e.compare("stack, frame of 1000", {.unit = "ns/frame"});
    const auto arena = lab::made<cairn::arena>(std::size_t{1} << 17);
    c.cairn("cairn::arena", lab::repeated_on(1, arena, [](cairn::arena& a) {
                for (std::size_t k = 0; k != frame; ++k) {
                    lab::keep(a.allocate(64, cairn::alignment{8}));
                }
                a.reset();
            }));
    const auto memory = [] { return std::vector<std::byte>(1 << 17); };
    c.limit("bump a pointer", lab::repeated_on(1, memory, [](std::vector<std::byte>& m) {
                std::byte* next = m.data();
                std::byte* const end = next + m.size();
                for (std::size_t k = 0; k != frame; ++k) {
                    if (end - next < 64) break;
                    lab::keep(next);
                    next += 64;
                }
            }));
    // Its malloc side allocates the array of pointers in each frame, too.
    c.mallocs(lab::repeated(1, [] {
        void** const blocks = new void*[frame];
        lab::keep(blocks);
        for (std::size_t k = 0; k != frame; ++k) {
            blocks[k] = std::malloc(64);
            lab::keep(blocks[k]);
        }
        for (std::size_t k = 0; k != frame; ++k) std::free(blocks[k]);
        delete[] blocks;
    }));
    publish(e, c, "cairn::arena", {1203, 12715, 3736, 20393, 1269, 44627}, "malloc");
}

constexpr const char* why_first_fit =
    "first_fit asks a tree of maxima, levels down and up, each of which waits for the one before "
    "(docs/dead-ends.md); malloc hands out what its thread freed last.";
constexpr const char* why_best_fit =
    "best_fit merges at once and searches by the bits of the size; malloc hands out what its "
    "thread freed last.";

template <class Fit, bool Best>
void add_free_list(lab::experiment& e, const char* words, const char* why, const line& published) {
    const std::string ours =
        std::string{"cairn::heap<"} + words[0] + (Best ? "est_fit>" : "irst_fit>");
    lab::comparison& c = e.compare("free list (" + std::string{words} + "), single allocation",
                                   {.unit = "ns/pair",
                                    .many_per_cycle = true,
                                    .causes = {{why}}});  // the limit may cost nothing
    c.cairn(ours, pairs_in(lab::made<cairn::heap<Fit>>(std::size_t{1} << 20))).note(why);
    // As the mallocs below: any size, and no promise of which block.
    c.cairn("cairn::heap<good_fit>",
            pairs_in(lab::made<cairn::heap<cairn::good_fit>>(std::size_t{1} << 20)));
    c.limit("free list of one size", pairs_in(list_of_slots));
    c.baseline("linked list, " + std::string{words},
               pairs_in(lab::made<lab::heaps::linked_list<Best>>()));
    c.mallocs(malloc_pairs);
    publish(e, c, ours.c_str(), published, "malloc");
    if (e.options().cachegrind) { add_counts(e, c, 1000); }
}

/// Of the rows that carry a figure of its tables, not of cairn's best ones.
std::string take(const lab::experiment_result& e) {
    std::string s;
    for (const lab::case_result& c : e.cases) {
        const lab::contender_result* ours = nullptr;
        const lab::contender_result* standard = nullptr;
        for (const lab::contender_result& r : c.contenders) {
            if (!r.counts() || r.published.empty() || c.options.measure == lab::measure::value)
                continue;
            (r.kind == lab::kind::cairn ? ours : standard) = &r;
        }
        if (ours == nullptr || standard == nullptr) continue;
        s += fmt::format("{}{}: {} x", s.empty() ? "Of the standard's time: " : ", ", c.name,
                         lab::figure(ours->figures.median / standard->figures.median));
    }
    return s.empty() ? s
                     : s + ". Its free lists are lists of few holes; cairn's fits bound the search "
                           "in a heap of many.";
}

const lab::registration fast_alloc{
    "fast-alloc", "Do the tables of fast-alloc's README hold here?", [](lab::experiment& e) {
        e.quick_seconds = 8;
        e.background = true;
        add_pool(e);
        add_stack(e);
        add_frames(e);
        add_free_list<cairn::first_fit, false>(e, "first fit", why_first_fit,
                                               {4.99, 4.85, 7.48, 16.5, 5.25, 36.2});
        add_free_list<cairn::best_fit, true>(e, "best fit", why_best_fit, {5.80, 4.85});
        e.take = take;
    }};

}  // namespace
