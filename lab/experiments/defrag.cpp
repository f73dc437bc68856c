// lab/experiments/defrag.cpp - a heap that is nearly full for a long time, with and without compaction.
//
// Part E's questions, one case each:
//
//      soak                     requests that fail, in a region of which 85 % live (lab/families/soak.hpp)
//      20,000 objects           what planning costs a frame: the same load of small objects, copies left out
//      converge                 from the worst state, a frame's budget at a time: how long, what remains
//      footprint                the same load on heaps that cannot move: memory over live bytes
//      get                      the price of the handle: beside an index into an array of pointers
#include <memory>
#include <string>

#include "lab/families/handle_chain.hpp"
#include "lab/families/heap_family.hpp"
#include "lab/families/soak_memories.hpp"
#include "lab/harness/experiment.hpp"
#include "lab/harness/results.hpp"

namespace {

using namespace lab::soak;

// ---- the soak ----------------------------------------------------------------------------------

constexpr const char* soak_columns[][2] = {
    {"soak: avoidable failures", "per 1000"},
    {"soak: fragmentation, mean", "%"},
    {"soak: moved", "KiB/frame"},
    {"soak: pause, p50", "us"},
    {"soak: pause, p99.9", "us"},
    {"soak: pause, max of minima", "us"},
    {"soak: overshoot, p99.9", "us"},
    {"soak: overshoot, max", "us"},
};

/// One contender of the soak; each sample is a replay of the same trace.
struct soak_run {
    plan p;
    cairn::compaction_budget budget;
    std::vector<float> minima;

    void operator()(lab::sample& s) {
        relocatable memory{p, budget};
        player game{memory, p};
        curve fragmentation{p, "", "external fragmentation, %"};
        double sum = 0;
        const outcome r = game.play(memory.heap.slack(), [&](unsigned frame) {
            const double f = memory.fragmentation();
            sum += f;
            if (fragmentation.wants(frame)) fragmentation.add(frame, f);
        });
        if (!game.is_intact()) std::abort();  // reported as a crash: its figures would be worthless
        minima.resize(r.pauses_ns.size(), 1e30f);
        for (std::size_t i = 0; i != minima.size(); ++i) {
            minima[i] = std::min(minima[i], r.pauses_ns[i]);
        }
        const auto per_1000 = [&](std::uint64_t n) {
            return 1000 * static_cast<double>(n) / static_cast<double>(r.requests);
        };
        const auto overshoot = [&](double share) { return part(memory.overshoot_ns, share) / 1e3; };
        const double frames = p.frames;
        s.value(per_1000(r.failures));
        s.also("soak: avoidable failures", per_1000(r.avoidable));
        s.also("soak: fragmentation, mean", sum / frames);
        if (memory.compacts()) {
            s.also("soak: moved", static_cast<double>(memory.moved) / 1024 / frames);
            s.also("soak: pause, p50", part(r.pauses_ns, 0.5) / 1e3);
            s.also("soak: pause, p99.9", part(r.pauses_ns, 0.999) / 1e3);
            s.also("soak: pause, max of minima", part(minima, 1) / 1e3);
            s.also("soak: overshoot, p99.9", overshoot(0.999));
            s.also("soak: overshoot, max", overshoot(1));
        }
        s.plot(std::move(fragmentation.series));
        s.plot(strip(memory.heap, "at the end"));
        game.remove_all();
    }
};

/// Over the same region, without a way to move anything.
struct soak_without_moving {
    plan p;
    void operator()(lab::sample& s) {
        fixed<good_fit_over_the_region> memory{good_fit_over_the_region{p}};
        player game{memory, p};
        const outcome r = game.play(p.region / 32 + (std::size_t{256} << 10), [](unsigned) {});
        const auto per_1000 = [&](std::uint64_t n) {
            return 1000 * static_cast<double>(n) / static_cast<double>(r.requests);
        };
        s.value(per_1000(r.failures));
        s.also("soak: avoidable failures", per_1000(r.avoidable));
    }
};

// ---- planning alone ----------------------------------------------------------------------------

/// Copies nothing: what remains is planning and bookkeeping.
void carry_nothing(void*, void*, std::size_t) noexcept {}
constexpr cairn::relocation left_out{.relocate = carry_nothing};

struct planning {
    plan p{.region = std::size_t{64} << 20, .smallest = {64, 64}, .largest = 16 * 1024};
    void operator()(lab::sample& s) {
        // So many bytes a frame as 50 microseconds copy here: the frames of the soak, without the copies.
        relocatable memory{p, {.bytes = std::size_t{256} << 10}, left_out};
        player game{memory, p};
        const outcome r = game.play(memory.heap.slack(), [](unsigned) {});
        double sum = 0;
        for (const float ns : r.pauses_ns) sum += ns;
        s.value(sum / 1e3 / static_cast<double>(r.pauses_ns.size()));
        s.also("planning, p50", part(r.pauses_ns, 0.5) / 1e3);
        s.also("planning, p99.9", part(r.pauses_ns, 0.999) / 1e3);
        s.also("planning, objects", static_cast<double>(game.object_count()));
        s.also("planning, moves", static_cast<double>(memory.heap.stats().move_count) / p.frames);
        game.remove_all();
    }
};

// ---- convergence -------------------------------------------------------------------------------

struct convergence {
    plan p;
    cairn::compaction_budget budget;
    void operator()(lab::sample& s) {
        p.with_pins = false;
        relocatable memory{p, {.steps = 0}};
        player game{memory, p};
        game.play(memory.heap.slack(), [](unsigned) {});
        lab::series before = strip(memory.heap, "before");
        s.also("fragmentation before", memory.fragmentation());
        unsigned frames = 0;
        std::size_t bytes = 0;
        for (cairn::compaction_report r; !r.settled && frames != 1'000'000; ++frames) {
            r = memory.heap.compact(budget);
            bytes += r.bytes;
        }
        if (!game.is_intact()) std::abort();
        s.value(frames);
        s.also("fragmentation after", memory.fragmentation());
        s.also("free pieces after", static_cast<double>(memory.heap.stats().hole_count));
        s.also("copied over live",
               static_cast<double>(bytes) / static_cast<double>(game.live_bytes()));
        s.plot(std::move(before));
        s.plot(strip(memory.heap, "after"));
        game.remove_all();
    }
};

// ---- footprint ---------------------------------------------------------------------------------

/// Memory in use / live bytes at the end, and over time.
template <class Make>
struct footprint_run {
    plan p;
    Make make;
    std::size_t before = lab::heaps::resident_bytes();  // what a process keeps of a replay counts
    void operator()(lab::sample& s) {
        p.touches_all = true;
        const auto memory = make(p);
        player game{*memory, p};
        curve growth{p, "", "footprint / live"};
        double sum = 0;
        const auto ratio = [&] {
            std::size_t bytes = 0;
            if constexpr (requires { memory->footprint(); }) {
                bytes = memory->footprint();
            } else {
                bytes = lab::heaps::resident_bytes() - before;
            }
            return static_cast<double>(bytes) / static_cast<double>(game.live_bytes());
        };
        unsigned points = 0;
        game.play(0, [&](unsigned frame) {
            if (!growth.wants(frame)) return;
            const double now_at = ratio();
            growth.add(frame, now_at);
            sum += now_at;
            ++points;
        });
        s.value(sum / points);
        s.also("footprint over live, at the end", ratio());
        s.plot(std::move(growth.series));
        game.remove_all();
    }
};

// ---- the experiment ----------------------------------------------------------------------------

std::string take(const lab::experiment_result& e) {
    const auto find = [&](std::string_view name, std::string_view row) -> const lab::summary* {
        for (const lab::case_result& c : e.cases) {
            for (const lab::contender_result& r : c.contenders) {
                if (c.name == name && r.name == row && r.counts()) return &r.figures;
            }
        }
        return nullptr;
    };
    const auto* with = find("soak: failed requests", "50 us a frame");
    const auto* without = find("soak: failed requests", "never compacted");
    if (with == nullptr || without == nullptr) return {};
    char text[256];
    std::snprintf(text, sizeof text,
                  "In a region of which 85 %% live, %.3g of 1000 requests fail when nothing may "
                  "move, and %.3g "
                  "with 50 microseconds of compaction a frame.",
                  without->median, with->median);
    return text;
}

void soak(lab::experiment& e, const plan& p) {
    lab::comparison& c = e.compare(
        "soak: failed requests",
        {.unit = "per 1000", .measure = lab::measure::value, .weight = 6, .quick_samples = 3});
    c.cairn("50 us a frame", [p] { return soak_run{p, {.microseconds = 50}, {}}; });
    c.cairn("20 us a frame", [p] { return soak_run{p, {.microseconds = 20}, {}}; });
    c.cairn("200 us a frame", [p] { return soak_run{p, {.microseconds = 200}, {}}; });
    c.baseline("never compacted", [p] { return soak_run{p, {.steps = 0}, {}}; });
    c.baseline("cairn::heap (good_fit)", [p] { return soak_without_moving{p}; });
    for (const auto& [name, unit] : soak_columns) e.also(c, name, {.unit = unit});
}

void plan_only(lab::experiment& e, const plan& p) {
    lab::comparison& c = e.compare(
        "planning, mean",
        {.unit = "us/frame", .measure = lab::measure::value, .weight = 2, .quick_samples = 3});
    c.cairn("20,000 objects", [p] {
        planning run;
        run.p.frames = p.frames;
        return run;
    });
    e.also(c, "planning, p50", {.unit = "us"});
    e.also(c, "planning, p99.9", {.unit = "us"});
    e.also(c, "planning, objects", {.unit = "objects"});
    e.also(c, "planning, moves", {.unit = "moves/frame"});
}

void converge(lab::experiment& e, plan p) {
    p.frames = std::min(p.frames, 2'000u);
    lab::comparison& c =
        e.compare("frames to converge",
                  {.unit = "frames", .measure = lab::measure::value, .quick_samples = 3});
    c.cairn("50 us a frame", [p] { return convergence{p, {.microseconds = 50}}; });
    c.cairn("unlimited", [p] { return convergence{p, cairn::compaction_budget::unlimited()}; });
    e.also(c, "fragmentation before", {.unit = "%"});
    e.also(c, "fragmentation after", {.unit = "%"});
    e.also(c, "free pieces after", {.unit = "pieces"});
    e.also(c, "copied over live", {.unit = "x"});
}

void footprint(lab::experiment& e, plan p) {
    p.frames = std::min(p.frames, 10'000u);
    lab::comparison& c =
        e.compare("footprint over live, mean",
                  {.unit = "x", .measure = lab::measure::value, .weight = 2, .quick_samples = 3});
    const auto ours = [](const plan& q) {
        return std::make_unique<relocatable>(q, cairn::compaction_budget{.microseconds = 50});
    };
    const auto theirs = [](const plan&) {
        return std::make_unique<fixed<lab::heaps::general_malloc>>();
    };
    c.cairn("50 us a frame", [=] { return footprint_run<decltype(ours)>{.p = p, .make = ours}; });
    c.mallocs([=] { return footprint_run<decltype(theirs)>{.p = p, .make = theirs}; });
    e.also(c, "footprint over live, at the end", {.unit = "x"});
}

const lab::registration defrag{
    "defrag", "Does a nearly full heap stay usable, and what does that cost a frame?",
    [](lab::experiment& e) {
        e.quick_seconds = 8;
        e.full_seconds = 240;
        e.how =
            "A game that streams assets: 64 B to 256 KiB, two leave each frame, up to eight come "
            "until "
            "85 % of 16 MiB live, half of all leave at a level change, now and then one is pinned "
            "for "
            "60 frames. Every object's first bytes are compared at the end. The budgets are the "
            "heap's "
            "own; the pauses are measured around it.";
        e.take = take;
        const plan p{.frames = e.options().full ? 100'000u : 2'000u};
        soak(e, p);
        plan_only(e, p);
        converge(e, p);
        footprint(e, p);
        lab::comparison& all = e.compare("get");
        all.cairn("cairn::relocatable_heap", lab::chain::asks<lab::chain::by_handle>());
        all.limit("index into an array of pointers", lab::chain::asks<lab::chain::by_index>());
        lab::comparison& chain = e.compare("get, each names the next");
        chain.cairn("cairn::relocatable_heap", lab::chain::follows<lab::chain::by_handle>());
        chain.limit("index into an array of pointers", lab::chain::follows<lab::chain::by_index>());
    }};

}  // namespace
