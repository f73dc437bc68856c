// What the lab's parser, generator, statistics and counters promise. A plain program: the lab needs
// no gtest.
#include <cerrno>
#include <cstdio>
#include <string>

#include "lab/families/latency_tail.hpp"
#include "lab/harness/hardware_counters.hpp"
#include "lab/harness/message.hpp"
#include "lab/harness/statistics.hpp"
#include "lab/parser/lists.hpp"
#include "lab/parser/parser.hpp"
#include "lab/parser/source.hpp"

namespace {

using namespace lab::parser;

int failures = 0;

void check(bool ok, const std::string& promise) {
    if (ok) return;
    std::printf("FAILED: %s\n", promise.c_str());
    ++failures;
}

template <class Lists>
std::uint64_t hash(const std::string& source) {
    Lists lists;
    tree<typename Lists::children> t;
    check(parser<Lists>{source, lists, t}.parse(), "parses: " + source.substr(0, 60));
    return hash_of(t, source);
}

bool parses(const std::string& source) {
    vector_lists lists;
    tree<vector_lists::children> t;
    return parser<vector_lists>{source, lists, t}.parse();
}

std::string shape(const std::string& source) {  // kinds of nodes, children before parents
    vector_lists lists;
    tree<vector_lists::children> t;
    (void)parser<vector_lists>{source, lists, t}.parse();
    std::string s;
    for (const auto& n : t.nodes) s += "0aPIL?CXBF"[n.index()];
    return s;
}

void parser_promises() {
    check(shape("1;") == "0", "a number is a node");
    check(shape("a + b + c;") == "aaaI", "a chain of one operator is one node");
    check(shape("a + b * c;") == "aaaII", "the product binds closer");
    check(shape("(a + b) * c;") == "aaIaI", "parentheses bind closest");
    check(shape("a - b + c;") == "aaIaI", "different operators of one strength go left to right");
    check(shape("f(1, g(x), y)(z);") == "0aCaCaX",
          "calls nest, and what a call gives can be called");
    check(shape("let x = -!y;") == "aPPL", "prefix operators nest");
    check(shape("{ let a = 1; f(); a };") == "0LCaB",
          "the last expression of a block is its value");
    check(shape("{};") == "B" && shape("f();") == "C", "lists may be empty");
    check(shape("fn(a, b) a + b;") == "aaaaIF", "a lambda has parameters and a body");
    check(shape("if (a < 1) b else c;") == "a0Iaa?", "a choice has three parts");
    check(shape("# nothing\n a; # more\n") == "a", "comments are skipped");
    check(shape("iff; lets; fnord; elsewhere; els;") == "aaaaa", "keywords are whole words");
    check(shape("a_name_that_is_longer_than_sixteen_bytes_and_thirty_two_too;") == "a",
          "words may be long");

    for (const char* const text :
         {"f(1, 2;", "a +\n  ;", "let = 3;", "a", "{ a b }", "a | b;", "(a;"}) {
        check(!parses(text), std::string{"is refused: "} + text);
    }

    const std::string source = generate_source(3000);
    check(count_lines(source) == 3000, "the generator makes as many lines as it is asked for");
    check(source == generate_source(3000), "the generator is deterministic");
    check(source != generate_source(3000, 2), "another seed is another source");
    check(parses(source), "the generated source parses");
    const std::uint64_t h = hash<vector_lists>(source);
    check(h == hash<pmr_lists>(source), "pmr builds the same tree");
    check(h == hash<article_lists>(source), "the article's arena builds the same tree");
    check(h == hash<cairn_vector_lists<>>(source), "std_allocator builds the same tree");
    check(h == hash<cairn_builder_lists>(source), "builders build the same tree");
    check(h != hash<vector_lists>(source + "1;"), "another tree has another hash");
}

void statistics_promises() {
    const double five[] = {5, 1, 4, 2, 3};
    const lab::summary s = lab::summarize(five);
    check(s.median == 3 && s.min == 1 && s.max == 5 && s.mean == 3, "median, min, max, mean");
    check(s.ci_low == 1 && s.ci_high == 5, "few samples: the interval is the whole range");
    double many[101];
    for (int i = 0; i != 101; ++i) many[i] = i;
    const lab::summary t = lab::summarize(many);
    check(t.ci_low > 38 && t.ci_low < 42 && t.ci_high > 58 && t.ci_high < 62,
          "the interval of 101 samples spans about twenty ranks");
    check(t.ci_low + t.ci_high == 100, "the interval is as wide on either side");
    const struct {
        unsigned samples;
        double low;
    } ranks[] = {{5, 0}, {6, 0}, {8, 0}, {9, 1}, {11, 1}, {12, 2}, {15, 3}, {41, 13}};
    for (const auto& [n, low] : ranks) {  // tables of the sign test
        const lab::summary some = lab::summarize({many, n});
        check(
            some.ci_low == low && some.ci_high == n - 1 - low,
            "the interval of " + std::to_string(n) + " samples leaves out what the binomial says");
    }
}

void verdict_promises() {
    using lab::verdict;
    const unsigned lives[] = {0, 0, 0, 1, 1, 1};
    const double calm[] = {10, 10, 10, 10, 10, 10};
    const double near[] = {10.2, 10.1, 10.3, 10.2, 10.1, 10.3};
    const double twice[] = {20, 20, 21, 20, 19, 20};
    check(lab::compare_rounds(near, calm, lives, 0.05) == verdict::no_difference,
          "what lies below the threshold is no difference");
    check(lab::compare_rounds(calm, twice, lives, 0.05) == verdict::faster, "less is faster");
    check(lab::compare_rounds(twice, calm, lives, 0.05) == verdict::slower, "more is slower");
    check(lab::compare_rounds({}, calm, lives, 0.05) == verdict::no_difference,
          "nothing measured is no verdict");
    const double drift[] = {10, 40, 20, 80, 11, 30};
    const double drift_and_a_tenth[] = {11, 44, 22, 88, 12.1, 33};
    check(lab::compare_rounds(drift_and_a_tenth, drift, lives, 0.05) == verdict::slower,
          "what slows a whole round does not hide a difference");
    const double lucky[] = {8, 8, 8, 10.1, 10, 10.1};
    check(lab::compare_rounds(lucky, calm, lives, 0.05) == verdict::no_difference,
          "what only one life shows is no difference");
    check(lab::compare_rounds(calm, twice, lives, 0.05, 11) == verdict::no_difference,
          "what lies below the least difference is none, however many times it is");
    check(lab::compare_rounds(calm, twice, lives, 0.05, 9) == verdict::faster,
          "what lies above is");
    const unsigned one_life[] = {0, 0, 0};
    const double disturbed[] = {30, 10, 10};
    const double three[] = {20, 20, 20};
    check(lab::compare_rounds(disturbed, three, one_life, 0.05) == verdict::faster,
          "of three rounds one may be disturbed");
    double ten[10];
    double ten_less[10];
    for (int i = 0; i != 10; ++i) ten[i] = 20, ten_less[i] = i < 2 ? 21 : 10;
    const unsigned of_ten[10] = {};
    check(lab::compare_rounds(ten_less, ten, of_ten, 0.05) == verdict::no_difference,
          "where the interval of the ratio holds 1 there is no difference");
    ten_less[0] = 10;
    check(lab::compare_rounds(ten_less, ten, of_ten, 0.05) == verdict::faster,
          "where it does not there is");
    const double nothing[] = {0, 0, 0, 0, 0, 0};
    check(lab::compare_rounds(nothing, calm, lives, 0.05) == verdict::faster,
          "no cost at all is faster than some");
    check(lab::compare_rounds(nothing, nothing, lives, 0.05) == verdict::no_difference,
          "nothing and nothing are level");
}

void tail_promises() {
    lab::latency_tail tail{3};
    const auto replay = [&](std::uint64_t a, std::uint64_t b, std::uint64_t c) {
        tail.saw(0, a);
        tail.saw(1, b);
        tail.saw(2, c);
        tail.end_replay();
    };
    lab::sample s{1};
    replay(1'000'000, 10'000, 30'000);
    tail.report(s, "x");
    const double slowest = tail.of_least(1);
    replay(1'000'000, 2'000'000, 20'000);
    tail.report(s, "x");
    check(tail.of_least(1) == slowest, "an operation that is slow in every replay stays slow");
    check(tail.of_least(0) < slowest / 90, "one that is slow in some replays does not");
    tail.draw(s, "x", true);
    check(s.plots().size() == 2, "two curves");
    for (const lab::series& curve : s.plots()) {
        bool falls = curve.points.size() > 1;
        for (std::size_t i = 1; i < curve.points.size(); ++i) {
            falls = falls && curve.points[i].first > curve.points[i - 1].first &&
                    curve.points[i].second < curve.points[i - 1].second;
        }
        check(falls, "the share that is slower falls with the time");
    }
}

// ---- counters --------------------------------------------------------------------------------

struct seen_intervals final : lab::interval_watch {
    int begun = 0, ended = 0;
    void begins() noexcept override { ++begun; }
    void ends() noexcept override { ++ended; }
};

void counter_promises() {
    const lab::counts c = lab::counts_of_report(
        "==9== Collected : 12\n==9== I   refs:      1,234,567\n"
        "==9== D   refs:        400,000  (300,000 rd + 100,000 wr)\n"
        "==9== D1  misses:       12,345  ( 12,000 rd +     345 wr)\n"
        "==9== LLd misses:            7  (      7 rd +       0 wr)\n"
        "==9== Mispredicts:      1,024  (  1,000 cond +      24 ind)\n");
    check(c.instructions == 1'234'567 && c.first_level_misses == 12'345 &&
              c.last_level_misses == 7 && c.branch_misses == 1'024,
          "a report of valgrind is read, commas and all");
    const lab::counts none = lab::counts_of_report("valgrind: not found\n");
    check(none.instructions < 0 && none.first_level_misses < 0 && none.last_level_misses < 0 &&
              none.branch_misses < 0,
          "what is no report counts nothing");
    check(lab::number_after("reads (12,000 rd", "(") == 12'000, "a number ends with its digits");
    check(lab::number_after("operations: none", "operations:") < 0, "words are no number");

    seen_intervals seen;
    lab::sample s{1};
    s.watch(&seen);
    s.start();
    check(seen.begun == 1 && seen.ended == 0, "a watch is told when what is timed begins");
    s.stop();
    s.start();
    s.stop();
    check(seen.begun == 2 && seen.ended == 2, "and when it ends, interval by interval");

    lab::hardware_counters counters;
    check(counters.available() == counters.why().empty(),
          "counters are there, or one sentence says why not");
    counters.begins();
    volatile unsigned sum = 0;
    for (unsigned i = 0; i != 100'000; ++i) sum = sum + i;
    counters.ends();
    const double few = counters.result().instructions;
    check(counters.available() ? few >= 200'000 : few < 0,
          "counters that are there count; others say that they do not");
    for (const int error : {EACCES, EPERM, ENOENT, ENOSYS, EMFILE}) {
        check(!lab::words_of_counter_error(error).empty(), "each refusal has its words");
    }
    check(lab::words_of_counter_error(EACCES) != lab::words_of_counter_error(ENOENT) &&
              lab::words_of_counter_error(ENOENT) != lab::words_of_counter_error(ENOSYS),
          "a refusal, a machine without counters and a kernel without the call are told apart");
}

}  // namespace

namespace {

// A process that is killed while it writes leaves the first bytes of a message. (Where a missing
// field was read as 0, 0 stood in the table.)
void message_promises() {
    const lab::message whole{lab::message::kind::sample,
                             "",
                             {.elapsed_ns = 81.5,
                              .operations = 64,
                              .checksum = ~std::uint64_t{0},
                              .has_value = true,
                              .value = -0.25,
                              .extras = {{"footprint", 1.5}},
                              .plots = {{"a", "x", "y", {{1, 2}, {3, 4}}}}}};
    const lab::message_bytes bytes = lab::bytes_of(whole);
    const lab::outcome read = lab::message_of(bytes).result;
    check(read.elapsed_ns == 81.5 && read.operations == 64 && read.checksum == ~std::uint64_t{0} &&
              read.has_value && read.value == -0.25 && read.extras == whole.result.extras &&
              read.plots.size() == 1 && read.plots[0].points == whole.result.plots[0].points,
          "a message says all that it was told");
    for (std::size_t size = 0; size != bytes.size(); ++size) {
        const lab::message m = lab::message_of({bytes.begin(), bytes.begin() + size});
        check(m.is == lab::message::kind::cut && m.why.find("cut") != std::string::npos,
              "a message that ends after " + std::to_string(size) + " bytes is cut");
    }
    lab::message_bytes longer = bytes;
    longer.push_back(0);
    check(lab::message_of(longer).is == lab::message::kind::cut, "what follows is no message");
    check(lab::message_of({0xa0}).is == lab::message::kind::cut, "no field is left out");
}

}  // namespace

int main() {
    message_promises();
    parser_promises();
    statistics_promises();
    verdict_promises();
    tail_promises();
    counter_promises();
    if (failures == 0) std::printf("all promises hold\n");
    return failures == 0 ? 0 : 1;
}
