#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/harness/registry.hpp"
#include "lab/output/output.hpp"
#include "lab/output/summary.hpp"

namespace lab {

const char* name_of(kind k) {
    switch (k) {
        case kind::cairn:
            return "cairn";
        case kind::peer:
            return "peer";
        case kind::limit:
            return "limit";
        case kind::baseline:
            return "baseline";
    }
    return "?";
}

const char* name_of(row_status s) {
    switch (s) {
        case row_status::ok:
            return "ok";
        case row_status::suspect:
            return "suspect";
        case row_status::wrong:
            return "wrong";
        case row_status::failed:
            return "failed";
        case row_status::absent:
            return "absent";
        case row_status::interrupted:
            return "interrupted";
    }
    return "?";
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

std::string ratio(const std::optional<double>& r) { return r ? figure(*r) + " x" : ""; }

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

/// The seed's mean, standard deviation, median, least and most below ours, as far as it prints them.
std::string published_spread(const contender_result& r, std::size_t width) {
    const auto published = [&](const char* of) {
        for (const published_figure& p : r.published) {
            if (p.of == of) return figure(p.value);
        }
        return std::string{};
    };
    if (published("stddev").empty()) return {};
    std::string s = fmt::format("  {}  {:>9} {:>9} {:>9} {:>9} {:>9}", padded("  published", width),
                                published("mean"), published("stddev"), published("median"),
                                published("min"), published("max"));
    while (s.back() == ' ') s.pop_back();
    return s + '\n';
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

std::string as_text(const experiment_result& e, unsigned columns) {
    std::string s = fmt::format("\n{}: {}\n", e.name, e.question);
    if (!e.error.empty()) return s + "  not run: " + e.error + "\n";
    for (const case_result& c : e.cases) {
        s += fmt::format("\n  {} [{}, {} is better", c.name, c.options.unit,
                         c.options.better == better::lower ? "lower" : "higher");
        if (c.noise > 0) s += fmt::format(", noise floor {:.1f} %", c.noise * 100);
        if (const double least = c.options.least_difference; least > 0) {
            s += fmt::format(", nearer than {} is no difference", figure(least));
        }
        s += "]\n";
        std::size_t width = 12;
        double largest = 0;
        for (const contender_result& r : c.contenders) {
            width = std::max(width, r.name.size());
            if (r.counts()) largest = std::max(largest, r.figures.median);
        }
        s += fmt::format("  {}  {:8} {:>9} {:>9} {:>19} {:>8} {:>10} {:>12}\n",
                         padded("contender", width), "kind", "median", "min", "95 % interval",
                         "to limit", "best peer", "published");
        std::vector<const contender_result*> sorted;
        for (const contender_result& r : c.contenders) sorted.push_back(&r);
        std::stable_sort(sorted.begin(), sorted.end(), [&](auto* a, auto* b) {
            if (a->counts() != b->counts()) return a->counts();
            return c.options.better == better::lower ? a->figures.median < b->figures.median
                                                     : a->figures.median > b->figures.median;
        });
        for (const contender_result* r : sorted) {
            if (!r->counts()) {
                s += fmt::format("  {}  {:8} {}: {}\n", padded(r->name, width), name_of(r->kind),
                                 name_of(r->status), r->note);
                continue;
            }
            const std::string interval =
                r->figures.samples > 1
                    ? fmt::format("{} .. {}", figure(r->figures.ci_low), figure(r->figures.ci_high))
                    : "";
            s += fmt::format("  {}  {:8} {:>9} {:>9} {:>19} {:>8} {:>10} {:>12}",
                             padded(r->name, width), name_of(r->kind), figure(r->figures.median),
                             figure(r->figures.min), interval, ratio(r->ratio_to_limit),
                             ratio(r->ratio_to_best_peer), published(c, *r));
            if (columns >= width + 99 && largest > 0) s += "  " + bar(r->figures.median / largest);
            while (s.back() == ' ') s.pop_back();
            s += '\n';
        }
        if (c.options.show_spread) {
            s += fmt::format("\n  {}  {:>9} {:>9} {:>9} {:>9} {:>9} {:>8}\n",
                             padded("the same", width), "mean", "stddev", "median", "min", "max",
                             "samples");
            for (const contender_result* r : sorted) {
                if (!r->counts()) continue;
                const summary& f = r->figures;
                s += fmt::format("  {}  {:>9} {:>9} {:>9} {:>9} {:>9} {:>8}\n",
                                 padded(r->name, width), figure(f.mean), figure(f.stddev),
                                 figure(f.median), figure(f.min), figure(f.max), f.samples);
                s += published_spread(*r, width);
            }
        }
        std::vector<std::string> remarks;
        for (const contender_result& r : c.contenders) {
            if (!r.counts()) continue;
            for (std::size_t i = 0; i != r.published.size(); ++i) {
                const published_figure& p = r.published[i];
                remarks.push_back(i == 0 ? "published: " + words_of(p)
                                         : fmt::format("published, too: {}: {} {}", r.name,
                                                       figure(p.value), words_of(p)));
            }
            if (!r.note.empty()) remarks.push_back(r.name + ": " + r.note);
        }
        std::sort(remarks.begin(), remarks.end());
        remarks.erase(std::unique(remarks.begin(), remarks.end()), remarks.end());
        for (const std::string& remark : remarks) s += "    " + remark + "\n";
        if (const std::string why = reason_of(c); !why.empty()) {
            s += fmt::format("    why {} is ahead: {}\n", c.best_peer, why);
        }
    }
    if (const std::string take = take_of(e); !take.empty()) s += "\n  " + take + "\n";
    return s;
}

}  // namespace lab
