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
#include "lab/families/heap_family.hpp"
#include "lab/harness/statistics.hpp"

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <x86intrin.h>

#include <algorithm>
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/concurrent_pool.hpp>
#include <cairn/alloc/double_ended_arena.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/pool.hpp>
#include <cairn/alloc/virtual_arena.hpp>
#include <csignal>
#include <string>

namespace {

using namespace lab::heaps;

constexpr std::size_t live_count = 4'000;
constexpr std::size_t step_count = 20'000;  // frees and allocations, alternating
// In a sample. The minima go on from sample to sample, warm-up included: 50 replays at the first.
constexpr unsigned replay_count = 25;
// A reading holds about 25 ns of the clock and its fences: a difference of a quarter of that is theirs.
constexpr double least_difference_ns = 7;

std::uint64_t ticks_before() {
    _mm_lfence();
    const std::uint64_t t = __rdtsc();
    _mm_lfence();
    return t;
}
std::uint64_t ticks_after() {
    unsigned processor = 0;
    const std::uint64_t t = __rdtscp(&processor);
    _mm_lfence();
    return t;
}

double ns_per_tick() {
    static const double value = [] {
        timespec a{}, b{};
        clock_gettime(CLOCK_MONOTONIC, &a);
        const std::uint64_t t = __rdtsc();
        do {
            clock_gettime(CLOCK_MONOTONIC, &b);
        } while ((b.tv_sec - a.tv_sec) * 1e9 + double(b.tv_nsec - a.tv_nsec) < 2e7);
        return ((b.tv_sec - a.tv_sec) * 1e9 + double(b.tv_nsec - a.tv_nsec)) /
               double(__rdtsc() - t);
    }();
    return value;
}

struct tail_of {
    static constexpr std::pair<const char*, double> shares[] = {
        {"p50", 0.5}, {"p99", 0.99}, {"p99.9", 0.999}, {"p99.99", 0.9999}};
    std::vector<std::uint32_t> raw;  // of this replay
    std::vector<std::uint32_t> least = std::vector<std::uint32_t>(step_count, UINT32_MAX);
    std::vector<double> of_replays[std::size(shares)];

    void saw(std::size_t i, std::uint64_t ticks) {
        const auto t = static_cast<std::uint32_t>(std::min<std::uint64_t>(ticks, UINT32_MAX));
        raw.push_back(t);
        least[i] = std::min(least[i], t);
    }
    void begin_sample() {
        for (auto& v : of_replays) v.clear();
    }
    void end_replay() {
        for (std::size_t i = 0; i != std::size(shares); ++i) {
            of_replays[i].push_back(at(raw, shares[i].second));
        }
        raw.clear();
    }
    static double at(std::vector<std::uint32_t>& v, double share) {
        const auto i = static_cast<std::size_t>(share * static_cast<double>(v.size() - 1));
        std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(i), v.end());
        return v[i] * ns_per_tick();
    }
    [[nodiscard]] double median(std::size_t share) const {
        return lab::summarize(of_replays[share]).median;
    }
    void report(lab::sample& s, const std::string& what) {
        for (std::size_t i = 0; i != std::size(shares); ++i) {
            s.also(what + ", " + shares[i].first, median(i));
        }
        s.also(what + ", p99.99 of minima", at(least, 0.9999));
        s.also(what + ", max of minima", at(least, 1));
    }
};
constexpr std::size_t p99_99 = 3;

constexpr const char* columns[] = {"p50",          "p99", "p99.9", "p99.99", "p99.99 of minima",
                                   "max of minima"};

/// `OneSize`: 0 for sizes of 16 to 4096 bytes, or the only size there is.
template <std::uint32_t OneSize>
struct replay {
    tail_of allocate, deallocate, floor;
    template <class A>
    void run(A& a, lab::sample& s) {
        auto first = log_uniform(live_count, 11);
        auto sizes = log_uniform(step_count, 12);
        if (OneSize != 0) {
            std::fill(first.begin(), first.end(), OneSize);
            std::fill(sizes.begin(), sizes.end(), OneSize);
        }
        std::vector<object> live(live_count);
        for (tail_of* const t : {&allocate, &deallocate, &floor}) t->begin_sample();
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
            for (tail_of* const t : {&allocate, &deallocate, &floor}) t->end_replay();
            if constexpr (requires { a.end_of_trace(); }) a.end_of_trace();
        }
        const std::string of = OneSize == 0 ? "" : "one size: ";
        s.value(allocate.median(p99_99));
        allocate.report(s, of + "allocate");
        deallocate.report(s, of + "deallocate");
        s.also(of + "noise floor, p99.99", floor.median(p99_99));
        s.also(of + "noise floor, max of minima", tail_of::at(floor.least, 1));
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

/// An arena frees nothing alone: everything goes at the end of the trace.
template <class Arena, std::size_t Size>
struct of_arena {
    Arena arena{Size};
    void* allocate(std::size_t size) { return arena.allocate(size); }
    void deallocate(void*, std::size_t) {}
    void end_of_trace() { arena.reset(); }
};

struct of_double_ended_arena {
    cairn::double_ended_arena arena{std::size_t{4} << 20};
    void* allocate(std::size_t size) { return arena.low().allocate(size); }
    void deallocate(void*, std::size_t) {}
    void end_of_trace() { arena.low().reset(); }
};

// ---- instructions --------------------------------------------------------------------------------

/// Calls operation(mark) in a child; each mark() is a place where the count of instructions since
/// the last mark is noted. Returns the largest count between the odd and the even marks.
template <class Operation>
std::uint64_t most_instructions(Operation operation, std::size_t& worst_index) {
    const pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        raise(SIGSTOP);
        operation([] { raise(SIGUSR1); }, [] { raise(SIGUSR2); });
        _exit(0);
    }
    std::uint64_t most = 0;
    std::size_t index = 0;
    bool counting = false;
    bool first = true;
    std::uint64_t count = 0;
    std::uint64_t overhead = UINT64_MAX;  // of raising the signals, from the empty operation
    int status = 0;
    waitpid(child, &status, 0);
    ptrace(PTRACE_CONT, child, nullptr, nullptr);
    for (;;) {
        if (waitpid(child, &status, 0) < 0 || WIFEXITED(status) || WIFSIGNALED(status)) break;
        const int sig = WSTOPSIG(status);
        if (sig == SIGUSR1) {
            counting = true;
            count = 0;
        } else if (sig == SIGUSR2) {
            counting = false;
            if (first) {
                overhead = count;
                first = false;
            } else {
                ++index;
                const std::uint64_t own = count > overhead ? count - overhead : 0;
                if (own > most) {
                    most = own;
                    worst_index = index;
                }
            }
        } else if (sig == SIGTRAP && counting) {
            ++count;
        }
        ptrace(counting ? PTRACE_SINGLESTEP : PTRACE_CONT, child, nullptr, nullptr);
    }
    return most;
}

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
        const auto allocate = most_instructions(walk(true), worst_allocate);
        const auto deallocate = most_instructions(walk(false), worst_deallocate);
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
                                                  .quick_samples = 1,
                                                  .compares = false});
        add_heaps(c, runs<replay<0>>(), {.lists = false});
        const auto columns_of = [&](lab::comparison& those, const std::string& of) {
            for (const char* what : {"allocate", "deallocate"}) {
                for (const char* column : columns) {
                    // Beyond p99 the raw tail is the machine's as much as the allocator's.
                    const bool is_raw =
                        std::string_view{column} == "p99.9" || std::string_view{column} == "p99.99";
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
                                                            .quick_samples = 1,
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
