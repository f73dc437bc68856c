// lab/experiments/defrag.cpp - a heap that is nearly full for a long time, with and without compaction.
//
// Part E's questions, one case each:
//
//      soak                     requests that fail, in a region of which 85 % live (lab/families/soak.hpp)
//      pauses                   the least of each frame over ten replays, and of those the worst
//      footprint                the same load on heaps that cannot move: resident over live bytes
//      read beside compaction   another thread reads meanwhile: pins, or a lock around the heap
//      get                      the price of the handle: beside an index into an array of pointers

#include <fmt/format.h>

#include "lab/families/heap_family.hpp"
#include "lab/families/random_order.hpp"
#include "lab/families/reader_costs.hpp"
#include "lab/families/soak_memories.hpp"
#include "lab/harness/experiment.hpp"
#include "lab/harness/results.hpp"
#include "lab/harness/statistics.hpp"

namespace {

using namespace lab::soak;

// ---- the soak ----------------------------------------------------------------------------------

constexpr const char* soak_columns[][2] = {
    {"soak: avoidable failures", "per 1000"},
    {"soak: fragmentation, mean", "%"},
    {"soak: moved", "KiB/frame"},
    {"soak: pause, p50", "us"},
    {"soak: pause, p99.9", "us"},
    {"soak: overshoot, p99.9", "us"},
    {"soak: overshoot, max", "us"},
};

void say_failures(lab::sample& s, const outcome& r) {
    const auto per_1000 = [&](std::uint64_t n) {
        return 1000 * static_cast<double>(n) / static_cast<double>(r.requests);
    };
    s.checksum(r.trace);
    s.value(per_1000(r.failures));
    s.also("soak: avoidable failures", per_1000(r.avoidable));
}

/// One contender of the soak; each sample is a replay of the same trace.
struct soak_run {
    plan p;
    cairn::work_limit budget;

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
        const auto overshoot = [&](double share) {
            return lab::at_share(memory.overshoot_ns, share) / 1e3;
        };
        const double frames = p.frames;
        say_failures(s, r);
        s.also("soak: fragmentation, mean", sum / frames);
        if (memory.compacts()) {
            s.also("soak: moved", static_cast<double>(memory.moved) / 1024 / frames);
            s.also("soak: pause, p50", lab::at_share(r.pauses_ns, 0.5) / 1e3);
            s.also("soak: pause, p99.9", lab::at_share(r.pauses_ns, 0.999) / 1e3);
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
        say_failures(s, r);
    }
};

// ---- pauses and handles ------------------------------------------------------------------------

/// The least pause of each frame over several replays, in one process: what the heap contributes to
/// it, and no interrupt. The worst frame counts.
struct pauses_run {
    plan p;
    cairn::work_limit budget;
    void operator()(lab::sample& s) {
        std::vector<float> minima(p.frames, 1e30f);
        for (unsigned replay = 0; replay != 10; ++replay) {
            relocatable memory{p, budget};
            player game{memory, p};
            const outcome r = game.play(memory.heap.slack(), [](unsigned) {});
            for (std::size_t i = 0; i != minima.size(); ++i) {
                minima[i] = std::min(minima[i], r.pauses_ns[i]);
            }
            game.remove_all();
        }
        s.value(lab::at_share(minima, 1) / 1e3);
        s.also("soak: pause, p99.9 of minima", lab::at_share(minima, 0.999) / 1e3);
    }
};

/// Objects in random order: by handles, or by indices into an array of pointers that nobody checks.
template <bool ByHandle>
struct looked_up {
    static constexpr std::uint32_t count = 10'000;
    cairn::relocatable_heap heap{std::size_t{4} << 20};
    std::vector<cairn::relocatable_heap::handle_type> handles;
    std::vector<std::uint64_t> indices;
    std::vector<void*> pointers;
    std::vector<std::uint32_t> order = lab::shuffled(count, 7);
    looked_up() {
        for (std::uint32_t i = 0; i != count; ++i) {
            handles.push_back(heap.allocate(64));
            indices.push_back(i);
            pointers.push_back(heap.get(handles.back()));
            std::memcpy(pointers.back(), &indices.back(), sizeof(std::uint64_t));
        }
    }
    [[nodiscard]] void* at(std::uint32_t i) const {
        if constexpr (ByHandle) {
            return heap.get(handles[i]);
        } else {
            return pointers[indices[i]];
        }
    }
    std::uint64_t sum() const {
        std::uint64_t all = 0;
        for (const std::uint32_t i : order) all += *static_cast<const std::uint64_t*>(at(i));
        return all;
    }
};

// ---- footprint ---------------------------------------------------------------------------------

/// Resident memory / live bytes, over time: for all contenders what the process has more than before
/// its memory was made. Cairn's is its region, all of it, and its tables.
template <class Make>
struct footprint_run {
    plan p;
    Make make;
    void operator()(lab::sample& s) {
        p.touches_all = true;
        p.with_pins = false;
        const lab::resident_since_here taken;
        const auto memory = make(p);
        player game{*memory, p};
        curve growth{p, "", "footprint / live"};
        double sum = 0;
        double sum_of_ends = 0;
        double last = 0;
        unsigned points = 0;
        const auto over_live = [&](std::size_t bytes) {
            return static_cast<double>(bytes) / static_cast<double>(game.live_size());
        };
        const outcome r = game.play(0, [&](unsigned frame) {
            if (!growth.wants(frame)) return;
            last = over_live(taken.bytes());
            growth.add(frame, last);
            sum += last;
            ++points;
            if constexpr (requires { memory->end_of_last(); }) {
                sum_of_ends += over_live(memory->end_of_last());
            }
        });
        if (r.failures != 0) std::abort();  // another load than the others'
        s.checksum(r.trace);
        s.value(sum / points);
        s.also("footprint over live, at the end", last);
        if (sum_of_ends != 0) s.also("end of the last object over live", sum_of_ends / points);
        s.plot(std::move(growth.series));
        game.remove_all();
    }
};

// ---- the experiment ----------------------------------------------------------------------------

std::string take(const lab::experiment_result& e) {
    const auto* with = lab::figures_of(e, "soak: failed requests", "50 us a frame");
    const auto* without = lab::figures_of(e, "soak: failed requests", "never compacted");
    if (with == nullptr || without == nullptr) return {};
    std::string text = fmt::format(
        "In a region of which 85 % live, {:.3g} of 1000 requests fail when nothing may move, and "
        "{:.3g} with 50 microseconds of compaction a frame (in the worst of {} replays {:.3g}).",
        without->median, with->median, with->samples, with->max);
    constexpr const char* cairn = "cairn::relocatable_heap";
    const auto* ours = lab::figures_of(e, "footprint over live, mean", cairn);
    const auto* end = lab::figures_of(e, "end of the last object over live", cairn);
    if (ours != nullptr && end != nullptr) {
        text += fmt::format(
            " The region is as large as its owner made it, and resident: {:.3g} x the live bytes "
            "here, tables included. Compaction keeps them in the lowest {:.3g} x.",
            ours->median, end->median);
    }
    return text;
}

void soak(lab::experiment& e, const plan& p) {
    lab::comparison& c = e.compare("soak: failed requests", {.unit = "per 1000",
                                                             .measure = lab::measure::value,
                                                             .weight = 4,
                                                             .equal_checksums = true,
                                                             .quick_samples = 3});
    c.cairn("50 us a frame", [p] { return soak_run{p, {.microseconds = 50}}; });
    c.cairn("20 us a frame", [p] { return soak_run{p, {.microseconds = 20}}; });
    c.cairn("200 us a frame", [p] { return soak_run{p, {.microseconds = 200}}; });
    c.baseline("never compacted", [p] { return soak_run{p, {.steps = 0}}; });
    c.baseline("cairn::heap (good_fit)", [p] { return soak_without_moving{p}; });
    for (const auto& [name, unit] : soak_columns) e.also(c, name, {.unit = unit});
}

void pauses(lab::experiment& e, plan p) {
    p.frames = std::min(p.frames, 20'000u);
    lab::comparison& c = e.compare(
        "soak: pause, max of minima over 10 replays",
        {.unit = "us", .measure = lab::measure::value, .weight = 0.1, .one_sample = true});
    c.cairn("50 us a frame", [p] { return pauses_run{p, {.microseconds = 50}}; });
    c.cairn("20 us a frame", [p] { return pauses_run{p, {.microseconds = 20}}; });
    c.cairn("200 us a frame", [p] { return pauses_run{p, {.microseconds = 200}}; });
    e.also(c, "soak: pause, p99.9 of minima", {.unit = "us"});
}

void footprint(lab::experiment& e, const plan& p) {
    lab::comparison& c = e.compare("footprint over live, mean", {.unit = "x",
                                                                 .measure = lab::measure::value,
                                                                 .weight = 0.1,
                                                                 .equal_checksums = true,
                                                                 .one_sample = true});
    const auto ours = [](const plan& q) {
        return std::make_unique<never_refuses>(q, cairn::work_limit{.microseconds = 50});
    };
    const auto theirs = [](const plan&) {
        return std::make_unique<fixed<lab::heaps::general_malloc>>();
    };
    c.cairn("cairn::relocatable_heap", [=] {
         return footprint_run<decltype(ours)>{.p = p, .make = ours};
     }).note("its region, which the user chose: 85 % live make 1.18; and its tables");
    c.mallocs([=] { return footprint_run<decltype(theirs)>{.p = p, .make = theirs}; });
    e.also(c, "footprint over live, at the end", {.unit = "x"});
    e.also(c, "end of the last object over live", {.unit = "x", .compares = false});
}

void readers(lab::experiment& e) {
    using namespace lab::readers;
    lab::comparison& c =
        e.compare("read beside compaction",
                  {.unit = "ns/read", .measure = lab::measure::value, .quick_samples = 3});
    const unsigned frames = e.options().full ? 10'000 : 1'000;
    c.cairn("concurrent_relocatable_heap, pin", [=] { return beside_compaction<pinning>{frames}; });
    c.baseline("relocatable_heap, std::shared_mutex",
               [=] { return beside_compaction<locking>{frames}; });
    e.also(c, "read beside compaction: p99.9 of 16", {.unit = "us"});
    e.also(c, "read beside compaction: p99.99 of 16", {.unit = "us"});
}

const lab::registration defrag{
    "defrag", "Does a nearly full heap stay usable, and what does that cost a frame?",
    [](lab::experiment& e) {
        e.quick_seconds = 6;
        e.full_seconds = 60;
        e.how =
            "A game that streams assets: 64 B to 256 KiB, two leave each frame, up to eight come "
            "until 85 % of 16 MiB are asked for, half of all leave at a level change, now and then "
            "one is pinned for 60 frames. All contenders get the same requests, whatever they "
            "refuse. Every object's first bytes are compared at the end. The budgets are the "
            "heap's own; the pauses are measured around it (max of minima: 20,000 frames at most). "
            "Footprint: resident memory, for all alike, without pins; where relocatable_heap finds "
            "no hole, it is compacted at once.";
        e.take = take;
        const plan p{.frames = e.options().full ? 100'000u : 2'000u};
        soak(e, p);
        pauses(e, p);
        footprint(e, p);
        readers(e);
        lab::comparison& all = e.compare("get", {.equal_checksums = true});
        const auto summed = [](const auto& objects) { return objects.sum(); };
        all.cairn("cairn::relocatable_heap",
                  lab::repeated_on(looked_up<true>::count, lab::made<looked_up<true>>(), summed));
        all.limit("index into an array of pointers",
                  lab::repeated_on(looked_up<false>::count, lab::made<looked_up<false>>(), summed));
    }};

}  // namespace
