// What the choosing table promises about the rows and cases that it looks at.
#include <string>
#include <vector>

#include "tests/lab/choosing/made_up.hpp"

namespace choosing_tests {

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

void patterns() {
    const covered threads{"threads", {"* threads", "producer and consumer"}};
    check(covers(threads, "threads", "pair, 2 threads") &&
              covers(threads, "threads", "batches of 1000, 16 threads") &&
              covers(threads, "threads", "producer and consumer"),
          "a star stands for any text");
    check(!covers(threads, "threads", "pair, 1 thread") &&
              !covers(threads, "threads", "memory of 2 threads, peak") &&
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

}  // namespace choosing_tests
