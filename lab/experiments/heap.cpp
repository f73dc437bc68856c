// lab/experiments/heap.cpp - any size in any order: one allocation, the thesis' patterns, churn, and
// what memory it takes.
#include "lab/families/heap_family.hpp"
#include "lab/families/random_order.hpp"

#include <algorithm>
#include <bit>
#include <cairn/alloc/budget.hpp>
#include <cairn/alloc/locked.hpp>
#include <cairn/debug/hardened.hpp>
#include <cairn/debug/tracked.hpp>
#include <cairn/movable/offset_heap.hpp>
#include <numeric>
#include <string>

namespace {

using namespace lab::heaps;

/// One object comes and goes (fast-alloc's single allocation).
struct single {
    template <class A>
    void run(A& a, lab::sample& s) {
        for (std::uint64_t i = 0; i != s.repetitions(); ++i) {
            void* const p = a.allocate(64);
            touch(p, 64);
            lab::keep(p);
            a.deallocate(p, 64);
        }
        s.did(s.repetitions());
    }
};

enum class order { none, fifo, random };

/// Thesis figure 6.6: N allocations; alone, freed first in first out, freed in random order.
struct thesis {
    order frees;
    std::vector<std::uint32_t> sizes;
    std::vector<std::uint32_t> order_of_frees;
    std::vector<void*> live;
    thesis(order how, std::size_t count, double high = 4096)
        : frees{how}, sizes{log_uniform(count, 4, 16, high)}, order_of_frees(count), live(count) {
        std::iota(order_of_frees.begin(), order_of_frees.end(), 0u);
        if (frees == order::random) {
            std::shuffle(order_of_frees.begin(), order_of_frees.end(), std::mt19937{5});
        }
    }
    template <class A>
    void run(A& a, lab::sample& s) {
        for (std::uint64_t r = 0; r != s.repetitions(); ++r) {
            if (frees == order::none) s.start();
            for (std::size_t i = 0; i != live.size(); ++i) {
                live[i] = a.allocate(sizes[i]);
                touch(live[i], sizes[i]);
            }
            if (frees == order::none) s.stop();
            for (const std::uint32_t i : order_of_frees) a.deallocate(live[i], sizes[i]);
        }
        s.did(s.repetitions() * live.size());
    }
};

using counts = std::vector<std::size_t>;
using points = std::vector<std::pair<double, double>>;
double last_over_first(const points& p) { return p.back().second / p.front().second; }
double steepest_step(const points& p) {
    double steepest = 0;
    for (std::size_t i = 1; i != p.size(); ++i) {
        steepest = std::max(steepest, p[i].second / p[i - 1].second);
    }
    return steepest;
}

/// The same at several counts: a curve, and one figure of it. A point is the fastest of some rounds,
/// of which the first ones warm up.
struct rising {
    order frees;
    counts of;
    double high;
    double (*figure)(const points&);
    template <class A>
    void run(A& a, lab::sample& s) {
        lab::series curve{"", "allocations", "ns an operation", {}};
        for (const std::size_t count : of) {
            thesis work{frees, count, high};
            std::int64_t best = INT64_MAX;
            for (std::size_t round = 0; round != 4 + 8'000 / count; ++round) {
                lab::sample timed{1};
                const std::int64_t begun = lab::now_ns();
                work.run(a, timed);
                const std::int64_t spent = lab::now_ns() - begun;
                best = std::min(best, timed.manual() ? timed.elapsed_ns() : spent);
            }
            const auto n = static_cast<double>(count);
            curve.points.emplace_back(n, static_cast<double>(best) / n);
        }
        s.value(figure(curve.points));
        s.plot(std::move(curve));
    }
};

/// `live_count` blocks of 16 to `high` bytes, of which each step replaces one.
struct trace {
    std::vector<std::uint32_t> first;
    std::vector<std::uint32_t> sizes;
    std::vector<std::uint32_t> victims;
    trace() : trace{10'000, 4096, std::size_t{1} << 17} {}
    trace(std::size_t live_count, double high, std::size_t step_count = std::size_t{1} << 15)
        : first{log_uniform(live_count, 1, 16, high)},
          sizes{log_uniform(step_count, 2, 16, high)},
          victims{lab::random_indices(step_count, live_count, 3)} {}
};

/// Pairs of a free and a request among live blocks. The state goes on from sample to sample.
template <bool Touches = true>
struct churn : trace {
    using trace::trace;
    std::vector<object> live;
    std::size_t at = 0;
    template <class A>
    void run(A& a, lab::sample& s) {
        constexpr std::size_t steps = 512;
        const std::size_t mask = sizes.size() - 1;
        for (std::size_t i = live.size(); i != first.size(); ++i) {
            live.push_back({a.allocate(first[i]), first[i]});
            if constexpr (Touches) touch(live.back().p, live.back().size);
        }
        s.start();
        for (std::uint64_t r = 0; r != s.repetitions() * steps; ++r) {
            object& o = live[victims[at]];
            if constexpr (Touches) touch(o.p, o.size);
            a.deallocate(o.p, o.size);
            o.size = sizes[at];
            o.p = a.allocate(o.size);
            if constexpr (Touches) touch(o.p, o.size);
            at = (at + 1) & mask;
        }
        s.stop();
        s.did(s.repetitions() * steps);
    }
};

/// Objects of four types, whose sizes the compiler knows, come together and go together.
struct four_types {
    template <class A>
    void run(A& a, lab::sample& s) {
        for (std::uint64_t r = 0; r != s.repetitions(); ++r) pairs_of<24, 48, 96, 200>(a);
        s.did(s.repetitions() * 4);
    }
    template <std::size_t... Sizes, class A>
    static void pairs_of(A& a) {
        void* const made[] = {a.allocate(Sizes)...};
        std::size_t i = 0;
        ((touch(made[i], Sizes), ++i), ...);
        lab::keep(made[0]);
        i = 0;
        (a.deallocate(made[i++], Sizes), ...);
    }
};

/// A heap over one region of 1.25 MiB.
struct small_region : cairn::heap<> {
    small_region() : heap{std::size_t{5} << 18} {}
};

/// The default heap as people wrap it, or put it over a limit.
struct limited_heap : cairn::budget<cairn::heap<>> {
    limited_heap() : budget{std::size_t{1} << 30} {}
};
struct named_heap : cairn::tracked<cairn::heap<>> {
    named_heap() : tracked{cairn::track_options{.name = "heap"}} {}
};
struct heap_over_a_limit {
    cairn::budget<cairn::system_allocator> limit{std::size_t{1} << 30};
    cairn::heap<> heap{cairn::allocator_ref{limit}};
    void* allocate(std::size_t size) { return heap.allocate(size); }
    void deallocate(void* p, std::size_t size) { heap.deallocate(p, size); }
};

/// Resident memory over live bytes: after the fill, after churn, after the sizes have shifted.
struct footprint {
    trace all;
    std::vector<std::uint32_t> shifted = log_uniform(all.sizes.size(), 6, 256, 8192);
    std::vector<object> live = std::vector<object>(all.first.size());
    template <class A>
    void run(A& a, lab::sample& s) {
        std::size_t bytes = 0;
        const lab::resident_since_here taken;
        const auto place = [&](object& o, std::size_t size) {
            bytes += size - o.size;
            o = {a.allocate(size), size};
            std::memset(o.p, 1, size);
        };
        const auto ratio = [&] {
            return static_cast<double>(taken.bytes()) / static_cast<double>(bytes);
        };
        for (std::size_t i = 0; i != live.size(); ++i) place(live[i], all.first[i]);
        const double fill = ratio();
        s.value(fill);
        const std::size_t steps = all.sizes.size() / 2;
        for (std::size_t i = 0; i != steps; ++i) {
            object& o = live[all.victims[i]];
            a.deallocate(o.p, o.size);
            place(o, all.sizes[i]);
        }
        s.also("footprint after churn", ratio());
        for (std::size_t i = 0; i != steps; ++i) {
            object& o = live[all.victims[steps + i]];
            a.deallocate(o.p, o.size);
            place(o, shifted[i]);
        }
        s.also("footprint after shift", ratio());
    }
};

/// A load and the allocator it runs on. (Not inside the lambda below: clang 19 mixes up the local
/// structs of a generic lambda.)
template <class Work, class Adapter>
struct at_work {
    Work work;
    std::unique_ptr<Adapter> a = std::make_unique<Adapter>();
    void operator()(lab::sample& s) { work.run(*a, s); }
};

/// runs<Work>(arguments)(adapter_tag<A>{}) is the factory of that work on an A.
template <class Work, class... Args>
auto runs(Args... args) {
    return [=]<class Tag>(Tag) {
        return [=] { return at_work<Work, typename Tag::type>{Work(args...)}; };
    };
}

/// The thesis's list, its counterparts and malloc.
template <class Make>
void add_lists(lab::comparison& c, Make on) {
    c.cairn("cairn::heap<good_fit>", on(adapter_tag<cairn_heap<cairn::good_fit>>{}));
    c.cairn("cairn::heap<best_fit>", on(adapter_tag<cairn_heap<cairn::best_fit>>{}));
    c.cairn("cairn::heap<first_fit>", on(adapter_tag<cairn_heap<cairn::first_fit>>{}));
    c.peer("malloc", on(adapter_tag<general_malloc>{}));
    c.baseline("linked list, first fit", on(adapter_tag<linked_list<false>>{}));
    c.baseline("linked list, best fit", on(adapter_tag<linked_list<true>>{}));
}

/// Over numbers, in units of 16 bytes as the heap in memory has them: nothing is touched but the
/// heap's own nodes.
template <class Heap>
struct of_offsets {
    Heap heap{std::uint32_t{64} << 16};
    void* allocate(std::size_t size) {
        return std::bit_cast<void*>(heap.allocate(static_cast<std::uint32_t>((size + 15) / 16)));
    }
    void deallocate(void* p, std::size_t) {
        heap.deallocate(std::bit_cast<cairn::offset_allocation>(p));
    }
};

/// A region of which the 10,000 live blocks of the churn take four fifths.
template <class Fit>
struct full_heap : cairn::heap<Fit> {
    full_heap() : cairn::heap<Fit>{region()} {}
    static std::size_t region() {
        const trace all;
        return (std::accumulate(all.first.begin(), all.first.end(), std::size_t{0}) +
                all.first.size() * 16) /
               4 * 5;
    }
};

const lab::case_options& patterns() {
    static const lab::case_options how{
        .weight = 0.7,
        .causes = {{"Nearly each operation takes or leaves a block that waits, in some 30 "
                    "instructions. The word in front of the block is checked and written, and one "
                    "block in four has it in another cache line; its blocks have none.",
                    "tcmalloc"}}};
    return how;
}

/// Thesis figure 6.6: at 2,000 allocations, and over their number.
void add_pattern(lab::experiment& e, const std::string& name, order frees) {
    add_heaps(e.compare("2000 " + name, patterns()), runs<thesis>(frees, 2000));
    lab::comparison& c = e.compare(name + ", from 1000 to 4000", {.unit = "x",
                                                                  .measure = lab::measure::value,
                                                                  .weight = 0.2,
                                                                  .quick_samples = 5,
                                                                  .compares = false});
    add_lists(c, runs<rising>(frees, counts{1000, 2000, 3000, 4000}, 4096.0, last_over_first));
}

/// 10,000 live blocks, and the same where the region has little more room than they take.
void add_churn(lab::experiment& e) {
    const lab::case_options how{
        .weight = 2,
        .causes = {{"One operation in ten reaches the exact core of the heap, which cuts and "
                    "merges blocks and waits for its mispredicted branches; classes that never "
                    "merge have no such core (docs/dead-ends.md)."}}};
    const auto churns = runs<churn<>>();
    add_heaps(e.compare("churn", how), churns);
    lab::comparison& full =
        e.compare("churn, 80 % full",
                  {.weight = 0.7,
                   .causes = {{"Few holes are left: most requests cut one, most frees merge."}}});
    full.cairn("cairn::heap<good_fit>", churns(adapter_tag<full_heap<cairn::good_fit>>{}));
    full.cairn("cairn::heap<quick_fit>", churns(adapter_tag<full_heap<cairn::quick_fit>>{}));
    full.cairn("cairn::heap<> as constructed", churns(adapter_tag<default_heap>{}));
    full.mallocs(churns(adapter_tag<sized_malloc>{}));
}

/// 200 and 1,000 live blocks, a region that is four fifths full, and bursts.
void add_few_live(lab::experiment& e) {
    constexpr who only_usual{.fits = false, .lists = false, .slow_peers = false};
    const lab::case_options small{.weight = 0.5};
    add_heaps(e.compare("200 live of 16 to 1024 B", small), runs<churn<>>(200, 1024), only_usual);
    add_heaps(e.compare("1,000 live of 16 to 1024 B", small), runs<churn<>>(1000, 1024),
              only_usual);
    add_heaps(e.compare("1,000 live of 16 to 4096 B", small), runs<churn<>>(1000, 4096),
              only_usual);
    lab::comparison& types = e.compare("pairs of four types", small);
    const auto on = runs<four_types>();
    types.cairn("cairn::heap<> as constructed", on(adapter_tag<default_heap>{}));
    types.cairn("cairn::concurrent_heap", on(adapter_tag<thread_heap>{}));
    types.cairn("cairn::concurrent_heap, unsized", on(adapter_tag<unsized_thread_heap>{}));
    types.mallocs(on(adapter_tag<sized_malloc>{}));
    // Some 4,200 blocks of 247 bytes on the average are 1 MiB.
    lab::comparison& full = e.compare(
        "1 MiB live in 1.25 MiB",
        {.weight = 0.5,
         .causes = {
             {"82 % of the region are live blocks. One pair in 9,000 finds no hole, and all "
              "blocks that wait merge: 7 % of the requests reach the exact core, in a region "
              "of 1.5 MiB 1.6 %. There a pair takes 0.78 of the time. The mallocs' memory has "
              "no bound."}}});
    const auto mixed = runs<churn<>>(4200, 1024);
    full.cairn("cairn::heap<> of 1.25 MiB", mixed(adapter_tag<small_region>{}));
    full.baseline("cairn::heap<> of 1.25 MiB, 10 blocks live",
                  runs<churn<>>(10, 1024)(adapter_tag<small_region>{}));
    full.mallocs(mixed(adapter_tag<sized_malloc>{}));
    lab::comparison& bursts =
        e.compare("bursts of 1,000 to 64,000, steepest step",
                  {.unit = "x", .measure = lab::measure::value, .weight = 0.3, .quick_samples = 5});
    const auto rise =
        runs<rising>(order::random, counts{1000, 2000, 4000, 8000, 16'000, 32'000, 64'000}, 256.0,
                     steepest_step);
    bursts.cairn("cairn::heap<> as constructed", rise(adapter_tag<default_heap>{}));
    bursts.mallocs(rise(adapter_tag<sized_malloc>{}));
}

/// What wrappers around the default heap cost.
void add_wrapped(lab::experiment& e) {
    lab::comparison& c = e.compare("1,000 live, wrapped", {.weight = 0.3, .compares = false});
    const auto make = runs<churn<>>(1000, 1024);
    c.cairn("cairn::heap<> as constructed", make(adapter_tag<default_heap>{}));
    c.cairn("cairn::budget<heap<>>", make(adapter_tag<limited_heap>{}));
    c.cairn("cairn::heap<> over a budget", make(adapter_tag<heap_over_a_limit>{}));
    c.cairn("cairn::tracked<heap<>>", make(adapter_tag<named_heap>{}));
    c.cairn("cairn::locked<heap<>>", make(adapter_tag<cairn::locked<cairn::heap<>>>{}));
    c.cairn("cairn::concurrent_heap", make(adapter_tag<thread_heap>{}));
    c.cairn("cairn::hardened<concurrent_heap>",
            make(adapter_tag<cairn::hardened<cairn::concurrent_heap>>{}));
    c.mallocs(make(adapter_tag<sized_malloc>{}));
}

void add_offsets(lab::experiment& e) {
    lab::comparison& c = e.compare(
        "churn, offsets",
        {.weight = 0.7,
         .causes = {{"A heap in memory puts merging off; ranges of any size to the byte have no "
                     "classes to wait in, so offset_heap merges at once (docs/dead-ends.md)."}}});
    const auto churns = runs<churn<false>>();
    c.cairn("cairn::offset_heap", churns(adapter_tag<of_offsets<cairn::offset_heap>>{}));
    c.cairn("cairn::offset_heap_32", churns(adapter_tag<of_offsets<cairn::offset_heap_32>>{}));
    // No peer of a heap of offsets is packaged: what it costs to be one.
    c.baseline("in memory, objects untouched: cairn::heap<good_fit>",
               churns(adapter_tag<cairn_heap<cairn::good_fit>>{}));
}

void add_footprints(lab::experiment& e) {
    lab::comparison& fill =
        e.compare("footprint after fill",
                  {.unit = "bytes/live byte", .measure = lab::measure::value, .one_sample = true});
    add_heaps(fill, runs<footprint>());
    for (const char* column : {"footprint after churn", "footprint after shift"}) {
        e.also(fill, column,
               {.unit = "bytes/live byte",
                .causes = {
                    {"Freed blocks wait a while before they are merged, and fits go by classes: "
                     "strict_good_fit merges at once and is within 2 %, best_fit is level.",
                     "boost rbtree_best_fit"}}});
    }
}

const lab::registration heap_experiment{
    "heap", "What does a general heap cost, in time and in memory?", [](lab::experiment& e) {
        e.quick_seconds = 14.5;
        add_heaps(e.compare("single 64 b", {.weight = 0.5}), runs<single>());
        add_pattern(e, "alone", order::none);
        add_pattern(e, "fifo", order::fifo);
        add_pattern(e, "random", order::random);
        // Eight times as many: what is fast for 2000 blocks alone shows it here.
        add_heaps(e.compare("16000 random", patterns()), runs<thesis>(order::random, 16'000),
                  {.lists = false});
        if (e.options().full) {
            // 42 MB: what a region of 64 MiB holds with every fit.
            add_heaps(e.compare("100000 random of 16 to 2048 B", patterns()),
                      runs<thesis>(order::random, 100'000, 2048.0), {.lists = false});
        }
        add_churn(e);
        add_few_live(e);
        add_wrapped(e);
        add_offsets(e);
        add_footprints(e);
    }};

}  // namespace
