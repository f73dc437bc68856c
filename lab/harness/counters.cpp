#include "lab/harness/counters.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#if __has_include(<valgrind/callgrind.h>)
#    include <valgrind/callgrind.h>
#    define CAIRN_LAB_HAS_CALLGRIND 1
#else
#    define CAIRN_LAB_HAS_CALLGRIND 0
#endif

#include "lab/harness/hardware_counters.hpp"
#include "lab/harness/machine.hpp"
#include "lab/harness/registry.hpp"
#include "lab/system/process.hpp"
#include "lab/system/system.hpp"

namespace lab {

// ---- one run that is counted -----------------------------------------------------------------

namespace {

/// Counts what `work` would have timed. Returns: how many operations that were.
std::uint64_t run_counted(body& work, std::uint64_t repetitions, interval_watch& watch) {
    sample warm{1};
    work.run(warm);  // and shows whether the work times parts of itself
    sample s{repetitions};
    if (warm.manual()) {
        s.watch(&watch);
        work.run(s);
    } else {
        watch.begins();
        work.run(s);
        watch.ends();
    }
    return s.operations();
}

/// The names of the four cases.
struct case_names {
    std::string instructions, first_level, last_level, branches;
    explicit case_names(const std::string& of)
        : instructions{"instructions, " + of},
          first_level{"first-level misses, " + of},
          last_level{"last-level misses, " + of},
          branches{"branch misses, " + of} {}
};

void tell(sample& s, const case_names& names, const counts& c, std::uint64_t operations) {
    if (operations == 0) return;  // said as everywhere: it does nothing
    const auto each = [&](double n) { return n / static_cast<double>(operations); };
    if (c.instructions >= 0) s.value(each(c.instructions));
    if (c.first_level_misses >= 0) s.also(names.first_level, each(c.first_level_misses));
    if (c.last_level_misses >= 0) s.also(names.last_level, each(c.last_level_misses));
    if (c.branch_misses >= 0) s.also(names.branches, each(c.branch_misses));
}

// ---- under valgrind: `cairn --lab-count EXPERIMENT CASE CONTENDER REPETITIONS full|quick` -------

constexpr const char* operations_word = "operations counted: ";

#if CAIRN_LAB_HAS_CALLGRIND
class callgrind_watch final : public interval_watch {
public:
    void begins() noexcept override { CALLGRIND_TOGGLE_COLLECT; }
    void ends() noexcept override { CALLGRIND_TOGGLE_COLLECT; }
};
#endif

int count_main(int argc, char** argv) {
    if (argc < 7) return 2;
    run_options options;
    options.full = std::strcmp(argv[6], "full") == 0;
    options.cachegrind = true;
    options.cpus = {0};
    const found_row row = find_row(argv[2], argv[3], argv[4], options);
    if (row.who == nullptr) return 2;
#if CAIRN_LAB_HAS_CALLGRIND
    callgrind_watch watch;
    const auto work = row.who->make->make();
    const std::uint64_t done = run_counted(*work, std::strtoull(argv[5], nullptr, 10), watch);
    std::printf("%s%llu\n", operations_word, static_cast<unsigned long long>(done));
    return 0;
#else
    return 2;
#endif
}
const bool count_is_known = (side_commands().push_back({"--lab-count", count_main}), true);

/// As words for valgrind, which looks for itself and is wrong on virtual machines. Sizes are rounded
/// down to powers of two, which its caches have. A cache that the system does not tell is valgrind's.
std::vector<std::string> caches_of_this_machine() {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    for (const cache_facts& c : look_at_machine().caches) {
        if (c.level == 1 && c.type == "Data") first = c.bytes;
        if (c.level > 1 && c.type == "Unified") last = std::max(last, c.bytes);
    }
    std::vector<std::string> words;
    if (first != 0) words.push_back("--D1=" + std::to_string(std::bit_floor(first)) + ",8,64");
    if (last != 0) words.push_back("--LL=" + std::to_string(std::bit_floor(last)) + ",16,64");
    return words;
}

/// Counts by the processor.
auto counted_by_hardware(const contender& who, const case_names& names, std::uint64_t repetitions) {
    return [make = who.make, names, repetitions] {
        return [work = make->make(), names, repetitions](sample& s) {
            hardware_counters watch;
            const std::uint64_t done = run_counted(*work, repetitions, watch);
            tell(s, names, watch.result(), done);
        };
    };
}

/// Runs this program with `words` below valgrind.
void count_by_valgrind(sample& s, const case_names& names, const std::vector<std::string>& words) {
    if (CAIRN_LAB_HAS_CALLGRIND == 0) {
        throw std::runtime_error{"valgrind's headers were not there at compile time"};
    }
    std::vector<std::string> all{
        "valgrind",         "--tool=callgrind",     "--cache-sim=yes",
        "--branch-sim=yes", "--collect-atstart=no", "--callgrind-out-file=/dev/null"};
    for (std::string& word : caches_of_this_machine()) all.push_back(std::move(word));
    all.push_back(own_program());
    all.insert(all.end(), words.begin(), words.end());
    const std::string text = output_of(all);
    const double operations = number_after(text, operations_word);
    const counts found = counts_of_report(text);
    if (operations <= 0 || found.instructions < 0) {
        throw std::runtime_error{"valgrind counted nothing"};
    }
    tell(s, names, found, static_cast<std::uint64_t>(operations));
}

void say_why_nothing_counts(experiment& e) {
    if (e.how.find("hardware counters") != std::string::npos) return;
    e.how += std::string{e.how.empty() ? "" : " "} +
             "Cache misses and instructions: no hardware counters, " + why_no_hardware_counters() +
             (has_valgrind ? "; --full and --cachegrind simulate them with valgrind." : ".");
}

}  // namespace

bool processor_counts() { return why_no_hardware_counters().empty(); }

void add_counts(experiment& e, const comparison& c, std::uint64_t repetitions) {
    const bool is_counted = processor_counts();
    // Valgrind finds a case by its name, in a program of its own.
    const bool is_found =
        std::ranges::any_of(e.comparisons, [&](const auto& x) { return &x == &c; });
    const bool simulated = e.options().cachegrind || (e.options().full && !is_counted && is_found &&
                                                      has_valgrind && is_on_path("valgrind"));
    if (!simulated && !is_counted) return say_why_nothing_counts(e);
    const case_names names{c.name};
    const std::size_t stroke = c.options.unit.find('/');
    const std::string operation =
        stroke == std::string::npos ? "/op" : c.options.unit.substr(stroke);
    const auto options = [&](const char* what) {
        return case_options{.unit = what + operation,
                            .measure = measure::value,
                            .weight = 0.05,
                            .one_sample = true,
                            .time_limits = simulated ? 10.0 : 1.0,
                            .compares = false};
    };
    comparison& counted = e.compare(names.instructions, options("instructions"));
    for (const contender& who : c.contenders) {
        if (!who.malloc_library.empty() && who.malloc_library != name_of_system_malloc()) continue;
        if (!simulated) {
            counted.add(who.kind, who.name, counted_by_hardware(who, names, repetitions));
            continue;
        }
        const std::vector<std::string> words{"--lab-count",
                                             e.name,
                                             c.name,
                                             who.name,
                                             std::to_string(repetitions),
                                             e.options().full ? "full" : "quick"};
        counted.add(who.kind, who.name,
                    [=] { return [=](sample& s) { count_by_valgrind(s, names, words); }; });
    }
    e.also(counted, names.first_level, options("misses"));
    e.also(counted, names.last_level, options("misses"));
    e.also(counted, names.branches, options("misses"));
}

}  // namespace lab
