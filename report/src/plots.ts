// The plots. Three kinds, all SVG, all coloured by CSS variables, so that dark, light and paper need
// no second drawing:
//
//   rows     one line for each case: cairn ●, peers ○, limit |, baseline ▲, published ◇
//   curves   what contenders handed over as series; tails (share of operations above) on log-log
//   strips   memory maps: a series whose y is "occupied", one strip a contender
import * as Plot from "@observablehq/plot";
import { fitting, linear, logarithmic, ticks } from "./axis";
import { bytes, figure, tick } from "./format";
import { best, counts, type Case, type Contender, type Experiment, type Kind, type Run, type Series } from "./run";

const colour: Record<Kind, string> = {
  cairn: "var(--cairn)", peer: "var(--peer)", limit: "var(--limit)", baseline: "var(--baseline)",
};
/** Okabe and Ito: told apart with every kind of colour vision. */
const palette = ["var(--c1)", "var(--c2)", "var(--c3)", "var(--c4)", "var(--c5)", "var(--c6)", "var(--c7)", "var(--c8)"];
const shortened = (s: string, n: number): string => (s.length > n ? s.slice(0, n - 1) + "…" : s);

export type Drawing = SVGSVGElement | HTMLElement;

function labelled(drawing: Drawing, text: string): Drawing {
  const svg = drawing instanceof SVGSVGElement ? drawing : drawing.querySelector("svg");
  svg?.setAttribute("role", "img");
  svg?.setAttribute("aria-label", text);
  return drawing;
}

/** The axis and its grid. Plot labels only some ticks of a log scale; ours all have room. */
function xAxis(at: number[], label: (v: number) => string, options: Plot.AxisXOptions = {}): Plot.Markish[] {
  return [Plot.gridX(at, {}), Plot.axisX(at, { text: (v: number) => label(v), ...options })];
}
function yAxis(at: number[], label: (v: number) => string): Plot.Markish[] {
  return [Plot.gridY(at, {}), Plot.axisY(at, { text: (v: number) => label(v) })];
}

const letter = 6.8;  // the width of one, at 12 pixels
const sideways = (label: string): number => letter * label.length + 18;
const upwards = (): number => 26;

/** Where a published figure stands on the axis of the case. The thesis counts cycles of 4.5 GHz. */
function publishedIn(unit: string, r: Contender): number {
  return /^cycles/.test(r.published_note) && unit.startsWith("ns") ? r.published! / 4.5 : r.published!;
}

interface Dot { row: string; x: number; c: Contender; low: number; high: number; unit: string }

/** Rows for the cases of one unit. */
function rowsOfUnit(cases: Case[], unit: string, width: number): Drawing {
  const wide = width >= 760;
  const dots: Dot[] = [];
  const published: Dot[] = [];
  const notes: { row: string; text: string; kind: string }[] = [];
  const rows = cases.map(c => c.name);
  for (const c of cases) {
    for (const r of c.contenders) {
      const at = { row: c.name, c: r, unit, low: r.ci_low ?? 0, high: r.ci_high ?? 0 };
      if (counts(r)) dots.push({ ...at, x: r.median! });
      if (counts(r) && r.published !== null) published.push({ ...at, x: publishedIn(unit, r) });
    }
    const mine = best(c, "cairn") ?? best(c, "baseline");
    const peer = best(c, "peer");
    const verdict = mine?.verdict === "faster" || mine?.verdict === "slower" ? mine.verdict : peer && mine?.kind === "cairn" ? "no difference" : "";
    const first = mine ? `${figure(mine.median)}` : "";
    notes.push({
      row: c.name, kind: verdict,
      text: mine && peer ? `${first} against ${figure(peer.median)}  ${shortened(peer.name, 27)}` : mine ? `${first} ${shortened(mine.name, 26)}` : "",
    });
  }
  const longest = Math.max(...rows.map(r => r.length));
  const nameLength = wide ? 44 : 60;
  const marginLeft = wide ? 14 + 6.6 * Math.min(longest, nameLength) : 12;  // narrow: names stand above their dots
  const marginRight = wide ? 300 : 16;
  const s = fitting([...dots, ...published].map(d => d.x));
  const kinds = (k: Kind) => dots.filter(d => d.c.kind === k);
  const mark = (k: Kind, symbol: "circle" | "triangle", r: number, filled: boolean) =>
    Plot.dot(kinds(k), {
      x: "x", y: "row", symbol, r, stroke: colour[k], strokeWidth: 1.5,
      fill: filled ? colour[k] : "var(--paper)", fillOpacity: filled ? 0.9 : 0.6,
    });
  return labelled(Plot.plot({
    width, height: (wide ? 50 : 58) + (wide ? 26 : 42) * rows.length, marginLeft, marginRight, marginTop: wide ? 38 : 46, marginBottom: 12,
    style: { background: "transparent", color: "var(--ink)", fontSize: "12px", fontFamily: "inherit", overflow: "visible" },
    x: { ...s, inset: 6, label: cases[0]!.better === "lower" ? `← ${unit}, lower is better` : `${unit}, higher is better →` },
    y: { domain: rows, type: "band", label: null, tickFormat: (d: string) => shortened(d, nameLength), tickSize: 0, axis: wide ? "left" : null },
    marks: [
      ...xAxis(ticks(s, width - marginLeft - marginRight - 12, tick, sideways), tick, { anchor: "top", labelOffset: 34, labelAnchor: "left", labelArrow: "none" }),
      wide ? null : Plot.text(rows, { y: d => d, text: d => shortened(d, nameLength), frameAnchor: "left", textAnchor: "start", dx: -8, dy: -14, fill: "var(--ink)" }),
      Plot.ruleY(rows, { stroke: "var(--line)" }),
      Plot.tickX(kinds("limit"), { x: "x", y: "row", stroke: colour.limit, strokeWidth: 2, insetTop: wide ? 4 : 14, insetBottom: wide ? 4 : 8 }),
      mark("peer", "circle", 4, false),
      mark("baseline", "triangle", 4, true),
      Plot.ruleY(kinds("cairn"), { x1: "low", x2: "high", y: "row", stroke: colour.cairn, strokeWidth: 1.5, strokeOpacity: 0.6, clip: true }),
      mark("cairn", "circle", 5, true),
      Plot.dot(published, { x: "x", y: "row", symbol: "diamond", r: 5, stroke: "var(--published)", strokeWidth: 1.8, fill: "none" }),
      wide ? Plot.text(notes, { text: "text", y: "row", frameAnchor: "right", textAnchor: "start", dx: 12, fill: d => d.kind === "slower" ? "var(--bad)" : d.kind === "faster" ? "var(--cairn)" : "var(--dim)" }) : null,
      Plot.tip([...dots, ...published.map(d => ({ ...d, isPublished: true }))], Plot.pointer({
        x: "x", y: "row", fill: "var(--paper)", stroke: "var(--line)", maxRadius: 30,
        title: (d: Dot & { isPublished?: boolean }) => `${d.c.name} (${d.isPublished ? "published" : d.c.kind})\n${figure(d.x)} ${unit}${d.isPublished ? `\n${figure(d.c.published)} ${shortened(d.c.published_note, 60)}` : ""}` +
          (!d.isPublished && d.c.samples > 1 ? `\n95 % interval ${figure(d.low)} to ${figure(d.high)}` : ""),
      })),
    ],
  }), `${cases.length} cases in ${unit}: cairn, peers, limit and published figures; the table below has all values`);
}

export function rows(e: Experiment, width: number): Drawing[] {
  const units = new Map<string, Case[]>();
  for (const c of e.cases) {
    if (!c.contenders.some(counts)) continue;
    const key = c.unit + "|" + c.better;
    units.set(key, [...(units.get(key) ?? []), c]);
  }
  return [...units.values()].map(cases => rowsOfUnit(cases, cases[0]!.unit, width));
}

interface Curve { contender: Contender; series: Series }

const isTail = (yLabel: string) => /share of .* above|1 ?- ?cdf/i.test(yLabel);

/** Curves of one case that share their axes. */
function curvesOf(run: Run, title: string, curves: Curve[], width: number): Drawing {
  const { x: xLabel, y: yLabel } = curves[0]!.series;
  const tail = isTail(yLabel);
  const workingSet = /bytes|working set/i.test(xLabel);
  const ours = curves.filter(c => !c.series.name.startsWith("published") && c.series.points.length > 1);
  const points = ours.flatMap((c, i) => c.series.points.map(([x, y]) => ({
    x, y, name: c.series.name || c.contender.name, kind: c.contender.kind, i,
    label: curves.some(o => o !== c && o.contender.name === c.contender.name) ? `${c.contender.name}: ${c.series.name}` : c.contender.name,
  }))).filter(p => !tail || (p.y > 0 && p.x > 0));
  const names = [...new Set(points.map(p => p.label))];
  const markers = curves.filter(c => c.series.name.startsWith("published"));
  const drawn = new Map(markers.filter(c => c.series.points.length > 1).map(c => [c.series.name, c]));  // once, whoever brings it
  const lines = [...drawn.values()].flatMap(c => c.series.points.map(([x, y]) => ({ x, y, name: c.series.name })));
  const rules = new Map(markers.filter(c => c.series.points.length === 1).map(c => [c.series.name, { x: c.series.points[0]![0], name: c.series.name.replace(/^published:? ?/, "") }]));
  const caches = workingSet ? run.machine.caches.filter(c => c.type !== "Instruction") : [];
  const xs = [...points, ...lines, ...rules.values()].map(p => p.x);
  const ys = [...points, ...lines].map(p => p.y);
  // Time goes evenly; and few threads are few points.
  const across = workingSet ? logarithmic(xs, 2) : tail ? logarithmic(xs) : /^frame|^threads/.test(xLabel) ? linear(xs) : fitting(xs);
  const up = tail ? logarithmic(ys) : fitting(ys);
  const xLabels = workingSet ? bytes : tick;
  const yLabels = tail ? (v: number) => (v >= 0.01 ? `${+(v * 100).toPrecision(2)} %` : `1 in ${tick(1 / v)}`) : tick;
  const of = (n: string) => palette[names.indexOf(n) % palette.length]!;
  return labelled(Plot.plot({
    width, height: 340, marginLeft: 58, marginRight: 20, marginBottom: 42, marginTop: 34,
    style: { background: "transparent", color: "var(--ink)", fontSize: "12px", fontFamily: "inherit", overflow: "visible" },
    x: { ...across, label: xLabel },
    y: { ...up, label: yLabel },
    color: { domain: names, range: names.map(of) },
    marks: [
      ...xAxis(ticks(across, width - 78, xLabels, sideways), xLabels),
      ...yAxis(ticks(up, 264, yLabels, upwards), yLabels),
      Plot.frame({ stroke: "var(--line)" }),
      Plot.ruleX(caches, { x: "bytes", stroke: "var(--dim)", strokeDasharray: "2 3" }),
      Plot.text(caches, { x: "bytes", text: c => `L${c.level}${c.type === "Data" ? "d" : ""} ${bytes(c.bytes)}`, frameAnchor: "top", dy: -8, fill: "var(--dim)", textAnchor: "middle" }),
      Plot.ruleX([...rules.values()], { x: "x", stroke: "var(--published)", strokeDasharray: "1 4", strokeWidth: 1.5 }),
      Plot.text([...rules.values()], { x: "x", text: "name", frameAnchor: "bottom", rotate: -90, textAnchor: "start", dx: -7, dy: -4, fill: "var(--published)" }),
      Plot.line(lines, { x: "x", y: "y", z: "name", stroke: "var(--published)", strokeDasharray: "5 4", strokeWidth: 1.5 }),
      ...(["peer", "baseline", "limit", "cairn"] as Kind[]).map(k => Plot.line(points.filter(p => p.kind === k), {
        x: "x", y: "y", z: "label", stroke: d => of(d.label), curve: tail ? "step-before" : "linear",
        strokeWidth: k === "cairn" ? 2.6 : 1.5, ...(k === "limit" ? { strokeDasharray: "4 3" } : {}),
      })),
      tail ? null : Plot.dot(points, { x: "x", y: "y", r: 2.2, fill: d => of(d.label) }),
      Plot.tip(points, Plot.pointer({ x: "x", y: "y", fill: "var(--paper)", stroke: "var(--line)", title: d => `${d.label}\n${workingSet ? bytes(d.x) : figure(d.x)}: ${figure(d.y)}` })),
    ],
  }), `${title}: ${yLabel} over ${xLabel}, for ${names.join(", ")}`);
}

/** Memory maps: points are [end of a run of bytes, 1 occupied or 0 free]. */
function stripsOf(title: string, curves: Curve[], width: number): Drawing {
  const runs = curves.flatMap(c => {
    let from = 0;
    const name = c.series.name ? `${c.contender.name}, ${c.series.name}` : c.contender.name;
    return c.series.points.map(([to, used]) => { const r = { from, to, used, name }; from = to; return r; });
  });
  const wide = width >= 600;
  const marginLeft = wide ? 190 : 12;  // narrow: names stand above their strips
  const names = [...new Set(runs.map(r => r.name))];
  const x = linear([0, ...runs.map(r => r.to)], 2);
  return labelled(Plot.plot({
    width, height: 44 + (wide ? 28 : 44) * curves.length, marginLeft, marginTop: 26, marginRight: 30,
    style: { background: "transparent", color: "var(--ink)", fontSize: "12px", fontFamily: "inherit" },
    x: { ...x, label: null },
    y: { domain: names, label: null, tickSize: 0, type: "band", axis: wide ? "left" : null },
    marks: [
      Plot.axisX(ticks(x, width - marginLeft - 30, bytes, sideways), { anchor: "top", text: (v: number) => bytes(v) }),
      wide ? null : Plot.text(names, { y: d => d, text: d => d, frameAnchor: "left", textAnchor: "start", dy: -12, fill: "var(--ink)" }),
      Plot.barX(runs, { x1: "from", x2: "to", y: "name", fill: d => (d.used > 0.5 ? "var(--cairn)" : "var(--line)"), insetTop: wide ? 4 : 20, insetBottom: 4 }),
    ],
  }), `${title}: which memory is occupied`);
}

export interface Figure { title: string; drawing: Drawing; key: { name: string; colour: string; dashed?: boolean }[] }

export function curves(run: Run, e: Experiment, width: number): Figure[] {
  const figures: Figure[] = [];
  for (const c of e.cases) {
    const groups = new Map<string, Curve[]>();
    for (const r of c.contenders) {
      for (const s of r.series ?? []) {
        if (s.points.length === 0) continue;
        const key = s.x + "|" + s.y;
        groups.set(key, [...(groups.get(key) ?? []), { contender: r, series: s }]);
      }
    }
    for (const group of groups.values()) {
      if (/occupied/i.test(group[0]!.series.y)) {
        figures.push({ title: c.name, drawing: stripsOf(c.name, group, width), key: [] });
        continue;
      }
      const ours = group.filter(g => !g.series.name.startsWith("published"));
      const label = (g: Curve) => ours.some(o => o !== g && o.contender.name === g.contender.name) ? `${g.contender.name}: ${g.series.name}` : g.contender.name;
      const names = [...new Set(ours.map(label))];
      const seeds = new Set(group.filter(g => !ours.includes(g) && g.series.points.length > 1).map(g => g.series.name));
      // A tail belongs to all percentiles of its case, not to the one that names it.
      const { x, y } = group[0]!.series;
      const title = isTail(y) ? `${/^.*: /.exec(c.name)?.[0] ?? ""}${y} (${x})` : c.name;
      figures.push({
        title, drawing: curvesOf(run, title, group, width),
        key: [...names.map((name, i) => ({ name, colour: palette[i % palette.length]! })),
          ...[...seeds].map(name => ({ name, colour: "var(--published)", dashed: true }))],
      });
    }
  }
  return figures;
}
