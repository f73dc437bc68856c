#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "lab/harness/registry.hpp"
#include "lab/output/output.hpp"
#include "lab/output/report_json.hpp"

namespace lab {

const char* name_of(kind k) {
    constexpr const char* names[] = {"cairn", "peer", "limit", "baseline"};
    return names[static_cast<int>(k)];
}

const char* name_of(row_status s) {
    constexpr const char* names[] = {"ok", "suspect", "wrong", "failed", "absent", "interrupted"};
    return names[static_cast<int>(s)];
}

std::string figure(double v) {
    const double a = std::abs(v);
    if (v == 0) return "0";
    if (a < 0.001 || a >= 1e12) return fmt::format("{:.2e}", v);
    if (a < 10) return fmt::format("{:.{}f}", v, a < 0.01 ? 4 : a < 0.1 ? 3 : 2);
    if (a < 100) return fmt::format("{:.1f}", v);
    std::string digits = fmt::format("{:.0f}", v);
    for (int i = static_cast<int>(digits.size()) - 3; i > (v < 0 ? 1 : 0); i -= 3) {
        digits.insert(static_cast<std::size_t>(i), ",");
    }
    return digits;
}

std::string with_unit(double v, const std::string& unit) { return figure(v) + " " + unit; }

std::string published(const case_result& c, const contender_result& r) {
    if (r.published.empty()) return {};
    const auto first_word = [](const std::string& s) {
        return s.substr(0, s.find_first_of(" ,/"));
    };
    const std::string unit = first_word(r.published.front().unit);
    return figure(r.published.front().value) +
           (unit == first_word(c.options.unit) ? "" : " " + unit);
}

std::string words_of(const published_figure& p) {
    return p.unit + (p.of == "median" ? "" : ", " + p.of) + ", " + p.source;
}

namespace {

std::string bar(double share) {  // of 10 characters
    const int eighths = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * 80));
    static const char* const partial[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    std::string s;
    for (int i = 0; i != eighths / 8; ++i) s += "█";
    return s + partial[eighths % 8];
}

std::string padded(const std::string& s, std::size_t width) {
    return s.size() >= width ? s : s + std::string(width - s.size(), ' ');
}

std::string cache_words(const machine_facts& m) {
    std::string s;
    for (const cache_facts& c : m.caches) {
        const bool small = c.level == 1;
        s += fmt::format("{}L{}{} {} KiB", s.empty() ? "" : ", ", c.level,
                         !small             ? ""
                         : c.type == "Data" ? "d"
                                            : "i",
                         c.bytes >> 10);
        if (c.ways != 0) s += fmt::format(" {}-way", c.ways);
        if (c.inclusive) s += *c.inclusive ? " inclusive" : " not inclusive";
    }
    return s;
}

}  // namespace

std::string heading(const run_result& run) {
    const machine_facts& m = run.machine;
    std::string s = fmt::format("{}, {} of {} hardware threads, {:.0f} GiB, {}, {}{}\n", m.cpu,
                                m.usable_threads, m.hardware_threads,
                                static_cast<double>(m.memory_bytes) / (1 << 30), m.system, m.kernel,
                                m.virtual_machine ? ", virtual machine" : "");
    if (!m.caches.empty()) s += "caches: " + cache_words(m) + "\n";
    s += fmt::format("{}, {}\n", this_build().compiler, this_build().flags);
    s += fmt::format("timer {:.0f} ns (subtracted), empty loop {:.2f} ns a turn, {}{}\n",
                     run.timer_overhead_ns, run.empty_loop_ns,
                     m.pinned ? "pinned to one processor" : "not pinned",
                     m.real_time ? ", real-time priority" : "");
    if (m.tsc_ghz <= 0) s += "no counter of cycles here: where a unit is cycles, read ns\n";
    std::string present;
    std::string absent;
    for (const peer_status& p : peers()) {
        if (p.present) {
            present += fmt::format("{}{} ({})", present.empty() ? "" : ", ", p.name, p.detail);
        } else {
            absent += fmt::format("peer absent: {} ({})\n", p.name, p.detail);
        }
    }
    s += "peers here: " + (present.empty() ? "none" : present) + "\n" + absent;
    return s;
}

namespace {

bool is_measured(const json& row) {
    return row.at("status") == "ok" && row.at("median").is_number();
}

std::string number(const json& row, const char* key) {
    return row.at(key).is_number() ? figure(row.at(key).get<double>()) : "";
}

std::string ratio(const json& row, const char* key) {
    return row.at(key).is_number() ? number(row, key) + " x" : "";
}

std::string first_word(const std::string& s) { return s.substr(0, s.find_first_of(" ,/")); }

/// The figure of a seed in the table, with its unit where the case has another.
std::string published(const json& c, const json& row) {
    if (!row.at("published").is_number()) return {};
    const std::string unit = first_word(row.at("published_note"));
    return number(row, "published") + (unit == first_word(c.at("unit")) ? "" : " " + unit);
}

/// A case and its rows, best first; those that measured nothing come last.
struct ranked_case {
    explicit ranked_case(const json& one) : all{&one} {
        for (const json& row : one.at("contenders")) {
            rows.push_back(&row);
            width = std::max(width, row.at("name").get_ref<const std::string&>().size());
            if (is_measured(row)) largest = std::max(largest, row.at("median").get<double>());
        }
        const bool lower = one.at("better") == "lower";
        std::ranges::stable_sort(rows, [lower](const json* a, const json* b) {
            if (is_measured(*a) != is_measured(*b)) return is_measured(*a);
            if (!is_measured(*a)) return false;
            const double x = a->at("median"), y = b->at("median");
            return lower ? x < y : x > y;
        });
    }
    const json* all;
    std::vector<const json*> rows;
    std::size_t width = 12;
    double largest = 0;
};

std::string head_of(const ranked_case& c) {
    const json& j = *c.all;
    std::string s = fmt::format("\n  {} [{}, {} is better", j.at("name").get<std::string>(),
                                j.at("unit").get<std::string>(), j.at("better").get<std::string>());
    if (const double noise = j.at("noise"); noise > 0) {
        s += fmt::format(", noise floor {:.1f} %", noise * 100);
    }
    if (const double least = j.at("least_difference"); least > 0) {
        s += fmt::format(", nearer than {} is no difference", figure(least));
    }
    return s + fmt::format("]\n  {}  {:8} {:>9} {:>9} {:>19} {:>8} {:>10} {:>12}\n",
                           padded("contender", c.width), "kind", "median", "min", "95 % interval",
                           "to limit", "best peer", "published");
}

std::string row_of(const ranked_case& c, const json& r, unsigned columns) {
    const std::string name = padded(r.at("name"), c.width);
    const std::string kind = r.at("kind");
    if (!is_measured(r)) {
        return fmt::format("  {}  {:8} {}: {}\n", name, kind, r.at("status").get<std::string>(),
                           r.at("note").get<std::string>());
    }
    const std::string interval =
        r.at("samples") > 1 ? number(r, "ci_low") + " .. " + number(r, "ci_high") : "";
    std::string s =
        fmt::format("  {}  {:8} {:>9} {:>9} {:>19} {:>8} {:>10} {:>12}", name, kind,
                    number(r, "median"), number(r, "min"), interval, ratio(r, "ratio_to_limit"),
                    ratio(r, "ratio_to_best_peer"), published(*c.all, r));
    if (columns >= c.width + 99 && c.largest > 0) {
        s += "  " + bar(r.at("median").get<double>() / c.largest);
    }
    while (s.back() == ' ') s.pop_back();
    return s + '\n';
}

json published_figures(const json& row) {
    return row.contains("published_figures") ? row.at("published_figures") : json::array();
}

/// The seed's mean, standard deviation, median, least and most below ours, as far as it prints them.
std::string published_spread(const json& row, std::size_t width) {
    std::map<std::string, std::string> published;
    for (const json& p : published_figures(row)) published.emplace(p.at("of"), number(p, "value"));
    if (!published.contains("stddev")) return {};
    std::string s = fmt::format("  {}  {:>9} {:>9} {:>9} {:>9} {:>9}", padded("  published", width),
                                published["mean"], published["stddev"], published["median"],
                                published["min"], published["max"]);
    while (s.back() == ' ') s.pop_back();
    return s + '\n';
}

std::string spread_of(const ranked_case& c) {
    std::string s =
        fmt::format("\n  {}  {:>9} {:>9} {:>9} {:>9} {:>9} {:>8}\n", padded("the same", c.width),
                    "mean", "stddev", "median", "min", "max", "samples");
    for (const json* r : c.rows) {
        if (!is_measured(*r)) continue;
        s += fmt::format("  {}  {:>9} {:>9} {:>9} {:>9} {:>9} {:>8}\n",
                         padded(r->at("name"), c.width), number(*r, "mean"), number(*r, "stddev"),
                         number(*r, "median"), number(*r, "min"), number(*r, "max"),
                         r->at("samples").get<std::size_t>());
        s += published_spread(*r, c.width);
    }
    return s;
}

std::string remarks_of(const json& c) {
    std::set<std::string> remarks;
    for (const json& r : c.at("contenders")) {
        if (!is_measured(r)) continue;
        const std::string name = r.at("name");
        if (const std::string note = r.at("published_note"); !note.empty()) {
            remarks.insert("published: " + note);
        }
        const json figures = published_figures(r);
        for (std::size_t i = 1; i < figures.size(); ++i) {
            const published_figure p{figures[i].at("value"), figures[i].at("unit"),
                                     figures[i].at("source"), figures[i].at("of")};
            remarks.insert(
                fmt::format("published, too: {}: {} {}", name, figure(p.value), words_of(p)));
        }
        if (const std::string note = r.at("note"); !note.empty())
            remarks.insert(name + ": " + note);
    }
    std::string s;
    for (const std::string& remark : remarks) s += "    " + remark + "\n";
    if (const std::string why = c.at("reason"); !why.empty()) {
        s += fmt::format("    why {} is ahead: {}\n", c.at("best_peer").get<std::string>(), why);
    }
    return s;
}

}  // namespace

std::string tables_of(const json& e, unsigned columns) {
    std::string s = fmt::format("\n{}: {}\n", e.at("name").get<std::string>(),
                                e.at("question").get<std::string>());
    if (const std::string error = e.at("error"); !error.empty()) {
        return s + "  not run: " + error + "\n";
    }
    for (const json& one : e.at("cases")) {
        const ranked_case c{one};
        s += head_of(c);
        for (const json* r : c.rows) s += row_of(c, *r, columns);
        if (one.at("show_spread").get<bool>()) s += spread_of(c);
        s += remarks_of(one);
    }
    if (const std::string take = e.at("take"); !take.empty()) s += "\n  " + take + "\n";
    return s;
}

std::string as_text(const experiment_result& e, unsigned columns) {
    return tables_of(json_of(e), columns);
}

}  // namespace lab
