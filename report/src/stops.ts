// What each dot is, said by pointer, touch and keyboard alike. Over a drawing lies one invisible stop a
// dot: the drawing is a single stop of the Tab key, arrows go from dot to dot, and the one that has the
// focus has a ring, a label for screen readers and the same words in a tip.

export interface Stop { x: number; y: number; row: number; words: string[]; keyboard?: boolean }

const reach = 30;  // pixels from a dot at which the pointer still means it
const together = 7;  // dots nearer than this to the nearest are named with it

let tip: HTMLElement | null = null;

function shown(svg: SVGSVGElement, at: Stop, lines: string[][]): void {
  if (!tip) {
    tip = document.createElement("div");
    tip.id = "tip";
    tip.setAttribute("aria-hidden", "true");  // the stop's label says the same
    document.body.append(tip);
  }
  tip.replaceChildren(...lines.map(words => {
    const p = document.createElement("p");
    const name = document.createElement("b");
    name.textContent = words[0]!;
    p.append(name);
    for (const w of words.slice(1)) p.append(document.createElement("br"), w);
    return p;
  }));
  tip.hidden = false;
  const box = svg.getBoundingClientRect();
  const scale = box.width / svg.viewBox.baseVal.width;
  const [x, y] = [box.left + at.x * scale, box.top + at.y * scale];
  const [w, h] = [tip.offsetWidth, tip.offsetHeight];
  const room = document.documentElement.clientWidth;
  tip.style.left = `${scrollX + Math.max(4, Math.min(x - w / 2, room - w - 4))}px`;
  tip.style.top = `${scrollY + (y - h - 12 >= 4 ? y - h - 12 : y + 14)}px`;
}

function hide(): void { if (tip) tip.hidden = true; }

/** Puts the stops over a drawing and listens to it. `words` says what the drawing as a whole shows. */
export function tellApart(svg: SVGSVGElement, stops: Stop[], words: string): void {
  svg.setAttribute("role", "group");
  svg.setAttribute("aria-label", `${words}; arrow keys go from dot to dot`);
  for (const child of svg.children) child.setAttribute("aria-hidden", "true");
  const layer = document.createElementNS("http://www.w3.org/2000/svg", "g");
  layer.setAttribute("class", "stops");
  const places = stops.filter(s => s.keyboard !== false).sort((a, b) => a.row - b.row || a.x - b.x);
  const circles = places.map((s, i) => {
    const c = document.createElementNS("http://www.w3.org/2000/svg", "circle");
    for (const [k, v] of Object.entries({ cx: s.x, cy: s.y, r: 8, tabindex: i === 0 ? 0 : -1, role: "img", "aria-label": s.words.join(", ") })) c.setAttribute(k, String(v));
    return c;
  });
  layer.append(...circles);
  svg.append(layer);

  const go = (i: number): void => {
    if (!circles[i]) return;
    for (const c of circles) c.setAttribute("tabindex", "-1");
    circles[i].setAttribute("tabindex", "0");
    circles[i].focus({ preventScroll: true });
    circles[i].scrollIntoView({ block: "nearest" });
    shown(svg, places[i]!, [places[i]!.words]);
  };
  /** The place in the next row that has places, nearest in x. */
  const across = (i: number, direction: 1 | -1): number => {
    const { row, x } = places[i]!;
    const rows = places.map(p => p.row).filter(r => (r - row) * direction > 0);
    if (rows.length === 0) return i;
    const next = direction > 0 ? Math.min(...rows) : Math.max(...rows);
    return places.reduce((best, p, k) => (p.row === next && (best < 0 || Math.abs(p.x - x) < Math.abs(places[best]!.x - x)) ? k : best), -1);
  };
  const ends = (i: number, direction: 1 | -1): number => {
    const inRow = places.map((p, k) => (p.row === places[i]!.row ? k : -1)).filter(k => k >= 0);
    return direction > 0 ? inRow[inRow.length - 1]! : inRow[0]!;
  };
  layer.addEventListener("keydown", k => {
    const i = circles.indexOf(k.target as SVGCircleElement);
    if (i < 0 || k.ctrlKey || k.altKey || k.metaKey) return;
    const next = { ArrowRight: places[i + 1]?.row === places[i]!.row ? i + 1 : i, ArrowLeft: places[i - 1]?.row === places[i]!.row ? i - 1 : i,
      ArrowDown: across(i, 1), ArrowUp: across(i, -1), Home: ends(i, -1), End: ends(i, 1) }[k.key];
    if (k.key === "Escape") hide();
    if (next === undefined) return;
    k.preventDefault();
    go(next);
  });
  layer.addEventListener("focusin", f => {
    const i = circles.indexOf(f.target as SVGCircleElement);
    if (i >= 0) shown(svg, places[i]!, [places[i]!.words]);
  });
  layer.addEventListener("focusout", hide);

  const nearest = (p: PointerEvent): Stop | undefined => {
    const box = svg.getBoundingClientRect();
    const scale = box.width / svg.viewBox.baseVal.width;
    const far = (s: Stop): number => Math.hypot(box.left + s.x * scale - p.clientX, box.top + s.y * scale - p.clientY);
    const found = stops.reduce<Stop | undefined>((best, s) => (far(s) < (best ? far(best) : reach) ? s : best), undefined);
    if (found) {
      const near = stops.filter(s => s !== found && Math.hypot((s.x - found.x) * scale, (s.y - found.y) * scale) < together);
      shown(svg, found, [found, ...near.slice(0, 7)].map(s => s.words).concat(near.length > 7 ? [[`and ${near.length - 7} more`]] : []));
    } else hide();
    return found;
  };
  svg.addEventListener("pointermove", nearest);
  svg.addEventListener("pointerdown", p => {
    const found = nearest(p);
    const i = found ? places.indexOf(found) : -1;
    if (i < 0) return;
    p.preventDefault();  // or the press would take the focus away again
    circles.forEach((c, k) => c.setAttribute("tabindex", k === i ? "0" : "-1"));
    circles[i]!.focus({ preventScroll: true });
    nearest(p);
  });
  svg.addEventListener("pointerleave", () => { if (!layer.contains(document.activeElement)) hide(); });
}
