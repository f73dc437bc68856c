// lab/experiments/parser.cpp - the parser article: what do the small vectors of a syntax tree cost?
//
// A lexer and a parser for a small language run over 45,000 lines, or over the user's file. The tree
// is one std::vector of nodes; calls, blocks and lambdas hold small vectors of child indices, and
// only what those are made of differs. A parse ends when its tree is gone again. All contenders
// must build the same tree: its hash is compared.

#include "lab/parser/parser.hpp"
#include "lab/harness/experiment.hpp"
#include "lab/parser/lists.hpp"
#include "lab/parser/source.hpp"
#include "lab/system/system.hpp"

namespace {

using namespace lab::parser;

constexpr std::size_t article_lines = 45'000;

std::string source_for(const std::string& path) {
    return path.empty() ? generate_source(article_lines) : read_source(path);
}

template <class Lists>
struct parse_work {
    padded_source text;
    std::string_view source = text.view();
    Lists lists;
    tree<typename Lists::children> t;
    std::uint64_t lines = count_lines(source);
    std::uint64_t hash = 0;

    explicit parse_work(const std::string& path) : text{source_for(path)} {
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
            parser<Lists>{source, lists, t}.parse();
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

// ---- counting: requests to the allocator, and its requests to malloc ------------------

struct counters {
    std::uint64_t calls = 0, bytes = 0, live = 0, peak = 0;
    void took(std::size_t size) {
        ++calls;
        bytes += size;
        live += size;
        peak = live > peak ? live : peak;
    }
    void gave(std::size_t size) { live -= size; }
};
counters lists_asked;   // by vectors and builders
counters malloc_asked;  // by the last allocator of the chain

/// Counts what goes through to malloc.
struct counted_malloc {
    void* allocate(std::size_t size, cairn::alignment align) noexcept {
        malloc_asked.took(size);
        return cairn::system_memory().allocate(size, align);
    }
    void deallocate(void* p, std::size_t size, cairn::alignment align) noexcept {
        malloc_asked.gave(size);
        cairn::system_memory().deallocate(p, size, align);
    }
};

class counted_resource : public std::pmr::memory_resource {
    void* do_allocate(std::size_t size, std::size_t align) override {
        malloc_asked.took(size);
        return std::pmr::new_delete_resource()->allocate(size, align);
    }
    void do_deallocate(void* p, std::size_t size, std::size_t align) override {
        malloc_asked.gave(size);
        std::pmr::new_delete_resource()->deallocate(p, size, align);
    }
    bool do_is_equal(const memory_resource& other) const noexcept override {
        return this == &other;
    }
};

/// Counts what vectors ask of `Inner`, an Allocator of the standard.
template <class T, class Inner>
struct counted_allocator {
    using value_type = T;
    Inner inner;
    explicit counted_allocator(Inner i) : inner{i} {}
    T* allocate(std::size_t n) {
        lists_asked.took(n * sizeof(T));
        return inner.allocate(n);
    }
    void deallocate(T* p, std::size_t n) noexcept {
        lists_asked.gave(n * sizeof(T));
        inner.deallocate(p, n);
    }
    friend bool operator==(const counted_allocator& a, const counted_allocator& b) {
        return a.inner == b.inner;
    }
};

struct counted_std : vector_lists {
    struct bottom {
        std::allocator<node_index> a;
        node_index* allocate(std::size_t n) {
            malloc_asked.took(n * sizeof(node_index));
            return a.allocate(n);
        }
        void deallocate(node_index* p, std::size_t n) {
            malloc_asked.gave(n * sizeof(node_index));
            a.deallocate(p, n);
        }
        bool operator==(const bottom&) const { return true; }
    };
    using children = std::vector<node_index, counted_allocator<node_index, bottom>>;
    children start() { return children{counted_allocator<node_index, bottom>{bottom{}}}; }
    children finish(children&& c) { return std::move(c); }
};

struct counted_pmr {
    using inner = std::pmr::polymorphic_allocator<node_index>;
    using children = std::vector<node_index, counted_allocator<node_index, inner>>;
    std::unique_ptr<counted_resource> upstream = std::make_unique<counted_resource>();
    std::unique_ptr<std::pmr::monotonic_buffer_resource> resource =
        std::make_unique<std::pmr::monotonic_buffer_resource>(upstream.get());
    children start() {
        return children{counted_allocator<node_index, inner>{inner{resource.get()}}};
    }
    children finish(children&& c) { return std::move(c); }
    void reset() { resource->release(); }
};

/// A growing_arena over counted malloc, itself counted.
struct counted_arena {
    counted_malloc bottom;
    cairn::growing_arena inner{
        std::size_t{1} << 20, bottom, {.on_reset = cairn::reset_policy::coalesce()}};
    counted_arena() = default;
    counted_arena(const counted_arena&) = delete;
    void* allocate(std::size_t size, cairn::alignment align) noexcept {
        lists_asked.took(size);
        return inner.allocate(size, align);
    }
    void deallocate(void* p, std::size_t size, cairn::alignment align) noexcept {
        lists_asked.gave(size);
        inner.deallocate(p, size, align);
    }
    bool try_resize(void* p, std::size_t from, std::size_t to, cairn::alignment align) noexcept {
        if (!inner.try_resize(p, from, to, align)) return false;
        lists_asked.live += to - from;
        return true;
    }
    std::size_t good_size(std::size_t size, cairn::alignment align) const noexcept {
        return inner.good_size(size, align);
    }
    void reset() { inner.reset(); }
};

constexpr const char* malloc_calls = "calls to malloc in one parse";
constexpr const char* bytes_asked = "bytes asked for in one parse";
constexpr const char* bytes_held = "most bytes held from malloc";

template <class Lists>
auto count(const std::string& path) {
    return [path] {
        return [path](lab::sample& s) {
            const padded_source text{source_for(path)};
            const std::string_view source = text.view();
            Lists lists;
            tree<typename Lists::children> t;
            lists_asked = {};
            malloc_asked = {};
            parser<Lists>{source, lists, t}.parse();
            t.nodes.clear();
            lists.reset();
            s.value(static_cast<double>(lists_asked.calls));
            s.also(bytes_asked, static_cast<double>(lists_asked.bytes));
            s.also(malloc_calls, static_cast<double>(malloc_asked.calls));
            s.also(bytes_held, static_cast<double>(malloc_asked.peak));
        };
    };
}

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
    explicit share_of_new(const std::string& path) : with_malloc{path}, with_bump{path} {}

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
lab::comparison& add_speed(lab::experiment& e, const std::string& path) {
    lab::comparison& c = e.compare("lines per second", {.unit = "lines/s",
                                                        .better = lab::better::higher,
                                                        .measure = lab::measure::ops_per_second,
                                                        .weight = 30,
                                                        .equal_checksums = true,
                                                        .one_repetition = true,
                                                        .quick_samples = 40,
                                                        .full_samples = 300,
                                                        .show_spread = true});
    c.mallocs(lab::made<parse_work<vector_lists>>(path));
    publish(c.row(lab::name_of_system_malloc()), with_new);
    c.peer("std::pmr::monotonic", lab::made<parse_work<pmr_lists>>(path));
    c.peer("std::pmr::monotonic, warm buffer", lab::made<parse_work<pmr_buffer_lists>>(path));
    c.cairn("cairn::std_allocator on growing_arena",
            lab::made<parse_work<cairn_vector_lists<>>>(path));
    c.cairn("cairn::std_allocator on monotonic<growing_arena>",
            lab::made<parse_work<cairn_vector_lists<cairn::monotonic<coalescing_arena>>>>(path));
    c.cairn("cairn::growing_arena and builder", lab::made<parse_work<cairn_builder_lists<>>>(path));
    c.limit("small vector of 8 inside the node", lab::made<parse_work<small_vector_lists>>(path));
    publish(&c.baseline("the article's arena", lab::made<parse_work<article_lists>>(path)),
            with_arena);
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

void add_share_of_new(lab::experiment& e, const std::string& path) {
    lab::comparison& c =
        e.compare("share of the parse that is new and delete", {.unit = "% of time",
                                                                .measure = lab::measure::value,
                                                                .weight = 4,
                                                                .quick_samples = 15,
                                                                .compares = false});
    c.mallocs(lab::made<share_of_new>(path));
    if (lab::contender* const who = c.row(lab::name_of_system_malloc())) {
        who->published(25, "% of time", "parser article, by a profiler")
            .note("malloc and free, and what they cost the caches; the article counts new alone");
    }
}

void add_counted_calls(lab::experiment& e, const std::string& path) {
    lab::comparison& c =
        e.compare("calls to the allocator in one parse",
                  {.unit = "calls", .measure = lab::measure::value, .one_sample = true});
    c.peer("std::vector on malloc", count<counted_std>(path));
    c.peer("std::pmr::monotonic", count<counted_pmr>(path));
    c.cairn("cairn::std_allocator on growing_arena",
            count<cairn_vector_lists<counted_arena>>(path));
    c.cairn("cairn::growing_arena and builder", count<cairn_builder_lists<counted_arena>>(path));
    e.also(c, malloc_calls, {.unit = "calls"});
    e.also(c, bytes_asked, {.unit = "bytes"});
    e.also(c, bytes_held,
           {.unit = "bytes",
            .causes = {{"Nothing is freed before the arena's reset: arrays that vectors have "
                        "outgrown stay, and each of its blocks is twice the last."}}});
}

const lab::registration parser_experiment{
    "parser",
    "How many lines a second does a real parser reach, and what do its small vectors cost?",
    [](lab::experiment& e) {
        const std::string path = e.options().source;
        if (!path.empty()) (void)read_source(path);  // throws bad_input
        e.quick_seconds = 12;
        e.full_seconds = 120;
        add_speed_up(e, add_speed(e, path));
        add_share_of_new(e, path);
        add_counted_calls(e, path);
    }};

}  // namespace
