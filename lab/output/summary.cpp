#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/output/choosing.hpp"
#include "lab/output/output.hpp"

namespace lab {

namespace {

/// A case in which cairn's row has a verdict beside the best peer.
struct encounter {
    const experiment_result* where;
    const case_result* c;
    const contender_result* mine;
    const contender_result* peer;
    double ratio;  ///< cost of the peer / cost of cairn's row

    [[nodiscard]] std::string figures() const {
        const std::string& unit = c->options.unit;
        return fmt::format("{} {}, {} {}", mine->name, with_unit(mine->figures.median, unit),
                           peer->name, with_unit(peer->figures.median, unit));
    }
};

class encounters {
public:
    void add(const experiment_result& e) {
        for (const case_result& c : e.cases) {
            const contender_result* const mine = cairn_row(c);
            const contender_result* const peer = best_row(c, kind::peer);
            if (mine == nullptr || peer == nullptr || mine->best_peer_verdict.empty()) continue;
            all_.push_back(
                {&e, &c, mine, peer, dearer(c, mine->figures.median, peer->figures.median)});
        }
    }
    [[nodiscard]] std::size_t count() const { return all_.size(); }
    [[nodiscard]] std::size_t count(verdict v) const {
        return static_cast<std::size_t>(std::ranges::count_if(
            all_, [&](const encounter& m) { return m.mine->best_peer_verdict == name_of(v); }));
    }
    /// Of those with this verdict the one whose ratio is the furthest from 1; null: there is none.
    [[nodiscard]] const encounter* furthest(verdict v) const {
        const encounter* found = nullptr;
        const auto distance = [](const encounter& m) { return std::abs(std::log(m.ratio)); };
        for (const encounter& m : all_) {
            if (m.mine->best_peer_verdict != name_of(v)) continue;
            if (found == nullptr || distance(m) > distance(*found)) found = &m;
        }
        return found;
    }

private:
    std::vector<encounter> all_;
};

double median_noise(const run_result& run) {
    std::vector<double> noises;
    for (const experiment_result& e : run.experiments) {
        for (const case_result& c : e.cases) {
            if (c.noise > 0) noises.push_back(c.noise);
        }
    }
    std::ranges::sort(noises);
    return noises.empty() ? 0 : noises[noises.size() / 2];
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
    encounters all;
    for (const experiment_result& e : run.experiments) all.add(e);
    if (all.count() == 0) {
        s.emplace_back("Nothing was measured in which cairn and a peer stand side by side.");
    } else {
        s.push_back(fmt::format(
            "cairn's best is better than every peer in {} of {} cases, no different in {} and "
            "worse in {}.",
            all.count(verdict::faster), all.count(), all.count(verdict::no_difference),
            all.count(verdict::slower)));
    }
    for (const choice& c : choosing(run)) {  // the two needs that most programs have come first
        if (s.size() < 3) s.push_back(sentence_of(c));
    }
    if (const encounter* const worst = all.furthest(verdict::slower)) {  // where not to take it
        const std::string why = reason_of(*worst->c);
        s.push_back(fmt::format("It is furthest behind in {} ({}): {} ({} x).{}{}",
                                worst->where->name, worst->c->name, worst->figures(),
                                figure(1 / worst->ratio), why.empty() ? "" : " Why: ", why));
    } else if (all.count() != 0) {
        s.emplace_back("In no case is a peer better beyond the noise.");
    }
    s.push_back(sureness_of(run));
    return s;
}

std::string take_of(const experiment_result& e) {
    if (!e.take.empty()) return e.take;
    encounters all;
    all.add(e);
    if (all.count() == 0) return {};
    std::string s = fmt::format(
        "Of {} case{}, cairn is better than every peer in {}, no different in {}, worse in {}.",
        all.count(), all.count() == 1 ? "" : "s", all.count(verdict::faster),
        all.count(verdict::no_difference), all.count(verdict::slower));
    if (const encounter* const m = all.furthest(verdict::faster)) {
        s += fmt::format(" Furthest ahead in {}: {} ({} x).", m->c->name, m->figures(),
                         figure(m->ratio));
    }
    if (const encounter* const m = all.furthest(verdict::slower)) {
        s += fmt::format(" Furthest behind in {}: {} ({} x).", m->c->name, m->figures(),
                         figure(1 / m->ratio));
    }
    return s;
}

namespace {

std::string mean_and_worst(const choice& c) {
    return figure(c.mean) + " x" + (c.cases.size() == 1 ? "" : ", " + figure(c.worst) + " x");
}

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
