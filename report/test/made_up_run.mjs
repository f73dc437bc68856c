// A run that has everything a run can have: curves, tails, memory maps, rows that failed, zeros, an
// interrupted experiment, names with < & " in them, long names, dots on one spot, more lines than
// colours. Figures are made up.
const row = (name, kind, median, more = {}) => ({
  name, kind, median, min: median * 0.97, max: median * 1.2, mean: median, stddev: 0.1, samples: 15, ci_low: median * 0.98, ci_high: median * 1.03,
  ratio_to_limit: 1.1, ratio_to_best_peer: 0.5, published: null, published_note: "", note: "", status: "ok", verdict: kind === "cairn" ? "faster" : "",
  ...(kind === "peer" ? { family: name.split(/[ ,<(]|::/)[0], ratio_to_cairn: median / 3, cairn_verdict: median > 3 ? "faster" : "slower" } : {}), ...more,
});
const failed = (name, status, note) => ({ ...row(name, "peer", 1), median: null, min: null, max: null, samples: 0, ci_low: null, ci_high: null, ratio_to_limit: null, ratio_to_best_peer: null, status, note });
const a_case = (name, contenders, more = {}) => ({ name, unit: "ns/op", better: "lower", noise: 0.02, limit: "bump", best_peer: "glibc", best_cairn: contenders.find(c => c.kind === "cairn")?.name ?? "", contenders, ...more });
const experiment = (name, question, cases, more = {}) => ({ name, question, complete: true, error: "", seconds: 5, how: "", take: "Of 1 case, cairn is better in 1.", cases, ...more });
const tail = (name, x) => ({ name, x: "ns for one allocation", y: "share of operations above", points: [0, 1, 2, 3, 4, 5].map(k => [x * 3 ** k, 10 ** -k]) });
const walk = (name, factor) => ({ name, x: "working set, bytes", y: "cycles per node", points: [...Array(18)].map((_, k) => [2 ** (10 + k), factor * (4 + 10 * k)]) });
const line = (name, slope) => ({ name, x: "frame", y: "speed", points: [10, 20, 500, 1000, 2000].map(x => [x, slope * x]) });

const judged = (experiment, name, figure, peer, other, verdict, unit = "ns/op") => ({ experiment, case: name, figure, unit, peer, other, ratio: other / figure, verdict });
const long = "a store of objects that come and go, every second of them referred to by a handle of 64 bits";

export const run = {
  schema: 1, date: "2026-01-01T12:00:00Z", mode: "quick", seconds: 123, interrupted: false, compiler: "GNU 12", flags: "-O3",
  timer_overhead_ns: 20, empty_loop_ns: 0.3, errors: ["no experiment is called 'nonsense'"],
  machine: {
    cpu: "A <CPU> & \"more\"", hardware_threads: 8, usable_threads: 8, memory_bytes: 2 ** 34, page_bytes: 4096, system: "Debian", kernel: "Linux 6", c_library: "glibc 2.36",
    caches: [{ level: 1, type: "Data", bytes: 32768, line: 64 }, { level: 1, type: "Instruction", bytes: 32768, line: 64 }, { level: 2, type: "Unified", bytes: 2 ** 20, line: 64 }, { level: 3, type: "Unified", bytes: 2 ** 24, line: 64 }],
    virtual_machine: false, tsc_ghz: 3, pinned: true, real_time: false, transparent_huge_pages: "madvise", governor: "",
  },
  peers: [{ name: "mimalloc", present: true, detail: "2.0" }, { name: "boost", present: false, detail: "libboost-dev" }],
  verdict: ["cairn's best is better than every peer in 3 of 5 cases, no different in 1 and worse in 1.", "For frames, cairn::arena costs 2.10 ns/op; the best of the others, glibc 21 ns/op (10 x).",
    "For pools, cairn::pool costs 1.9 ns/op.", "It is furthest behind in heap (1 mb): cairn::heap 4 ns/op, glibc 2 ns/op (2 x). Why: it merges.", "How sure that is: 20 rows measured."],
  choosing: [
    { need: "a frame", take: "cairn::arena", advice: "take", words: "glibc costs 4.71 x over all 3 cases; cheaper all the same: other in calls (2.00 x)", range: "", mean: 2.1, worst: 0.5, worst_case: 1, better: 1, level: 1, worse: 1, rival: "glibc", rival_ratio: 4.71,
      cases: [judged("frame", "mixed 8..256 b", 2.1, "glibc", 21, "faster"), judged("frame", "calls", 2, "other", 1, "slower", "calls/frame"), judged("frame", "near", 2.4, "glibc", 1.9, "no difference")] },
    { need: "one case", take: "cairn::pool", advice: "peer", words: "glibc is 2.00 x cheaper here: take that", range: "4.00 ns/op", mean: 0.5, worst: 0.5, worst_case: 0, better: 0, level: 0, worse: 1, rival: "glibc", rival_ratio: 0.5,
      cases: [judged("tail", "late", 4, "glibc", 2, "slower")] },
    { need: "no peer", take: "cairn::x", advice: "take", words: "", range: "1.00 bytes", mean: 1, worst: 1, worst_case: 0, better: 0, level: 0, worse: 0, rival: "", rival_ratio: 1, cases: [{ ...judged("tail", "late", 1, "", 0, "", "bytes"), ratio: 1 }] },
  ],
  asked: [{ question: "What does the checked build cost?", experiment: "builds" }, { question: "Is SoA worth it where a loop reads few of the fields?", experiment: "aos-soa" }],
  experiments: [
    experiment("threads", "What do threads pay?", [a_case("2 threads, jobs", [row("cairn::concurrent_pool", "cairn", 3), row("mimalloc", "peer", 9), row("mimalloc heap", "peer", 6)]), a_case("1 thread", [row("cairn::pool", "cairn", 3), row("mimalloc", "peer", 2)])]),
    experiment("showdown", "Who stores objects best?", [a_case("churn", [row("cairn::slot_map", "cairn", 3), row("EnTT registry", "peer", 30)])]),
    experiment("builds", "What does an operation cost in the builds that people work in?", [a_case("pool pair", [row("cairn::pool, asserts", "cairn", 3), row("cairn::pool, no asserts", "limit", 1)])], { take: "With asserts, at -O2, of the time without: pool pair 3.00 x." }),
    experiment("aos-soa", "What does the layout of particles cost?", [a_case("20 fields, 3 read", [row("cairn::table soa", "cairn", 1), row("std::vector", "peer", 12)])], { take: "With 20 fields of which a loop reads 3, soa takes 1.00 ns a row, structs 12.0." }),
    experiment("matrix", "What does the order of two loops cost?", [a_case("2000 x 1900", [row("rows", "baseline", 1)])], { background: true }),
    experiment("frame", "What does a frame cost?", [
      a_case("mixed 8..256 b", [row("cairn::arena", "cairn", 2.1, { published: 12.6, published_note: "cycles, thesis table 6.1" }), row("bump", "limit", 1.9), row("glibc", "peer", 21), row("naive <list>", "baseline", 900, { note: "a seed's & design" }), failed("crasher", "failed", "crashed (SIGSEGV)")]),
      a_case("calls", [row("cairn::arena", "cairn", 0), row("glibc", "peer", 24), row("other", "peer", 0.1)], { unit: "calls/frame" }),
      a_case("near", [row("cairn::arena", "cairn", 2.4, { verdict: "no difference" }), row("glibc", "peer", 1.9)], { least_difference: 1 }),
    ]),
    experiment("tail", "Who is late?", [a_case("late", [row("cairn::heap", "cairn", 30, { series: [tail("heap", 30)] }), row("glibc", "peer", 40, { series: [tail("glibc", 45)], verdict: "" })])]),
    experiment("cache-walk", "What does a pointer cost?", [a_case("linear, 2^27 bytes", [row("padding 0", "baseline", 7, { series: [walk("padding 0", 1), { name: "published: L2 of theirs", x: "working set, bytes", y: "cycles per node", points: [[2 ** 18, 1]] }] }), row("padding 7", "baseline", 70, { series: [walk("padding 7", 3)] })], { best_peer: "", limit: "" })]),
    experiment("map", "Where are the holes?", [a_case("after an hour", [row("cairn::heap", "cairn", 3, { series: [{ name: "map", x: "bytes", y: "occupied", points: [[4e6, 1], [6e6, 0], [2 ** 24, 1]] }] })], { unit: "holes" })]),
    experiment("speed", "How many lines a second?", [a_case("lexer", [row("cairn::arena", "cairn", 8e6, { series: [line("cairn::arena", 3), line("published: theirs", 2)] }), row("glibc", "peer", 6e6, { series: [line("glibc", 1), line("published: theirs", 2)] })], { unit: "lines/s", better: "higher" })]),
    experiment("crowd", "Who is who?", [
      a_case("three on one spot", [row("cairn::heap", "cairn", 30, { verdict: "slower" }), row("twin", "peer", 20), row("other twin", "peer", 20), row("the very best of all peers, by far the longest name there is here", "peer", 19.999)], { best_peer: "twin", reason: "Heaps <merge>." }),
      a_case(long, [row("cairn::heap", "cairn", 25), row("twin", "peer", 50)]),
      a_case("many lines", [...Array(10)].map((_, k) => row(`heap ${k}`, k ? "peer" : "cairn", 30 + k, { series: [{ name: "", x: "threads", y: "ns", points: [1, 2, 3, 4].map(x => [x, x * (k + 1)]) }] }))),
      a_case("a long map", [row("cairn::relocatable_heap, 50 us a frame", "cairn", 1, { series: [{ name: "after an hour of streaming assets, with a level change", x: "bytes", y: "occupied", points: [[1e6, 1], [2 ** 24, 0]] }] })], { unit: "holes" }),
    ]),
    experiment("parser", "A file that was not there", [], { error: "'x.txt' cannot be read", complete: false }),
  ],
};
