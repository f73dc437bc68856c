// Builds the page from the JSON that stands in it. The first screen first, then an experiment at a
// time between frames, so that the page can be read before all of it is drawn.
import { bytes, duration, escaped as e, figure, times } from "./format";
import { curves, rows } from "./plots";
import { anchor, best, counts, publishedUnit, ranked, rivalries, tooNear, type Case, type Choice, type Contender, type Experiment, type Meeting, type Run } from "./run";

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
  const bar = all === 0 ? "" : `
    <div class="tally" role="img" aria-label="better in ${t.faster} cases, no difference in ${t["no difference"]}, worse in ${t.slower}">
      ${["faster", "no difference", "slower"].map(k => t[k] ? `<span class="${k.replace(" ", "-")}" style="flex:${t[k]}"><b>${t[k]}</b> ${word(k)}</span>` : "").join("")}
    </div>`;
  const two = (run.verdict ?? []).filter((s, i) => i === 0 || /^(It is furthest|In no case)/.test(s)).slice(0, 2);
  const caches = m.caches.filter(c => c.type !== "Instruction").map(c => `L${c.level} ${bytes(c.bytes)}`).join(", ");
  return element(`<header class="first">
    <div class="top"><h1>cairn lab</h1><span class="dim">${e(run.date.replace("T", " ").replace("Z", " UTC"))} · ${run.mode} run, ${duration(run.seconds)}</span>
      <button id="theme" type="button" title="light or dark (t)" aria-label="switch between light and dark">◐</button></div>
    <p class="machine"><b>${e(m.cpu)}</b>, ${m.usable_threads} of ${m.hardware_threads} hardware threads, ${caches}${m.virtual_machine ? ", <b>a virtual machine</b>" : ""} <span class="dim">· ${e(m.system)}, ${e(run.compiler)}</span></p>
    ${run.interrupted ? `<p class="bad">Interrupted: what follows is what was measured until then.</p>` : ""}
    ${run.errors.map(x => `<p class="bad">${e(x)}</p>`).join("")}
    <ol class="verdict">${two.map(s => `<li>${emphasised(s)}</li>`).join("")}</ol>
    ${bar}
  </header>`);
}

/** What is not for the first screen: the whole verdict, and how sure it is. */
function sureness(run: Run): HTMLElement {
  const m = run.machine;
  const caches = m.caches.filter(c => c.type !== "Instruction").map(c => `L${c.level} ${bytes(c.bytes)}${c.ways ? ` ${c.ways}-way` : ""}${c.inclusive ? " inclusive" : ""}`).join(", ");
  const noises = run.experiments.flatMap(x => x.cases.map(c => c.noise)).filter(n => n > 0).sort((a, b) => a - b);
  const noise = noises.length ? noises[noises.length >> 1]! * 100 : 0;
  const absent = run.peers.filter(p => !p.present).map(p => p.name);
  const broken = run.experiments.flatMap(x => x.cases.flatMap(c => c.contenders.filter(r => !counts(r))));
  return element(`<details id="sure"><summary><h3>How sure is that, and on what machine?</h3></summary>
    <ol class="verdict">${(run.verdict ?? []).map(s => `<li>${emphasised(s)}</li>`).join("")}</ol>
    <p>${e(m.cpu)}, ${caches}, ${Math.round(m.memory_bytes / 2 ** 30)} GiB; ${e(m.system)}, ${e(m.kernel)}, ${e(m.c_library)}; ${e(run.compiler)}, ${e(run.flags)}.</p>
    <p>A fixed loop between the samples varied by <b>${noise.toFixed(1)} %</b> (median of the cases).
      A difference counts where it is in the ratios of the same rounds: beyond ${run.mode === "full" ? 5 : 7} % and twice that noise, in four of five rounds, and in every life of the processes. The intervals of the medians may overlap then: they also hold what slows all contenders of a round.</p>
    <p class="dim">Timer: ${run.timer_overhead_ns.toFixed(0)} ns, subtracted; ${m.pinned ? "pinned to a processor" : "not pinned"}${m.real_time ? ", real-time priority" : ""}.
      ${broken.length ? `${broken.length} row${broken.length > 1 ? "s" : ""} could not be measured and ${broken.length > 1 ? "say" : "says"} why.` : "Every contender was measured."}
      ${absent.length ? `Not installed here: ${e(absent.join(", "))}.` : ""}</p></details>`);
}

// ---- compare with --------------------------------------------------------------------------------

const beside = (m: Meeting): string => `<tr><td><b class="v ${m.verdict.replace(" ", "-")}">${times(m.ratio)}</b></td>
  <td class="l wrap"><a href="#${e(anchor(m.experiment, m.case.name))}">${e(m.experiment)}: ${e(m.case.name)}</a></td>
  <td class="l wrap">${e(m.mine.name)} ${figure(m.mine.median)}</td><td class="l wrap">${e(m.other.name)} ${figure(m.other.median)} ${e(m.case.unit)}</td></tr>`;

function group(title: string, verdict: string, meetings: Meeting[]): string {
  const those = meetings.filter(m => m.verdict === verdict);
  return those.length ? `<h3>${title} (${those.length})</h3><div class="scroll"><table class="beside"><tbody>${those.map(beside).join("")}</tbody></table></div>` : "";
}

function compareBox(run: Run): HTMLElement | null {
  const all = rivalries(run);
  if (all.size === 0) return null;
  const absent = run.peers.filter(p => !p.present && !all.has(p.name)).map(p => p.name);
  const box = element(`<section id="compare"><h2>Compare with</h2>
    <p class="chips">${[...all].map(([name, those]) => `<button type="button" aria-pressed="false" aria-controls="against" data-peer="${e(name)}">${e(name)} <span class="dim">${those.length}</span></button>`).join(" ")}${
      absent.map(name => `<button type="button" class="absent" aria-pressed="false" aria-controls="against" data-absent="${e(name)}">${e(name)}</button>`).join(" ")}</p>
    <div id="against" aria-live="polite"></div></section>`);
  const panel = box.querySelector("#against")!;
  box.addEventListener("click", event => {
    const chosen = (event.target as HTMLElement).closest<HTMLElement>("button");
    if (!chosen) return;
    const again = chosen.getAttribute("aria-pressed") === "true";
    box.querySelectorAll("button").forEach(b => b.setAttribute("aria-pressed", String(b === chosen && !again)));
    const name = chosen.dataset.peer;
    const those = name ? all.get(name)! : [];
    const n = (verdict: string): number => those.filter(m => m.verdict === verdict).length;
    panel.innerHTML = again ? "" : name
      ? `<p>cairn against <b>${e(name)}</b>: better in ${n("faster")} of ${those.length} cases, no different in ${n("no difference")}, worse in ${n("slower")}. <span class="dim">×: what it costs over cairn's.</span></p>
         ${group("cairn is better", "faster", those)}${group("no difference", "no difference", those)}${group("cairn is worse", "slower", those)}`
      : `<p><b>${e(chosen.dataset.absent!)}</b> was not measured: ${e(run.peers.find(p => p.name === chosen.dataset.absent)!.detail)}. Where you have its sources: <code>make lab LAB='--peer ${e(chosen.dataset.absent!)}=FOLDER'</code></p>`;
  });
  return box;
}

/** Figures stand out: numbers with their units in bold. */
const emphasised = (s: string): string =>
  e(s).replace(/(?<![\w:.+^;&<-])(\d[\d,]*(?:\.\d+)?(?: (?:ns|us|ms|s|x|×|%|KiB|MiB|GiB|cycles|cases)\b|×| %)?)(?![\d.,]*\.\.)/g, "<b>$1</b>");

/** Every case that a need was judged by, with what cairn's costs there and the best peer. */
const judged = (c: Choice): string => `<ul>${c.cases.map(j =>
  `<li><a href="#${e(anchor(j.experiment, j.case))}">${e(j.experiment)}: ${e(j.case)}</a> ${figure(j.figure)} ${e(j.unit)}${j.peer ? `; ${e(j.peer)} ${figure(j.other)}: <span class="v ${j.verdict.replace(" ", "-")}">${word(j.verdict)}</span>` : ""}</li>`).join("")}</ul>`;

function choosing(run: Run): HTMLElement | null {
  if (!run.choosing?.length) return null;
  return element(`<section id="choosing"><h2>What to take, by this machine's figures</h2>
    <div class="scroll"><table><thead><tr><th class="l">you need</th><th class="l">cairn's</th><th>mean</th><th>worst</th><th class="l">better than every peer in</th></tr></thead>
    <tbody>${run.choosing.map(c => {
      const alone = !c.cases[0]!.peer;
      const worst = c.cases[c.worst_case]!;
      const total = c.better + c.level + c.worse;
      return `<tr><td class="l wrap">${e(c.need)}</td><td class="l wrap"><b class="${c.advice === "peer" ? "" : "mine"}">${e(c.take)}</b></td>
      <td data-head="mean">${alone ? "" : times(c.mean)}</td><td data-head="worst">${alone || c.cases.length === 1 ? "" : `<a class="${c.worst < 1 ? "bad" : ""}" href="#${e(anchor(worst.experiment, worst.case))}">${times(c.worst)}</a>`}</td>
      <td class="l words"><details class="judged"><summary>${alone ? "no peer" : `${c.better} of ${total}`}${c.advice === "peer" ? ` <b class="bad">take ${e(c.rival)}</b>` : ""}</summary>
        <p class="${c.advice === "peer" ? "bad" : ""}">${e(c.words)} ${e(c.range)}</p>${judged(c)}</details></td></tr>`;
    }).join("")}</tbody></table></div>
    <p class="dim small">Mean (geometric) and worst: the best peer's cost over cairn's, case by case; above 1 is better than every peer.</p></section>`);
}

/** What people ask beside the needs: a link each to the experiment that answers. */
function asked(run: Run): HTMLElement | null {
  if (!run.asked?.length) return null;
  return element(`<nav aria-label="often asked"><ul>${run.asked.map(q => `<li><a href="#${e(anchor(q.experiment))}">${e(q.question)}</a></li>`).join("")}</ul></nav>`);
}

const pips = (x: Experiment): string => {
  const v: Record<string, number> = { faster: 0, "no difference": 0, slower: 0 };
  for (const c of x.cases) { const b = best(c, "cairn"); if (b?.verdict) ++v[b.verdict]!; }
  return Object.entries(v).map(([k, n]) => `<i class="pip ${k.replace(" ", "-")}" title="${n} ${word(k)}"></i>`.repeat(Math.min(n, 24))).join("");
};

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

/** A question, closed: what answers it is drawn when it is opened. */
function experiment(run: Run, x: Experiment): HTMLElement {
  const section = element(`<section class="experiment" id="${e(anchor(x.name))}"><details class="question"><summary><h3>${e(x.question)}</h3> <span class="dim">${e(x.name)}</span> <span class="pips">${pips(x)}</span></summary></details></section>`);
  const inside = section.firstElementChild as HTMLDetailsElement;
  if (x.error) inside.append(element(`<p class="bad">not run: ${e(x.error)}</p>`));
  if (!x.complete && !x.error) inside.append(element(`<p class="bad">not complete: the run was interrupted</p>`));
  if (x.take) inside.append(element(`<p class="take"><b>What to take from it.</b> ${emphasised(x.take)}</p>`));
  inside.append(element(`<figure class="plot"></figure>`));
  inside.append(element(`<p class="dim how"><b>How it was measured.</b> ${howMeasured(x)}</p>`));
  const tables = element(`<div class="tables"></div>`);
  tables.innerHTML = x.cases.map((c, i) => table(x, c, i === 0)).join("");
  inside.append(tables);
  inside.addEventListener("toggle", () => { if (inside.open) drawn(run, x); });
  return section;
}

const drawnAlready = new Set<string>();
function drawn(run: Run, x: Experiment): void {
  if (drawnAlready.has(x.name)) return;
  drawnAlready.add(x.name);
  draw(run, x, Math.min(1080, Math.max(320, main.clientWidth)));
}

// ---- links, keys, paper, theme -------------------------------------------------------------------

function openExperiment(run: Run, section: Element): void {
  const question = section.querySelector<HTMLDetailsElement>("details.question");
  const x = run.experiments.find(one => anchor(one.name) === section.id);
  if (question) question.open = true;
  if (x) drawn(run, x);
}

function follow(run: Run): void {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  const section = target.closest("section.experiment");
  if (section) openExperiment(run, section);
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
  next.querySelector<HTMLElement>("summary")?.focus({ preventScroll: true });
}

function toggleTheme(): void {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}

function openAll(run: Run, open: boolean): void {
  if (open) document.querySelectorAll("section.experiment").forEach(s => openExperiment(run, s));
  document.querySelectorAll("details").forEach(d => { d.open = open; });
}

function keys(run: Run): void {
  document.addEventListener("keydown", k => {
    if (k.ctrlKey || k.altKey || k.metaKey) return;
    if (k.key === "j") step(1);
    else if (k.key === "k") step(-1);
    else if (k.key === "t") toggleTheme();
    else if (k.key === "o") openAll(run, [...document.querySelectorAll("details")].some(d => !d.open));
  });
  document.getElementById("theme")?.addEventListener("click", toggleTheme);
  // A link that is followed again changes no hash.
  document.addEventListener("click", event => {
    const link = (event.target as HTMLElement).closest<HTMLAnchorElement>("a[href^='#']");
    if (link && link.hash === location.hash) follow(run);
  });
  addEventListener("hashchange", () => follow(run));
  addEventListener("beforeprint", () => openAll(run, true));
}

// ---- go ------------------------------------------------------------------------------------------

function build(): void {
  const run = JSON.parse(document.getElementById("run")!.textContent!) as Run;
  if (run.schema !== 1) {
    main.append(element(`<p class="bad">This page reads schema 1 and was handed schema ${e(String(run.schema))}.</p>`));
    return;
  }
  document.title = `cairn lab: ${run.machine.cpu}`;
  const parts = [firstScreen(run), compareBox(run), choosing(run), asked(run)];
  for (const part of parts) if (part) main.append(part);
  const questions = element(`<section id="questions"><h2>All questions</h2></section>`);
  const background = element(`<section id="background"><h2>Background</h2><p class="dim small">Experiments that teach something about machines and layouts. No allocator is chosen by them.</p></section>`);
  for (const x of run.experiments) (x.background ? background : questions).append(experiment(run, x));
  questions.append(sureness(run));
  main.append(questions);
  if (background.querySelector(".experiment")) main.append(background);
  keys(run);
  main.append(element(`<footer class="dim small"><p>j and k: next and previous question · o: open or close everything · t: light or dark · hover or touch a dot for its figure, or go to it with Tab and the arrows.</p>
    <p>cairn, MIT licence. Plots by Observable Plot (ISC licence) and D3 (ISC licence). All figures: the JSON in this page (schema 1).</p></footer>`));
  root.dataset.readable = root.dataset.drawn = (performance.now() - started).toFixed(0);
  if (location.hash) follow(run);
}

build();
