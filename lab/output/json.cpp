#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "lab/harness/registry.hpp"
#include "lab/output/choosing.hpp"
#include "lab/output/output.hpp"
#include "lab/output/report_json.hpp"

namespace lab {

namespace {

json number(const std::optional<double>& v) { return v ? json(*v) : json(nullptr); }

json facts(const machine_facts& m) {
    json caches = json::array();
    for (const cache_facts& c : m.caches) {
        caches.push_back({{"level", c.level},
                          {"type", c.type},
                          {"bytes", c.bytes},
                          {"line", c.line},
                          {"ways", c.ways},
                          {"inclusive", c.inclusive ? json(*c.inclusive) : json(nullptr)}});
    }
    return {{"cpu", m.cpu},
            {"hardware_threads", m.hardware_threads},
            {"usable_threads", m.usable_threads},
            {"memory_bytes", m.memory_bytes},
            {"page_bytes", m.page_bytes},
            {"caches", std::move(caches)},
            {"system", m.system},
            {"kernel", m.kernel},
            {"c_library", m.c_library},
            {"transparent_huge_pages", m.huge_pages},
            {"governor", m.governor},
            {"virtual_machine", m.virtual_machine},
            {"tsc_ghz", m.tsc_ghz},
            {"pinned", m.pinned},
            {"real_time", m.real_time}};
}

json row_json(const contender_result& r) {
    const bool any = r.figures.samples != 0;
    const auto f = [&](double v) { return any ? json(v) : json(nullptr); };
    json j = {{"name", r.name},
              {"kind", name_of(r.kind)},
              {"median", f(r.figures.median)},
              {"min", f(r.figures.min)},
              {"samples", r.figures.samples},
              {"ratio_to_limit", number(r.ratio_to_limit)},
              {"ratio_to_best_peer", number(r.ratio_to_best_peer)},
              {"published", r.published.empty() ? json(nullptr) : json(r.published.front().value)},
              {"note", r.note},
              {"status", name_of(r.status)},
              {"max", f(r.figures.max)},
              {"mean", f(r.figures.mean)},
              {"stddev", f(r.figures.stddev)},
              {"ci_low", f(r.figures.ci_low)},
              {"ci_high", f(r.figures.ci_high)},
              {"published_note", r.published.empty() ? "" : words_of(r.published.front())},
              {"verdict", r.best_peer_verdict}};
    if (r.kind == kind::peer) {
        j["family"] = family_of(r.name);
        j["ratio_to_cairn"] = number(r.ratio_to_cairn);
        j["cairn_verdict"] = r.cairn_verdict;
    }
    if (!r.published.empty()) {
        json figures = json::array();
        for (const published_figure& p : r.published) {
            figures.push_back(
                {{"value", p.value}, {"unit", p.unit}, {"of", p.of}, {"source", p.source}});
        }
        j["published_figures"] = std::move(figures);
    }
    if (r.rounds_to_best_peer.samples > 1) {
        j["round_ratio_low"] = r.rounds_to_best_peer.ci_low;
        j["round_ratio_high"] = r.rounds_to_best_peer.ci_high;
    }
    if (!r.plots.empty()) {
        json plots = json::array();
        for (const series& s : r.plots) {
            json points = json::array();
            for (const auto& [x, y] : s.points) points.push_back({x, y});
            plots.push_back({{"name", s.name},
                             {"x", s.x_label},
                             {"y", s.y_label},
                             {"points", std::move(points)}});
        }
        j["series"] = std::move(plots);
    }
    return j;
}

json case_json(const case_result& c) {
    json contenders = json::array();
    for (const contender_result& r : c.contenders) contenders.push_back(row_json(r));
    const contender_result* const mine = cairn_row(c);
    return {{"name", c.name},
            {"unit", c.options.unit},
            {"better", c.options.better == better::lower ? "lower" : "higher"},
            {"noise", c.noise},
            {"least_ratio", c.least_ratio},
            {"least_difference", c.options.least_difference},
            {"show_spread", c.options.show_spread},
            {"limit", c.limit},
            {"best_peer", c.best_peer},
            {"best_cairn", mine == nullptr ? "" : mine->name},
            {"reason", reason_of(c)},
            {"contenders", std::move(contenders)}};
}

json choice_json(const choice& c) {
    const judged_case& first = c.cases.front();
    json judged = json::array();
    for (const judged_case& k : c.cases) {
        judged.push_back({{"experiment", k.experiment},
                          {"case", k.name},
                          {"figure", k.figure},
                          {"unit", k.unit},
                          {"peer", k.peer},
                          {"other", k.other},
                          {"ratio", k.ratio},
                          {"verdict", k.verdict}});
    }
    return {{"need", c.need},
            {"take", c.take},
            {"figure", first.figure},
            {"unit", first.unit},
            {"instead", first.peer},
            {"other", first.other},
            {"ratio", first.ratio},
            {"verdict", first.verdict},
            {"experiment", first.experiment},
            {"case", first.name},
            {"advice", name_of(c.advice)},
            {"words", advice_of(c)},
            {"mean", c.mean},
            {"worst", c.worst},
            {"worst_case", c.worst_case},
            {"better", c.better},
            {"level", c.level},
            {"worse", c.worse},
            {"rival", c.rival},
            {"rival_ratio", c.rival_ratio},
            {"rival_cases", c.rival_cases},
            {"rival_better", c.rival_better},
            {"rival_worse", c.rival_worse},
            {"range", range_of(c)},
            {"cases", std::move(judged)}};
}

json asked_json(const run_result& run) {
    json all = json::array();
    for (const asked_question& q : asked_questions()) {
        for (const experiment_result& e : run.experiments) {
            if (e.name != q.experiment || e.cases.empty()) continue;
            all.push_back({{"question", q.question}, {"experiment", e.name}});
        }
    }
    return all;
}

/// Six digits of each figure: a page draws no more of them, and its file is a fifth smaller.
void shorten(json& j) {
    if (j.is_structured()) {
        for (json& inside : j) shorten(inside);
    } else if (j.is_number_float() && j.get<double>() != std::floor(j.get<double>())) {
        j = std::strtod(fmt::format("{:.6g}", j.get<double>()).c_str(), nullptr);
    }
}

}  // namespace

json json_of(const experiment_result& e) {
    json cases = json::array();
    for (const case_result& c : e.cases) cases.push_back(case_json(c));
    return {{"name", e.name},         {"question", e.question}, {"background", e.background},
            {"complete", e.complete}, {"error", e.error},       {"seconds", e.seconds},
            {"how", e.how},           {"take", take_of(e)},     {"cases", std::move(cases)}};
}

json json_of(const run_result& run) {
    json looked_for = json::array();
    for (const peer_status& p : peers()) {
        looked_for.push_back({{"name", p.name}, {"present", p.present}, {"detail", p.detail}});
    }
    json experiments = json::array();
    for (const experiment_result& e : run.experiments) experiments.push_back(json_of(e));
    json choices = json::array();
    for (const choice& c : choosing(run)) choices.push_back(choice_json(c));
    return {{"schema", 1},
            {"machine", facts(run.machine)},
            {"compiler", this_build().compiler},
            {"flags", this_build().flags},
            {"date", run.date},
            {"mode", run.full ? "full" : "quick"},
            {"seconds", run.seconds},
            {"interrupted", run.interrupted},
            {"timer_overhead_ns", run.timer_overhead_ns},
            {"empty_loop_ns", run.empty_loop_ns},
            {"peers", std::move(looked_for)},
            {"errors", run.errors},
            {"heading", heading(run)},
            {"verdict", verdict_of(run)},
            {"choosing", std::move(choices)},
            {"asked", asked_json(run)},
            {"experiments", std::move(experiments)}};
}

std::string as_json(const run_result& run, bool for_the_page) {
    json document = json_of(run);
    if (for_the_page) shorten(document);
    return document.dump(for_the_page ? -1 : 1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace lab
