// Numbers and text as the terminal prints them.

/** "0.57", "12.3", "1,234": three significant digits, whatever the size. */
export function figure(v: number | null): string {
  if (v === null) return "";
  const a = Math.abs(v);
  if (v === 0) return "0";
  if (a < 0.001 || a >= 1e12) return v.toExponential(2);
  if (a < 0.01) return v.toFixed(4);
  if (a < 0.1) return v.toFixed(3);
  if (a < 10) return v.toFixed(2);
  if (a < 100) return v.toFixed(1);
  return Math.round(v).toLocaleString("en-US");
}

/** Tick labels: "1k", "20M", "0.5". */
export function tick(v: number): string {
  const a = Math.abs(v);
  if (a >= 1e9) return +(v / 1e9).toPrecision(3) + "G";
  if (a >= 1e6) return +(v / 1e6).toPrecision(3) + "M";
  if (a >= 1e4) return +(v / 1e3).toPrecision(3) + "k";
  return String(+v.toPrecision(3));
}

/** 49152: "48 KiB". */
export function bytes(v: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (v >= 1024 && i < units.length - 1) { v /= 1024; ++i; }
  return `${+v.toPrecision(3)} ${units[i]}`;
}

export function duration(seconds: number): string {
  const s = Math.round(seconds);
  return s < 100 ? `${s} s` : `${Math.floor(s / 60)} min ${s % 60} s`;
}

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
export const escaped = (text: string): string => text.replace(/[&<>"]/g, c => entities[c]!);
export const times = (ratio: number | null): string => (ratio === null ? "" : figure(ratio) + " ×");
