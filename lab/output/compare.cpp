#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "lab/output/output.hpp"
#include "lab/output/report_json.hpp"

namespace lab {

namespace {

struct row {
    double median = 0;
    double low = 0;
    double high = 0;
    double noise = 0;
    double least_ratio = 0;
    bool lower_is_better = true;
    bool measured = false;
    std::string status;
    std::string unit;
    std::string verdict;
};

using row_name = std::string;  // experiment / case / contender

struct change {
    row_name name;
    row before;
    row after;
    double ratio;  // new cost / old cost: below 1 is better
};

std::map<row_name, row> rows_of(const json& run) {
    std::map<row_name, row> rows;
    const auto number = [](const json& j, const char* key, double otherwise) {
        const auto at = j.find(key);
        return at != j.end() && at->is_number() ? at->get<double>() : otherwise;
    };
    for (const json& e : run.at("experiments")) {
        for (const json& c : e.at("cases")) {
            for (const json& r : c.at("contenders")) {
                row x;
                x.status = r.value("status", "");
                x.median = number(r, "median", 0);
                x.measured = x.status == "ok" && r.contains("median") && r["median"].is_number();
                x.low = number(r, "ci_low", x.median);
                x.high = number(r, "ci_high", x.median);
                x.noise = number(c, "noise", 0);
                x.least_ratio = number(c, "least_ratio", lab::least_ratio_full);
                x.lower_is_better = c.value("better", "lower") == "lower";
                x.unit = c.value("unit", "");
                x.verdict = r.value("verdict", "");
                rows[e.value("name", "") + " / " + c.value("name", "") + " / " +
                     r.value("name", "")] = x;
            }
        }
    }
    return rows;
}

/// A report, as far as two are compared.
struct report {
    std::map<row_name, row> rows;
    std::map<std::string, std::string> facts;  // what should be the same in both
};

bool read(const std::string& path, report& r, std::string& why) {
    json run;
    if (!read_report(path, run, why)) return false;
    try {
        r.rows = rows_of(run);
        r.facts["machine"] = run.at("machine").value("cpu", "");
        for (const char* key : {"compiler", "flags", "mode"}) r.facts[key] = run.value(key, "");
        return true;
    } catch (const json::exception&) {
        why = fmt::format("'{}' is JSON, but no report of the lab", path);
        return false;
    }
}

/// Beyond the noise of both. Stricter than a verdict, which has the ratios of single rounds: runs of different
/// days share no rounds, so their intervals must not meet.
bool differ(const row& a, const row& b) {
    const bool apart = a.high < b.low || b.high < a.low;
    const double threshold = std::max({a.least_ratio, b.least_ratio, 2 * a.noise, 2 * b.noise});
    return apart && std::abs(a.median - b.median) >
                        threshold * std::max(std::abs(a.median), std::abs(b.median));
}

std::string line(const change& c, bool markdown) {
    const char* const form =
        markdown ? "| {} | {} | {} | {} | {} x |\n" : "  {:70} {:>10} {:>10} {:12} {:>7} x\n";
    return fmt::format(fmt::runtime(form), c.name, figure(c.before.median), figure(c.after.median),
                       c.after.unit, figure(c.ratio));
}

void section(std::string& s, const char* title, const std::vector<change>& all, bool markdown) {
    if (all.empty()) return;
    s += (markdown ? "\n### " : "\n") + std::string{title} + "\n";
    if (markdown) s += "\n| what | before | after | unit | cost |\n|---|---:|---:|---|---:|\n";
    for (const change& c : all) s += line(c, markdown);
}

void names(std::string& s, const char* title, const std::vector<std::string>& all, bool markdown) {
    if (all.empty()) return;
    s += (markdown ? "\n### " : "\n") + std::string{title} + (markdown ? "\n\n" : "\n");
    for (const std::string& name : all) s += (markdown ? "- " : "  ") + name + "\n";
}

/// What changed, in the order in which it is told.
struct changes {
    std::vector<change> better;
    std::vector<change> worse;
    std::vector<std::string> verdicts;
    std::vector<std::string> broken;
    std::vector<std::string> repaired;
    std::vector<std::string> added;
    std::vector<std::string> gone;
    unsigned compared = 0;
    unsigned judged = 0;

    void add(const row_name& name, const row& then, const row& now) {
        if (then.measured && !now.measured) broken.push_back(name + ": " + now.status);
        if (!then.measured && now.measured) repaired.push_back(name);
        if (!then.measured || !now.measured) return;
        ++compared;
        if (!then.verdict.empty() && !now.verdict.empty()) {
            ++judged;
            if (then.verdict != now.verdict) {
                verdicts.push_back(fmt::format("{}: {}, was {}", name, now.verdict, then.verdict));
            }
        }
        if (!differ(then, now)) return;
        double ratio = then.median != 0 ? now.median / then.median : 0;
        if (!now.lower_is_better && ratio != 0) ratio = 1 / ratio;
        const bool improved = now.lower_is_better == (now.median < then.median);
        (improved ? better : worse).push_back({name, then, now, ratio});
    }
};

changes changes_between(const report& before, const report& after) {
    changes c;
    for (const auto& [name, now] : after.rows) {
        const auto found = before.rows.find(name);
        if (found == before.rows.end()) {
            c.added.push_back(name);
        } else {
            c.add(name, found->second, now);
        }
    }
    for (const auto& [name, then] : before.rows) {
        if (!after.rows.contains(name)) c.gone.push_back(name);
    }
    std::ranges::sort(c.better, {}, &change::ratio);
    std::ranges::sort(c.worse, std::greater{}, &change::ratio);
    return c;
}

}  // namespace

int compare_runs(const std::string& old_path, const std::string& new_path, bool markdown,
                 std::string& text) {
    report before;
    report after;
    if (!read(old_path, before, text) || !read(new_path, after, text)) return 2;
    const changes c = changes_between(before, after);
    text = markdown ? "## cairn lab: what changed\n\n" : "";
    text += fmt::format(
        "{} rows in both runs: {} better, {} worse, {} within the noise; {} of {} verdicts "
        "changed.\n",
        c.compared, c.better.size(), c.worse.size(), c.compared - c.better.size() - c.worse.size(),
        c.verdicts.size(), c.judged);
    for (const auto& [what, then] : before.facts) {
        if (const std::string& now = after.facts[what]; now != then) {
            text += fmt::format("Another {}: {}, then {}.\n", what, then, now);
        }
    }
    section(text, "Worse", c.worse, markdown);
    section(text, "Better", c.better, markdown);
    names(text, "Other verdicts against the best peer", c.verdicts, markdown);
    names(text, "No longer measured", c.broken, markdown);
    names(text, "Measured again", c.repaired, markdown);
    names(text, "New", c.added, markdown);
    names(text, "Gone", c.gone, markdown);
    return 0;
}

}  // namespace lab
