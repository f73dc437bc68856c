// lab/experiments/tail.cpp - how long the slowest operations take, and how many instructions.
//
// One deterministic trace is replayed many times, and for each operation the least time is kept
// (docs/measuring.md). Beside these minima stand the raw tail (percentiles of each replay, and of
// those the median) and the clock's own floor.
//
// Instructions are counted by single-stepping a child process through each operation of a shorter
// trace that also builds the states that are worst on paper: one huge free block, a comb of holes of
// all sizes, a block between two free neighbours, a level that is left for one of other sizes. The
// worst operation is reported with the phase of the trace that it is in.
#include <algorithm>
#include <cairn/alloc/concurrent_pool.hpp>
#include <cairn/alloc/pool.hpp>
#include <string>

#include "lab/families/heap_family.hpp"
#include "lab/families/instruction_count.hpp"
#include "lab/families/instruction_walks.hpp"
#include "lab/families/latency_tail.hpp"

namespace {

using namespace lab::heaps;
using lab::latency_tail;
using lab::ticks_after;
using lab::ticks_before;

constexpr std::size_t live_count = 4'000;
constexpr std::size_t step_count = 20'000;  // frees and allocations, alternating
// In a sample. The minima go on from sample to sample, warm-up included: of three samples the median
// stands for 18 replays.
constexpr unsigned replay_count = 6;
// A reading holds about 25 ns of the clock and its fences: most of that may be theirs. Each is one
// step of the clock too short or too long at most, so two that differ by two steps may be equal.
double least_difference_ns() { return std::max(20.0, 2 * lab::clock_step_ns() + 0.1); }

constexpr const char* columns[] = {"p50",          "p99", "p99.9", "p99.99", "p99.99 of minima",
                                   "max of minima"};

/// Whose curves are drawn: eight colours can be told apart.
template <class A, bool OneSize>
constexpr bool is_drawn = false;
template <bool OneSize>
constexpr bool is_drawn<sized_malloc, OneSize> = true;
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

// ---- pools: one size ---------------------------------------------------------------------------

constexpr std::uint32_t one_size = 64;

template <class Pool>
struct of_pool {
    Pool pool{one_size};
    void* allocate(std::size_t) { return pool.allocate(); }
    void deallocate(void* p, std::size_t) { pool.deallocate(p); }
};

template <class Pool>
constexpr bool is_drawn<of_pool<Pool>, true> = true;

/// All slots are there before the first one is taken.
template <class Pool>
struct of_reserved_pool : of_pool<Pool> {
    of_reserved_pool() {
        constexpr std::size_t slots = std::size_t{1} << 14;
        bool enough = false;
        if constexpr (requires(Pool& p) { p.reserve(slots, 1); }) {
            enough = this->pool.reserve(slots, 1);  // and the magazines of one thread
        } else {
            enough = this->pool.reserve(slots);
        }
        if (!enough) std::abort();
    }
};

// ---- instructions --------------------------------------------------------------------------------

template <std::uint32_t OneSize>
struct instructions {
    template <class A>
    void run(A& a, lab::sample& s) {
        const auto most = lab::most_instructions<2 * phase_count>([&](auto begin, auto end) {
            counted_memory<A, OneSize, decltype(begin), decltype(end)> m{a, begin, end};
            begin();
            end(0);  // the empty operation
            if constexpr (OneSize != 0) {
                walk_one_size(m);
            } else {
                walk_many_sizes(m);
            }
        });
        const std::string of = OneSize == 0 ? "" : "one size: ";
        const auto middle = most.begin() + phase_count;
        const auto worst_allocate = std::max_element(most.begin(), middle);
        const auto worst_deallocate = std::max_element(middle, most.end());
        s.value(static_cast<double>(*worst_allocate));
        s.also(of + "instructions, worst allocate is in phase",
               static_cast<double>(worst_allocate - most.begin() + 1));
        s.also(of + "instructions, deallocate", static_cast<double>(*worst_deallocate));
        s.also(of + "instructions, worst deallocate is in phase",
               static_cast<double>(worst_deallocate - middle + 1));
    }
};

template <class Work>
auto runs() {
    return []<class Tag>(Tag) {
        return [] {
            using adapter = typename Tag::type;
            return [a = std::make_unique<adapter>(), work = Work{}](lab::sample& s) mutable {
                work.run(*a, s);
            };
        };
    };
}

/// Who gives slots of one size, and heaps.
template <class Make>
void add_slots(lab::comparison& c, Make make) {
    c.cairn("cairn::pool", make(adapter_tag<of_pool<cairn::pool>>{}));
    c.cairn("cairn::concurrent_pool", make(adapter_tag<of_pool<cairn::concurrent_pool>>{}));
    c.cairn("cairn::concurrent_heap", make(adapter_tag<thread_heap>{}));
    c.cairn("cairn::heap<good_fit>", make(adapter_tag<cairn_heap<cairn::good_fit>>{}));
    c.mallocs(make(adapter_tag<sized_malloc>{}));
}

void add_columns(lab::experiment& e, lab::comparison& those, const std::string& of) {
    for (const char* what : {"allocate", "deallocate"}) {
        for (const char* column : columns) {
            // From p99 on the raw tail is the machine's as much as the allocator's.
            const std::string_view name{column};
            const bool is_raw = name.starts_with("p99") && !name.ends_with("minima");
            e.also(
                those, of + what + ", " + column,
                {.unit = "ns",
                 .compares = !is_raw,
                 .least_difference = least_difference_ns(),
                 .causes = {{"What reaches the exact core is cut or merged at once: some 200 "
                             "instructions. A malloc with lists of sizes puts that off to a refill "
                             "or a flush, which comes at other operations in each replay, so that "
                             "minima leave it out; the rows of instructions do not."}}});
        }
    }
    e.also(those, of + "noise floor, p99.99", {.unit = "ns", .compares = false});
    e.also(those, of + "noise floor, max of minima", {.unit = "ns", .compares = false});
}

void add_times(lab::experiment& e) {
    const lab::case_options raw{.unit = "ns",
                                .measure = lab::measure::value,
                                .one_repetition = true,
                                .quick_samples = 3,
                                .compares = false};
    lab::comparison& c = e.compare("p99.99", raw);
    add_heaps(c, runs<replay<0>>(), {.lists = false});
    add_columns(e, c, "");
    lab::comparison& p = e.compare("one size: p99.99", raw);
    add_slots(p, runs<replay<one_size>>());
    add_columns(e, p, "one size: ");
}

void add_phases(lab::experiment& e, lab::comparison& those, const std::string& of) {
    const lab::case_options number{.unit = phase_numbers, .compares = false};
    e.also(those, of + "instructions, worst allocate is in phase", number);
    e.also(those, of + "instructions, deallocate", {.unit = "instructions"});
    e.also(those, of + "instructions, worst deallocate is in phase", number);
}

void add_instructions(lab::experiment& e) {
    const lab::case_options counted{
        .unit = "instructions", .measure = lab::measure::value, .one_sample = true, .exact = true};
    lab::comparison& c = e.compare("instructions, allocate", counted);
    add_heaps(c, runs<instructions<0>>(), {.lists = false, .slow_peers = false});
    add_phases(e, c, "");
    lab::comparison& p = e.compare("one size: instructions, allocate", counted);
    const auto make = runs<instructions<one_size>>();
    add_slots(p, make);
    p.cairn("cairn::pool, reserved", make(adapter_tag<of_reserved_pool<cairn::pool>>{}));
    p.cairn("cairn::concurrent_pool, reserved",
            make(adapter_tag<of_reserved_pool<cairn::concurrent_pool>>{}));
    add_phases(e, p, "one size: ");
}

const lab::registration tail{
    "tail", "How slow is the slowest allocation?", [](lab::experiment& e) {
        e.quick_seconds = 8;
        add_times(e);
        e.how =
            "Instructions are those of user space, each stepped through, and each operation is in "
            "one of the phases of a trace: fill (an empty allocator; of one size, until it has "
            "grown), comb (every other block is freed and the holes are filled), teeth (the others "
            "are freed: everything merges), churn, shift (the sizes change), leave (everything "
            "goes). The worst operation stands beside the phase that it is in.";
        if constexpr (lab::has_single_steps) {
            add_instructions(e);
        } else {
            e.how += " They are left out here, where no process can be stepped through.";
        }
    }};

}  // namespace
