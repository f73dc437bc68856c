// A real headless Chromium, driven over its debugging pipe (two file descriptors, NUL between
// messages): no driver to install.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

export function findBrowser() {
  const names = [process.env.CHROMIUM, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"].filter(Boolean);
  for (const name of names) {
    for (const folder of name.includes("/") ? [""] : (process.env.PATH ?? "").split(delimiter)) {
      if (existsSync(join(folder, name))) return join(folder, name);
    }
  }
  return null;
}

export class Browser {
  #next = 1;
  #waiting = new Map();
  #listeners = [];

  constructor(path) {
    this.profile = mkdtempSync(join(tmpdir(), "cairn-page-"));
    this.process = spawn(path, [
      "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe", `--user-data-dir=${this.profile}`, "about:blank",
    ], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    let rest = Buffer.alloc(0);
    this.process.stdio[4].on("data", data => {
      rest = Buffer.concat([rest, data]);
      for (let end; (end = rest.indexOf(0)) >= 0; rest = rest.subarray(end + 1)) this.#received(JSON.parse(rest.subarray(0, end).toString()));
    });
  }

  #received(message) {
    if (message.id === undefined) {
      for (const l of this.#listeners) l(message);
      return;
    }
    const { resolve, reject } = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    message.error ? reject(new Error(message.error.message)) : resolve(message.result);
  }

  send(method, params = {}, sessionId = undefined) {
    const id = this.#next++;
    this.process.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  /** A tab: open(url), run(expression), key(k), pointer(x, y), screenshot(options), pdf(), and what went wrong in it. */
  async tab({ width = 1280, height = 900, dark = false } = {}) {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const problems = [];
    const requests = [];
    let loaded;
    this.#listeners.push(m => {
      if (m.sessionId !== sessionId) return;
      if (m.method === "Runtime.exceptionThrown") problems.push(m.params.exceptionDetails.exception?.description ?? m.params.exceptionDetails.text);
      if (m.method === "Runtime.consoleAPICalled" && m.params.type !== "debug") problems.push(`${m.params.type}: ${m.params.args.map(a => a.value ?? a.description).join(" ")}`);
      if (m.method === "Log.entryAdded" && m.params.entry.level === "error") problems.push(m.params.entry.text);
      if (m.method === "Network.requestWillBeSent") requests.push(m.params.request.url);
      if (m.method === "Page.loadEventFired") loaded?.();
    });
    const send = (method, params) => this.send(method, params, sessionId);
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await send(`${domain}.enable`);
    await send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
    await send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }] });
    const run = async expression => {
      const r = await send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
      if (r.exceptionDetails) throw new Error(r.exceptionDetails.exception?.description ?? r.exceptionDetails.text);
      return r.result.value;
    };
    return {
      problems, requests, run, send,
      async open(url) {
        const done = new Promise(resolve => { loaded = resolve; });
        await send("Page.navigate", { url });
        await done;
        for (let i = 0; i < 400 && !(await run("document.documentElement.dataset.drawn ?? ''")); ++i) await new Promise(r => setTimeout(r, 25));
      },
      async key(text) {
        const named = { Enter: 13, Tab: 9, Escape: 27, End: 35, Home: 36, ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40 }[text];
        const typed = text === "Enter" ? "\r" : named ? undefined : text;
        for (const type of [typed ? "keyDown" : "rawKeyDown", "keyUp"]) await send("Input.dispatchKeyEvent", { type, key: text, code: named ? text : undefined, windowsVirtualKeyCode: named, text: type === "keyDown" ? typed : undefined });
      },
      async pointer(x, y) { await send("Input.dispatchMouseEvent", { type: "mouseMoved", x, y }); },
      async screenshot({ whole = false } = {}) {
        const clip = whole ? { x: 0, y: 0, width, height: Math.min(16000, await run("document.documentElement.scrollHeight")), scale: 1 } : undefined;
        return Buffer.from((await send("Page.captureScreenshot", { format: "png", captureBeyondViewport: whole, clip })).data, "base64");
      },
      async pdf() { return Buffer.from((await send("Page.printToPDF", { printBackground: false, preferCSSPageSize: false })).data, "base64"); },
      async media(name) { await send("Emulation.setEmulatedMedia", { media: name }); },
    };
  }

  async close() {
    const ended = new Promise(resolve => this.process.once("exit", resolve));
    this.send("Browser.close").catch(() => {});
    await ended;
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}
