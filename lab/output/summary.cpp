#include "lab/output/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/output/choosing.hpp"
#include "lab/output/output.hpp"

namespace lab {

namespace {

std::string with_unit(double v, const std::string& unit) { return figure(v) + " " + unit; }

double median_noise(const run_result& run) {
    std::vector<double> noises;
    for (const experiment_result& e : run.experiments) {
        for (const case_result& c : e.cases) {
            if (c.noise > 0) noises.push_back(c.noise);
        }
    }
    if (noises.empty()) return 0;
    std::nth_element(noises.begin(),
                     noises.begin() + static_cast<std::ptrdiff_t>(noises.size() / 2), noises.end());
    return noises[noises.size() / 2];
}

}  // namespace

tally count_verdicts(const run_result& run) {
    tally t;
    for (const experiment_result& e : run.experiments) {
        for (const case_result& c : e.cases) {
            const contender_result* mine = cairn_row(c);
            if (mine == nullptr || mine->best_peer_verdict.empty()) continue;
            ++(mine->best_peer_verdict == "faster"   ? t.better
               : mine->best_peer_verdict == "slower" ? t.worse
                                                     : t.level);
        }
    }
    return t;
}

namespace {

/// A case in which cairn's row is worse than the best peer by `distance`.
struct lost_case {
    const case_result* c = nullptr;
    const experiment_result* where = nullptr;
    double distance = 1;
};

lost_case worst_of(const run_result& run) {
    lost_case worst;
    for (const experiment_result& e : run.experiments) {
        for (const case_result& c : e.cases) {
            const contender_result* mine = cairn_row(c);
            const contender_result* peer = best_row(c, kind::peer);
            if (mine == nullptr || peer == nullptr || mine->best_peer_verdict != "slower") continue;
            const double d = dearer(c, peer->figures.median, mine->figures.median);
            if (worst.c == nullptr || d > worst.distance) worst = {&c, &e, d};
        }
    }
    return worst;
}

/// Where not to take it.
std::string sentence_of(const lost_case& worst) {
    const case_result& c = *worst.c;
    const contender_result* const mine = cairn_row(c);
    const contender_result* const peer = best_row(c, kind::peer);
    std::string s =
        fmt::format("It is furthest behind in {} ({}): {} {}, {} {} ({} x).", worst.where->name,
                    c.name, mine->name, with_unit(mine->figures.median, c.options.unit), peer->name,
                    with_unit(peer->figures.median, c.options.unit), figure(worst.distance));
    if (const std::string why = reason_of(c); !why.empty()) s += " Why: " + why;
    return s;
}

std::string sureness_of(const run_result& run) {
    unsigned rows = 0;
    unsigned broken = 0;
    for (const experiment_result& e : run.experiments) {
        for (const case_result& c : e.cases) {
            for (const contender_result& r : c.contenders) ++(r.counts() ? rows : broken);
        }
    }
    return fmt::format(
        "How sure that is: {} rows measured{}, a fixed loop varied by {} %{}; a difference counts "
        "from {} % on, if every set of processes shows it.",
        rows, broken != 0 ? fmt::format(", {} could not be", broken) : "",
        figure(median_noise(run) * 100),
        run.machine.virtual_machine ? " on this virtual machine" : "",
        figure((run.full ? least_ratio_full : least_ratio_quick) * 100));
}

}  // namespace

std::vector<std::string> verdict_of(const run_result& run) {
    std::vector<std::string> s;
    const tally t = count_verdicts(run);
    if (t.all() == 0) {
        s.emplace_back("Nothing was measured in which cairn and a peer stand side by side.");
    } else {
        s.push_back(
            fmt::format("cairn's best is better than every peer in {} of {} cases, no different in "
                        "{} and worse in {}.",
                        t.better, t.all(), t.level, t.worse));
    }
    for (const choice& c : choosing(run)) {  // the two needs that most programs have come first
        if (s.size() < 3) s.push_back(sentence_of(c));
    }
    if (const lost_case worst = worst_of(run); worst.c != nullptr) {
        s.push_back(sentence_of(worst));
    } else if (t.all() != 0) {
        s.emplace_back("In no case is a peer better beyond the noise.");
    }
    s.push_back(sureness_of(run));
    return s;
}

std::string take_of(const experiment_result& e) {
    if (!e.take.empty()) return e.take;
    unsigned better = 0;
    unsigned level = 0;
    unsigned worse = 0;
    const case_result* best = nullptr;
    const case_result* bad = nullptr;
    double most = 1;
    double least = 1;
    for (const case_result& c : e.cases) {
        const contender_result* mine = cairn_row(c);
        const contender_result* peer = best_row(c, kind::peer);
        if (mine == nullptr || peer == nullptr || mine->best_peer_verdict.empty()) continue;
        const double d = dearer(c, mine->figures.median, peer->figures.median);
        if (mine->best_peer_verdict == "faster") {
            ++better;
            if (best == nullptr || d > most) best = &c, most = d;
        } else if (mine->best_peer_verdict == "slower") {
            ++worse;
            if (bad == nullptr || d < least) bad = &c, least = d;
        } else {
            ++level;
        }
    }
    const unsigned all = better + level + worse;
    if (all == 0) return {};
    const auto pair = [](const case_result& c) {
        const contender_result* mine = cairn_row(c);
        const contender_result* peer = best_row(c, kind::peer);
        return fmt::format("{}: {} {}, {} {}", c.name, mine->name,
                           with_unit(mine->figures.median, c.options.unit), peer->name,
                           with_unit(peer->figures.median, c.options.unit));
    };
    std::string s = fmt::format(
        "Of {} case{}, cairn is better than every peer in {}, no different in {}, worse in {}.",
        all, all == 1 ? "" : "s", better, level, worse);
    if (best != nullptr)
        s += fmt::format(" Furthest ahead in {} ({} x).", pair(*best), figure(most));
    if (bad != nullptr)
        s += fmt::format(" Furthest behind in {} ({} x).", pair(*bad), figure(1 / least));
    return s;
}

namespace {

std::string mean_and_worst(const choice& c) {
    return figure(c.mean) + " x" + (c.cases.size() == 1 ? "" : ", " + figure(c.worst) + " x");
}

}  // namespace

namespace {

std::string cell(std::string text) {
    for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) {
        text.insert(at, "\\");
    }
    return text;
}

std::string figures_as_markdown(const experiment_result& e) {
    if (e.cases.empty()) return {};
    std::string s =
        "\n<details><summary>figures</summary>\n\n| case | contender | kind | median | 95 % "
        "interval | unit | to limit | to best peer | published "
        "|\n|---|---|---|---:|---|---|---:|---:|---:|\n";
    for (const case_result& c : e.cases) {
        for (const contender_result& r : c.contenders) {
            if (!r.counts()) {
                s += fmt::format("| {} | {} | {} | {}: {} | | | | | |\n", cell(c.name),
                                 cell(r.name), name_of(r.kind), name_of(r.status), cell(r.note));
                continue;
            }
            s += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", cell(c.name),
                             cell(r.name), name_of(r.kind), figure(r.figures.median),
                             r.figures.samples > 1
                                 ? figure(r.figures.ci_low) + " to " + figure(r.figures.ci_high)
                                 : "",
                             c.options.unit, r.ratio_to_limit ? figure(*r.ratio_to_limit) : "",
                             r.ratio_to_best_peer ? figure(*r.ratio_to_best_peer) : "",
                             cell(published(c, r)));
        }
    }
    return s + "\n</details>\n";
}

}  // namespace

std::string as_markdown(const run_result& run) {
    std::string s =
        fmt::format("## cairn lab, {} run of {}\n\n", run.full ? "full" : "quick", run.date);
    for (const std::string& sentence : verdict_of(run)) s += "- " + sentence + "\n";
    s += "\n```\n" + heading(run) + "```\n";
    const std::vector<choice> table = choosing(run);
    if (!table.empty()) {
        s += "\nMean (geometric) and worst: the best peer's cost over cairn's, case by case; no "
             "difference is 1.\n\n| you need | cairn's | cases | costs | mean, worst | by these "
             "figures |\n|---|---|---:|---:|---|---|\n";
        for (const choice& c : table) {
            s += fmt::format("| {} | `{}` | {} | {} | {} | {} |\n", c.need, c.take, c.cases.size(),
                             range_of(c), c.cases.front().peer.empty() ? "" : mean_and_worst(c),
                             cell(advice_of(c)));
        }
    }
    for (const experiment_result& e : run.experiments) {
        s += fmt::format("\n### {}\n\n{}\n", e.name, e.question);
        if (!e.error.empty()) s += "\nnot run: " + e.error + "\n";
        if (const std::string take = take_of(e); !take.empty()) s += "\n" + take + "\n";
        for (const case_result& c : e.cases) {
            if (const std::string why = reason_of(c); !why.empty()) {
                s += fmt::format("\nWhy {} is ahead in {}: {}\n", c.best_peer, c.name, why);
            }
        }
        s += figures_as_markdown(e);
    }
    return s;
}

}  // namespace lab
