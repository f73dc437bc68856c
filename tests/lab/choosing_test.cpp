// What the choosing table promises, over made-up results. A plain program: the lab needs no gtest.
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/harness/registry.hpp"
#include "lab/output/choosing.hpp"
#include "lab/output/output.hpp"
#include "lab/output/summary.hpp"

namespace lab {

// What the lab found out when it was configured and when it started, for the reports.
const std::vector<peer_status>& peers() {
    static const std::vector<peer_status> none;
    return none;
}
const build_facts& this_build() {
    static const build_facts facts{"a compiler", "-O3"};
    return facts;
}

}  // namespace lab

namespace {

using namespace lab;

int failures = 0;

void check(bool ok, const std::string& promise, const std::string& instead = {}) {
    if (ok) return;
    std::printf("FAILED: %s%s%s\n", promise.c_str(), instead.empty() ? "" : ": ", instead.c_str());
    ++failures;
}

bool near(double a, double b) { return std::abs(a - b) < 1e-9 * std::abs(b); }
bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

struct figure_of {
    const char* name;
    double median;
    lab::kind kind = kind::peer;
};
constexpr kind ours = kind::cairn;

/// Nine rounds that all gave the same figure.
case_result made_up(const char* name, const std::vector<figure_of>& rows, case_options o = {}) {
    case_result c;
    c.name = name;
    c.options = std::move(o);
    c.lives.assign(9, 0);
    for (const figure_of& f : rows) {
        contender_result r;
        r.name = f.name;
        r.kind = f.kind;
        r.samples.assign(9, f.median);
        r.figures = summarize(r.samples);
        c.contenders.push_back(std::move(r));
    }
    if (const contender_result* const peer = best_row(c, kind::peer); peer != nullptr) {
        c.best_peer = peer->name;
        for (contender_result& r : c.contenders) {
            if (r.kind != ours || !c.options.compares) continue;
            const verdict v = verdict_between(c, r, *peer);
            r.best_peer_verdict = v == verdict::faster   ? "faster"
                                  : v == verdict::slower ? "slower"
                                                         : "no difference";
        }
    }
    return c;
}

run_result run_of(const char* experiment, std::vector<case_result> cases) {
    run_result run;
    run.experiments.push_back({.name = experiment, .question = "?", .cases = std::move(cases)});
    return run;
}

choice judged(const run_result& run, const need& n) {
    const std::vector<choice> lines = choosing(run, {n});
    check(lines.size() == 1, "a need with measured cases has its line");
    return lines.empty() ? choice{.cases = {judged_case{}}} : lines.front();
}

choice judged(std::vector<case_result> cases, std::vector<const char*> takers = {}) {
    return judged(
        run_of("pool", std::move(cases)),
        {"objects of one size, freed in any order", {{"pool", {"*"}}}, std::move(takers)});
}

void all_cases_judge() {
    const choice c = judged({made_up("pair", {{"pool", 2, ours}, {"boost", 1}, {"malloc", 8}}),
                             made_up("random", {{"pool", 4, ours}, {"boost", 16}, {"malloc", 20}}),
                             made_up("churn", {{"pool", 5, ours}, {"boost", 5}, {"malloc", 10}})});
    check(c.cases.size() == 3 && c.better == 1 && c.level == 1 && c.worse == 1,
          "every case that the words cover is judged");
    check(near(c.mean, std::cbrt(0.5 * 4 * 1)), "the mean of the ratios is geometric");
    check(c.worst == 0.5 && c.worst_of().name == "pair" && c.worst_of().peer == "boost",
          "the worst ratio has its case and its peer");
    check(c.rival == "boost" && near(c.rival_ratio, std::cbrt(2.0)) && c.rival_better == 1 &&
              c.rival_worse == 1,
          "the rival is the one peer that is cheapest over all cases");
    check(c.take == "pool" && c.advice == advice::take, "one case sends no user to a peer",
          advice_of(c));
    check(advice_of(c) ==
              "boost costs 1.26 x over all 3 cases; cheaper all the same: boost in pair (2.00 x)",
          "the case in which a peer is cheaper is named", advice_of(c));
    check(
        sentence_of(c) ==
            "For objects of one size, freed in any order, take pool: over all 3 cases the cheapest "
            "of the others, boost, costs 1.26 x; beside the best peer of each case the mean is "
            "1.26 x, the worst 0.50 x (boost in pair).",
        "the sentence has the mean and the worst", sentence_of(c));
    check(range_of(c) == "2.00 to 5.00 ns/op", "what it costs is a range", range_of(c));
}

void peers_win() {
    choice c = judged({made_up("pair", {{"pool", 2, ours}, {"boost", 1}}),
                       made_up("random", {{"pool", 4, ours}, {"boost", 2}}),
                       made_up("churn", {{"pool", 4, ours}, {"boost", 5}, {"malloc", 9}})});
    check(c.advice == advice::peer && near(1 / c.rival_ratio, std::cbrt(2 * 2 / 1.25)),
          "a peer that is cheaper over all cases, and in more of them, is what to take");
    check(advice_of(c) ==
              "boost is 1.47 x cheaper over all 3 cases: take that; pool is the cheapest in churn",
          "then the case in which cairn is the cheapest is named", advice_of(c));
    check(holds(sentence_of(c), "take boost: over all 3 cases pool costs 1.47 x; "),
          "the sentence sends to the peer", sentence_of(c));

    c = judged({made_up("pair", {{"pool", 10, ours}, {"boost", 1}}),
                made_up("random", {{"pool", 10, ours}, {"boost", 13}}),
                made_up("churn", {{"pool", 10, ours}, {"boost", 13}})});
    check(c.rival_ratio < 0.8 && c.advice == advice::depends,
          "a peer that wins one case by far and loses the others is not what to take",
          advice_of(c));
    check(holds(advice_of(c),
                "it depends: boost is dearer in 2 of 3 cases and cheaper in 1; "
                "cheaper all the same: boost in pair (10.0 x)"),
          "what it depends on is said", advice_of(c));

    c = judged({made_up("pair", {{"pool", 1, ours}, {"boost", 10}}),
                made_up("random", {{"pool", 13, ours}, {"boost", 10}}),
                made_up("churn", {{"pool", 13, ours}, {"boost", 10}})});
    check(c.rival_ratio > 1.2 && c.advice == advice::depends,
          "nor is cairn, where it wins one case by far and loses the others", advice_of(c));

    c = judged({made_up("pair", {{"pool", 2, ours}, {"boost", 1}, {"malloc", 8}}),
                made_up("random", {{"pool", 2, ours}, {"boost", 8}, {"malloc", 1}})});
    check(near(c.mean, 0.5) && near(c.rival_ratio, std::sqrt(2.0)) && c.advice == advice::take,
          "peers that win a case each are not one allocator", advice_of(c));
    check(holds(advice_of(c),
                "cheaper all the same: boost in pair (2.00 x), malloc in random (2.00 x)"),
          "but both are named", advice_of(c));

    c = judged({made_up("a", {{"pool", 3, ours}, {"boost", 1}}),
                made_up("b", {{"pool", 2, ours}, {"boost", 1}}),
                made_up("c", {{"pool", 4, ours}, {"boost", 1}}),
                made_up("d", {{"pool", 5, ours}, {"boost", 1}}),
                made_up("e", {{"pool", 1, ours}, {"boost", 999}, {"malloc", 999}}),
                made_up("f", {{"pool", 1, ours}, {"boost", 999}}),
                made_up("g", {{"pool", 1, ours}, {"boost", 999}}),
                made_up("h", {{"pool", 1, ours}, {"boost", 999}})});
    check(holds(advice_of(c),
                "boost in d (5.00 x), boost in c (4.00 x), boost in a (3.00 x), and 1 more"),
          "three losses are named, the furthest first", advice_of(c));
}

void ties() {
    choice c = judged({made_up("pair", {{"pool", 2, ours}, {"boost", 2.05}}),
                       made_up("random", {{"pool", 4, ours}, {"boost", 3.9}})});
    check(c.advice == advice::tie && c.mean == 1 && c.worst == 1 && c.level == 2, "a tie is a tie");
    check(advice_of(c) == "boost: a tie over all 2 cases", "and is called one", advice_of(c));
    check(holds(sentence_of(c), "pool and boost are a tie over all 2 cases; "),
          "in the sentence, too", sentence_of(c));

    c = judged({made_up("mixed", {{"arena", 2.5, ours}, {"stack", 1.9}}, {.least_difference = 1}),
                made_up("near", {{"arena", 1, ours}, {"stack", 2}})});
    check(c.worst == 1 && near(c.mean, std::sqrt(2.0)) && c.level == 1,
          "what the instrument may add is no difference, whatever the quotient");
    check(near(c.cases[0].ratio, 1.9 / 2.5), "the quotient stands there as it was measured");

    c = judged({made_up("calls", {{"arena", 0, ours}, {"stack", 24}}, {.unit = "calls"}),
                made_up("near", {{"arena", 1, ours}, {"stack", 2}})});
    check(c.better == 2 && near(c.mean, std::sqrt(2.0)),
          "nothing beside something is better, by no factor");
    check(range_of(c).empty(), "figures of different units are no range");

    c = judged({made_up("a", {{"pool", 10, ours}, {"boost", 12}}),
                made_up("b", {{"pool", 12, ours}, {"boost", 10}})});
    check(c.advice == advice::depends && near(c.mean, 1),
          "as often cheaper as dearer, by as much, is no tie");

    c = judged({made_up("a", {{"pool", 10, ours}, {"boost", 10}}),
                made_up("b", {{"pool", 10, ours}, {"boost", 10}}),
                made_up("c", {{"pool", 11, ours}, {"boost", 10}})});
    check(c.advice == advice::tie &&
              advice_of(c) ==
                  "boost: a tie over all 3 cases; cheaper all the same: boost in c (1.10 x)",
          "a case that weighs little over all leaves a tie, and is named", advice_of(c));
}

void rows_that_are_taken() {
    std::vector<case_result> cases{
        made_up("first",
                {{"plain", 2.05, ours}, {"fancy", 2, ours}, {"special", 0.1, ours}, {"boost", 4}}),
        made_up("second", {{"plain", 3, ours}, {"fancy", 3, ours}, {"boost", 4}})};
    check(judged(cases).take == "plain", "of rows that tie the first declared is taken");
    check(judged(cases).cases.size() == 2,
          "a row that stands in one case alone does not meet the need");
    cases[1].contenders[0].samples.assign(9, 3.9);
    cases[1].contenders[0].figures = summarize(cases[1].contenders[0].samples);
    check(judged(cases).take == "fancy", "one row is taken, the cheapest over all cases");
    check(judged(cases, {"plain"}).take == "plain", "only those who meet the need are asked");
    cases[1].contenders[1].status = row_status::failed;
    check(judged(cases).take == "plain", "a row that crashed in a case is not taken");

    const need typed{"a need", {{"pool", {"second"}}}, {}, "cairn::heap"};
    check(judged(run_of("pool", {made_up("second", {{"50 us", 1, ours}, {"boost", 2}})}), typed)
                  .take == "cairn::heap (50 us)",
          "a row that is not called like its type says the type");

    choice c = judged({made_up("a", {{"pool", 2, ours}, {"ordered", 1}, {"boost", 3}}),
                       made_up("b", {{"pool", 2, ours}, {"boost", 3}}),
                       made_up("c", {{"pool", 2, ours}, {"boost", 3}})});
    check(c.rival == "boost" && c.worst_of().peer == "ordered",
          "a peer that stands in one case is no rival over all, and is the best of its case");

    c = judged({made_up("lines", {{"arena", 300, ours}, {"vector", 100}},
                        {.unit = "lines/s", .better = better::higher}),
                made_up("words", {{"arena", 300, ours}, {"vector", 600}},
                        {.unit = "words/s", .better = better::higher})});
    check(near(c.cases[0].ratio, 3) && near(c.worst, 0.5), "more lines a second cost less");

    c = judged({made_up("a", {{"plain", 2.2, ours}, {"fancy", 2, ours}, {"boost", 4}}),
                made_up("b", {{"plain", 3, ours}, {"fancy", 3, ours}, {"boost", 4}}),
                made_up("c", {{"plain", 3, ours}, {"fancy", 3, ours}, {"boost", 4}})});
    check(c.take == "plain", "what is hardly dearer over all cases, and declared first, is taken");

    c = judged({made_up("a", {{"pool", 2, ours}, {"boost", 9}}),
                made_up("b", {{"pool", 2, ours}, {"malloc", 9}}),
                made_up("c", {{"pool", 2, ours}, {"tbb", 9}})});
    check(c.rival.empty() && c.better == 3 && near(c.mean, 4.5),
          "a peer in a case of its own is no rival");
    check(advice_of(c) ==
              "better than every peer in 3 of 3 cases, worse in 0; no peer is in most of them",
          "which is said", advice_of(c));

    c = judged({made_up("a", {{"pool", 2, ours}, {"boost", 1}}),
                made_up("b", {{"pool", 2, ours}, {"malloc", 1}})});
    check(c.rival.empty() && c.advice == advice::depends && c.mean == 0.5,
          "peers of a case each cannot be taken instead, however cheap", advice_of(c));

    c = judged({made_up("a", {{"pool", 2, ours}, {"boost", 8}}),
                made_up("b", {{"pool", 2, ours}, {"boost", 8}}),
                made_up("c", {{"pool", 2, ours}, {"malloc", 1}})});
    check(c.rival == "boost" && c.rival_cases == 2 &&
              holds(advice_of(c), "boost costs 4.00 x over 2 of 3 cases; "),
          "a rival that is not in all cases says in how many", advice_of(c));

    case_result floor =
        made_up("noise floor", {{"pool", 1, ours}, {"boost", 9}}, {.compares = false});
    c = judged({floor, made_up("a", {{"pool", 2, ours}, {"boost", 3}})});
    check(c.cases.size() == 1 && c.cases[0].name == "a", "a noise floor decides nothing");
    c = judged({made_up("a", {{"pool", 2, ours}})});
    check(c.cases.size() == 1 && c.rival.empty() && advice_of(c).empty() && c.cases[0].peer.empty(),
          "where there is no peer nothing is compared");
    check(sentence_of(c) == "For objects of one size, freed in any order, pool costs 2.00 ns/op.",
          "and the figure is said", sentence_of(c));
    check(choosing(run_of("other", {floor}), {{"a need", {{"pool", {"*"}}}}}).empty(),
          "a need of which nothing was measured has no line");
}

void one_case() {
    const auto sentence = [](double mine, double other) {
        return sentence_of(judged({made_up("a", {{"pool", mine, ours}, {"boost", other}})}));
    };
    const std::string begin = "For objects of one size, freed in any order, pool costs ";
    check(
        sentence(2, 6) == begin + "2.00 ns/op; the best of the others, boost 6.00 ns/op (3.00 x).",
        "one case is said with its figures", sentence(2, 6));
    check(sentence(6, 2) == begin + "6.00 ns/op; boost is better at it: 2.00 ns/op (3.00 x).",
          "a peer that is better at it, too", sentence(6, 2));
    check(sentence(2, 2) == begin + "2.00 ns/op; so does, within the noise, boost 2.00 ns/op.",
          "and a tie", sentence(2, 2));
    check(judged({made_up("a", {{"pool", 6, ours}, {"boost", 2}})}).advice == advice::peer,
          "where there is one case, it decides");
}

void patterns() {
    const covered threads{"threads", {"* threads", "producer and consumer"}};
    check(covers(threads, "threads", "pair, 2 threads") &&
              covers(threads, "threads", "batches of 1000, 16 threads") &&
              covers(threads, "threads", "producer and consumer"),
          "a star stands for any text");
    check(!covers(threads, "threads", "pair, 1 thread") &&
              !covers(threads, "threads", "pair, 2 threads, depot operations per 1000") &&
              !covers(threads, "pool", "pair, 2 threads"),
          "and the rest is meant as it stands");
    check(covers({"heap", {"instructions, *allocate"}}, "heap", "instructions, allocate") &&
              covers({"heap", {"instructions, *allocate"}}, "heap", "instructions, deallocate"),
          "also for none");
    for (const need& n : needs()) {
        check(!n.where.empty(), "a need is measured somewhere", n.words);
        for (const covered& where : n.where)
            check(!where.cases.empty(), "and names cases there", n.words);
    }
    const run_result pool =
        run_of("pool", {made_up("pair 64 b", {{"cairn::pool", 2, ours}, {"boost::pool", 1}}),
                        made_up("random 64 b", {{"cairn::pool", 2, ours}, {"boost::pool", 8}}),
                        made_up("cold fill 1m", {{"cairn::pool", 2, ours}, {"boost::pool", 1}})});
    const std::vector<choice> lines = choosing(pool);
    check(lines.size() == 1 && lines[0].cases.size() == 2 && lines[0].advice == advice::take,
          "slots freed in any order are judged in every order, not by the first fill");
}

void furthest_behind() {
    const case_options known{.causes = {{"what Boost does", "boost"}, {"what all do"}}};
    run_result run = run_of("pool", {made_up("pair", {{"pool", 3, ours}, {"boost", 2}}, known),
                                     made_up("random", {{"pool", 1, ours}, {"boost", 2}}, known),
                                     made_up("churn", {{"pool", 3, ours}, {"malloc", 1}}, known),
                                     made_up("fill", {{"pool", 5, ours}, {"malloc", 4}})});
    const std::vector<case_result>& c = run.experiments[0].cases;
    check(reason_of(c[0]) == "what Boost does",
          "a cause that is one peer's is the reason beside that peer");
    check(reason_of(c[2]) == "what all do", "any other peer has the general one");
    check(reason_of(c[1]).empty(), "where cairn is ahead there is no reason to give");
    check(reason_of(c[3]).empty(), "where no cause is known none is given");
    const auto behind = [](const run_result& r) {
        for (const std::string& s : verdict_of(r)) {
            if (s.starts_with("It is furthest behind")) return s;
        }
        return std::string{};
    };
    check(behind(run) ==
              "It is furthest behind in pool (churn): pool 3.00 ns/op, malloc 1.00 ns/op (3.00 x). "
              "Why: what all do",
          "what it is furthest behind in has its reason", behind(run));
    check(verdict_of(run).size() <= 5, "in five sentences at most");
    check(holds(as_text(run.experiments[0], 80), "why boost is ahead: what Boost does\n"),
          "the table in the terminal says it", as_text(run.experiments[0], 80));
    check(holds(as_html(run), "Why malloc is ahead: what all do"), "the plain page says it");
    check(holds(as_markdown(run), "\nWhy boost is ahead in pair: what Boost does\n"),
          "Markdown says it");
    run.experiments[0].cases.erase(run.experiments[0].cases.begin() + 2);
    run.experiments[0].cases.erase(run.experiments[0].cases.begin());
    check(behind(run) ==
              "It is furthest behind in pool (fill): pool 5.00 ns/op, malloc 4.00 ns/op (1.25 x).",
          "an unknown cause is not invented", behind(run));
}

void reports() {
    run_result run =
        run_of("pool", {made_up("pair 64 b", {{"cairn::pool", 2, ours}, {"boost|pool", 1}},
                                {.causes = {{"its head is renamed"}}}),
                        made_up("random 64 b", {{"cairn::pool", 2, ours}, {"boost|pool", 8}})});
    const auto j = nlohmann::json::parse(as_json(run));
    const auto& line = j.at("choosing").at(0);
    check(line.at("advice") == "take" && near(line.at("mean"), std::sqrt(2.0)) &&
              line.at("worst") == 0.5 && line.at("worst_case") == 0 && line.at("better") == 1 &&
              line.at("level") == 0 && line.at("worse") == 1,
          "the JSON has mean, worst and counts");
    check(line.at("rival") == "boost|pool" && near(line.at("rival_ratio"), std::sqrt(2.0)) &&
              line.at("cases").size() == 2 && line.at("cases")[1].at("ratio") == 4,
          "the rival, and each case");
    check(line.at("words") == advice_of(choosing(run)[0]) && line.at("range") == "2.00 ns/op",
          "and the words of the terminal");
    check(line.at("experiment") == "pool" && line.at("case") == "pair 64 b" &&
              line.at("figure") == 2 && line.at("instead") == "boost|pool" &&
              line.at("other") == 1 && line.at("ratio") == 0.5 && line.at("verdict") == "slower",
          "the first case stands there as in older reports");
    const auto& cases = j.at("experiments")[0].at("cases");
    check(cases[0].at("reason") == "its head is renamed" && cases[1].at("reason") == "",
          "a case has its reason");
    const std::string text = summary_as_text(run);
    check(holds(text, "objects of one size, freed in any order") &&
              holds(text, "1.41 x, 0.50 x\n") &&
              holds(text,
                    "\n      boost|pool costs 1.41 x over all 2 cases; cheaper all the same: "
                    "boost|pool in pair 64 b (2.00 x)\n"),
          "the terminal shows mean and worst, and the advice below", text);
    check(holds(as_markdown(run),
                "| objects of one size, freed in any order | `cairn::pool` | 2 | 2.00 ns/op | 1.41 "
                "x, 0.50 x | "
                "boost\\|pool costs 1.41 x"),
          "Markdown keeps its columns", as_markdown(run));
}

}  // namespace

int main() {
    all_cases_judge();
    peers_win();
    ties();
    rows_that_are_taken();
    one_case();
    patterns();
    furthest_behind();
    reports();
    if (failures == 0) std::printf("all promises hold\n");
    return failures == 0 ? 0 : 1;
}
