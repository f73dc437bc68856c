// lab/experiments/heap.cpp - any size in any order: one allocation, the thesis' patterns, churn, and
// what memory it takes.
#include "lab/families/heap_family.hpp"

#include <algorithm>
#include <array>
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
template <order Order, std::size_t Count>
struct thesis {
    std::vector<std::uint32_t> sizes = log_uniform(Count, 4);
    std::vector<std::uint32_t> order_of_frees = [] {
        std::vector<std::uint32_t> v(Count);
        std::iota(v.begin(), v.end(), 0u);
        if (Order == order::random) std::shuffle(v.begin(), v.end(), std::mt19937{5});
        return v;
    }();
    std::vector<void*> live = std::vector<void*>(Count);
    template <class A>
    void run(A& a, lab::sample& s) {
        for (std::uint64_t r = 0; r != s.repetitions(); ++r) {
            if constexpr (Order == order::none) s.start();
            for (std::size_t i = 0; i != Count; ++i) {
                live[i] = a.allocate(sizes[i]);
                touch(live[i], sizes[i]);
            }
            if constexpr (Order == order::none) s.stop();
            for (const std::uint32_t i : order_of_frees) a.deallocate(live[i], sizes[i]);
        }
        s.did(s.repetitions() * Count);
    }
};

/// The same at 1000, 2000, 3000 and 4000 allocations: a curve, and what 4000 cost where 1000 cost 1.
template <order Order>
struct growth {
    explicit growth(const char* who) : name{who} {}
    const char* name;
    thesis<Order, 1000> at_1000;
    thesis<Order, 2000> at_2000;
    thesis<Order, 3000> at_3000;
    thesis<Order, 4000> at_4000;
    template <class A>
    void run(A& a, lab::sample& s) {
        lab::series curve{name, "allocations", "ns an operation", {}};
        const auto add = [&](auto& work, double count) {
            std::array<double, 3> rounds{};
            for (double& r : rounds) {
                lab::sample timed{1};
                const std::int64_t begun = lab::now_ns();
                work.run(a, timed);
                const std::int64_t spent = lab::now_ns() - begun;
                r = static_cast<double>(timed.manual() ? timed.elapsed_ns() : spent) / count;
            }
            std::sort(rounds.begin(), rounds.end());
            curve.points.emplace_back(count, rounds[rounds.size() / 2]);
        };
        add(at_1000, 1000);
        add(at_2000, 2000);
        add(at_3000, 3000);
        add(at_4000, 4000);
        s.value(curve.points.back().second / curve.points.front().second);
        s.plot(std::move(curve));
    }
};

/// Pairs of a free and a request among live blocks. The state goes on from sample to sample.
template <class Trace, bool Touches = true>
struct replaced {
    Trace trace;
    std::vector<object> live;
    std::size_t at = 0;
    template <class A>
    void run(A& a, lab::sample& s) {
        constexpr std::size_t steps = 512;
        for (std::size_t i = live.size(); i != Trace::live_count; ++i) {
            live.push_back({a.allocate(trace.first[i]), trace.first[i]});
            if constexpr (Touches) touch(live.back().p, live.back().size);
        }
        s.start();
        for (std::uint64_t r = 0; r != s.repetitions() * steps; ++r) {
            object& o = live[trace.victims[at]];
            if constexpr (Touches) touch(o.p, o.size);
            a.deallocate(o.p, o.size);
            o.size = trace.sizes[at];
            o.p = a.allocate(o.size);
            if constexpr (Touches) touch(o.p, o.size);
            at = (at + 1) % Trace::step_count;
        }
        s.stop();
        s.did(s.repetitions() * steps);
    }
};
template <bool Touches = true>
using churn = replaced<churn_trace, Touches>;
/// Hundreds to thousands of live blocks, 16 to High bytes.
template <std::size_t Count, unsigned High>
using few_live = replaced<trace_of<Count, High, std::size_t{1} << 15>>;

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
struct small_region {
    cairn::heap<> heap{std::size_t{5} << 18};
    void* allocate(std::size_t size) { return heap.allocate(size); }
    void deallocate(void* p, std::size_t size) { heap.deallocate(p, size); }
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

/// Bursts of 1,000, 2,000 .. 64,000 blocks of 16 to 256 bytes, freed in random order, in a loop: a
/// curve, and its steepest step from one point to the next.
struct bursts {
    explicit bursts(const char* who) : name{who} {}
    const char* name;
    template <class A>
    void run(A& a, lab::sample& s) {
        lab::series curve{name, "blocks of a burst", "ns an operation", {}};
        double steepest = 0;
        for (std::size_t count = 1000; count <= 64'000; count *= 2) {
            const double now = time_of(a, count);
            if (!curve.points.empty()) {
                steepest = std::max(steepest, now / curve.points.back().second);
            }
            curve.points.emplace_back(static_cast<double>(count), now);
        }
        s.value(steepest);
        s.plot(std::move(curve));
    }
    /// The fastest of some rounds, of which the first ones warm up.
    template <class A>
    static double time_of(A& a, std::size_t count) {
        const std::vector<std::uint32_t> sizes = log_uniform(count, 4, 16, 256);
        std::vector<std::uint32_t> order(count);
        std::iota(order.begin(), order.end(), 0u);
        std::shuffle(order.begin(), order.end(), std::mt19937{5});
        std::vector<void*> live(count);
        std::int64_t best = INT64_MAX;
        for (std::size_t round = 0; round != 4 + 64'000 / count; ++round) {
            const std::int64_t begun = lab::now_ns();
            for (std::size_t i = 0; i != count; ++i) {
                live[i] = a.allocate(sizes[i]);
                touch(live[i], sizes[i]);
            }
            for (const std::uint32_t i : order) a.deallocate(live[i], sizes[i]);
            best = std::min(best, lab::now_ns() - begun);
        }
        return static_cast<double>(best) / static_cast<double>(count);
    }
};

/// Resident memory over live bytes: after the fill, after churn, after the sizes have shifted.
struct footprint {
    churn_trace trace;
    std::vector<std::uint32_t> shifted = log_uniform(churn_trace::step_count, 6, 256, 8192);
    std::vector<object> live = std::vector<object>(churn_trace::live_count);
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
        for (std::size_t i = 0; i != live.size(); ++i) place(live[i], trace.first[i]);
        const double fill = ratio();
        s.value(fill);
        const std::size_t steps = churn_trace::step_count / 2;
        for (std::size_t i = 0; i != steps; ++i) {
            object& o = live[trace.victims[i]];
            a.deallocate(o.p, o.size);
            place(o, trace.sizes[i]);
        }
        s.also("footprint after churn", ratio());
        if constexpr (requires { a.for_each_block([](const cairn::heap_block&) {}); }) {
            fragmentation(a, s);
        }
        for (std::size_t i = 0; i != steps; ++i) {
            object& o = live[trace.victims[steps + i]];
            a.deallocate(o.p, o.size);
            place(o, shifted[i]);
        }
        s.also("footprint after shift", ratio());
    }
    /// Of the memory up to the highest block in use: the part that is free, and its largest piece.
    template <class A>
    void fragmentation(A& a, lab::sample& s) {
        std::size_t used = 0;
        std::size_t holes = 0;
        std::size_t largest = 0;
        std::size_t pending = 0;
        a.for_each_block([&](const cairn::heap_block& b) {
            if (b.state == cairn::block_state::used) {
                used += b.size;
                holes += pending;
                largest = std::max(largest, pending);
                pending = 0;
            } else {
                pending = b.size;
            }
        });
        s.also("churn, free in holes",
               static_cast<double>(holes) / static_cast<double>(used) * 100);
        s.also("churn, largest hole", static_cast<double>(largest));
    }
};

/// A load and the allocator it runs on. (Not inside the lambda below: clang 19 mixes up the local
/// structs of a generic lambda.)
template <class Work, class Adapter>
struct at_work {
    std::unique_ptr<Work> work = std::make_unique<Work>();
    std::unique_ptr<Adapter> a = std::make_unique<Adapter>();
    void operator()(lab::sample& s) { work->run(*a, s); }
};

/// Figure 6.6 over the number of allocations, for the thesis's list, its counterparts and malloc.
template <order Order>
void add_growth(lab::comparison& c) {
    const auto add = [&]<class Adapter>(lab::kind kind, const char* name, Adapter) {
        c.add(kind, name, [name] {
            return [work = std::make_unique<growth<Order>>(name),
                    a = std::make_unique<typename Adapter::type>()](lab::sample& s) {
                work->run(*a, s);
            };
        });
    };
    add(lab::kind::cairn, "cairn::heap<good_fit>", adapter_tag<cairn_heap<cairn::good_fit>>{});
    add(lab::kind::cairn, "cairn::heap<best_fit>", adapter_tag<cairn_heap<cairn::best_fit>>{});
    add(lab::kind::cairn, "cairn::heap<first_fit>", adapter_tag<cairn_heap<cairn::first_fit>>{});
    add(lab::kind::peer, "malloc", adapter_tag<general_malloc>{});
    add(lab::kind::baseline, "linked list, first fit", adapter_tag<linked_list<false>>{});
    add(lab::kind::baseline, "linked list, best fit", adapter_tag<linked_list<true>>{});
}

/// The curve of bursts, for the heap that people construct and for the mallocs.
void add_bursts(lab::comparison& c) {
    const auto on = []<class Adapter>(const char* name, Adapter) {
        return [name] {
            return [work = std::make_unique<bursts>(name),
                    a = std::make_unique<typename Adapter::type>()](lab::sample& s) {
                work->run(*a, s);
            };
        };
    };
    c.cairn("cairn::heap<> as constructed", on("cairn::heap<>", adapter_tag<default_heap>{}));
    c.mallocs(on("malloc", adapter_tag<sized_malloc>{}));
}

template <class Work>
auto runs() {
    return []<class Tag>(Tag) { return [] { return at_work<Work, typename Tag::type>{}; }; };
}

/// The same churn over numbers, in units of 16 bytes as the heap in memory has them: nothing is touched
/// but the heap's own nodes.
template <class Heap>
auto offset_churn() {
    return [] {
        struct state {
            std::unique_ptr<Heap> heap = std::make_unique<Heap>(std::uint32_t{64} << 16);
            churn_trace trace;
            std::vector<cairn::offset_allocation> live;
            std::size_t at = 0;
            void operator()(lab::sample& s) {
                if (live.empty()) {
                    for (const std::uint32_t size : trace.first) {
                        live.push_back(heap->allocate((size + 15) / 16));
                    }
                }
                constexpr std::size_t steps = 512;
                s.start();
                for (std::uint64_t r = 0; r != s.repetitions() * steps; ++r) {
                    cairn::offset_allocation& a = live[trace.victims[at]];
                    heap->deallocate(a);
                    a = heap->allocate((trace.sizes[at] + 15) / 16);
                    lab::observe(a.index);
                    at = (at + 1) % churn_trace::step_count;
                }
                s.stop();
                s.did(s.repetitions() * steps);
            }
        };
        return state{};
    };
}

/// A region of which the 10,000 live blocks of the churn take four fifths.
template <class Fit>
struct full_heap {
    static std::size_t region() {
        const churn_trace trace;
        const auto live = std::accumulate(trace.first.begin(), trace.first.end(), std::size_t{0});
        return (live + churn_trace::live_count * 16) / 4 * 5;
    }
    cairn::heap<Fit> heap{region()};
    void* allocate(std::size_t size) { return heap.allocate(size); }
    void deallocate(void* p, std::size_t size) { heap.deallocate(p, size); }
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

/// Thesis figure 6.6 at N allocations.
template <std::size_t N>
void add_patterns(lab::experiment& e) {
    const std::string n = std::to_string(N);
    add_heaps(e.compare(n + " alone", patterns()), runs<thesis<order::none, N>>());
    add_heaps(e.compare(n + " fifo", patterns()), runs<thesis<order::fifo, N>>());
    add_heaps(e.compare(n + " random", patterns()), runs<thesis<order::random, N>>());
}

void add_curves(lab::experiment& e) {
    const auto over = [&](const char* name) -> lab::comparison& {
        return e.compare(name, {.unit = "x",
                                .measure = lab::measure::value,
                                .weight = 0.2,
                                .quick_samples = 5,
                                .compares = false});
    };
    add_growth<order::none>(over("alone, from 1000 to 4000"));
    add_growth<order::fifo>(over("fifo, from 1000 to 4000"));
    add_growth<order::random>(over("random, from 1000 to 4000"));
}

/// 10,000 live blocks, and the same where the region has little more room than they take.
void add_churn(lab::experiment& e) {
    const lab::case_options how{
        .weight = 2,
        .causes = {{"One operation in ten reaches the exact core of the heap, which cuts and "
                    "merges blocks and waits for its mispredicted branches; classes that never "
                    "merge have no such core (docs/dead-ends.md)."}}};
    add_heaps(e.compare("churn", how), runs<churn<>>());
    lab::comparison& full =
        e.compare("churn, 80 % full",
                  {.weight = 0.7,
                   .causes = {{"Few holes are left: most requests cut one, most frees merge."}}});
    full.cairn("cairn::heap<good_fit>", runs<churn<>>()(adapter_tag<full_heap<cairn::good_fit>>{}));
    full.cairn("cairn::heap<quick_fit>",
               runs<churn<>>()(adapter_tag<full_heap<cairn::quick_fit>>{}));
    full.cairn("cairn::heap<> as constructed", runs<churn<>>()(adapter_tag<default_heap>{}));
    full.mallocs(runs<churn<>>()(adapter_tag<sized_malloc>{}));
}

/// 200 and 1,000 live blocks, a region that is four fifths full, and bursts.
void add_few_live(lab::experiment& e) {
    constexpr who only_usual{.fits = false, .lists = false, .slow_peers = false};
    const lab::case_options small{.weight = 0.5};
    add_heaps(e.compare("200 live of 16 to 1024 B", small), runs<few_live<200, 1024>>(),
              only_usual);
    add_heaps(e.compare("1,000 live of 16 to 1024 B", small), runs<few_live<1000, 1024>>(),
              only_usual);
    add_heaps(e.compare("1,000 live of 16 to 4096 B", small), runs<few_live<1000, 4096>>(),
              only_usual);
    lab::comparison& types = e.compare("pairs of four types", small);
    const auto on = runs<four_types>();
    types.cairn("cairn::heap<> as constructed", on(adapter_tag<default_heap>{}));
    types.cairn("cairn::concurrent_heap", on(adapter_tag<thread_heap>{}));
    types.cairn("cairn::concurrent_heap, unsized", on(adapter_tag<unsized_thread_heap>{}));
    types.mallocs(on(adapter_tag<sized_malloc>{}));
    // Some 4,200 blocks of 247 bytes on the average are 1 MiB.
    lab::comparison& full = e.compare("1 MiB live in 1.25 MiB", small);
    full.cairn("cairn::heap<> of 1.25 MiB",
               runs<few_live<4200, 1024>>()(adapter_tag<small_region>{}));
    full.baseline("cairn::heap<> of 1.25 MiB, 10 blocks live",
                  runs<few_live<10, 1024>>()(adapter_tag<small_region>{}));
    full.mallocs(runs<few_live<4200, 1024>>()(adapter_tag<sized_malloc>{}));
    add_bursts(e.compare(
        "bursts of 1,000 to 64,000, steepest step",
        {.unit = "x", .measure = lab::measure::value, .weight = 0.3, .quick_samples = 5}));
}

/// What wrappers around the default heap cost.
void add_wrapped(lab::experiment& e) {
    lab::comparison& c = e.compare("1,000 live, wrapped", {.weight = 0.3, .compares = false});
    const auto make = runs<few_live<1000, 1024>>();
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
    c.cairn("cairn::offset_heap", offset_churn<cairn::offset_heap>());
    c.cairn("cairn::offset_heap_32", offset_churn<cairn::offset_heap_32>());
    // No peer of a heap of offsets is packaged: what it costs to be one.
    c.baseline("in memory: cairn::heap<good_fit>",
               runs<churn<>>()(adapter_tag<cairn_heap<cairn::good_fit>>{}));
    c.baseline("in memory, objects untouched: cairn::heap<good_fit>",
               runs<churn<false>>()(adapter_tag<cairn_heap<cairn::good_fit>>{}));
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
    e.also(fill, "churn, free in holes", {.unit = "% of used"});
    e.also(fill, "churn, largest hole", {.unit = "bytes"});
}

const lab::registration heap_experiment{
    "heap", "What does a general heap cost, in time and in memory?", [](lab::experiment& e) {
        e.quick_seconds = 14.5;
        add_heaps(e.compare("single 64 b", {.weight = 0.5}), runs<single>());
        add_patterns<2000>(e);
        // Eight times as many: what is fast for 2000 blocks alone shows it here.
        add_heaps(e.compare("16000 random", patterns()), runs<thesis<order::random, 16000>>(),
                  {.lists = false});
        if (e.options().full) {
            add_patterns<1000>(e);
            add_patterns<3000>(e);
            add_patterns<4000>(e);
            add_heaps(e.compare("100000 random", patterns()), runs<thesis<order::random, 100000>>(),
                      {.lists = false});
        }
        add_curves(e);
        add_churn(e);
        add_few_live(e);
        add_wrapped(e);
        add_offsets(e);
        add_footprints(e);
    }};

}  // namespace
