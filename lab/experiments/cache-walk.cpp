// lab/experiments/cache-walk.cpp - thesis 3.1.8: what following a pointer costs, by working set.
//
//      struct node<Pad> { node* next; size_t pad[Pad]; }       8, 64, 128, 256, 512 bytes
//      linear      each node points to its neighbour in memory
//      shuffled    one cycle through all nodes in random order
//
// Each contender walks every working set from 2^10 bytes on and hands over a curve; the numbers of
// the cases are points of it. The list is built in the contender (the smaller its set, the more often
// it is walked before), and cycles are those of the time stamp counter.

#include "lab/families/random_order.hpp"
#include "lab/harness/counts.hpp"
#include "lab/harness/experiment.hpp"
#include "lab/harness/machine.hpp"
#include "lab/harness/registry.hpp"
#include "lab/harness/results.hpp"
#include "lab/output/output.hpp"
#include "lab/system/process.hpp"
#include "lab/system/system.hpp"

#include <fmt/format.h>

namespace lab { namespace {

constexpr std::array<std::size_t, 5> paddings{0, 7, 15, 31, 63};  // words beside the pointer

struct step {
    int log2;
    const char* published_as;  // what the thesis says about a set of this size, or null
    double published;
};
// Table 3.1: latencies of the i7-6700k; a set of that size lies in that cache.
constexpr std::array<step, 5> steps{{
    {13, "thesis table 3.1, L1d latency of the i7-6700k", 4},
    {15, nullptr, 0},
    {17, "thesis table 3.1, L2 latency of the i7-6700k", 12},
    {22, "thesis table 3.1, L3 latency of the i7-6700k", 42},
    {23, nullptr, 0},
}};

struct list {
    std::vector<std::byte> memory;
    void* first = nullptr;
    std::size_t count = 0;

    list(std::size_t bytes, std::size_t padding, bool is_shuffled)
        : memory(bytes + 64), count{bytes / (8 * padding + 8)} {
        auto* const base =
            memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) % 64;
        const std::size_t size = 8 * padding + 8;
        const std::vector<std::uint32_t> order = shuffled(is_shuffled ? count : 0, 7);
        const auto at = [&](std::size_t i) { return base + size * (is_shuffled ? order[i] : i); };
        for (std::size_t i = 0; i != count; ++i) {
            void* const next = at(i + 1 == count ? 0 : i + 1);
            std::memcpy(at(i), &next, sizeof next);
        }
        first = at(0);
    }
};

[[gnu::noinline]] void* walk(void* at, std::size_t steps_to_go) {
    for (; steps_to_go >= 8; steps_to_go -= 8) {
        for (int i = 0; i != 8; ++i) at = *static_cast<void**>(at);
    }
    for (; steps_to_go != 0; --steps_to_go) at = *static_cast<void**>(at);
    return at;
}

double cycles_per_node(std::size_t bytes, std::size_t padding, bool shuffled) {
    const list l{bytes, padding, shuffled};
    if (l.count < 2) return 0;
    const double now_ghz = core_ghz();  // of the core: its clock is not that of the time stamps
    const double ghz = now_ghz > 0 ? now_ghz : 1;
    const std::size_t hops = bytes > (std::size_t{1} << 23) ? 100'000 : 40'000;
    void* at = walk(l.first, std::min<std::size_t>(2 * l.count, 600'000));
    std::array<double, 5> rounds{};
    for (double& r : rounds) {
        const std::int64_t begun = now_ns();
        at = walk(at, hops);
        r = (static_cast<double>(now_ns() - begun) - timer_overhead_ns()) * ghz /
            static_cast<double>(hops);
        keep(at);
    }
    std::sort(rounds.begin(), rounds.end());
    return rounds[rounds.size() / 2];
}

std::string case_name(bool shuffled, int log2) {
    return fmt::format("{}, 2^{} bytes", shuffled ? "shuffled" : "linear", log2);
}

std::string padding_name(std::size_t p) { return fmt::format("padding {}", p); }

/// As much as memory reasonably allows, five contenders at a time.
int largest_set(const experiment& e) { return e.options().full ? 28 : 27; }

void add_walks(experiment& e, bool shuffled) {
    const int last = largest_set(e);
    comparison& c =
        e.compare(case_name(shuffled, last),
                  {.unit = "cycles/node", .measure = measure::value, .one_sample = true});
    for (const std::size_t padding : paddings) {
        c.baseline(padding_name(padding), [=] {
            return [=](sample& s) {
                series curve{padding_name(padding), "working set, bytes", "cycles per node", {}};
                for (int log2 = 10; log2 <= last; ++log2) {
                    const double cycles =
                        cycles_per_node(std::size_t{1} << log2, padding, shuffled);
                    if (cycles == 0) continue;
                    curve.points.emplace_back(static_cast<double>(std::size_t{1} << log2), cycles);
                    for (const step& at : steps) {
                        if (at.log2 == log2) s.also(case_name(shuffled, log2), cycles);
                    }
                    s.value(cycles);
                }
                s.plot(curve);
                if (padding == 0) {
                    for (const auto& [name, bytes] :
                         {std::pair{"L1d", 15}, {"L2", 18}, {"L3", 23}}) {
                        s.plot(
                            {fmt::format("published: step of the i7-6700k, {} 2^{}", name, bytes),
                             curve.x_label,
                             curve.y_label,
                             {{static_cast<double>(1u << bytes), 1.0}}});
                    }
                }
            };
        });
    }
    for (const step& at : steps) {
        comparison& side =
            e.also(c, case_name(shuffled, at.log2), {.unit = "cycles/node", .one_sample = true});
        if (shuffled && at.published_as != nullptr) {
            side.baseline("padding 7", [] { return [](sample&) {}; })
                .published(at.published, "cycles/node", at.published_as);
        }
    }
}

// ---- table 3.1, what the system says ------------------------------------------------------------

/// The caches of the i7-6700k (table 3.1) beside those that are here. A figure is 0 where neither the
/// system nor the processor reports it; "inclusive" is 1 for a cache that holds all that is in the
/// level below.
struct known_cache {
    const char* name;
    int level;
    const char* type;
    double kib, ways;
    std::optional<double> inclusive;
};
const known_cache table_3_1[] = {
    {"L1d", 1, "Data", 32, 8, {}},
    {"L1i", 1, "Instruction", 32, 4, {}},
    {"L2", 2, "Unified", 256, 4, 0},
    {"L3", 3, "Unified", 8192, 16, 1},
};

void add_caches(experiment& e) {
    const auto options = [](const char* unit) {
        return case_options{.unit = unit,
                            .better = better::higher,
                            .measure = measure::value,
                            .weight = 0.05,
                            .one_sample = true,
                            .compares = false};
    };
    comparison& size = e.compare("caches, size of one", options("KiB"));
    comparison& ways = e.compare("caches, associativity", options("ways"));
    comparison& inclusive = e.compare("caches, inclusive", options("yes"));
    constexpr const char* source = "thesis table 3.1, i7-6700k";
    for (const known_cache& there : table_3_1) {
        const auto here = [there](auto figure) {
            return [there, figure] {
                return [there, figure](sample& s) {
                    s.value(0);
                    for (const cache_facts& c : look_at_machine().caches) {
                        if (c.level == there.level && c.type == there.type) { s.value(figure(c)); }
                    }
                };
            };
        };
        size.baseline(there.name, here([](const cache_facts& c) {
                          return static_cast<double>(c.bytes) / 1024;
                      }))
            .published(there.kib, "KiB", source);
        ways.baseline(there.name, here([](const cache_facts& c) { return double{1} * c.ways; }))
            .published(there.ways, "ways", source);
        if (!there.inclusive) continue;
        inclusive
            .baseline(there.name, here([](const cache_facts& c) {
                          return c.inclusive.value_or(false) ? 1.0 : 0.0;
                      }))
            .published(*there.inclusive, "yes", source);
    }
}

// ---- table 3.2, with cachegrind ---------------------------------------------------------------

struct references {
    double reads = 0;
    double instructions = 0;
    double first_level = 0;
    double last_level = 0;
};

/// The thesis's 8 MiB last level walks a list of 256 MiB or so: of random steps 1 - 8 / 256 = 0.969 miss
/// it, its table's figure. --full --cachegrind simulates just that, in about ten minutes; otherwise
/// both are scaled down by 16 (the first level stays as it was).
struct simulated {
    std::size_t list;
    std::size_t last_level;
};
constexpr simulated as_in_the_thesis{std::size_t{1} << 28, std::size_t{1} << 23};
constexpr simulated a_sixteenth{std::size_t{1} << 24, std::size_t{1} << 19};

bool is_full_size(const experiment& e) { return e.options().full && e.options().cachegrind; }

/// Runs this program under cachegrind with the caches of the thesis's machine, the last one scaled.
references simulate(const simulated& sizes, bool shuffled, std::size_t padding, unsigned turns) {
    const std::string text = output_of(
        {"valgrind", "--tool=cachegrind", "--cache-sim=yes", "--cachegrind-out-file=/dev/null",
         "--I1=32768,8,64", "--D1=32768,8,64", fmt::format("--LL={},16,64", sizes.last_level),
         own_program(), "--lab-walk", shuffled ? "shuffled" : "linear", std::to_string(padding),
         std::to_string(turns), std::to_string(sizes.list)});
    // "D   refs: 33,554,432 (16,777,216 rd + 16,777,216 wr)": reads stand behind the bracket.
    const auto reads_of = [&](const char* line) {
        const std::size_t at = text.find(line);
        return at == std::string::npos ? -1.0 : number_after(text.substr(at), "(");
    };
    const references r{reads_of("D   refs:"), number_after(text, "I   refs:"),
                       reads_of("D1  misses:"), reads_of("LLd misses:")};
    if (r.reads <= 0) throw std::runtime_error{"valgrind said nothing"};
    return r;
}

void add_simulation(experiment& e, bool shuffled) {
    const char* const order = shuffled ? "shuffled" : "linear";
    static constexpr std::array<double, 5> first[2] = {{0.125, .999, .999, 1, .999},
                                                       {.999, 1, 1, 1, 1}};
    static constexpr std::array<double, 5> last[2] = {{0.125, .999, .999, 1, .999},
                                                      {.969, 1, 1, 1, 1}};
    comparison& c = e.compare(fmt::format("{}, first-level misses", order),
                              {.unit = "misses/read",
                               .measure = measure::value,
                               .one_sample = true,
                               .time_limits = is_full_size(e) ? 10.0 : 2.0});
    const simulated sizes = is_full_size(e) ? as_in_the_thesis : a_sixteenth;
    const std::string other = fmt::format("{}, last-level misses", order);
    const std::string instructions = fmt::format("{}, instructions", order);
    for (std::size_t i = 0; i != paddings.size(); ++i) {
        const std::size_t padding = paddings[i];
        c.baseline(padding_name(padding), [=] {
             return [=](sample& s) {
                 // Building the list is in both runs; what remains is walking it.
                 const references once = simulate(sizes, shuffled, padding, 1);
                 const references more = simulate(sizes, shuffled, padding, 3);
                 const double reads = more.reads - once.reads;
                 s.value((more.first_level - once.first_level) / reads);
                 s.also(other, (more.last_level - once.last_level) / reads);
                 s.also(instructions, (more.instructions - once.instructions) / reads);
             };
         }).published(first[shuffled][i], "misses/read", "thesis table 3.2, prefetcher off");
    }
    comparison& side = e.also(c, other, {.unit = "misses/read", .one_sample = true});
    for (std::size_t i = 0; i != paddings.size(); ++i) {
        side.baseline(padding_name(paddings[i]), [] { return [](sample&) {}; })
            .published(last[shuffled][i], "misses/read", "thesis table 3.2, prefetcher off");
    }
    e.also(c, instructions, {.unit = "instructions/read", .one_sample = true, .compares = false});
}

std::string take(const experiment_result& r) {
    const auto median = [&](const std::string& name, const char* row) {
        const summary* const found = figures_of(r, name, row);
        return found == nullptr ? 0.0 : found->median;
    };
    if (r.cases.empty()) return {};
    const std::string far = r.cases.front().name;  // "linear, 2^N bytes"
    const std::string far_shuffled = "shuffled" + far.substr(far.find(','));
    const double near_l1 = median("shuffled, 2^13 bytes", "padding 7");
    const double random = median(far_shuffled, "padding 7");
    const double linear = median(far, "padding 7");
    const double packed = median(far, "padding 0");
    if (near_l1 == 0 || random == 0 || linear == 0 || packed == 0) return {};
    return fmt::format(
        "A pointer whose target lies in the first-level cache costs {} cycles; in a set far larger "
        "than the caches and in random order {} ({} x). Laid out in order the same walk costs {}, "
        "and {} with eight nodes in a cache line: order and density are worth more than any "
        "allocator.",
        figure(near_l1), figure(random), figure(random / near_l1), figure(linear), figure(packed));
}

const registration cache_walk{
    "cache-walk", "What does following a pointer cost, as the memory it leads through grows?",
    [](experiment& e) {
        e.quick_seconds = 10;
        e.background = true;
        e.full_seconds = 40;
        e.how =
            "Cycles of the core: a chain of dependent additions says how long one takes. The "
            "dotted lines: the caches of this machine, and where the thesis found its steps on an "
            "i7-6700k (32 KiB, 256 KiB, 8 MiB). Its figures 3.7 and 3.8 switch the prefetcher off, "
            "which no program may do; the shuffled walk defeats it instead. Sets with few nodes "
            "and those at a step vary most.";
        add_walks(e, false);
        add_walks(e, true);
        add_caches(e);
        if (e.options().cachegrind || (e.options().full && is_on_path("valgrind"))) {
            e.how += is_full_size(e) ? " Under cachegrind the list has 256 MiB and the last cache "
                                       "8 MiB, as in the thesis."
                                     : " Under cachegrind the list has 16 MiB and the last cache "
                                       "512 KiB: a sixteenth of each in the thesis.";
            add_simulation(e, false);
            add_simulation(e, true);
        }
        e.take = take;
    }};

/// cairn --lab-walk ORDER PADDING TURNS BYTES: the walk alone, for cachegrind.
int walk_main(int argc, char** argv) {
    if (argc < 6) return 2;
    const bool shuffled = std::strcmp(argv[2], "shuffled") == 0;
    const list l{std::strtoul(argv[5], nullptr, 10), static_cast<std::size_t>(std::atoi(argv[3])),
                 shuffled};
    void* const end = walk(l.first, l.count * static_cast<std::size_t>(std::atoi(argv[4])));
    keep(end);
    return 0;
}

const bool walk_is_known = (side_commands().push_back({"--lab-walk", walk_main}), true);

}}  // namespace lab
