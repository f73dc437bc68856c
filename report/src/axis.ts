// An axis: its scale, and as many ticks as have room for their labels.

export interface Axis { type: "log" | "linear" | "symlog"; domain: [number, number]; base: 2 | 10; constant?: number; whole?: boolean }

function ends(values: number[]): [number, number] {
  let low = Infinity, high = -Infinity;
  for (const v of values) { low = Math.min(low, v); high = Math.max(high, v); }
  return low < high ? [low, high] : low > 0 ? [0, low] : [0, 1];
}

export const linear = (values: number[], base: 2 | 10 = 10): Axis => ({ type: "linear", domain: ends(values), base, whole: values.every(Number.isInteger) });
export const logarithmic = (values: number[], base: 2 | 10 = 10): Axis => ({ type: "log", domain: ends(values), base });

/** Log where values spread over more than a factor of 6; with zeros, log that can show them. */
export function fitting(values: number[]): Axis {
  const positive = values.filter(v => v > 0);
  if (positive.length === 0 || values.some(v => v < 0)) return linear(values);
  const [low, high] = [Math.min(...positive), Math.max(...positive)];
  const zeros = positive.length < values.length;
  if (high / low > (zeros ? 20 : 6)) return zeros ? { type: "symlog", domain: [0, high], base: 10, constant: low } : logarithmic(values);
  return { type: "linear", domain: [0, high], base: 10 };
}

/** `pixels`: how long the axis is; `room`: how much of that a label takes. */
export function ticks({ type, domain: [low, high], base, constant = 1, whole }: Axis, pixels: number, label: (v: number) => string, room: (label: string) => number): number[] {
  const place = (v: number): number => (type === "linear" ? v : type === "log" ? Math.log(v) : Math.log1p(v / constant));
  const scale = pixels / (place(high) - place(low));
  const apart = (v: number, w: number): boolean => Math.abs(place(v) - place(w)) * scale >= (room(label(v)) + room(label(w))) / 2;

  if (type === "linear" || base === 2) {  // even steps: 1, 2, 5, 10 ...; of bytes, and of their exponents, 1, 2, 4 ...
    const powers = type === "log";
    const [from, to] = powers ? [Math.log2(low), Math.log2(high)] : [low, high];
    const finest = powers || whole ? 1 : 0;  // there are no 1.5 threads
    for (let unit = Math.max(finest, base ** Math.floor(Math.log((to - from) / 50) / Math.log(base))); ; unit *= base) {
      for (const step of base === 2 ? [unit] : [unit, 2 * unit, 5 * unit]) {
        const all: number[] = [];
        for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; ++i) all.push(powers ? 2 ** (i * step) : i * step);
        if (all.every((v, i) => i === 0 || apart(v, all[i - 1]!))) return all;
      }
    }
  }
  const kept = type === "symlog" ? [0] : [];  // decades first, then what has room between them
  for (const digits of [[1, 5, 2], [3, 7], [4, 6, 8, 9]]) {
    if (kept.length > 2) break;
    for (const digit of digits) {
      for (let k = Math.floor(Math.log10(high)); digit * 10 ** k >= (low || constant) * (1 - 1e-9); --k) {
        const v = digit * 10 ** k;
        if (v <= high * (1 + 1e-9) && kept.every(w => apart(v, w))) kept.push(v);
      }
    }
  }
  return kept.sort((a, b) => a - b);
}
