// Pictures to look at: node test/look.mjs PAGE FOLDER [HASH]
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Browser, findBrowser } from "./browser.mjs";

const [page, folder, hash = ""] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const browser = new Browser(findBrowser());
try {
  for (const [name, options] of [["light", {}], ["dark", { dark: true }], ["narrow", { width: 420 }]]) {
    const tab = await browser.tab(options);
    await tab.open("file://" + resolve(page) + hash);
    writeFileSync(join(folder, `${name}.png`), await tab.screenshot());
    const boxes = JSON.parse(await tab.run("JSON.stringify([...document.querySelectorAll('figure.plot')].map(f => { const r = f.getBoundingClientRect(); return [f.parentElement.id, r.x, r.y + scrollY, r.width, r.height]; }))"));
    for (const [id, x, y, w, h] of boxes) {
      const { data } = await tab.send("Page.captureScreenshot", { format: "png", captureBeyondViewport: true, clip: { x: Math.max(0, x - 20), y, width: w + 40, height: h, scale: 1 } });
      writeFileSync(join(folder, `${name}-${id}.png`), Buffer.from(data, "base64"));
    }
    if (name === "light") {
      writeFileSync(join(folder, "whole.png"), await tab.screenshot({ whole: true }));
      writeFileSync(join(folder, "paper.pdf"), await tab.pdf());
      console.log(`readable after ${await tab.run("document.documentElement.dataset.readable")} ms, drawn in ${await tab.run("document.documentElement.dataset.drawn")} ms, ${await tab.run("document.querySelectorAll('.plot svg').length")} plots`);
    }
    if (name === "light") {
      await tab.media("print");
      await tab.run("document.querySelectorAll('details').forEach(d => { d.open = true; })");
      writeFileSync(join(folder, "print.png"), await tab.screenshot({ whole: true }));
    }
    for (const p of tab.problems) console.log(`${name}: ${p}`);
  }
} finally {
  await browser.close();
}
