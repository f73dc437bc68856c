// Bundles src/ into one HTML file without the figures: node build.mjs [FILE]
// The `cairn` command puts its JSON where the file says /*run*/.
import { build } from "esbuild";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "../build/report/page.html");
const options = { bundle: true, minify: true, write: false, legalComments: "none", target: "es2020", absWorkingDir: here };
const script = await build({ ...options, entryPoints: ["src/page.ts"], format: "iife" });
const style = await build({ ...options, entryPoints: ["src/style.css"] });
const text = result => result.outputFiles[0].text.trim();
const page = readFileSync(join(here, "src/page.html"), "utf8")
  .replace("/*style*/", () => text(style))
  .replace("/*script*/", () => text(script).replaceAll("</script", "<\\/script"));
mkdirSync(dirname(out), { recursive: true });
writeFileSync(out, page);
console.log(`${out}: ${(page.length / 1024).toFixed(0)} KiB`);
