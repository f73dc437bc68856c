// What the choosing table promises about its advice: when to take a peer, and when it depends.
#include <cmath>
#include <string>

#include "tests/lab/choosing/made_up.hpp"

namespace choosing_tests {

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

}  // namespace choosing_tests
