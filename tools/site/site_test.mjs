// Opens the site from its files in a real Chromium and looks: node tools/site/site_test.mjs build/docs/site
// Exit status 0: all sentences hold; 1: at least one does not; 77: there is no Chromium here.
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { Browser, findBrowser } from "../../report/test/browser.mjs";
import { searches } from "./searches.mjs";

const site = resolve(process.argv[2] ?? "build/docs/site");
let failures = 0;
const holds = (sentence, is, detail = "") => {
  if (!is) ++failures;
  console.log(`${is ? "ok  " : "FAIL"} ${sentence}${is ? "" : " " + detail}`);
};
const pages = readdirSync(site, { recursive: true }).filter(f => f.endsWith(".html") && f !== "404.html" && f !== join("figures", "lab.html"));

// ---- links, in the files --------------------------------------------------------------------------------
const ids = new Map();
const idsOf = file => {
  if (!ids.has(file)) ids.set(file, new Set([...readFileSync(file, "utf8").matchAll(/\s(?:id|name)="?([^"\s>]+)"?/g)].map(m => decodeURIComponent(m[1]))));
  return ids.get(file);
};
const dead = [];
let links = 0;
for (const page of pages) {
  const file = join(site, page);
  for (const [, raw] of readFileSync(file, "utf8").matchAll(/<a\s[^>]*href="?([^"\s>]*)"?/g)) {
    const href = raw.replaceAll("&amp;", "&");
    if (/^(https?|mailto|javascript):/.test(href)) continue;
    ++links;
    const [path, anchor] = href.split("#");
    const target = path === "" ? file : join(dirname(file), decodeURIComponent(path.split("?")[0]));
    if (!existsSync(target) || (statSync(target).isDirectory() && !existsSync(join(target, "index.html")))) dead.push(`${page}: ${href}`);
    else if (anchor && target.endsWith(".html") && !idsOf(target).has(decodeURIComponent(anchor))) dead.push(`${page}: ${href} (no such place)`);
  }
}
holds(`none of ${links} links on ${pages.length} pages is dead`, dead.length === 0, "\n     " + [...new Set(dead)].slice(0, 20).join("\n     "));

// ---- in the browser ------------------------------------------------------------------------------------
const path = findBrowser();
if (!path) { console.log("skipped: there is no Chromium here"); process.exit(failures ? 1 : 77); }
const browser = new Browser(path);
const url = page => "file://" + join(site, page);
const open = async (tab, page) => {
  await tab.send("Page.navigate", { url: url(page) });
  for (let i = 0; i < 400; ++i) {
    await new Promise(r => setTimeout(r, 25));
    if (await tab.run("location.href.startsWith('file') && document.readyState === 'complete'").catch(() => false)) break;
  }
};
const until = async (tab, expression) => {
  for (let i = 0; i < 400; ++i) {
    if (await tab.run(expression)) return true;
    await new Promise(r => setTimeout(r, 50));
  }
  return false;
};
try {
  const tab = await browser.tab();
  const wide = ["index.html", "api/alloc/pool.html", "api/containers/slot_map.html", "choose/index.html", "docs/choosing.html", "docs/guides/start.html", "figures/index.html", "examples/particles.html"].filter(p => pages.includes(p));
  for (const page of wide) {
    await open(tab, page);
    holds(`${page} has a heading and says nothing on the console`, await tab.run("!!document.querySelector('h1')") && tab.problems.length === 0, tab.problems.join("; "));
  }
  holds("nothing is loaded but files", tab.requests.every(r => /^(file|data|blob|chrome):/.test(r)), tab.requests.filter(r => !/^(file|data|blob|chrome):/.test(r)).slice(0, 3).join(" "));

  // Search: from the keyboard, as "s" or "/" opens it.
  const finds = async words => {
    await open(tab, "index.html");
    await tab.key("s");
    await until(tab, "document.activeElement?.matches('.md-search__input')");
    await tab.run(`(() => { const i = document.querySelector('.md-search__input'); i.value = ${JSON.stringify(words)}; i.dispatchEvent(new Event('keyup', { bubbles: true })); i.dispatchEvent(new Event('input', { bubbles: true })); })()`);
    await until(tab, "document.querySelectorAll('.md-search-result__link').length > 0");
    return JSON.parse(await tab.run("JSON.stringify([...document.querySelectorAll('.md-search-result__item')].map(a => a.innerText + ' ' + a.querySelector('a').href))"));
  };
  const erase = await finds("erase while iterating");
  holds("search finds 'erase while iterating'", erase.some(r => /erase while iterating/i.test(r)), erase.slice(0, 3).join(" | "));
  const magazine = await finds("concurrent_pool");
  holds("search finds a name of the reference", magazine.some(r => /api\/alloc\/concurrent_pool/.test(r)), magazine.slice(0, 3).join(" | "));

  // What people type: the first hit leads where they wanted to go.
  const wrong = [];
  for (const [words, expected] of searches) {
    const type = text => tab.run(`(() => { const i = document.querySelector('.md-search__input'); i.focus(); i.value = ${JSON.stringify(text)}; i.dispatchEvent(new Event('keyup', { bubbles: true })); i.dispatchEvent(new Event('input', { bubbles: true })); })()`);
    await type("");
    await until(tab, "document.querySelectorAll('.md-search-result__link').length === 0");
    await type(words);
    await until(tab, "document.querySelectorAll('.md-search-result__link').length > 0");
    const first = await tab.run("(document.querySelector('.md-search-result__link')?.href ?? '')");
    if (!expected.test(relative(site, decodeURIComponent(first.replace(/^file:\/\//, "").replace(/[?#].*/, ""))))) wrong.push(`${words}: ${first.split("/").slice(-2).join("/")}`);
  }
  console.log(`     ${searches.length - wrong.length} of ${searches.length} words lead to their page`);
  holds("at least 36 of 40 words have the right first hit", searches.length === 40 && wrong.length <= 4, wrong.join(" | "));
  const lazy = pages.filter(p => readFileSync(join(site, p), "utf8").includes("A type, as its name says"));
  holds("no entry of the reference says only that it is a type", lazy.length === 0, lazy.slice(0, 5).join(" "));

  // By the keyboard from question to answer.
  await open(tab, "choose/index.html");
  let page = "", steps = 0;
  for (; steps < 6 && !(await tab.run("/^Take /.test(document.querySelector('h1').innerText)")); ++steps) {
    await tab.run("document.querySelector('.choose a').focus()");
    const next = await tab.run("document.activeElement.getAttribute('href')");
    page = relative(site, join(site, "choose", next));
    await open(tab, page);
  }
  holds("the choosing tree ends with a name, and what one loses", await tab.run("/^Take /.test(document.querySelector('h1').innerText) && !!document.querySelector('a[href*=\"api/\"]')"), page);

  for (const narrow of ["index.html", "api/alloc/pool.html", "docs/choosing.html", "docs/guides/start.html", "docs/decisions/README.html"].filter(p => pages.includes(p))) {
    const t = await browser.tab({ width: 420 });
    await open(t, narrow);
    holds(`${narrow} is no wider than 420 pixels`, await t.run("document.documentElement.scrollWidth <= innerWidth"), String(await t.run("document.documentElement.scrollWidth")));
  }
  const dark = await browser.tab({ dark: true });
  await open(dark, "index.html");
  await dark.run("localStorage.clear()");  // what the bright tabs chose
  await open(dark, "docs/choosing.html");
  holds("a dark system gets a dark page", await dark.run("(() => { const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number); return r + g + b < 200; })()"));
} finally {
  await browser.close();
}
process.exit(failures ? 1 : 0);
