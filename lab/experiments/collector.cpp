// lab/experiments/collector.cpp - objects that refer to each other in cycles: how long the program
// stops for them, what each costs, what memory they take.
//
//      random, 10^4 ...      a graph with cycles that changes each frame
//      store, load, make     single things (lab/families/graph_*.hpp has all of these)
//      marking beside        step() with a marking_worker in another thread, and without
#include <fmt/format.h>

#include "lab/families/graph_costs.hpp"
#include "lab/families/graph_frames.hpp"
#include "lab/families/graph_worker.hpp"
#include "lab/harness/experiment.hpp"
#include "lab/harness/results.hpp"
#include "lab/peers/offers.hpp"

namespace {

using namespace lab::graphs;

// ---- frames -------------------------------------------------------------------------------------

void frames(lab::experiment& e, const std::string& name, const random_plan& p, unsigned replays) {
    lab::comparison& c =
        e.compare(name + ", longest of minima",
                  {.unit = "us", .measure = lab::measure::value, .weight = 2, .one_sample = true});
    const auto add = [&]<class Make>(lab::kind k, const char* who, Make make) {
        c.add(k, who, [=] { return frames_run<Make>{name, p, make, replays}; });
    };
    using lab::kind;
    add(kind::limit, "new and delete, by hand", made_by_extent<by_hand>{});
    add(kind::peer, "std::shared_ptr, one thread", made_by_extent<counted>{});
    add(kind::cairn, "cairn::shared_handle", made_by_extent<handles>{});
    add(kind::cairn, "collected_heap, 50 us", paced{{.microseconds = 50}});
    add(kind::cairn, "collected_heap, 20 us", paced{{.microseconds = 20}});
    add(kind::cairn, "collected_heap, 200 us", paced{{.microseconds = 200}});
    add(kind::cairn, "collected_heap, 50 us, 2.5 x", paced{{.microseconds = 50, .room = 1.5}});
    add(kind::cairn, "collected_heap, what is owed", paced{{}});
    add(kind::baseline, "collected_heap, stopping", paced{{.stops = true}});
    lab::offers<lab::kinds::graphs>(
        [&]<class M>(const char* who) { add(kind::peer, who, made_by_extent<M>{}); });
    e.also(c, name + ", p99.9 of minima",
           {.unit = "us",
            .causes = {{"Boehm stops the program for its cycles, which are fewer than one frame in "
                        "a thousand: this percentile does not see them, the longest frame does.",
                        "Boehm"}}});
    e.also(c, name + ", overshoot, p99.9 of minima", {.unit = "us"});
    // Of one replay: the longest of 300 frames is the machine's as often as the memory's.
    for (const char* column : {", p99.9", ", max"}) {
        e.also(c, name + column, {.unit = "us", .compares = false});
    }
    e.also(c, name + ", all time", {.unit = "ns/object"});
    e.also(c, name + ", frames over 1 ms", {.unit = "frames"});
    e.also(c, name + ", memory", {.unit = "bytes/live object"});
}

void random_graphs(lab::experiment& e) {
    const bool full = e.options().full;
    frames(e, "random, 10^4", {.live = 10'000, .frames = full ? 5'000u : 300u}, full ? 7 : 3);
    if (!full) return;
    const auto large = [&](const std::string& name, std::size_t live, unsigned replays) {
        frames(e, name, {.live = live, .replaced = 300, .rewired = 300, .frames = 3'000}, replays);
    };
    large("random, 10^5", 100'000, 4);
    large("random, 10^6", 1'000'000, 3);
}

void budgets_that_last(lab::experiment& e) {
    const bool full = e.options().full;
    const random_plan p{.live = full ? 1'000'000u : 10'000u,
                        .replaced = full ? 300u : 100u,
                        .rewired = full ? 300u : 100u,
                        .frames = full ? 100'000u : 3'000u};
    lab::comparison& c = e.compare(full ? "frames until memory was short, of 10^5, 10^6 objects"
                                        : "frames until memory was short, of 3,000",
                                   {.unit = "frames",
                                    .better = lab::better::higher,
                                    .measure = lab::measure::value,
                                    .one_sample = true});
    for (const std::uint32_t us : {50u, 20u, 200u}) {
        c.cairn("collected_heap, " + std::to_string(us) + " us",
                [=] { return frames_until_help{p, {.microseconds = us}}; });
    }
    c.cairn("collected_heap, what is owed", [=] { return frames_until_help{p, {}}; });
}

// ---- single things ------------------------------------------------------------------------------

void makes_case(lab::experiment& e, const std::string& name, std::size_t count) {
    lab::comparison& c = e.compare("make, " + name, {.unit = "ns/object", .weight = 0.5});
    c.cairn("collected_heap, sweeping included", lab::made<collected_makes>(count));
    c.peer("new and delete", lab::made<new_and_delete>(count));
}

void stores_and_loads(lab::experiment& e) {
    lab::comparison& store = e.compare("store of a reference", {.weight = 0.5});
    store.limit("a pointer", lab::made<stores<plain_nodes>>());
    store.cairn("cairn::ref", lab::made<stores<collected_nodes>>());
    store.peer("std::shared_ptr, one thread", lab::made<stores<counted_nodes>>());
    lab::comparison& marking = e.compare("store of a reference, while marking", {.weight = 0.5});
    marking.cairn("the old value is marked", lab::made<stores<collected_nodes, storing::marked>>());
    marking.cairn("the old value is white", lab::made<stores<collected_nodes, storing::white>>());
    lab::comparison& row = e.compare("load of a reference, each names the next", {.weight = 0.5});
    row.limit("a pointer", lab::made<loads<plain_nodes, true>>());
    row.cairn("cairn::ref", lab::made<loads<collected_nodes, true>>());
    row.peer("std::shared_ptr", lab::made<loads<counted_nodes, true>>());
    lab::comparison& independent = e.compare("load of a reference", {.weight = 0.5});
    independent.limit("a pointer", lab::made<loads<plain_nodes, false>>());
    independent.cairn("cairn::ref", lab::made<loads<collected_nodes, false>>());
    independent.peer("std::shared_ptr", lab::made<loads<counted_nodes, false>>());
}

void worker_case(lab::experiment& e) {
    lab::comparison& c = e.compare("marking beside: the program's thread in step()",
                                   {.unit = "us/cycle", .measure = lab::measure::value});
    const unsigned frames = e.options().full ? 20'000 : 2'000;
    c.baseline("collected_heap, alone", [=] { return steps_of_cycles{.frames = frames}; });
    c.cairn("collected_heap, with a marking_worker",
            [=] { return steps_of_cycles{.has_worker = true, .frames = frames}; });
    e.also(c, "marking: work of the worker", {.unit = "%", .compares = false});
}

// ---- the experiment -----------------------------------------------------------------------------

std::string take(const lab::experiment_result& e) {
    const auto median = [&](const std::string& name, std::string_view row) {
        const lab::summary* const found = lab::figures_of(e, name, row);
        return found == nullptr ? 0.0 : found->median;
    };
    std::string text;
    for (const std::string game : {"random, 10^4", "random, 10^5", "random, 10^6"}) {
        const double ours = median(game + ", longest of minima", "collected_heap, 50 us");
        const double cost = median(game + ", all time", "collected_heap, 50 us");
        if (ours == 0 || cost == 0) continue;
        text += fmt::format(
            "{}: with 50 microseconds a frame the program stops for {:.3g} us at most and pays "
            "{:.3g} ns an object",
            game, ours, cost);
        for (const char* other : {"Boehm", "Lua, incremental"}) {
            const double stop = median(game + ", longest of minima", other);
            if (stop == 0) continue;
            text += fmt::format("; {} stops for {:.4g} us and takes {:.3g} ns", other, stop,
                                median(game + ", all time", other));
        }
        text += ". ";
    }
    return text;
}

const lab::registration collector{
    "collector", "What do objects in cycles cost, and how long does the program stop for them?",
    [](lab::experiment& e) {
        e.quick_seconds = 5;
        e.full_seconds = 80;
        e.how =
            "Every contender plays the same changes. An object has four references and 32 bytes of "
            "data: 48 bytes with collected_heap, 64 with pointers. A stop is the longest of a "
            "frame: one change (an object that ends, one that is made, its references), or the "
            "safe point. Minima: of each frame over replays, each in a new process; a budget of "
            "time is replayed as the work that each frame did in the first, so that equal frames "
            "do equal work; overshoot is what of a stop's least is above the budget. (Collectors "
            "that look at the clock themselves are flattered by minima: p99.9 and max are of one "
            "replay.) Memory: resident, of the first replay, collected_heap in a region of 1.5 x "
            "what is live where no other factor is said. The program clears the references of what "
            "it replaces, so counted pointers leak nothing.";
        e.take = take;
        random_graphs(e);
        budgets_that_last(e);
        makes_case(e, "10^4 objects", 10'000);
        if (e.options().full) makes_case(e, "10^6 objects", 1'000'000);
        stores_and_loads(e);
        worker_case(e);
    }};

}  // namespace
