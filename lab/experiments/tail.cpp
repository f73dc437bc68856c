// lab/experiments/tail.cpp - how long the slowest operations take, and how many instructions.
//
// One deterministic trace is replayed many times, and for each operation the least time is kept. The
// machine interrupts random operations, an algorithm's slow path hits the same one every time: what
// is left is the algorithm's own tail. Beside it stand the raw tail (percentiles of each replay; of
// those the median, or one interrupted replay would decide) and the clock's own floor.
//
// Instructions are counted by single-stepping a child process through each operation of a shorter
// trace that also builds the states that are worst on paper: one huge free block, a comb of holes of
// all sizes, a block between two free neighbours, a level that is left for one of other sizes.
#include <algorithm>
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/concurrent_pool.hpp>
#include <cairn/alloc/double_ended_arena.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/pool.hpp>
#include <cairn/alloc/virtual_arena.hpp>
#include <string>

#include "lab/families/heap_family.hpp"
#include "lab/families/instruction_count.hpp"
#include "lab/families/latency_tail.hpp"

namespace {

using namespace lab::heaps;
using lab::latency_tail;
using lab::ticks_after;
using lab::ticks_before;

constexpr std::size_t live_count = 4'000;
constexpr std::size_t step_count = 20'000;  // frees and allocations, alternating
// In a sample. The minima go on from sample to sample, warm-up included: of three samples the median
// stands for 30 replays.
constexpr unsigned replay_count = 10;
// A reading holds about 25 ns of the clock and its fences: more than half of that may be theirs.
constexpr double least_difference_ns = 15;

constexpr const char* columns[] = {"p50",          "p99", "p99.9", "p99.99", "p99.99 of minima",
                                   "max of minima"};

/// Whose curves are drawn: eight colours can be told apart.
template <class A, bool OneSize>
constexpr bool is_drawn = false;
template <bool OneSize>
constexpr bool is_drawn<general_malloc, OneSize> = true;
template <>
constexpr bool is_drawn<size_class_lifo, false> = true;
template <>
constexpr bool is_drawn<cairn_heap<cairn::good_fit>, false> = true;

/// `OneSize`: 0 for sizes of 16 to 4096 bytes, or the only size there is.
template <std::uint32_t OneSize>
struct replay {
    latency_tail allocate{step_count}, deallocate{step_count}, floor{step_count};
    template <class A>
    void run(A& a, lab::sample& s) {
        auto first = log_uniform(live_count, 11);
        auto sizes = log_uniform(step_count, 12);
        if (OneSize != 0) {
            std::fill(first.begin(), first.end(), OneSize);
            std::fill(sizes.begin(), sizes.end(), OneSize);
        }
        std::vector<object> live(live_count);
        for (latency_tail* const t : {&allocate, &deallocate, &floor}) t->begin_sample();
        for (unsigned r = 0; r != replay_count; ++r) {
            std::mt19937 random{13};
            for (std::size_t i = 0; i != live_count; ++i) {
                live[i] = {a.allocate(first[i]), first[i]};
                touch(live[i].p, live[i].size);
            }
            for (std::size_t i = 0; i != step_count; ++i) {
                object& o = live[random() % live_count];
                std::uint64_t t = ticks_before();
                floor.saw(i, ticks_after() - t);
                touch(o.p, o.size);
                t = ticks_before();
                a.deallocate(o.p, o.size);
                deallocate.saw(i, ticks_after() - t);
                o.size = sizes[i];
                t = ticks_before();
                o.p = a.allocate(o.size);
                allocate.saw(i, ticks_after() - t);
                touch(o.p, o.size);
            }
            for (const object& o : live) a.deallocate(o.p, o.size);
            for (latency_tail* const t : {&allocate, &deallocate, &floor}) t->end_replay();
            if constexpr (requires { a.end_of_trace(); }) a.end_of_trace();
        }
        const std::string of = OneSize == 0 ? "" : "one size: ";
        s.value(allocate.p99_99());
        allocate.report(s, of + "allocate");
        deallocate.report(s, of + "deallocate");
        if constexpr (is_drawn < A, OneSize != 0 >) {
            allocate.draw(s, "allocations", OneSize == 0);
            deallocate.draw(s, "frees", OneSize == 0);
        }
        s.also(of + "noise floor, p99.99", floor.p99_99());
        s.also(of + "noise floor, max of minima", floor.of_least(1));
    }
};

// ---- pools and arenas: one size ----------------------------------------------------------------

constexpr std::uint32_t one_size = 64;

template <class Pool>
struct of_pool {
    Pool pool{one_size};
    void* allocate(std::size_t) { return pool.allocate(); }
    void deallocate(void* p, std::size_t) { pool.deallocate(p); }
};

template <class Pool>
constexpr bool is_drawn<of_pool<Pool>, true> = true;

/// An arena frees nothing alone: everything goes at the end of the trace.
template <class Arena, std::size_t Size>
struct of_arena {
    Arena arena{Size};
    void* allocate(std::size_t size) { return arena.allocate(size); }
    void deallocate(void*, std::size_t) {}
    void end_of_trace() { arena.reset(); }
};

template <std::size_t Size>
constexpr bool is_drawn<of_arena<cairn::arena, Size>, true> = true;

struct of_double_ended_arena {
    cairn::double_ended_arena arena{std::size_t{4} << 20};
    void* allocate(std::size_t size) { return arena.low().allocate(size); }
    void deallocate(void*, std::size_t) {}
    void end_of_trace() { arena.low().reset(); }
};

// ---- instructions --------------------------------------------------------------------------------

struct instructions {
    template <class A>
    void run(A& a, lab::sample& s) {
        std::size_t worst_allocate = 0;
        std::size_t worst_deallocate = 0;
        const auto walk = [&](bool count_allocations) {
            return [&, count_allocations](auto begin, auto end) {
                begin();
                end();  // the empty operation
                std::mt19937 random{21};
                std::vector<object> live;
                const auto take = [&](std::size_t size, bool counted) {
                    if (counted && count_allocations) begin();
                    void* const p = a.allocate(size);
                    if (counted && count_allocations) end();
                    if (p != nullptr) touch(p, size);
                    return object{p, size};
                };
                const auto give = [&](object o, bool counted) {
                    if (counted && !count_allocations) begin();
                    a.deallocate(o.p, o.size);
                    if (counted && !count_allocations) end();
                };
                for (int i = 0; i < 20; ++i) live.push_back(take(64 + 100u * i, true));
                // A comb: holes of many sizes, then requests that split them and frees that merge.
                std::vector<object> holes, teeth;
                for (std::size_t i = 0; i < 1500; ++i) {
                    holes.push_back(take(24 + i * 37 % 6000, false));
                    teeth.push_back(take(16, false));
                }
                for (std::size_t i = 0; i < holes.size(); ++i) give(holes[i], i % 50 == 0);
                for (std::size_t i = 0; i < 60; ++i) live.push_back(take(i * 61 % 5000 + 16, true));
                for (std::size_t i = 0; i < teeth.size(); ++i) give(teeth[i], i % 25 == 0);
                for (int i = 0; i < 100; ++i) {
                    std::swap(live[random() % live.size()], live.back());
                    give(live.back(), true);
                    live.back() = take(log_uniform(1, static_cast<unsigned>(random()))[0], true);
                }
                // The sizes shift: what still waits to be asked for again has to give way.
                std::vector<object> large;
                for (std::size_t i = 0; i < 1200; ++i) {
                    large.push_back(take(4200 + i * 53 % 3000, i % 30 == 0));
                }
                for (int i = 0; i < 300; ++i) {
                    std::swap(live[random() % live.size()], live.back());
                    give(live.back(), i % 5 == 0);
                    live.back() =
                        take(log_uniform(1, static_cast<unsigned>(random()))[0], i % 5 == 1);
                }
                for (std::size_t i = 0; i < large.size(); ++i) give(large[i], i % 40 == 0);
                for (const object& o : live) give(o, false);
            };
        };
        const auto allocate = lab::most_instructions(walk(true), worst_allocate);
        const auto deallocate = lab::most_instructions(walk(false), worst_deallocate);
        s.value(static_cast<double>(allocate));
        s.also("instructions, deallocate", static_cast<double>(deallocate));
        s.also("instructions, worst allocate is operation", static_cast<double>(worst_allocate));
    }
};

template <class Work>
auto runs() {
    return [](auto tag) {
        return [tag] {
            using adapter = typename decltype(tag)::type;
            return [a = std::make_unique<adapter>(), work = Work{}](lab::sample& s) mutable {
                work.run(*a, s);
            };
        };
    };
}

const lab::registration tail{
    "tail", "How slow is the slowest allocation?", [](lab::experiment& e) {
        e.quick_seconds = 8;
        lab::comparison& c = e.compare("p99.99", {.unit = "ns",
                                                  .measure = lab::measure::value,
                                                  .one_repetition = true,
                                                  .quick_samples = 3,
                                                  .compares = false});
        add_heaps(c, runs<replay<0>>(), {.lists = false});
        const auto columns_of = [&](lab::comparison& those, const std::string& of) {
            for (const char* what : {"allocate", "deallocate"}) {
                for (const char* column : columns) {
                    // From p99 on the raw tail is the machine's as much as the allocator's.
                    const std::string_view name{column};
                    const bool is_raw = name.starts_with("p99") && !name.ends_with("minima");
                    e.also(those, of + what + ", " + column,
                           {.unit = "ns",
                            .compares = !is_raw,
                            .least_difference = least_difference_ns});
                }
            }
            e.also(those, of + "noise floor, p99.99", {.unit = "ns", .compares = false});
            e.also(those, of + "noise floor, max of minima", {.unit = "ns", .compares = false});
        };
        columns_of(c, "");

        lab::comparison& p = e.compare("one size: p99.99", {.unit = "ns",
                                                            .measure = lab::measure::value,
                                                            .one_repetition = true,
                                                            .quick_samples = 3,
                                                            .compares = false});
        const auto one = [](auto tag) { return runs<replay<one_size>>()(tag); };
        constexpr std::size_t room = std::size_t{4} << 20;
        p.cairn("cairn::pool", one(adapter_tag<of_pool<cairn::pool>>{}));
        p.cairn("cairn::concurrent_pool", one(adapter_tag<of_pool<cairn::concurrent_pool>>{}));
        p.cairn("cairn::heap<good_fit>", one(adapter_tag<cairn_heap<cairn::good_fit>>{}));
        p.cairn("cairn::arena", one(adapter_tag<of_arena<cairn::arena, room>>{}));
        p.cairn("cairn::growing_arena",
                one(adapter_tag<of_arena<cairn::growing_arena, std::size_t{64} << 10>>{}));
        p.cairn("cairn::virtual_arena", one(adapter_tag<of_arena<cairn::virtual_arena, room>>{}));
        p.cairn("cairn::double_ended_arena", one(adapter_tag<of_double_ended_arena>{}));
        p.mallocs(one(adapter_tag<general_malloc>{}));
        columns_of(p, "one size: ");

        lab::comparison& i =
            e.compare("instructions, allocate",
                      {.unit = "instructions", .measure = lab::measure::value, .one_sample = true});
        add_heaps(i, runs<instructions>(), {.lists = false, .slow_peers = false});
        e.also(i, "instructions, deallocate", {.unit = "instructions"});
        e.also(i, "instructions, worst allocate is operation",
               {.unit = "number", .compares = false});
    }};

}  // namespace
