#include "lab/output/choosing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/output/output.hpp"

namespace lab {

namespace {

/// `*` in `pattern` stands for any text.
bool fits(std::string_view name, std::string_view pattern) {
    const std::size_t star = pattern.find('*');
    if (star == std::string_view::npos) return name == pattern;
    if (!name.starts_with(pattern.substr(0, star))) return false;
    name.remove_prefix(star);
    pattern.remove_prefix(star + 1);
    for (std::size_t skipped = 0; skipped <= name.size(); ++skipped) {
        if (fits(name.substr(skipped), pattern)) return true;
    }
    return false;
}

/// A case that a need covers, with the experiment that it is from.
struct place {
    const experiment_result* experiment;
    const case_result* which;
};

bool may_take(const need& n, const contender_result& r) {
    if (r.kind != kind::cairn || !r.counts()) return false;
    return n.takers.empty() ||
           std::find(n.takers.begin(), n.takers.end(), r.name) != n.takers.end();
}

/// The covered cases in which a row that meets the need stands beside a peer; where there is none,
/// those in which it stands alone.
std::vector<place> places_of(const run_result& run, const need& n) {
    std::vector<place> judged;
    std::vector<place> alone;
    for (const covered& where : n.where) {
        for (const experiment_result& e : run.experiments) {
            for (const case_result& c : e.cases) {
                if (!covers(where, e.name, c.name)) continue;
                const bool taken = std::any_of(c.contenders.begin(), c.contenders.end(),
                                               [&](auto& r) { return may_take(n, r); });
                const bool compared = std::any_of(
                    c.contenders.begin(), c.contenders.end(),
                    [&](auto& r) { return may_take(n, r) && !r.best_peer_verdict.empty(); });
                if (taken) (compared ? judged : alone).push_back({&e, &c});
            }
        }
    }
    return judged.empty() ? alone : judged;
}

const contender_result* row_called(const case_result& c, const std::string& name, kind k) {
    for (const contender_result& r : c.contenders) {
        if (r.name == name && r.kind == k && r.counts()) return &r;
    }
    return nullptr;
}

/// What `b` costs where `a` costs 1, and who wins; no difference is 1.
struct duel {
    double ratio = 1;
    verdict a_is = verdict::no_difference;
};

duel between(const case_result& c, const contender_result& a, const contender_result& b) {
    duel d;
    d.a_is = verdict_between(c, a, b);
    if (d.a_is != verdict::no_difference) d.ratio = dearer(c, a.figures.median, b.figures.median);
    return d;
}

/// Two rows of these names over all cases that have both.
struct match {
    unsigned cases = 0;
    unsigned better = 0;  ///< in which `a` wins
    unsigned worse = 0;
    double ratio = 1;  ///< cost of `b` / cost of `a`, geometric mean
};

match over_all(const std::vector<place>& places, const std::string& a, kind ka,
               const std::string& b, kind kb) {
    match m;
    double logarithms = 0;
    for (const place& p : places) {
        const contender_result* const ra = row_called(*p.which, a, ka);
        const contender_result* const rb = row_called(*p.which, b, kb);
        if (ra == nullptr || rb == nullptr) continue;
        const duel d = between(*p.which, *ra, *rb);
        ++m.cases;
        m.better += d.a_is == verdict::faster;
        m.worse += d.a_is == verdict::slower;
        logarithms += std::log(d.ratio);
    }
    if (m.cases != 0) m.ratio = std::exp(logarithms / m.cases);
    return m;
}

/// A mean nearer to 1 than this is no difference.
double least_mean(const std::vector<place>& places) {
    double least = 0;
    for (const place& p : places) least = std::max(least, p.which->least_ratio);
    return 1 + least;
}

/// Names of the rows that stand in most of the cases, in the order in which they were declared.
template <class Asked>
std::vector<std::string> in_most(const std::vector<place>& places, Asked asked) {
    std::vector<std::pair<std::string, unsigned>> found;
    unsigned most = 0;
    for (const place& p : places) {
        for (const contender_result& r : p.which->contenders) {
            if (!asked(r)) continue;
            const auto at = std::find_if(found.begin(), found.end(),
                                         [&](auto& f) { return f.first == r.name; });
            unsigned& count =
                at == found.end() ? found.emplace_back(r.name, 0u).second : at->second;
            most = std::max(most, ++count);
        }
    }
    std::vector<std::string> names;
    for (const auto& [name, count] : found) {
        if (count == most) names.push_back(name);
    }
    return names;
}

/// Of the rows that meet the need in most cases, the first that is no dearer than the cheapest of
/// them.
std::string taken(const std::vector<place>& places, const need& n) {
    const std::vector<std::string> names =
        in_most(places, [&](const contender_result& r) { return may_take(n, r); });
    const double edge = least_mean(places);
    std::string best = names.front();
    for (const std::string& name : names) {
        if (over_all(places, name, kind::cairn, best, kind::cairn).ratio > 1) best = name;
    }
    return *std::find_if(names.begin(), names.end(), [&](const std::string& name) {
        return over_all(places, best, kind::cairn, name, kind::cairn).ratio <= edge;
    });
}

/// By the mean over all cases, and by how many of them each side wins.
advice advised(double mean, unsigned better, unsigned worse, double edge) {
    if (mean > edge && better >= worse) return advice::take;
    if (mean < 1 / edge && worse > better) return advice::peer;
    const bool level = mean <= edge && mean >= 1 / edge;
    return level && (better == 0 || worse == 0) ? advice::tie : advice::depends;
}

void find_rival(choice& c, const std::vector<place>& places, const std::string& take) {
    for (const std::string& name : in_most(places, [](const contender_result& r) {
             return r.kind == kind::peer && r.counts();
         })) {
        const match m = over_all(places, take, kind::cairn, name, kind::peer);
        if (2 * m.cases <= places.size()) continue;
        if (!c.rival.empty() && m.ratio >= c.rival_ratio) continue;
        c.rival = name;
        c.rival_ratio = m.ratio;
        c.rival_cases = m.cases;
        c.rival_better = m.better;
        c.rival_worse = m.worse;
    }
    const double edge = least_mean(places);
    if (!c.rival.empty()) {
        c.advice = advised(c.rival_ratio, c.rival_better, c.rival_worse, edge);
    } else {  // of peers that stand in a case each, none can be taken instead
        c.advice = advised(c.mean, c.better, c.worse, edge);
        if (c.advice == advice::peer) c.advice = advice::depends;
    }
}

choice judge(const need& n, const std::vector<place>& places) {
    choice c;
    const std::string take = taken(places, n);
    c.need = n.words;
    c.take = take;
    if (*n.type != '\0' && !take.starts_with(n.type)) c.take = fmt::format("{} ({})", n.type, take);
    std::vector<place> met;  // the cases of the row taken: nearly always all
    for (const place& p : places) {
        if (row_called(*p.which, take, kind::cairn) != nullptr) met.push_back(p);
    }
    double logarithms = 0;
    for (const place& p : met) {
        const contender_result& mine = *row_called(*p.which, take, kind::cairn);
        const contender_result* const peer = best_row(*p.which, kind::peer);
        judged_case j{p.experiment->name,
                      p.which->name,
                      p.which->options.unit,
                      mine.figures.median,
                      "",
                      0,
                      1,
                      ""};
        if (peer != nullptr && !mine.best_peer_verdict.empty()) {
            j.peer = peer->name;
            j.other = peer->figures.median;
            j.ratio = dearer(*p.which, j.figure, j.other);
            j.verdict = mine.best_peer_verdict;
            ++(j.verdict == "faster" ? c.better : j.verdict == "slower" ? c.worse : c.level);
        }
        const double counted = j.verdict == "faster" || j.verdict == "slower" ? j.ratio : 1;
        logarithms += std::log(counted);
        if (c.cases.empty() || counted < c.worst) {
            c.worst = counted;
            c.worst_case = c.cases.size();
        }
        c.cases.push_back(std::move(j));
    }
    c.mean = std::exp(logarithms / static_cast<double>(met.size()));
    find_rival(c, met, take);
    return c;
}

/// "churn 256 b", and the experiment before it where the need's cases are from several.
std::string place_name(const choice& c, const judged_case& j) {
    const bool one = std::all_of(c.cases.begin(), c.cases.end(),
                                 [&](auto& o) { return o.experiment == j.experiment; });
    return one ? j.name : j.experiment + " " + j.name;
}

/// "boost::pool in pair 64 b (1.4 x) and churn 256 b (1.2 x), tcmalloc in ..., and 3 more"
std::string peers_ahead(const choice& c) {
    constexpr std::size_t named = 3;
    std::vector<const judged_case*> behind;
    for (const judged_case& j : c.cases) {
        if (j.verdict == "slower") behind.push_back(&j);
    }
    std::stable_sort(behind.begin(), behind.end(),
                     [](auto* a, auto* b) { return a->ratio < b->ratio; });
    std::string s;
    for (std::size_t i = 0; i != std::min(named, behind.size()); ++i) {
        const judged_case& j = *behind[i];
        s += fmt::format("{}{} in {} ({} x)", i == 0 ? "" : ", ", j.peer, place_name(c, j),
                         figure(1 / j.ratio));
    }
    if (behind.size() > named) s += fmt::format(", and {} more", behind.size() - named);
    return s;
}

std::string ahead_of_all(const choice& c) {
    std::string s;
    unsigned count = 0;
    for (const judged_case& j : c.cases) {
        if (j.verdict != "faster") continue;
        if (++count <= 3) s += (count == 1 ? "" : ", ") + place_name(c, j);
    }
    return count > 3 ? s + fmt::format(", and {} more", count - 3) : s;
}

/// "over all 16 cases"; where the rival is not in all of them, "over 15 of 16 cases".
std::string over_cases(const choice& c) {
    if (c.cases.size() == 1) return "here";
    return c.rival_cases == c.cases.size()
               ? fmt::format("over all {} cases", c.cases.size())
               : fmt::format("over {} of {} cases", c.rival_cases, c.cases.size());
}

}  // namespace

const char* name_of(advice a) {
    constexpr const char* names[] = {"take", "tie", "depends", "peer"};
    return names[static_cast<int>(a)];
}

bool covers(const covered& where, std::string_view experiment, std::string_view name) {
    return experiment == where.experiment &&
           std::any_of(where.cases.begin(), where.cases.end(),
                       [&](const char* pattern) { return fits(name, pattern); });
}

std::vector<choice> choosing(const run_result& run, const std::vector<need>& all) {
    std::vector<choice> lines;
    for (const need& n : all) {
        const std::vector<place> places = places_of(run, n);
        if (!places.empty()) lines.push_back(judge(n, places));
    }
    return lines;
}

std::string range_of(const choice& c) {
    double least = c.cases.front().figure;
    double most = least;
    for (const judged_case& j : c.cases) {
        if (j.unit != c.cases.front().unit) return {};
        least = std::min(least, j.figure);
        most = std::max(most, j.figure);
    }
    const std::string range =
        figure(least) == figure(most) ? figure(least) : figure(least) + " to " + figure(most);
    return range + " " + c.cases.front().unit;
}

std::string advice_of(const choice& c) {
    if (c.cases.front().peer.empty()) return {};
    const std::string over = over_cases(c);
    std::string s;
    if (c.rival.empty()) {
        s = fmt::format(
            "better than every peer in {} of {} cases, worse in {}; no peer is in most of them",
            c.better, c.cases.size(), c.worse);
    } else if (c.advice == advice::take) {
        s = fmt::format("{} costs {} x {}", c.rival, figure(c.rival_ratio), over);
    } else if (c.advice == advice::tie) {
        s = fmt::format("{}: a tie {}", c.rival, over);
    } else if (c.advice == advice::depends) {
        s = fmt::format("it depends: {} is dearer in {} of {} cases and cheaper in {}", c.rival,
                        c.rival_better, c.rival_cases, c.rival_worse);
    } else {
        s = fmt::format("{} is {} x cheaper {}: take that", c.rival, figure(1 / c.rival_ratio),
                        over);
    }
    if (c.cases.size() == 1) return s;
    if (c.advice == advice::peer) {
        const std::string won = ahead_of_all(c);
        return won.empty() ? s : s + fmt::format("; {} is the cheapest in {}", c.take, won);
    }
    const std::string behind = peers_ahead(c);
    return behind.empty() ? s : s + "; cheaper all the same: " + behind;
}

std::string sentence_of(const choice& c) {
    const judged_case& one = c.cases.front();
    const std::string with = with_unit(one.figure, one.unit);
    const char* const verb = one.unit.ends_with("/s") ? "does" : "costs";
    if (one.peer.empty()) return fmt::format("For {}, {} {} {}.", c.need, c.take, verb, with);
    const std::string other = with_unit(one.other, one.unit);
    if (c.cases.size() == 1) {
        const std::string s = fmt::format("For {}, {} {} {}; ", c.need, c.take, verb, with);
        if (one.verdict == "faster") {
            return s + fmt::format("the best of the others, {} {} ({} x).", one.peer, other,
                                   figure(one.ratio));
        }
        if (one.verdict == "slower") {
            return s + fmt::format("{} is better at it: {} ({} x).", one.peer, other,
                                   figure(1 / one.ratio));
        }
        return s + fmt::format("so does, within the noise, {} {}.", one.peer, other);
    }
    const std::string over = over_cases(c);
    std::string s = fmt::format("For {}, ", c.need);
    if (c.rival.empty()) {
        s += fmt::format("{} is {}", c.take, advice_of(c));
    } else if (c.advice == advice::take) {
        s += fmt::format("take {}: {} the cheapest of the others, {}, costs {} x", c.take, over,
                         c.rival, figure(c.rival_ratio));
    } else if (c.advice == advice::tie) {
        s += fmt::format("{} and {} are a tie {}", c.take, c.rival, over);
    } else if (c.advice == advice::depends) {
        s += fmt::format("it depends: {} is dearer than {} in {} of {} cases and cheaper in {}",
                         c.rival, c.take, c.rival_better, c.rival_cases, c.rival_worse);
    } else {
        s += fmt::format("take {}: {} {} costs {} x", c.rival, over, c.take,
                         figure(1 / c.rival_ratio));
    }
    s += fmt::format("; beside the best peer of each case the mean is {} x", figure(c.mean));
    if (c.worse == 0) return s + ", and no peer is better in any case.";
    return s + fmt::format(", the worst {} x ({} in {}).", figure(c.worst), c.worst_of().peer,
                           place_name(c, c.worst_of()));
}

}  // namespace lab
