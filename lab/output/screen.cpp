#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "lab/output/output.hpp"
#include "lab/output/report_json.hpp"

namespace lab {

bool read_report(const std::string& path, json& run, std::string& why) {
    try {
        std::ifstream in{path};
        in.exceptions(std::ios::badbit);
        if (!in) {
            why = fmt::format("'{}' cannot be read", path);
            return false;
        }
        run = json::parse(in);
        if (const json schema = run.at("schema"); schema != 1) {
            why =
                fmt::format("'{}' has schema {}; this command reads schema 1", path, schema.dump());
            return false;
        }
        (void)run.at("experiments");
        (void)run.at("machine");
        return true;
    } catch (const json::parse_error&) {
        why = fmt::format("'{}' is not JSON", path);
    } catch (const json::exception&) {
        why = fmt::format("'{}' is JSON, but no report of the lab", path);
    } catch (const std::ios::failure&) {  // a folder
        why = fmt::format("'{}' cannot be read", path);
    }
    return false;
}

namespace {

/// One case in which cairn and a peer stand.
struct meeting {
    std::string where;  ///< experiment, case
    std::string mine;
    std::string other;
    std::string verdict;
    double ratio;  ///< above 1: cairn is cheaper
};

struct rivalry {
    std::vector<meeting> cases;
    [[nodiscard]] std::size_t count(const char* verdict) const {
        return static_cast<std::size_t>(std::ranges::count(cases, verdict, &meeting::verdict));
    }
};

std::string figure_of(const json& c, const std::string& row) {
    for (const json& r : c.at("contenders")) {
        if (r.at("name") == row) return figure(r.at("median").get<double>());
    }
    return "";
}

/// The best of a family in a case is the one that is compared.
void add_meetings(std::map<std::string, rivalry>& all, const json& e, const json& c) {
    std::map<std::string, meeting> best;
    for (const json& r : c.at("contenders")) {
        if (!r.contains("ratio_to_cairn") || !r.at("ratio_to_cairn").is_number()) continue;
        const std::string mine = c.at("best_cairn");
        const std::string name = r.at("name");
        const meeting m{
            e.at("name").get<std::string>() + ": " + c.at("name").get<std::string>(),
            mine + " " + figure_of(c, mine),
            fmt::format("{} {} {}", name, figure_of(c, name), c.at("unit").get<std::string>()),
            r.at("cairn_verdict"), r.at("ratio_to_cairn")};
        const auto [at, is_first] = best.emplace(r.at("family"), m);
        if (!is_first && m.ratio < at->second.ratio) at->second = m;
    }
    for (const auto& [family, m] : best) all[family].cases.push_back(m);
}

std::map<std::string, rivalry> rivalries(const json& run) {
    std::map<std::string, rivalry> all;
    for (const json& e : run.at("experiments")) {
        for (const json& c : e.at("cases")) add_meetings(all, e, c);
    }
    for (auto& [name, r] : all) std::ranges::stable_sort(r.cases, std::greater{}, &meeting::ratio);
    return all;
}

std::string tally_of(const rivalry& r) {
    return fmt::format("{} case{}: cairn better in {}, no different in {}, worse in {}",
                       r.cases.size(), r.cases.size() == 1 ? "" : "s", r.count("faster"),
                       r.count("no difference"), r.count("slower"));
}

std::string lower(std::string s) {
    for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return s;
}

std::string section(const rivalry& r, const char* title, const char* verdict) {
    std::string s;
    for (const meeting& m : r.cases) {
        if (m.verdict != verdict) continue;
        s += fmt::format("  {:>7} x  {:44} {}; {}\n", figure(m.ratio), m.where, m.mine, m.other);
    }
    return s.empty() ? s : fmt::format("\n{}\n{}", title, s);
}

/// Whom one can compare with: those of most cases first.
std::string favourites_of(const json& run, const std::string& file) {
    std::vector<std::pair<std::string, rivalry>> all;
    for (auto& one : rivalries(run)) all.emplace_back(one);
    if (all.empty()) return {};
    std::ranges::stable_sort(all, std::greater{},
                             [](const auto& r) { return r.second.cases.size(); });
    std::string s = "\ncompare with\n";
    for (std::size_t i = 0; i != std::min<std::size_t>(all.size(), 8); ++i) {
        s += fmt::format("  {:14} {}\n", all[i].first, tally_of(all[i].second));
    }
    for (std::size_t i = 8; i < all.size(); ++i) s += (i == 8 ? "  " : ", ") + all[i].first;
    if (all.size() > 8) s += '\n';
    if (!file.empty()) {
        s += fmt::format(
            "  every case: cairn lab --show {0} --against {1}; all tables: cairn lab --show {0} "
            "--tables\n",
            file, all.front().first);
    }
    return s;
}

std::string needs_of(const json& run) {
    if (!run.contains("choosing") || run.at("choosing").empty()) return {};
    std::string s =
        fmt::format("\n{:60} {:24} {:>7} {:>7}\n", "you need", "cairn's", "mean", "worst");
    for (const json& c : run.at("choosing")) {
        const bool alone = c.at("cases")[0].at("peer") == "";
        const auto times = [&](const char* key) {
            return alone ? std::string{"-"} : figure(c.at(key).get<double>()) + " x";
        };
        const std::string advice = c.at("advice");
        s += fmt::format("{:60} {:24} {:>7} {:>7}{}\n", c.at("need").get<std::string>(),
                         c.at("take").get<std::string>(), times("mean"), times("worst"),
                         advice == "peer" ? "  take " + c.at("rival").get<std::string>() : "");
    }
    return s +
           "mean, worst: the best peer's cost over cairn's, case by case; above 1 is better than "
           "every peer\n";
}

/// The tally, and where cairn is furthest behind.
std::string two_sentences(const json& run) {
    std::string s;
    for (const json& sentence : run.at("verdict")) {
        const std::string text = sentence;
        if (s.empty() || text.starts_with("It is furthest") || text.starts_with("In no case")) {
            s += text + "\n";
        }
    }
    return s;
}

}  // namespace

bool against(const json& run, const std::string& whom, std::string& text) {
    std::string known;
    for (const auto& [name, r] : rivalries(run)) {
        known += (known.empty() ? "" : ", ") + name;
        if (lower(name) != lower(whom)) continue;
        text = fmt::format("cairn against {}: {}\n", name, tally_of(r));
        text += section(r, "cairn is better", "faster");
        text += section(r, "no difference", "no difference");
        text += section(r, "cairn is worse", "slower");
        text += "\nx: the cost of the other over cairn's\n";
        return true;
    }
    text = fmt::format("nobody is called '{}' in this run; there are: {}", whom, known);
    return false;
}

std::string screen_of(const json& run, const std::string& file) {
    const json& m = run.at("machine");
    std::string s =
        fmt::format("\n{}, {} of {} hardware threads, {}{}; {}\n", m.at("cpu").get<std::string>(),
                    m.at("usable_threads").get<int>(), m.at("hardware_threads").get<int>(),
                    m.at("system").get<std::string>(),
                    m.at("virtual_machine").get<bool>() ? ", a virtual machine" : "",
                    run.at("compiler").get<std::string>());
    s += two_sentences(run) + favourites_of(run, file) + needs_of(run);
    return s;
}

}  // namespace lab
