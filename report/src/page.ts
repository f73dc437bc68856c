// Builds the page from the JSON that stands in it. The first screen first, then an experiment at a
// time between frames, so that the page can be read before all of it is drawn.
import { bytes, duration, escaped as e, figure, times } from "./format";
import { curves, rows } from "./plots";
import { anchor, best, counts, publishedUnit, ranked, tooNear, type Case, type Choice, type Contender, type Experiment, type Run } from "./run";

const started = performance.now();
const root = document.documentElement;
const main = document.querySelector("main")!;

function element(html: string): HTMLElement {
  const t = document.createElement("template");
  t.innerHTML = html.trim();
  return t.content.firstElementChild as HTMLElement;
}

/** "faster" also stands for fewer bytes and more lines a second. */
const word = (verdict: string): string => (verdict === "faster" ? "better" : verdict === "slower" ? "worse" : verdict);

// ---- the first screen ----------------------------------------------------------------------------

function tally(run: Run): Record<string, number> {
  const t: Record<string, number> = { faster: 0, "no difference": 0, slower: 0 };
  for (const c of run.experiments.flatMap(x => x.cases)) {
    const mine = best(c, "cairn");
    if (mine?.verdict) ++t[mine.verdict]!;
  }
  return t;
}

function firstScreen(run: Run): HTMLElement {
  const m = run.machine;
  const t = tally(run);
  const all = t.faster! + t["no difference"]! + t.slower!;
  const caches = m.caches.filter(c => c.type !== "Instruction").map(c => `L${c.level} ${bytes(c.bytes)}${c.ways ? ` ${c.ways}-way` : ""}${c.inclusive ? " inclusive" : ""}`).join(", ");
  const noises = run.experiments.flatMap(x => x.cases.map(c => c.noise)).filter(n => n > 0).sort((a, b) => a - b);
  const noise = noises.length ? noises[noises.length >> 1]! * 100 : 0;
  const absent = run.peers.filter(p => !p.present).map(p => p.name);
  const broken = run.experiments.flatMap(x => x.cases.flatMap(c => c.contenders.filter(r => !counts(r))));
  const bar = all === 0 ? "" : `
    <div class="tally" role="img" aria-label="better in ${t.faster} cases, no difference in ${t["no difference"]}, worse in ${t.slower}">
      ${["faster", "no difference", "slower"].map(k => t[k] ? `<span class="${k.replace(" ", "-")}" style="flex:${t[k]}"><b>${t[k]}</b> ${word(k)}</span>` : "").join("")}
    </div>
    <p class="dim small">cairn's best against the best of the peers, case by case: a run's percentiles and its memory are cases too.</p>`;
  return element(`<header class="first">
    <div class="top"><h1>cairn lab</h1><span class="dim">${e(run.date.replace("T", " ").replace("Z", " UTC"))} · ${run.mode} run, ${duration(run.seconds)}</span>
      <button id="theme" type="button" title="light or dark (t)" aria-label="switch between light and dark">◐</button></div>
    ${run.interrupted ? `<p class="bad">Interrupted: what follows is what was measured until then.</p>` : ""}
    ${run.errors.map(x => `<p class="bad">${e(x)}</p>`).join("")}
    <ol class="verdict">${(run.verdict ?? []).map(s => `<li>${emphasised(s)}</li>`).join("")}</ol>
    ${bar}
    <div class="tiles">
      <div><h2>The machine</h2><p><b>${e(m.cpu)}</b>, ${m.usable_threads} of ${m.hardware_threads} hardware threads, ${caches}, ${Math.round(m.memory_bytes / 2 ** 30)} GiB${m.virtual_machine ? ", <b>a virtual machine</b>" : ""}.
        <span class="dim">${e(m.system)}, ${e(m.kernel)}, ${e(m.c_library)}; ${e(run.compiler)}, ${e(run.flags)}.</span></p></div>
      <div><h2>How sure it is</h2><p>A fixed loop between the samples varied by <b>${noise.toFixed(1)} %</b> (median of the cases).
        A difference counts where it is in the ratios of the same rounds: beyond ${run.mode === "full" ? 5 : 7} % and twice that noise, in four of five rounds, and in every life of the processes. (The intervals of the medians may overlap then: they also hold what slows all contenders of a round.)
        <span class="dim">Timer: ${run.timer_overhead_ns.toFixed(0)} ns, subtracted; ${m.pinned ? "pinned to a processor" : "not pinned"}${m.real_time ? ", real-time priority" : ""}.
        ${broken.length ? `${broken.length} row${broken.length > 1 ? "s" : ""} could not be measured and ${broken.length > 1 ? "say" : "says"} why.` : "Every contender was measured."}
        ${absent.length ? `Not installed here: ${e(absent.join(", "))}.` : ""}</span></p></div>
    </div>
  </header>`);
}

/** Figures stand out: numbers with their units in bold. */
const emphasised = (s: string): string =>
  e(s).replace(/(?<![\w:.+^;&<-])(\d[\d,]*(?:\.\d+)?(?: (?:ns|us|ms|s|x|×|%|KiB|MiB|GiB|cycles|cases|of)\b|×| %)?)/g, "<b>$1</b>");

/** Every case that a need was judged by, with what cairn's costs there and the best peer. */
const judged = (c: Choice): string => `<details class="judged"><summary>${c.cases.length} case${c.cases.length === 1 ? "" : "s"}</summary><ul>${c.cases.map(j =>
  `<li><a href="#${e(anchor(j.experiment, j.case))}">${e(j.experiment)}: ${e(j.case)}</a> ${figure(j.figure)} ${e(j.unit)}${j.peer ? `; ${e(j.peer)} ${figure(j.other)}: <span class="v ${j.verdict.replace(" ", "-")}">${word(j.verdict)}</span>` : ""}</li>`).join("")}</ul></details>`;

function choosing(run: Run): HTMLElement | null {
  if (!run.choosing?.length) return null;
  return element(`<section id="choosing"><h2>What to take, by this machine's figures</h2>
    <p class="dim small">Each need is judged by all cases that its words cover. Mean (geometric) and worst: the best peer's cost over cairn's, case by case; above 1 is better than every peer, no difference is 1.</p>
    <div class="scroll"><table><thead><tr><th class="l">you need</th><th class="l">cairn's</th><th class="l">costs</th><th>mean</th><th>worst</th><th class="l">by these figures</th></tr></thead>
    <tbody>${run.choosing.map(c => {
      const alone = !c.cases[0]!.peer;
      const worst = c.cases[c.worst_case]!;
      return `<tr><td class="l wrap">${e(c.need)}</td><td class="l wrap"><b class="${c.advice === "peer" ? "" : "mine"}">${e(c.take)}</b></td><td class="l wrap" data-head="costs">${e(c.range)}</td>
      <td data-head="mean">${alone ? "" : times(c.mean)}</td><td data-head="worst">${alone || c.cases.length === 1 ? "" : `<a class="${c.worst < 1 ? "bad" : ""}" href="#${e(anchor(worst.experiment, worst.case))}">${times(c.worst)}</a>`}</td>
      <td class="l words"><span class="${c.advice === "peer" ? "bad" : ""}">${e(c.words)}</span>${judged(c)}</td></tr>`;
    }).join("")}</tbody></table></div></section>`);
}

function contents(run: Run): HTMLElement {
  return element(`<nav aria-label="experiments"><h2>The experiments</h2><ul>${run.experiments.map(x => {
    const v = { faster: 0, "no difference": 0, slower: 0 } as Record<string, number>;
    for (const c of x.cases) { const b = best(c, "cairn"); if (b?.verdict) ++v[b.verdict]!; }
    const marks = Object.entries(v).map(([k, n]) => `<i class="pip ${k.replace(" ", "-")}" title="${n} ${word(k)}"></i>`.repeat(Math.min(n, 24))).join("");
    return `<li><a href="#${anchor(x.name)}">${e(x.name)}</a> <span class="dim">${e(x.question)}</span> <span class="pips">${marks}</span></li>`;
  }).join("")}</ul></nav>`);
}

// ---- an experiment -------------------------------------------------------------------------------

function tableRow(c: Case, r: Contender, largest: number): string {
  if (!counts(r)) return `<tr class="${r.kind}"><td class="l">${e(r.name)}</td><td class="l">${r.kind}</td><td class="l bad wrap" colspan="7">${e(r.status)}: ${e(r.note)}</td></tr>`;
  const width = largest > 0 ? Math.max(1, (100 * Math.max(0, r.median!)) / largest) : 0;
  return `<tr class="${r.kind}"><td class="l">${e(r.name)}</td><td class="l">${r.kind}</td>
    <td class="l"><span class="bar" style="width:${width.toFixed(1)}px"></span></td><td><b>${figure(r.median)}</b></td><td>${figure(r.min)}</td>
    <td>${r.samples > 1 ? `${figure(r.ci_low)} – ${figure(r.ci_high)}` : ""}</td><td>${times(r.ratio_to_limit)}</td><td>${times(r.ratio_to_best_peer)}</td><td>${r.published === null ? "" : e(`${figure(r.published)} ${publishedUnit(c, r)}`.trim())}</td></tr>`;
}

function table(x: Experiment, c: Case, open: boolean): string {
  const largest = Math.max(0, ...c.contenders.filter(counts).map(r => r.median!));
  const mine = best(c, "cairn");
  const peer = best(c, "peer");
  const gist = mine && peer
    ? `${e(mine.name)} ${figure(mine.median)}, ${e(peer.name)} ${figure(peer.median)}: <span class="v ${mine.verdict.replace(" ", "-")}">${word(mine.verdict) || "not compared"}</span>${mine.verdict && tooNear(c, mine, peer) ? ` <span class="dim">(less than ${figure(c.least_difference!)} ${e(c.unit)} apart)</span>` : ""}`
    : mine ? `${e(mine.name)} ${figure(mine.median)}` : "";
  const notes = c.contenders.filter(counts).flatMap(r => [
    r.note ? `${e(r.name)}: ${e(r.note)}` : "", r.published_note ? `${e(r.name)}, published ${r.published === null ? "" : figure(r.published)}: ${e(r.published_note)}` : "",
    ...(r.published_figures ?? []).slice(1).map(p => `${e(r.name)}, published ${figure(p.value)}: ${e(`${p.unit}${p.of === "median" ? "" : `, ${p.of}`}, ${p.source}`)}`),
  ]).filter(Boolean);
  return `<details id="${e(anchor(x.name, c.name))}"${open ? " open" : ""}><summary><b>${e(c.name)}</b> <span class="dim">${e(c.unit)}</span> <span class="gist">${gist}</span>
      <a class="link" href="#${e(anchor(x.name, c.name))}" aria-label="link to ${e(c.name)}">#</a></summary>
    <div class="scroll"><table><thead><tr><th class="l">contender</th><th class="l">kind</th><th></th><th>median</th><th>min</th><th>95 % interval</th><th>to limit</th><th>to best peer</th><th>published</th></tr></thead>
    <tbody>${ranked(c).map(r => tableRow(c, r, largest)).join("")}</tbody></table></div>
    <p class="dim small">${e(c.unit)}, ${c.better} is better${c.noise > 0 ? ` · noise floor ${(c.noise * 100).toFixed(1)} %` : ""}${c.least_difference ? ` · nearer than ${figure(c.least_difference)} is no difference` : ""}${c.limit ? ` · limit: ${e(c.limit)}` : ""}${c.best_peer ? ` · best peer: ${e(c.best_peer)}` : ""}</p>
    ${c.reason ? `<p class="why"><b>Why ${e(c.best_peer)} is ahead.</b> ${e(c.reason)}</p>` : ""}
    ${notes.length ? `<ul class="notes">${[...new Set(notes)].map(n => `<li>${n}</li>`).join("")}</ul>` : ""}</details>`;
}

function howMeasured(x: Experiment): string {
  const samples = x.cases.flatMap(c => c.contenders.filter(r => counts(r) && r.samples > 1).map(r => r.samples)).sort((a, b) => a - b);
  const each = samples.length ? (samples[0] === samples[samples.length - 1] ? `${samples[0]}` : `${samples[0]} to ${samples[samples.length - 1]}`) : "";
  return `${x.how ? e(x.how) + " " : ""}Every contender in a process of its own${each ? `, ${each} samples each, in rounds of random order` : ""}; the median is shown, with the 95 % interval of the median. ${duration(x.seconds)} in all.`;
}

/** The plots of an experiment, into its figure. */
function draw(run: Run, x: Experiment, width: number): void {
  const box = document.getElementById(anchor(x.name))!.querySelector("figure.plot")!;
  const kinds = new Set(x.cases.flatMap(c => c.contenders.filter(counts).map(r => r.kind as string)));
  if (x.cases.some(c => c.contenders.some(r => counts(r) && r.published !== null))) kinds.add("published");
  for (const f of curves(run, x, Math.min(width, 900))) {
    box.append(element(`<p class="caption"><b>${e(f.title)}</b> ${f.key.map(k => `<span class="key"><i ${k.line !== "solid" ? `class="dashed" style="border-color:${k.colour};border-top-style:${k.line}"` : `style="background:${k.colour}"`}></i>${e(k.name)}</span>`).join(" ")}</p>`), f.drawing);
  }
  const overview = rows(x, width);
  if (overview.length) {
    box.append(element(`<p class="caption">${["cairn", "peer", "limit", "baseline", "published"].filter(k => kinds.has(k)).map(k => `<span class="key"><i class="shape ${k}"></i>${k}</span>`).join(" ")}</p>`), ...overview);
  }
}

function experiment(x: Experiment): HTMLElement {
  const section = element(`<section class="experiment" id="${e(anchor(x.name))}"><h2><a href="#${e(anchor(x.name))}">${e(x.name)}</a></h2><p class="question">${e(x.question)}</p></section>`);
  if (x.error) section.append(element(`<p class="bad">not run: ${e(x.error)}</p>`));
  if (!x.complete && !x.error) section.append(element(`<p class="bad">not complete: the run was interrupted</p>`));
  const figureBox = element(`<figure class="plot"></figure>`);
  section.append(figureBox);
  if (x.take) section.append(element(`<p class="take"><b>What to take from it.</b> ${emphasised(x.take)}</p>`));
  section.append(element(`<p class="dim how"><b>How it was measured.</b> ${howMeasured(x)}</p>`));
  const tables = element(`<div class="tables"></div>`);
  tables.innerHTML = x.cases.map((c, i) => table(x, c, i === 0)).join("");
  section.append(tables);
  return section;
}

// ---- links, keys, paper, theme -------------------------------------------------------------------

function follow(): void {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  if (target instanceof HTMLDetailsElement) target.open = true;
  target.scrollIntoView();
}

function step(direction: 1 | -1): void {
  const stops = [...document.querySelectorAll<HTMLElement>("section.experiment")];
  const now = stops.findIndex(s => s.getBoundingClientRect().top > -4);
  const here = now < 0 ? stops.length : now;
  const atTop = stops[here] && Math.abs(stops[here]!.getBoundingClientRect().top) < 8;
  const next = stops[direction > 0 ? (atTop ? here + 1 : here) : here - 1];
  if (!next) { if (direction < 0) scrollTo(0, 0); return; }
  history.replaceState(null, "", "#" + next.id);
  next.scrollIntoView();
  next.querySelector<HTMLElement>("h2 a")?.focus({ preventScroll: true });
}

function toggleTheme(): void {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}

function keys(): void {
  document.addEventListener("keydown", k => {
    if (k.ctrlKey || k.altKey || k.metaKey) return;
    if (k.key === "j") step(1);
    else if (k.key === "k") step(-1);
    else if (k.key === "t") toggleTheme();
    else if (k.key === "o") {
      const all = [...document.querySelectorAll("details")];
      const open = all.some(d => !d.open);
      for (const d of all) d.open = open;
    }
  });
  document.getElementById("theme")?.addEventListener("click", toggleTheme);
  addEventListener("hashchange", follow);
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach(d => { d.open = true; }));
}

// ---- go ------------------------------------------------------------------------------------------

function build(): void {
  const run = JSON.parse(document.getElementById("run")!.textContent!) as Run;
  if (run.schema !== 1) {
    main.append(element(`<p class="bad">This page reads schema 1 and was handed schema ${e(String(run.schema))}.</p>`));
    return;
  }
  document.title = `cairn lab: ${run.machine.cpu}`;
  main.append(firstScreen(run));
  const table = choosing(run);
  if (table) main.append(table);
  main.append(contents(run));
  keys();
  const width = Math.min(1080, Math.max(320, main.clientWidth));
  for (const x of run.experiments) main.append(experiment(x));
  main.append(element(`<footer class="dim small"><p>j and k: next and previous experiment · o: open or close all tables · t: light or dark · hover or touch a dot for its figure, or go to it with Tab and the arrows.</p>
    <p>cairn, MIT licence. Plots by Observable Plot (ISC licence) and D3 (ISC licence). All figures: the JSON in this page (schema 1).</p></footer>`));
  root.dataset.readable = (performance.now() - started).toFixed(0);
  let next = 0;
  const some = (): void => {
    const until = performance.now() + 50;
    while (next < run.experiments.length && performance.now() < until) draw(run, run.experiments[next++]!, width);
    if (next < run.experiments.length) { setTimeout(some); return; }
    root.dataset.drawn = (performance.now() - started).toFixed(0);
    if (location.hash) follow();
  };
  some();
}

build();
