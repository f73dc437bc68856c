// The plots. Three kinds, all SVG, all coloured by CSS variables, so that dark, light and paper need
// no second drawing:
//
//   rows     one line for each case: cairn ●, peers ○, limit |, baseline ▲, published ◇
//   curves   what contenders handed over as series; tails (share of operations above) on log-log
//   strips   memory maps: a series whose y is "occupied", one strip a contender
//
// Names are never cut off: margins are as wide as the names in them, and where that leaves too little
// for the dots, names stand above their rows. Which dot is whose: stops.ts.
import * as Plot from "@observablehq/plot";
import { fitting, linear, logarithmic, ticks } from "./axis";
import { bytes, figure, tick } from "./format";
import { tellApart, type Stop } from "./stops";
import { best, counts, type Case, type Contender, type Experiment, type Kind, type Run, type Series } from "./run";

const colour: Record<Kind, string> = {
  cairn: "var(--cairn)", peer: "var(--peer)", limit: "var(--limit)", baseline: "var(--baseline)",
};
/** Okabe and Ito: told apart with every kind of colour vision. */
const palette = ["var(--c1)", "var(--c2)", "var(--c3)", "var(--c4)", "var(--c5)", "var(--c6)", "var(--c7)", "var(--c8)"];
/** A second and third round through the palette: other lines, not other colours. */
const dashes = ["solid", "dashed", "dotted"] as const;
const dashArray = { solid: "none", dashed: "7 3", dotted: "2 3" };
type Line = (typeof dashes)[number];
const lineOf = (i: number): Line => dashes[Math.floor(i / palette.length) % dashes.length]!;

export type Drawing = SVGSVGElement | HTMLElement;
type Plotted = Drawing & Plot.Plot;

function labelled(drawing: Drawing, text: string): Drawing {
  const svg = drawing instanceof SVGSVGElement ? drawing : drawing.querySelector("svg");
  svg?.setAttribute("role", "img");
  svg?.setAttribute("aria-label", text);
  return drawing;
}

/** Where a value of a scale lies, in the drawing's pixels. */
function placing(plot: Plotted, axis: "x" | "y"): (v: number | string) => number {
  const scale = plot.scale(axis)!;
  return v => Number(scale.apply(v)) + (scale.bandwidth ?? 0) / 2;
}

function withStops(plot: Plotted, stops: Stop[], words: string): Drawing {
  const svg = plot instanceof SVGSVGElement ? plot : plot.querySelector("svg");
  if (svg && stops.length) tellApart(svg, stops, words);
  return stops.length ? plot : labelled(plot, words);
}

const pen = document.createElement("canvas").getContext("2d")!;
function textWidth(text: string): number {
  pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width;
}
const widest = (texts: string[]): number => Math.max(0, ...texts.map(textWidth));

/** In as many lines as the width demands. */
function wrapped(text: string, width: number): string {
  const lines: string[] = [];
  for (const w of text.split(" ")) {
    const longer = lines.length ? `${lines[lines.length - 1]} ${w}` : w;
    if (lines.length && textWidth(longer) <= width) lines[lines.length - 1] = longer;
    else lines.push(w);
  }
  return lines.join("\n");
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

interface Dot { row: string; x: number; c: Contender; published: boolean }

/** What a dot is: its name, its figure, how sure that is. */
function words(d: Dot, unit: string): string[] {
  if (d.published) return [`${d.c.name} (published)`, `${figure(d.x)} ${unit}`, `${figure(d.c.published)} ${d.c.published_note}`];
  return [`${d.c.name} (${d.c.kind})`, `${figure(d.x)} ${unit}`].concat(d.c.samples > 1 ? [`95 % interval ${figure(d.c.ci_low)} to ${figure(d.c.ci_high)}`] : []);
}

/** Rows for the cases of one unit. */
function rowsOfUnit(cases: Case[], unit: string, width: number): Drawing {
  const dots: Dot[] = [];
  const notes: { row: string; text: string; kind: string }[] = [];
  const rows = cases.map(c => c.name);
  for (const c of cases) {
    for (const r of c.contenders.filter(counts)) {
      dots.push({ row: c.name, c: r, x: r.median!, published: false });
      if (r.published !== null) dots.push({ row: c.name, c: r, x: publishedIn(unit, r), published: true });
    }
    const mine = best(c, "cairn") ?? best(c, "baseline");
    const peer = best(c, "peer");
    const verdict = mine?.verdict === "faster" || mine?.verdict === "slower" ? mine.verdict : peer && mine?.kind === "cairn" ? "no difference" : "";
    const first = mine ? `${figure(mine.median)}` : "";
    notes.push({
      row: c.name, kind: verdict,
      text: mine && peer ? `${first} against ${figure(peer.median)}  ${peer.name}` : mine ? `${first} ${mine.name}` : "",
    });
  }
  const least = 340;  // what the dots need
  const [left, right] = [18 + widest(rows), 24 + widest(notes.map(n => n.text))];
  const noted = width - right >= 1.5 * least;
  const wide = width - left - (noted ? right : 16) >= least;  // otherwise names stand above their dots
  const marginLeft = wide ? left : 12;
  const marginRight = noted ? right : 16;
  const names = new Map(rows.map(r => [r, wide ? r : wrapped(r, width - (noted ? right : 16))]));
  const lines = Math.max(...[...names.values()].map(n => n.split("\n").length));
  const above = wide ? 0 : 16 * (lines - 1);
  const s = fitting(dots.map(d => d.x));
  const kinds = (k: Kind) => dots.filter(d => !d.published && d.c.kind === k);
  const mark = (k: Kind, symbol: "circle" | "triangle", r: number, filled: boolean) =>
    Plot.dot(kinds(k), {
      x: "x", y: "row", symbol, r, stroke: colour[k], strokeWidth: 1.5,
      fill: filled ? colour[k] : "var(--paper)", fillOpacity: filled ? 0.9 : 0.6,
    });
  const plot = Plot.plot({
    width, height: (wide ? 50 : 58) + (wide ? 26 : 46 + above) * rows.length, marginLeft, marginRight, marginTop: wide ? 38 : 46 + above, marginBottom: 12,
    style: { background: "transparent", color: "var(--ink)", fontSize: "12px", fontFamily: "inherit", overflow: "visible" },
    x: { ...s, inset: 6, label: cases[0]!.better === "lower" ? `← ${unit}, lower is better` : `${unit}, higher is better →` },
    y: { domain: rows, type: "band", label: null, tickSize: 0, axis: wide ? "left" : null },
    marks: [
      ...xAxis(ticks(s, width - marginLeft - marginRight - 12, tick, sideways), tick, { anchor: "top", labelOffset: 34, labelAnchor: "left", labelArrow: "none" }),
      wide ? null : Plot.text(rows, { y: d => d, text: d => names.get(d)!, frameAnchor: "left", textAnchor: "start", lineAnchor: "bottom", dx: -8, dy: -9, fill: "var(--ink)" }),
      Plot.ruleY(rows, { stroke: "var(--line)" }),
      Plot.tickX(kinds("limit"), { x: "x", y: "row", stroke: colour.limit, strokeWidth: 2, insetTop: wide ? 4 : 14 + above / 2, insetBottom: wide ? 4 : 8 + above / 2 }),
      mark("peer", "circle", 4, false),
      mark("baseline", "triangle", 4, true),
      Plot.ruleY(kinds("cairn"), { x1: d => d.c.ci_low ?? 0, x2: d => d.c.ci_high ?? 0, y: "row", stroke: colour.cairn, strokeWidth: 1.5, strokeOpacity: 0.6, clip: true }),
      mark("cairn", "circle", 5, true),
      Plot.dot(dots.filter(d => d.published), { x: "x", y: "row", symbol: "diamond", r: 5, stroke: "var(--published)", strokeWidth: 1.8, fill: "none" }),
      noted ? Plot.text(notes, { text: "text", y: "row", frameAnchor: "right", textAnchor: "start", dx: 12, fill: d => d.kind === "slower" ? "var(--bad)" : d.kind === "faster" ? "var(--cairn)" : "var(--dim)" }) : null,
    ],
  });
  const [x, y] = [placing(plot, "x"), placing(plot, "y")];
  return withStops(plot, dots.map(d => ({ x: x(d.x), y: y(d.row), row: rows.indexOf(d.row), words: words(d, unit) })),
    `${cases.length} cases in ${unit}: cairn, peers, limit and published figures; the table below has all values`);
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
  const plot = Plot.plot({
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
      ...(["peer", "baseline", "limit", "cairn"] as Kind[]).flatMap(k => dashes.map(dash => Plot.line(points.filter(p => p.kind === k && lineOf(names.indexOf(p.label)) === dash), {
        x: "x", y: "y", z: "label", stroke: d => of(d.label), curve: tail ? "step-before" : "linear",
        strokeWidth: k === "cairn" ? 2.6 : 1.5, strokeDasharray: dashArray[dash],
      }))),
      tail ? null : Plot.dot(points, { x: "x", y: "y", r: 2.2, fill: d => of(d.label) }),
    ],
  });
  const [px, py] = [placing(plot, "x"), placing(plot, "y")];
  const perLine = new Map(names.map(n => [n, points.filter(p => p.label === n).length]));
  const seen = new Map<string, number>();
  const stops = points.map(p => {  // the keyboard stops at 24 points of a line at most
    const k = seen.get(p.label) ?? 0;
    seen.set(p.label, k + 1);
    const each = Math.ceil(perLine.get(p.label)! / 24);
    return { x: px(p.x), y: py(p.y), row: names.indexOf(p.label), keyboard: k % each === 0, words: [p.label, `${xLabel}: ${xLabels === bytes ? bytes(p.x) : figure(p.x)}`, `${yLabel}: ${tail ? yLabels(p.y) : figure(p.y)}`] };
  });
  const seeds = lines.map(p => ({ x: px(p.x), y: py(p.y), row: names.length, keyboard: false, words: [p.name, `${xLabel}: ${figure(p.x)}`, `${yLabel}: ${figure(p.y)}`] }));
  return withStops(plot, [...stops, ...seeds], `${title}: ${yLabel} over ${xLabel}, for ${names.join(", ")}`);
}

/** Memory maps: points are [end of a run of bytes, 1 occupied or 0 free]. */
function stripsOf(title: string, curves: Curve[], width: number): Drawing {
  const runs = curves.flatMap(c => {
    let from = 0;
    const name = c.series.name ? `${c.contender.name}, ${c.series.name}` : c.contender.name;
    return c.series.points.map(([to, used]) => { const r = { from, to, used, name }; from = to; return r; });
  });
  const names = [...new Set(runs.map(r => r.name))];
  const wide = width - widest(names) >= 400;
  const marginLeft = wide ? 18 + widest(names) : 12;  // narrow: names stand above their strips
  const inLines = new Map(names.map(n => [n, wide ? n : wrapped(n, width - 20)]));
  const above = wide ? 4 : 4 + 16 * Math.max(...[...inLines.values()].map(n => n.split("\n").length));
  const x = linear([0, ...runs.map(r => r.to)], 2);
  return labelled(Plot.plot({
    width, height: 44 + (24 + above) * curves.length, marginLeft, marginTop: 26, marginRight: 30, marginBottom: 18,
    style: { background: "transparent", color: "var(--ink)", fontSize: "12px", fontFamily: "inherit", overflow: "visible" },
    x: { ...x, label: null },
    y: { domain: names, label: null, tickSize: 0, type: "band", padding: 0, axis: wide ? "left" : null },
    marks: [
      Plot.axisX(ticks(x, width - marginLeft - 30, bytes, sideways), { anchor: "top", text: (v: number) => bytes(v) }),
      wide ? null : Plot.text(names, { y: d => d, text: d => inLines.get(d)!, frameAnchor: "left", textAnchor: "start", lineAnchor: "bottom", dy: above / 2 - 15, fill: "var(--ink)" }),
      Plot.barX(runs, { x1: "from", x2: "to", y: "name", fill: d => (d.used > 0.5 ? "var(--cairn)" : "var(--line)"), insetTop: above, insetBottom: 4 }),
    ],
  }), `${title}: which memory is occupied`);
}

export interface Figure { title: string; drawing: Drawing; key: { name: string; colour: string; line: Line }[] }

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
        key: [...names.map((name, i) => ({ name, colour: palette[i % palette.length]!, line: lineOf(i) })),
          ...[...seeds].map(name => ({ name, colour: "var(--published)", line: "dashed" as const }))],
      });
    }
  }
  return figures;
}
