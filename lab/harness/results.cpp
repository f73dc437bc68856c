#include "lab/harness/results.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace lab {

namespace {

bool ahead(const case_result& c, const contender_result& a, const contender_result& b) {
    return c.options.better == better::lower ? a.figures.median < b.figures.median
                                             : a.figures.median > b.figures.median;
}

}  // namespace

double dearer(const case_result& c, double a, double b) {
    if (a <= 0 || b <= 0) return 1;
    return c.options.better == better::lower ? b / a : a / b;
}

verdict verdict_between(const case_result& c, const contender_result& a,
                        const contender_result& b) {
    const bool lower = c.options.better == better::lower;
    return compare_rounds(lower ? a.samples : b.samples, lower ? b.samples : a.samples, c.lives,
                          std::max(c.least_ratio, 2 * c.noise), c.options.least_difference);
}

double median_of(const case_result& c, std::string_view name) {
    const contender_result* first = nullptr;
    for (const contender_result& r : c.contenders) {
        if (!r.counts() || !r.name.starts_with(name)) continue;
        if (r.name == name) return r.figures.median;
        if (first == nullptr) first = &r;
    }
    return first != nullptr ? first->figures.median : 0;
}

const summary* figures_of(const experiment_result& e, std::string_view case_name,
                          std::string_view row) {
    for (const case_result& c : e.cases) {
        if (c.name != case_name) continue;
        for (const contender_result& r : c.contenders) {
            if (r.name == row && r.counts()) return &r.figures;
        }
    }
    return nullptr;
}

const contender_result* best_row(const case_result& c, kind k) {
    const contender_result* found = nullptr;
    for (const contender_result& r : c.contenders) {
        if (r.kind == k && r.counts() && (found == nullptr || ahead(c, r, *found))) found = &r;
    }
    return found;
}

const contender_result* cairn_row(const case_result& c) {
    const contender_result* const best = best_row(c, kind::cairn);
    if (best == nullptr) return nullptr;
    return &*std::find_if(c.contenders.begin(), c.contenders.end(), [&](const contender_result& r) {
        return &r == best || (r.kind == kind::cairn && r.counts() &&
                              verdict_between(c, r, *best) == verdict::no_difference);
    });
}

const char* name_of(verdict v) {
    return v == verdict::faster ? "faster" : v == verdict::slower ? "slower" : "no difference";
}

void compare_with_cairn(case_result& c) {
    const contender_result* const mine = cairn_row(c);
    if (mine == nullptr || !c.options.compares) return;
    for (contender_result& r : c.contenders) {
        if (r.kind != kind::peer || !r.counts()) continue;
        r.ratio_to_cairn = dearer(c, mine->figures.median, r.figures.median);
        r.cairn_verdict = name_of(verdict_between(c, *mine, r));
    }
}

std::string family_of(std::string_view row_name) {
    // "std::vector<particle>, reserved": the standard library is no favourite, std::vector is.
    constexpr std::string_view ends = " ,<([";
    // Rows that begin with another word than the name of what they measure.
    constexpr std::pair<std::string_view, std::string_view> others[] = {
        {"tbb", "tbbmalloc"},
        {"new", "malloc"},
        {"vector", "std::vector"},
        {"the", "std"},  // "the standard library"
        {"shared_ptr", "std::shared_ptr"},
        {"weak_ptr", "std::shared_ptr"},
        {"std::weak_ptr", "std::shared_ptr"},
        {"doubles", "by hand"},
        {"in", "by hand"},
        {"deferred", "by hand"},
        {"virtual", "by hand"},
    };
    std::string_view word = row_name.substr(0, row_name.find_first_of(ends));
    if (word.starts_with("std::pmr::")) { return "std::pmr"; }
    if (!word.starts_with("std::")) { word = word.substr(0, word.find("::")); }
    const auto* const other = std::ranges::find(others, word, [](auto& o) { return o.first; });
    return std::string{other != std::end(others) ? other->second : word};
}

std::string reason_of(const case_result& c) {
    const contender_result* const mine = cairn_row(c);
    const contender_result* const peer = best_row(c, kind::peer);
    if (mine == nullptr || peer == nullptr || mine->best_peer_verdict != "slower") return {};
    for (const cause& known : c.options.causes) {
        if (peer->name.starts_with(known.peer)) return known.why;
    }
    return {};
}

}  // namespace lab
