// What `cairn lab --json` wrote (schema 1, docs/lab-schema.md), and small questions about it.

export type Kind = "cairn" | "peer" | "limit" | "baseline";
export type Verdict = "faster" | "slower" | "no difference" | "";

export interface Series { name: string; x: string; y: string; points: [number, number][] }

export interface PublishedFigure { value: number; unit: string; of: string; source: string }

export interface Contender {
  name: string; kind: Kind; status: string; note: string;
  median: number | null; min: number | null; max: number | null; samples: number;
  ci_low: number | null; ci_high: number | null;
  ratio_to_limit: number | null; ratio_to_best_peer: number | null;
  published: number | null; published_note: string; published_figures?: PublishedFigure[];
  verdict: Verdict; series?: Series[];
  family?: string; ratio_to_cairn?: number | null; cairn_verdict?: Verdict;
}

export interface Case {
  name: string; unit: string; better: "lower" | "higher"; noise: number; least_difference?: number;
  limit: string; best_peer: string; best_cairn?: string; reason?: string; contenders: Contender[];
}

export interface Experiment {
  name: string; question: string; background?: boolean; complete: boolean; error: string; seconds: number;
  how?: string; take?: string; cases: Case[];
}

export interface JudgedCase {
  experiment: string; case: string; figure: number; unit: string; peer: string; other: number; ratio: number; verdict: Verdict;
}

export interface Choice {
  need: string; take: string; advice: "take" | "tie" | "depends" | "peer"; words: string; range: string;
  mean: number; worst: number; worst_case: number; better: number; level: number; worse: number;
  rival: string; rival_ratio: number; cases: JudgedCase[];
}

export interface Run {
  schema: number; date: string; mode: "quick" | "full"; seconds: number; interrupted: boolean;
  compiler: string; flags: string; timer_overhead_ns: number; empty_loop_ns: number;
  machine: {
    cpu: string; hardware_threads: number; usable_threads: number; memory_bytes: number;
    caches: { level: number; type: string; bytes: number; line: number; ways?: number; inclusive?: boolean | null }[];
    system: string; kernel: string; c_library: string; virtual_machine: boolean;
    pinned: boolean; real_time: boolean; tsc_ghz: number;
  };
  peers: { name: string; present: boolean; detail: string }[];
  errors: string[];
  verdict?: string[]; choosing?: Choice[]; asked?: { question: string; experiment: string }[];
  experiments: Experiment[];
}

export const counts = (c: Contender): boolean => c.status === "ok" && c.median !== null;

/** The best row of a kind, or undefined. */
export function best(c: Case, kind: Kind): Contender | undefined {
  if (kind === "cairn" && c.best_cairn) return c.contenders.find(r => r.name === c.best_cairn);
  let found: Contender | undefined;
  for (const row of c.contenders) {
    if (row.kind !== kind || !counts(row)) continue;
    if (!found || (c.better === "lower" ? row.median! < found.median! : row.median! > found.median!)) found = row;
  }
  return found;
}

const firstWord = (s: string): string => s.split(/[ ,/]/, 1)[0]!;

/** The unit of a published figure, where that is not the case's: "cycles". */
export const publishedUnit = (c: Case, r: Contender): string => {
  const unit = firstWord(r.published_note);
  return unit === firstWord(c.unit) ? "" : unit;
};

/** Nearer than what the instrument may add: no difference, however many times it is. */
export const tooNear = (c: Case, a: Contender, b: Contender): boolean => Math.abs(a.median! - b.median!) < (c.least_difference ?? 0);

/** Best first; rows that measured nothing last. */
export function ranked(c: Case): Contender[] {
  const sign = c.better === "lower" ? 1 : -1;
  return [...c.contenders].sort((a, b) =>
    Number(counts(b)) - Number(counts(a)) || (counts(a) ? sign * (a.median! - b.median!) : 0));
}

/** What the anchor of a case is called: "#frame/mixed-8-256-b". */
export const anchor = (experiment: string, name = ""): string =>
  name === "" ? experiment : experiment + "/" + name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");

/** One case in which cairn and a peer stand; a ratio above 1: the peer costs more. */
export interface Meeting { experiment: string; case: Case; mine: Contender; other: Contender; ratio: number; verdict: Verdict }

/** Every family of peers ("mimalloc"), with all cases in which it meets cairn, the best for cairn first. */
export function rivalries(run: Run): Map<string, Meeting[]> {
  const all = new Map<string, Meeting[]>();
  for (const x of run.experiments) for (const c of x.cases) {
    const mine = best(c, "cairn");
    const nearest = new Map<string, Meeting>();
    for (const r of c.contenders) {
      if (!mine || !counts(r) || !r.family || typeof r.ratio_to_cairn !== "number") continue;
      const before = nearest.get(r.family);
      if (!before || r.ratio_to_cairn < before.ratio) nearest.set(r.family, { experiment: x.name, case: c, mine, other: r, ratio: r.ratio_to_cairn, verdict: r.cairn_verdict ?? "" });
    }
    for (const [family, m] of nearest) all.set(family, [...(all.get(family) ?? []), m]);
  }
  for (const meetings of all.values()) meetings.sort((a, b) => b.ratio - a.ratio);
  return new Map([...all].sort(([, a], [, b]) => b.length - a.length));
}
