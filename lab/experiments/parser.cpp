// lab/experiments/parser.cpp - the parser article: what do the small vectors of a syntax tree cost?
//
// A lexer and a parser for a small language run over 45,000 lines. The tree is one std::vector of
// nodes; calls, blocks and lambdas hold small vectors of child indices, and only what those are made
// of differs. A parse ends when its tree is gone again. All contenders must build the same tree: its
// hash is compared.

#include "lab/parser/parser.hpp"
#include "lab/harness/experiment.hpp"
#include "lab/parser/lists.hpp"
#include "lab/parser/source.hpp"
#include "lab/peers/offers.hpp"
#include "lab/system/system.hpp"

namespace {

using namespace lab::parser;

constexpr std::size_t article_lines = 45'000;

template <class Lists>
struct parse_work {
    std::string source = generate_source(article_lines);
    Lists lists;
    tree<typename Lists::children> t;
    std::uint64_t lines = count_lines(source);
    std::uint64_t hash = 0;

    parse_work() {
        t.nodes.reserve(source.size() / 3 + 16);  // more than a node per three bytes does not occur
        t.roots.reserve(lines + source.size() / 16);
    }
    void forget() {
        t.nodes.clear();
        t.roots.clear();
        lists.reset();
    }
    void operator()(lab::sample& s) {
        if (hash == 0) {
            if (!parser<Lists>{source, lists, t}.parse()) std::abort();
            hash = hash_of(t, source);
            forget();
        }
        s.timed([&] {
            s.repeat(lines, [&] {
                parser<Lists>{source, lists, t}.parse();
                lab::clobber();
                forget();
            });
        });
        s.checksum(hash);
    }
};

/// What the parser article prints for one of its two runs.
struct article_run {
    double mean, stddev, median, min, max;
};
constexpr article_run with_new{743330.5597410172, 34344.25696097658, 754604.3441733645,
                               536969.7721816247, 786140.1740339646};
constexpr article_run with_arena{835976.9678164988, 49118.10943593509, 852703.9241434588,
                                 597588.9278723443, 900126.0176424698};

void publish(lab::contender* who, const article_run& run) {
    if (who == nullptr) return;
    const std::string source = "parser article (45,000 lines, 300 times, machine not named)";
    who->published(run.median, "lines/s", source)
        .published(run.mean, "lines/s", source, "mean")
        .published(run.stddev, "lines/s", source, "stddev")
        .published(run.min, "lines/s", source, "min")
        .published(run.max, "lines/s", source, "max");
}

/// The share of calls of malloc and free in a parse: the time saved with a warm bump in their
/// place, parse by parse.
struct share_of_new {
    parse_work<vector_lists> with_malloc;
    parse_work<bump_lists> with_bump;

    void operator()(lab::sample& s) {
        const auto time_of = [](auto& work) {
            lab::sample timed{1};
            work(timed);
            return static_cast<double>(timed.elapsed_ns());
        };
        const double all = time_of(with_malloc);
        s.value(100 * (all - time_of(with_bump)) / all);
    }
};

/// The parse itself, with each kind of small vector.
lab::comparison& add_speed(lab::experiment& e) {
    lab::comparison& c = e.compare("lines per second", {.unit = "lines/s",
                                                        .better = lab::better::higher,
                                                        .measure = lab::measure::ops_per_second,
                                                        .weight = 30,
                                                        .equal_checksums = true,
                                                        .one_repetition = true,
                                                        .quick_samples = 40,
                                                        .full_samples = 300,
                                                        .show_spread = true});
    c.mallocs(lab::made<parse_work<vector_lists>>());
    publish(c.row(lab::name_of_system_malloc()), with_new);
    c.peer("std::pmr::monotonic", lab::made<parse_work<pmr_lists>>());
    c.peer("std::pmr::monotonic, warm buffer", lab::made<parse_work<pmr_buffer_lists>>());
    c.cairn("cairn::std_allocator on growing_arena", lab::made<parse_work<cairn_vector_lists<>>>());
    c.cairn("cairn::std_allocator on monotonic<growing_arena>",
            lab::made<parse_work<cairn_vector_lists<cairn::monotonic<coalescing_arena>>>>());
    c.cairn("cairn::growing_arena and builder", lab::made<parse_work<cairn_builder_lists>>());
    lab::offers<lab::kinds::small_vectors<node_index>>([&]<class Vector>(const char* name) {
        c.peer(name, lab::made<parse_work<lists_of<Vector>>>());
    });
    publish(&c.baseline("the article's arena", lab::made<parse_work<article_lists>>()), with_arena);
    return c;
}

void add_speed_up(lab::experiment& e, const lab::comparison& speed) {
    lab::comparison& ratio =
        e.relative(speed, std::string{"speed-up over "} + lab::name_of_system_malloc(),
                   lab::name_of_system_malloc());
    for (const char* name : {"the article's arena", "cairn::std_allocator on growing_arena",
                             "cairn::std_allocator on monotonic<growing_arena>"}) {
        ratio.publish(name, with_arena.median / with_new.median, "x",
                      "parser article, arena over new, medians");
    }
}

void add_share_of_new(lab::experiment& e) {
    lab::comparison& c =
        e.compare("share of the parse that is new and delete", {.unit = "% of time",
                                                                .measure = lab::measure::value,
                                                                .weight = 4,
                                                                .quick_samples = 15,
                                                                .compares = false});
    c.mallocs(lab::made<share_of_new>());
    if (lab::contender* const who = c.row(lab::name_of_system_malloc())) {
        who->published(25, "% of time", "parser article, by a profiler")
            .note("malloc and free, and what they cost the caches; the article counts new alone");
    }
}

const lab::registration parser_experiment{
    "parser",
    "How many lines a second does a real parser reach, and what do its small vectors cost?",
    [](lab::experiment& e) {
        e.quick_seconds = 12;
        e.full_seconds = 120;
        add_speed_up(e, add_speed(e));
        add_share_of_new(e);
    }};

}  // namespace
