// lab/harness/experiment.hpp - what an experiment is: a question, cases, and who competes in them.
//
//      experiment "temporary-objects"  "What does a frame of 1000 temporary objects cost?"
//        comparison "mixed"       one table: unit, which direction is better
//          contender "bump-up"        limit      the shortest hand-written loop
//          contender "cairn::arena"   cairn
//          contender "mimalloc"       peer       what a user would pick instead
//          contender "mutex list"     baseline   a seed's design, written in the lab
//
// An experiment is one file lab/experiments/<name>.cpp and one word in lab/CMakeLists.txt:
//
//      const lab::registration temporaries{"temporary-objects", "What does ... cost?", [](lab::experiment& e) {
//          lab::comparison& pairs = e.compare("pair");
//          pairs.cairn("cairn::pool", lab::repeated_on(1, lab::made<cairn::pool>(64), [](auto& p) {
//              p.deallocate(p.allocate());
//          }));
//          pairs.mallocs(lab::repeated(1, [] { ...malloc, free... }));
//      }};
//
// Each contender runs in a process of its own (lab/harness/worker.hpp), commanded sample by sample,
// so that rounds interleave and a crash, a hang or another malloc costs only its own row.
//
// The registering function runs in every process: keep it cheap, build heavy things in factories,
// and let it depend on nothing but e.options().
#pragma once

// The standard headers that nearly every experiment uses; one that needs others includes them.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "lab/harness/sample.hpp"

namespace lab {

enum class kind { cairn, peer, limit, baseline };
enum class better { lower, higher };

/// What the number of a case is.
enum class measure {
    time_per_op,     ///< time / operations; the unit's first letters scale it: ns us ms s cycles
    ops_per_second,  ///< operations / time
    value            ///< whatever sample::value() said: bytes, counts, percent
};

struct experiment_result;

/// Why cairn is behind in a case, where that is known: a fact that was measured, not a guess. Shown
/// only in runs in which cairn is behind a peer whose name begins with `peer` (empty: any).
struct cause {
    const char* why;
    const char* peer = "";
};

struct case_options {
    std::string unit = "ns/op";
    lab::better better = lab::better::lower;
    lab::measure measure = lab::measure::time_per_op;
    double weight = 1;             ///< share of the experiment's time budget
    bool many_per_cycle = false;   ///< one operation may be less than one turn of an empty loop
    bool equal_checksums = false;  ///< all contenders must produce the same result
    bool one_sample = false;       ///< the value is exact: no need to repeat
    bool exact = false;            ///< a count, whatever runs beside it: all rows at once
    bool unpinned = false;         ///< contenders run threads of their own
    bool one_repetition = false;   ///< a sample is exactly one repetition, however short
    unsigned quick_samples = 0;    ///< at most so many samples in a quick run (0: the usual)
    unsigned full_samples = 0;     ///< at least so many samples in --full (0: the usual)
    double time_limits = 1;        ///< a sample may take so many of the run's time limits
    bool compares = true;          ///< false: a floor or a label, of which nobody is better
    double least_difference = 0;   ///< in `unit`: nearer than this is no difference
    double most_possible = 0;   ///< a figure above it is suspect: speed-up by more than the threads
    bool show_spread = false;   ///< the terminal shows mean, standard deviation and maximum too
    std::vector<cause> causes;  ///< the first that fits the best peer is the reason
};

/// What runs in a contender's process: built once, then sampled many times.
struct body {
    virtual ~body() = default;
    virtual void run(sample& s) = 0;
};

/// (A class of its own: a std::function for each of two thousand rows costs seconds of compiling.)
struct body_maker {
    virtual ~body_maker() = default;
    virtual std::unique_ptr<body> make() = 0;
};
using body_factory = std::shared_ptr<body_maker>;

/// Wraps a function that returns a callable (sample&) -> void; the callable need not be movable.
template <class Factory>
[[nodiscard]] body_factory make_body_factory(Factory factory) {
    using callable = std::invoke_result_t<Factory&>;
    static_assert(std::is_invocable_v<callable&, sample&>,
                  "a factory returns a callable that takes a lab::sample&");
    struct holder final : body {
        explicit holder(Factory& make) : work{make()} {}
        void run(sample& s) override { work(s); }
        callable work;
    };
    struct maker final : body_maker {
        explicit maker(Factory f) : factory{std::move(f)} {}
        std::unique_ptr<body> make() override { return std::unique_ptr<body>{new holder{factory}}; }
        Factory factory;
    };
    return std::unique_ptr<body_maker>{new maker{std::move(factory)}};
}

// ---- factories ----------------------------------------------------------------------------------

/// A Work, made of `args`: it is called with each sample.
template <class Work, class... Args>
[[nodiscard]] auto made(Args... args) {
    return [=] { return Work(args...); };
}

/// work() is one repetition of `operations` operations.
template <class Work>
[[nodiscard]] auto repeated(std::uint64_t operations, Work work) {
    return [=] { return [=](sample& s) mutable { s.repeat(operations, work); }; };
}

/// The same on a state that `make` made before: work(state), or work(state, sample) where only a part
/// of the repetition is timed. What it returns is the checksum.
template <class Make, class Work>
[[nodiscard]] auto repeated_on(std::uint64_t operations, Make make, Work work) {
    struct both {
        std::invoke_result_t<const Make&> state;
        Work work;
        std::uint64_t operations;
        void operator()(sample& s) {
            const auto once = [&] {
                if constexpr (std::is_invocable_v<Work&, decltype(state)&, sample&>) {
                    return work(state, s);
                } else {
                    return work(state);
                }
            };
            if constexpr (std::is_void_v<decltype(once())>) {
                s.repeat(operations, once);
            } else {
                std::uint64_t sum = 0;
                s.repeat(operations, [&] { sum = once(); });
                s.checksum(sum);
            }
        }
    };
    return [=] { return both{make(), work, operations}; };
}

/// A figure from a seed.
struct published_figure {
    double value;
    std::string unit;           ///< as the unit of a case: "cycles/pair" says what one operation is
    std::string source;         ///< which table, which system, which machine
    std::string of = "median";  ///< which figure of a row it stands beside: mean, stddev, min, max
};

struct contender {
    std::string name;
    lab::kind kind;
    body_factory make;
    std::string malloc_library;  ///< name in mallocs(), empty: does not matter which malloc it is
    std::vector<published_figure> published_figures;  ///< the first stands in the table
    std::string note_text;

    /// A figure from a seed, shown beside the measured one. Its unit names the operation of the case
    /// behind the stroke ("cycles/pair" beside "ns/pair"): tools/check_coverage.py compares them.
    contender& published(double value, std::string_view unit, std::string_view source,
                         std::string_view of = "median");
    contender& note(std::string_view text);
};

/// One table of an experiment ("case" in reports): contenders that do the same work. What declares rows
/// is cold: there are thousands of calls, and none of them is measured.
class comparison {
public:
    std::string name;
    case_options options;
    std::deque<contender> contenders;
    const comparison* measured_by = nullptr;  ///< set for a case that also() or relative() declared
    std::string relative_to;                  ///< set for a case that relative() declared

    [[gnu::cold]] contender& add_factory(lab::kind k, std::string_view contender_name,
                                         body_factory make);
    template <class Factory>
    [[gnu::cold]] contender& add(lab::kind k, std::string_view contender_name, Factory factory) {
        return add_factory(k, contender_name, make_body_factory(std::move(factory)));
    }
    template <class F>
    contender& cairn(std::string_view n, F f) {
        return add(kind::cairn, n, std::move(f));
    }
    template <class F>
    contender& peer(std::string_view n, F f) {
        return add(kind::peer, n, std::move(f));
    }
    template <class F>
    contender& limit(std::string_view n, F f) {
        return add(kind::limit, n, std::move(f));
    }
    template <class F>
    contender& baseline(std::string_view n, F f) {
        return add(kind::baseline, n, std::move(f));
    }

    /// The same code (malloc, new, std containers) once per malloc library that is installed:
    /// "glibc", "mimalloc", "jemalloc", "tcmalloc", "tbbmalloc", followed by `suffix`.
    template <class F>
    void mallocs(F factory, std::string_view suffix = {}) {
        add_mallocs(make_body_factory(std::move(factory)), suffix);
    }
    [[gnu::cold]] void add_mallocs(body_factory make, std::string_view suffix = {});

    /// A contender that runs with one malloc library preloaded; it finds that library's own API
    /// with dlsym(RTLD_DEFAULT, ...). Not added where the library is absent.
    template <class F>
    void with_malloc(std::string_view library, std::string_view contender_name, F factory) {
        add_with_malloc(library, contender_name, make_body_factory(std::move(factory)));
    }

    /// A published figure for a row of a case that also() or relative() declared.
    void publish(std::string_view contender_name, double value, std::string_view unit,
                 std::string_view source);
    /// The row called `contender_name`; null where its library is absent.
    [[nodiscard]] contender* row(std::string_view contender_name);

private:
    [[gnu::cold]] void add_with_malloc(std::string_view library, std::string_view contender_name,
                                       body_factory make);
};

/// What the user asked for, as far as an experiment may care.
struct run_options {
    bool full = false;
    bool cachegrind = false;     ///< --cachegrind: caches are simulated too
    std::vector<unsigned> cpus;  ///< those we may run on
    [[nodiscard]] unsigned hardware_threads() const {
        return cpus.empty() ? 1u : static_cast<unsigned>(cpus.size());
    }
};

/// Thrown by a registering function when the user's input cannot be used. One sentence; the
/// experiment is skipped, the others run, and the command ends with exit code 2.
struct bad_input : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class experiment {
public:
    experiment(std::string n, std::string q, const run_options& o)
        : name{std::move(n)}, question{std::move(q)}, options_{&o} {}

    std::string name;
    std::string question;
    std::deque<comparison> comparisons;
    double quick_seconds = 6;  ///< the time budget; --full takes `full_seconds`
    double full_seconds = 50;
    /// It teaches something about machines or layouts; no allocator is chosen by it. Reports
    /// show it apart.
    bool background = false;
    std::string how;  ///< for the page: the special way in which this is measured
    /// What all contenders share and the registering function is too cheap for: called once, before
    /// the first of them starts, by the process that forks them; not timed. What it throws says in
    /// one sentence why the experiment is not run. (A process that is started anew has no part in
    /// it: with another malloc, and on Windows.)
    /// time_limit: the seconds that a sample may take.
    std::function<void(double time_limit)> set_up;
    /// For the page: what to take from it, in words with figures. Unset: made from the verdicts.
    std::function<std::string(const experiment_result&)> take;

    [[nodiscard]] const run_options& options() const noexcept { return *options_; }

    [[gnu::cold]] comparison& compare(std::string_view case_name, case_options o = {});

    /// A further table of the same run: its rows are those contenders of `of` that called
    /// sample::also(case_name, value). Measured at no extra cost.
    [[gnu::cold]] comparison& also(const comparison& of, std::string_view case_name,
                                   case_options o);

    /// A further table of the same run: every row of `of` divided by the median of one of them.
    /// Above 1 is better than that one, whatever the direction of `of`. No verdicts: those of `of`
    /// are the same.
    [[gnu::cold]] comparison& relative(const comparison& of, std::string_view case_name,
                                       std::string_view reference);

private:
    const run_options* options_;
};

/// Registers an experiment at start-up; the one object with static storage in an experiment's file.
struct registration {
    registration(std::string_view name, std::string_view question,
                 std::function<void(experiment&)> fill);
};

/// From the contender's own threads: binds the calling thread to the n-th processor we may use.
void pin_this_thread(unsigned n) noexcept;

}  // namespace lab
