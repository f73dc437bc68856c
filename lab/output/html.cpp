#include <fmt/format.h>

#include <algorithm>

#include "lab/harness/registry.hpp"
#include "lab/output/output.hpp"

namespace lab {

namespace {

std::string escaped(std::string_view text) {
    std::string s;
    for (const char c : text) {
        switch (c) {
            case '&':
                s += "&amp;";
                break;
            case '<':
                s += "&lt;";
                break;
            case '>':
                s += "&gt;";
                break;
            case '"':
                s += "&quot;";
                break;
            default:
                s += c;
        }
    }
    return s;
}

constexpr const char* style = R"css(
:root{color-scheme:light dark;--ink:#1c2126;--dim:#5d6771;--paper:#fff;--line:#d9dee3;
--cairn:#0072b2;--peer:#999;--limit:#009e73;--baseline:#d9a441;--bad:#b3401c}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ec;--dim:#9aa4ae;--paper:#14181c;--line:#333b43;
--cairn:#56b4e9;--peer:#777;--limit:#2fc398;--baseline:#c9973a;--bad:#ef8a62}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:72em;
margin:2em auto;padding:0 1em}
h1{font-size:1.6em}h2{margin-top:2.2em;border-top:1px solid var(--line);padding-top:1em}
h3{margin-bottom:.3em}.dim,caption{color:var(--dim)}a{color:var(--cairn)}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.15em .7em;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th{font-weight:600;color:var(--dim)}td:first-child,th:first-child,td.l,th.l{text-align:left}
tr.cairn td:first-child{font-weight:600;color:var(--cairn)}.bad{color:var(--bad)}
rect.cairn{fill:var(--cairn)}rect.peer{fill:var(--peer)}rect.limit{fill:var(--limit)}
rect.baseline{fill:var(--baseline)}.notes{font-size:.88em;color:var(--dim);margin:.3em 0 0;padding-left:1.2em}
.key span{margin-right:1.2em}.key i{display:inline-block;width:.8em;height:.8em;margin-right:.35em}
@media print{body{margin:0;max-width:none}h2{break-before:auto}table{break-inside:avoid}}
)css";

std::string ratio(const std::optional<double>& r) { return r ? figure(*r) + " ×" : ""; }

std::string row(const case_result& c, const contender_result& r, double largest) {
    if (!r.counts()) {
        return fmt::format(
            "<tr><td>{}</td><td class=l>{}</td><td class='l bad' colspan=7>{}: {}</td></tr>\n",
            escaped(r.name), name_of(r.kind), name_of(r.status), escaped(r.note));
    }
    const double width = largest > 0 ? 160 * std::max(0.0, r.figures.median) / largest : 0;
    const std::string interval =
        r.figures.samples > 1 ? figure(r.figures.ci_low) + " – " + figure(r.figures.ci_high) : "";
    return fmt::format(
        "<tr class={0}><td>{1}</td><td class=l>{0}</td><td class=l><svg width=160 height=12 "
        "role=img aria-label='{2} {3}'><rect class={0} height=12 rx=1 "
        "width={4:.1f}></rect></svg></td>"
        "<td><b>{2}</b></td><td>{5}</td><td>{6}</td><td>{7}</td><td>{8}</td><td>{9}</td></tr>\n",
        name_of(r.kind), escaped(r.name), figure(r.figures.median), escaped(c.options.unit),
        std::max(width, 1.0), figure(r.figures.min), interval, ratio(r.ratio_to_limit),
        ratio(r.ratio_to_best_peer), escaped(published(c, r)));
}

std::string table(const case_result& c) {
    std::string s = fmt::format("<h3>{}</h3><p class=dim>{}, {} is better", escaped(c.name),
                                escaped(c.options.unit),
                                c.options.better == better::lower ? "lower" : "higher");
    if (c.noise > 0) s += fmt::format(" · noise floor {:.1f} %", c.noise * 100);
    if (c.options.least_difference > 0) {
        s += fmt::format(" · nearer than {} is no difference", figure(c.options.least_difference));
    }
    if (!c.limit.empty()) s += " · limit: " + escaped(c.limit);
    if (!c.best_peer.empty()) s += " · best peer: " + escaped(c.best_peer);
    s += "</p><div class=scroll><table><tr><th>contender<th class=l>kind<th "
         "class=l><th>median<th>min"
         "<th>95 % interval<th>to limit<th>to best peer<th>published</tr>\n";
    double largest = 0;
    std::vector<const contender_result*> rows;
    for (const contender_result& r : c.contenders) {
        rows.push_back(&r);
        if (r.counts()) largest = std::max(largest, r.figures.median);
    }
    std::stable_sort(rows.begin(), rows.end(), [&](auto* a, auto* b) {
        if (a->counts() != b->counts()) return a->counts();
        return c.options.better == better::lower ? a->figures.median < b->figures.median
                                                 : a->figures.median > b->figures.median;
    });
    std::string notes;
    for (const contender_result* r : rows) {
        s += row(c, *r, largest);
        if (r->counts() && !r->note.empty()) {
            notes += fmt::format("<li>{}: {}</li>", escaped(r->name), escaped(r->note));
        }
        for (const published_figure& p : r->published) {
            if (!r->counts()) continue;
            notes += fmt::format("<li>{}, published: {} {}</li>", escaped(r->name), figure(p.value),
                                 escaped(words_of(p)));
        }
    }
    s += "</table></div>\n";
    if (const std::string why = reason_of(c); !why.empty()) {
        s += fmt::format("<p>Why {} is ahead: {}</p>\n", escaped(c.best_peer), escaped(why));
    }
    if (!notes.empty()) s += "<ul class=notes>" + notes + "</ul>\n";
    return s;
}

}  // namespace

std::string as_html(const run_result& run) {
    std::string s = fmt::format(
        "<!doctype html><html lang=en><head><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width,initial-scale=1'>"
        "<title>cairn lab</title><style>{}</style></head><body><h1>cairn lab</h1>\n"
        "<pre class='dim scroll'>{}</pre>\n<p class=dim>{} · {} run, {:.0f} s{}</p>\n",
        style, escaped(heading(run)), run.date, run.full ? "full" : "quick", run.seconds,
        run.interrupted ? " · interrupted: what follows is what was measured until then" : "");
    for (const std::string& e : run.errors) s += "<p class=bad>" + escaped(e) + "</p>\n";
    s += "<p class=key>";
    for (const kind k : {kind::cairn, kind::peer, kind::limit, kind::baseline}) {
        s += fmt::format("<span><i style='background:var(--{0})'></i>{0}</span>", name_of(k));
    }
    s += "</p><ul>";
    for (const experiment_result& e : run.experiments) {
        s += fmt::format("<li><a href='#{0}'>{0}</a>: {1}</li>", escaped(e.name),
                         escaped(e.question));
    }
    s += "</ul>\n";
    for (const experiment_result& e : run.experiments) {
        s += fmt::format("<h2 id='{0}'>{0}</h2><p>{1}</p>\n", escaped(e.name), escaped(e.question));
        if (!e.error.empty()) s += "<p class=bad>not run: " + escaped(e.error) + "</p>\n";
        for (const case_result& c : e.cases) s += table(c);
    }
    return s + "</body></html>\n";
}

}  // namespace lab
