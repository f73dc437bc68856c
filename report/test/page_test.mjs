// Opens a page in a real Chromium and looks: node test/page_test.mjs TEMPLATE [REAL_PAGE...]
//     TEMPLATE    what build.mjs wrote; it is filled with the made-up run
//     REAL_PAGE   what `cairn lab --html` wrote
// Exit status 0: all sentences hold; 1: at least one does not; 77: there is no Chromium here.
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Browser, findBrowser } from "./browser.mjs";
import { run as madeUp } from "./made_up_run.mjs";

const [template, ...realPages] = process.argv.slice(2);
const path = findBrowser();
if (!path) { console.log("skipped: there is no Chromium here"); process.exit(77); }
if (!template || statSync(template).size === 0) { console.log("skipped: the page was not bundled (node, npm or the packages were missing)"); process.exit(77); }

const folder = mkdtempSync(join(tmpdir(), "cairn-page-test-"));
const page = join(folder, "made-up.html");
writeFileSync(page, readFileSync(template, "utf8").replace("/*run*/", () => JSON.stringify(madeUp).replaceAll("<", "\\u003c")));

let failures = 0;
const holds = (sentence, is, detail = "") => {
  if (!is) ++failures;
  console.log(`${is ? "ok  " : "FAIL"} ${sentence}${is ? "" : " " + detail}`);
};
const rgb = text => text.match(/[\d.]+/g).map(Number);
const luminance = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const contrast = (a, b) => { const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };

const browser = new Browser(path);
const url = file => "file://" + resolve(file);
try {
  for (const file of [page, ...realPages]) {
    const name = file === page ? "made-up run" : file;
    const data = JSON.parse(readFileSync(file, "utf8").match(/<script type="application\/json" id="run">([\s\S]*?)<\/script>/)[1]);
    const tab = await browser.tab();
    await tab.open(url(file));
    const ms = Number(await tab.run("document.documentElement.dataset.drawn"));
    console.log(`     ${name}: ${(statSync(file).size / 1024).toFixed(0)} KiB, drawn in ${ms} ms, ${data.experiments.length} experiments`);
    holds("a page is smaller than 2 MB", statSync(file).size < 2e6);
    holds("all of it is drawn", ms > 0);
    holds("nothing is said on the console and nothing throws", tab.problems.length === 0, tab.problems.join("; "));
    holds("nothing is loaded but the page", tab.requests.every(r => r.startsWith("file://") || r.startsWith("data:")), tab.requests.join(" "));
    holds("the first screen has at most 900 words", await tab.run("(() => { const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); let words = 0; while (walk.nextNode()) { const parent = walk.currentNode.parentElement; if (parent.closest('main') && parent.checkVisibility() && parent.getBoundingClientRect().top < 1600) words += (walk.currentNode.textContent.match(/\\S+/g) ?? []).length; } return words; })()") <= 900);
    holds("it has the machine, two sentences, whom to compare with, and the needs", await tab.run("[['.machine', 1], ['.first .verdict li', 1], ['#compare button', 1], ['#choosing tbody tr', 1]].every(([what, least]) => { const all = [...document.querySelectorAll(what)]; return all.length >= least && all.every(x => x.getBoundingClientRect().bottom < 1600); }) && document.querySelectorAll('.first .verdict li').length <= 2"));
    holds("no section opens more than one question", await tab.run("[...document.querySelectorAll('section.experiment')].every(s => s.querySelectorAll('h3').length === 1 && !s.querySelector('section'))"));
    holds("every question is closed until it is asked", await tab.run("[...document.querySelectorAll('details.question')].every(d => !d.open)"));
    await tab.key("o");
    const drawn = JSON.parse(await tab.run("JSON.stringify(Object.fromEntries([...document.querySelectorAll('section.experiment')].map(s => [s.id, [...s.querySelectorAll('.plot svg')].filter(v => v.querySelector('path, circle, line, rect')).length])))"));
    for (const e of data.experiments) {
      const rows = e.cases.some(c => c.contenders.some(r => r.status === "ok" && r.median !== null));
      holds(`${e.name} has its plot`, !rows || drawn[e.name] > 0, JSON.stringify(drawn));
    }
    const cells = await tab.run("document.querySelectorAll('details tbody tr').length");
    holds("every row of every case stands in a table", cells === data.experiments.flatMap(e => e.cases.flatMap(c => c.contenders)).length, String(cells));
    holds("no plot leaves the page", await tab.run("document.documentElement.scrollWidth <= innerWidth"));
    holds("the verdict lies on the first screen", await tab.run("[...document.querySelectorAll('.first .verdict li')].every(l => l.getBoundingClientRect().bottom < innerHeight)"));
    holds("no NaN, undefined or null is shown", !/\bNaN\b|\bundefined\b|\bnull\b/.test(await tab.run("document.body.innerText")));
    holds("every plot has words for those who cannot see it", await tab.run("[...document.querySelectorAll('.plot svg')].every(s => /^(img|group)$/.test(s.getAttribute('role')) && s.getAttribute('aria-label').length > 10)"));
    holds("every dot says what it is, to those who cannot see it too", await tab.run("[...document.querySelectorAll('.stops circle')].every(c => c.getAttribute('aria-label').length > 5) && document.querySelectorAll('.stops circle').length > 0"));
    holds("a plot is one stop of the Tab key, however many dots it has", await tab.run("[...document.querySelectorAll('.stops')].every(g => g.querySelectorAll('[tabindex=\"0\"]').length === 1)"));
    for (const width of [1280, 420]) {
      const t = width === 1280 ? tab : await browser.tab({ width });
      if (t !== tab) { await t.open(url(file)); await t.key("o"); }
      const touching = JSON.parse(await t.run(`JSON.stringify([...document.querySelectorAll(".plot svg [aria-label='x-axis tick label']")].flatMap(axis => {
        const boxes = [...axis.querySelectorAll("text")].filter(x => x.textContent).map(x => [x.getBoundingClientRect(), x.textContent]).sort((a, b) => a[0].left - b[0].left);
        return boxes.slice(1).filter(([r], i) => r.left < boxes[i][0].right + 3).map(([, text]) => axis.closest("section").id + ": " + text);
      }))`));
      holds(`at ${width} pixels no label of an axis touches the next`, touching.length === 0, touching.join(", "));
      const cut = JSON.parse(await t.run(`JSON.stringify([...document.querySelectorAll(".plot svg")].flatMap(svg => {
        const texts = [...svg.querySelectorAll("text")].filter(x => x.textContent && x.getBoundingClientRect().width > 0);
        const at = svg.closest("section").id + ": ";
        const lost = texts.filter(x => { const r = x.getBoundingClientRect(); return r.left < 0 || r.right > document.documentElement.clientWidth + 0.5 || x.textContent.includes("…"); });
        const boxes = texts.map(x => [x.getBoundingClientRect(), x.textContent]);
        const on = boxes.flatMap(([a, p], i) => boxes.slice(i + 1).filter(([b]) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4).map(([, q]) => at + p + " lies on " + q));
        const bars = [...svg.querySelectorAll("g[aria-label=bar] rect")].map(x => x.getBoundingClientRect());
        on.push(...boxes.filter(([a]) => bars.some(b => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2)).map(([, p]) => at + p + " lies under a bar"));
        return [...lost.map(x => at + x.textContent), ...on, ...(getComputedStyle(svg).overflow === "visible" ? [] : [at + "what leaves the drawing is clipped"])];
      }))`));
      holds(`at ${width} pixels no label is cut off or lies on another`, cut.length === 0, cut.slice(0, 8).join("; "));
      const hidden = JSON.parse(await t.run(`JSON.stringify([...document.querySelectorAll("main *")].filter(x => !x.closest("svg") && getComputedStyle(x).overflowX === "hidden" && x.scrollWidth > x.clientWidth + 1).map(x => x.className + ": " + x.textContent.trim()))`));
      holds(`at ${width} pixels no words are hidden`, hidden.length === 0, hidden.join("; "));
      holds(`at ${width} pixels every axis has labels`, await t.run(`[...document.querySelectorAll(".plot svg")].every(s => s.querySelectorAll("[aria-label='x-axis tick label'] text").length > 1)`));
    }
  }

  // ---- what a stranger asks: two clicks from the first screen ----------------------------------------
  for (const width of [1280, 420]) {
    const questions = [
      ["cairn or mimalloc for my job system?", ["[data-peer=mimalloc]", "#against a[href='#threads/2-threads-jobs']"], "threads/2-threads-jobs", ["3.00", "6.00"]],
      ["slot_map or EnTT?", ["[data-peer=EnTT]"], "against", ["cairn::slot_map 3.00", "EnTT registry 30.0", "10.0 ×"]],
      ["is SoA worth it for 20 fields of which I read 3?", ["nav a[href='#aos-soa']"], "aos-soa", ["soa takes 1.00 ns a row, structs 12.0"]],
      ["what does the checked build cost me?", ["nav a[href='#builds']"], "builds", ["pool pair 3.00 x"]],
    ];
    for (const [question, clicks, where, words] of questions) {
      const t = await browser.tab({ width });
      await t.open(url(page));
      for (const click of clicks) await t.run(`document.querySelector(${JSON.stringify(click)}).click()`);
      await new Promise(r => setTimeout(r, 100));
      const said = await t.run(`document.getElementById(${JSON.stringify(where)}).innerText`);
      holds(`at ${width} pixels "${question}" is answered in ${clicks.length} clicks`, clicks.length <= 2 && words.every(w => said.includes(w)), said.slice(0, 300));
      holds(`at ${width} pixels its answer needs no scrolling sideways, and nothing goes wrong`, t.problems.length === 0 && await t.run("document.documentElement.scrollWidth <= innerWidth"), t.problems.join("; "));
    }
  }
  const box = await browser.tab();
  await box.open(url(page));
  await box.run("document.querySelector('[data-peer=mimalloc]').focus()");
  await box.key("Enter");
  holds("a favourite is chosen by the keyboard, and stands for its best row of each case", await box.run("(t => t.includes('better in 1 of 2 cases') && t.indexOf('2 threads, jobs') < t.indexOf('1 thread') && !t.includes('9.00'))(document.getElementById('against').innerText)"), await box.run("document.getElementById('against').innerText"));
  await box.run("document.querySelector('[data-absent=boost]').click()");
  holds("one that was not measured says why, and how it can be", await box.run("(t => t.includes('libboost-dev') && t.includes(\"--peer boost=FOLDER\"))(document.getElementById('against').innerText)"));
  holds("what teaches stands apart", await box.run("[...document.querySelectorAll('#background .experiment')].map(s => s.id).join()") === "matrix");

  const tab = await browser.tab();
  await tab.open(url(page));
  await tab.key("o");
  const labels = async id => JSON.parse(await tab.run(`JSON.stringify([...document.querySelector("#${id} .plot svg").querySelectorAll("[aria-label='x-axis tick label'] text")].map(x => x.textContent))`));
  holds("a memory map is divided by powers of two", (await labels("map")).every(l => /^(0 B|\d+ [KM]iB)$/.test(l)), (await labels("map")).join());
  const frames = (await labels("speed")).map(Number);
  holds("frames go by evenly", frames.length > 3 && frames.every((f, i) => i < 2 || f - frames[i - 1] === frames[1] - frames[0]), frames.join());
  holds("a published curve has its key, once", await tab.run("[...document.querySelectorAll('#speed .key')].filter(k => k.querySelector('.dashed') && k.textContent === 'published: theirs').length") === 1);
  holds("a published figure says its unit where that is another", await tab.run("document.getElementById('frame').textContent.includes('12.6 cycles')"));
  holds("what is too near to differ says so", await tab.run("document.getElementById('frame').textContent.includes('less than 1.00 ns/op apart')"));
  holds("a row that crashed says so", await tab.run("document.body.textContent.includes('crashed (SIGSEGV)')"));
  holds("names are shown as they are, not as HTML", await tab.run("document.body.innerText.includes('A <CPU> & \"more\"') && document.querySelector('cpu') === null"));
  holds("an experiment that was not run says why", await tab.run("document.getElementById('parser').innerText.includes('cannot be read')"));
  holds("published figures are drawn in", await tab.run("document.querySelectorAll('#frame .plot [stroke=\"var(--published)\"], #frame .plot [stroke=\"var(--published)\"] *').length") > 0);
  await tab.run("scrollTo(0, 0)");
  await tab.key("j");
  holds("j goes to the first question", await tab.run("location.hash") === "#threads", await tab.run("location.hash"));
  await tab.key("j");
  holds("j again to the second", await tab.run("location.hash") === "#showdown", await tab.run("location.hash"));
  await tab.key("k");
  holds("k goes back", await tab.run("location.hash") === "#threads", await tab.run("location.hash"));
  await tab.key("o");
  holds("o closes everything that is open", await tab.run("[...document.querySelectorAll('details')].every(d => !d.open)"));
  await tab.key("o");
  holds("and opens it again", await tab.run("[...document.querySelectorAll('details')].every(d => d.open)"));
  const light = await tab.run("getComputedStyle(document.body).backgroundColor");
  await tab.key("t");
  holds("t makes it dark", luminance(rgb(await tab.run("getComputedStyle(document.body).backgroundColor"))) < 0.05 && luminance(rgb(light)) > 0.9);

  // ---- which dot is whose --------------------------------------------------------------------------
  for (const width of [1280, 420]) {
    const t = await browser.tab({ width });
    await t.open(url(page));
    await t.key("o");
    const tip = async () => JSON.parse(await t.run(`JSON.stringify((() => { const t = document.getElementById("tip"); if (!t || t.hidden) return null;
      const r = t.getBoundingClientRect(); return { text: t.innerText, names: [...t.querySelectorAll("b")].map(b => b.textContent), inside: r.left >= 0 && r.right <= innerWidth && r.top >= 0 && r.bottom <= innerHeight }; })())`));
    const focused = () => t.run("document.activeElement.closest('.stops') ? document.activeElement.getAttribute('aria-label') : ''");
    await t.run("document.querySelector('#crowd summary').focus()");
    let first = "";
    for (let i = 0; i < 4 && !first; ++i) { await t.key("Tab"); first = await focused(); }
    holds(`at ${width} pixels the Tab key comes to the dots`, first !== "", first);
    // Every drawing of the experiment: from each of its dots to all others, by arrows alone.
    const whole = JSON.parse(await t.run("JSON.stringify([...document.querySelectorAll('#crowd .stops')].map(g => g.querySelectorAll('circle').length))"));
    for (let d = 0; d < whole.length; ++d) {
      await t.run(`document.querySelectorAll('#crowd .stops')[${d}].querySelector('[tabindex="0"]').focus()`);
      const reached = new Set();
      const place = () => t.run("(c => c.getAttribute('cx') + ' ' + c.getAttribute('cy') + ' ' + c.getAttribute('aria-label'))(document.activeElement)");
      for (let rows = 0; rows < 12; ++rows) {
        await t.key("Home");
        for (let before = ""; (before !== await place()); ) { before = await place(); reached.add(before); await t.key("ArrowRight"); }
        const end = await place();
        await t.key("ArrowDown");
        if (await place() === end) break;
      }
      holds(`at ${width} pixels arrows reach all ${whole[d]} dots of drawing ${d + 1}`, reached.size === whole[d], String(reached.size));
    }
    await t.run("[...document.querySelectorAll('#crowd .stops circle')].find(c => c.getAttribute('aria-label').startsWith('other twin')).focus()");
    let said = await tip();
    holds(`at ${width} pixels a dot that has the focus says its name and its figure, in the window`, said?.text.startsWith("other twin (peer)") && said.text.includes("20.0 ns/op") && said.inside, JSON.stringify(said));
    holds(`at ${width} pixels it has a ring`, await t.run("getComputedStyle(document.activeElement).stroke") !== "none");
    await t.key("Escape");
    holds(`at ${width} pixels Escape takes the tip away`, await tip() === null);
    await t.run("[...document.querySelectorAll('#crowd .stops circle')].find(c => c.getAttribute('aria-label').startsWith('the very best')).focus()");
    said = await tip();
    holds(`at ${width} pixels a long name stays in the window`, said?.inside, JSON.stringify(said));
    await t.run("document.activeElement.blur()");
    holds(`at ${width} pixels the tip goes with the focus`, await tip() === null);
    const [x, y] = JSON.parse(await t.run("JSON.stringify((c => { c.scrollIntoView({ block: 'center' }); const r = c.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })([...document.querySelectorAll('#crowd .stops circle')].find(c => c.getAttribute('aria-label').startsWith('twin'))))"));
    await t.pointer(x, y);
    said = await tip();
    holds(`at ${width} pixels the pointer names all dots on one spot`, said?.names.length === 3 && ["twin (peer)", "other twin (peer)"].every(n => said.names.includes(n)) && said.inside, JSON.stringify(said));
    await t.pointer(2, 2);
    holds(`at ${width} pixels the tip goes with the pointer`, await tip() === null);
    holds(`at ${width} pixels nothing went wrong meanwhile`, t.problems.length === 0, t.problems.join("; "));
  }
  for (const width of [1280, 420]) {
    const t = await browser.tab({ width });
    await t.open(url(page));
    await t.key("o");
    holds(`at ${width} pixels what to take, and all cases that judged it, need no scrolling sideways`, await t.run("(s => s.querySelector('.judged').open && s.scrollWidth <= s.clientWidth)(document.querySelector('#choosing .scroll'))"));
  }
  const lines = JSON.parse(await tab.run(`JSON.stringify([...document.querySelectorAll("#crowd .plot svg g[aria-label=line] path")].map(p => (p.getAttribute("stroke") ?? p.parentNode.getAttribute("stroke")) + " " + (p.parentNode.getAttribute("stroke-dasharray") ?? "none")))`));
  holds("ten lines are ten kinds of line", lines.length === 10 && new Set(lines).size === 10, lines.join("; "));
  const lineKeys = JSON.parse(await tab.run(`JSON.stringify([...document.querySelectorAll("#crowd .key i[style]")].map(i => i.getAttribute("style")))`));
  holds("and have ten keys", lineKeys.length === 10 && new Set(lineKeys).size === 10, lineKeys.join("; "));

  // ---- what to take, and why not -------------------------------------------------------------------
  holds("a need shows mean, worst and the words of the terminal", await tab.run("(t => ['2.10 ×', '0.50 ×', '1 of 3', 'glibc costs 4.71 x over all 3 cases; cheaper all the same: other in calls (2.00 x)'].every(w => t.includes(w)))(document.querySelector('#choosing tbody tr').innerText)"));
  holds("and all cases that judged it", await tab.run("[...document.querySelectorAll('#choosing tbody tr')].map(r => r.querySelectorAll('.judged li').length).join()") === "3,1,1");
  holds("each of which is a place on the page", await tab.run("[...document.querySelectorAll('#choosing a')].every(a => document.getElementById(decodeURIComponent(a.hash.slice(1))))"));
  holds("only a peer that is cheaper over all cases is in red", await tab.run("[...document.querySelectorAll('#choosing .judged > p')].map(w => w.classList.contains('bad')).join()") === "false,true,false");
  holds("a case says why cairn is behind, where that is known", await tab.run("[...document.querySelectorAll('.why')].map(w => w.textContent).join('|')") === "Why twin is ahead. Heaps <merge>.");
  holds("the verdict gives the reason of what is furthest behind", await tab.run("document.querySelector('.verdict').innerText.includes('Why: it merges.')"));

  const deep = await browser.tab();
  await deep.open(url(page) + "#frame/calls");
  holds("a link to a case opens its table", await deep.run("document.getElementById('frame/calls').open"));
  holds("and shows it", await deep.run("(() => { const r = document.getElementById('frame/calls').getBoundingClientRect(); return r.top > -5 && r.top < innerHeight; })()"));
  const pdf = await deep.pdf();
  holds("it prints, all tables open", pdf.length > 20000 && await deep.run("[...document.querySelectorAll('details')].every(d => d.open)"));

  for (const dark of [false, true]) {
    const t = await browser.tab({ dark });
    await t.open(url(page));
    const colour = async name => rgb(await t.run(`(() => { const e = document.createElement('i'); e.style.color = 'var(--${name})'; document.body.append(e); return getComputedStyle(e).color; })()`));
    const paper = await colour("paper");
    for (const name of ["ink", "dim", "cairn", "bad"]) {
      const c = contrast(await colour(name), paper);
      holds(`${name} can be read on ${dark ? "dark" : "light"} paper`, c >= 4.5, c.toFixed(2));
    }
  }
  const narrow = await browser.tab({ width: 420 });
  await narrow.open(url(page));
  holds("a narrow window needs no scrolling sideways", await narrow.run("document.documentElement.scrollWidth <= innerWidth"));
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
console.log(failures ? `${failures} sentences do not hold` : "all sentences hold");
process.exit(failures ? 1 : 0);
