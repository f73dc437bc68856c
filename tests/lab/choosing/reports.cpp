// What reports say of the choosing table.
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "lab/output/report_json.hpp"
#include "tests/lab/choosing/made_up.hpp"

namespace choosing_tests {

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
    check(holds(as_html(run), "Why malloc is ahead in churn: what all do"),
          "the plain page says it");
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
    const auto on_page = nlohmann::json::parse(as_json(run, true)).at("choosing").at(0);
    check(on_page.at("mean") == 1.41421 && on_page.at("figure") == 2 && line.at("mean") != 1.41421,
          "the page has six digits of a figure, the file has all");
    const std::string text = screen_of(json_of(run), "run.json");
    check(holds(text, "objects of one size, freed in any order") &&
              holds(text, " 1.41 x  0.50 x\n") &&
              holds(text, "every case: cairn lab --show run.json --against boost|pool"),
          "the screen at the end has the needs, and says how to compare", text);
    std::string beside;
    check(against(json_of(run), "BOOST|pool", beside) &&
              holds(beside, "2 cases: cairn better in 1, no different in 0, worse in 1\n") &&
              beside.find("pool: random 64 b") < beside.find("pool: pair 64 b"),
          "against one: every case, the best for cairn first", beside);
    check(!against(json_of(run), "nobody", beside) &&
              beside == "nobody is called 'nobody' in this run; there are: boost|pool",
          "whom nobody measured is said in one sentence", beside);
    check(family_of("mimalloc heap") == "mimalloc" && family_of("boost::pool") == "boost" &&
              family_of("std::vector<particle>") == "std::vector" &&
              family_of("std::pmr::monotonic") == "std::pmr" &&
              family_of("tbb::scalable_allocator") == "tbbmalloc" &&
              family_of("weak_ptr and shared_ptr") == "std::shared_ptr" &&
              family_of("deferred deletes, from the front") == "by hand",
          "a row belongs to a family");
    check(holds(as_markdown(run),
                "| objects of one size, freed in any order | `cairn::pool` | 2 | 2.00 ns/op | 1.41 "
                "x, 0.50 x | "
                "boost\\|pool costs 1.41 x"),
          "Markdown keeps its columns", as_markdown(run));
}

}  // namespace choosing_tests
