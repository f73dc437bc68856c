#!/usr/bin/env python3
"""Does a report of the lab hold every measured result of the seeds, each beside what it was measured for?

Usage: tools/check_coverage.py [--strict] [--table FILE] JSON
Reads the table of docs/coverage.md (source | result | published | experiment | case | contender) and looks each row up:
the case begins with the words in `case` (alternatives: "this or that"), each contender (they are separated by ";") with its
words; the median must be there, and beside it a published figure of that source, with the table's value, of the table's
operation, which must be that of the case as well.
    1.5; 3 ms / 1000 calls          one figure a contender, of 1000 calls together; the case has a unit like ns/call
    34344 lines / s, stddev         beside the standard deviation of the samples; without a word: beside the median
    -, or words                     any published figure of the source will do; "-": none is needed
"experiment --option": looked up where the run had that option. A row whose experiment is "-" says why. A published figure that no
row of the table names is a problem, too. Without --strict an experiment that this build of the lab does not have is named, and is
no failure.
Exit status 0: all are there; 1: some are not, and are named.
"""
import argparse
import json
import pathlib
import re
import sys

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("--strict", action="store_true")
parser.add_argument("--table", type=pathlib.Path, default=pathlib.Path(__file__).parent.parent / "docs" / "coverage.md")
parser.add_argument("json", type=pathlib.Path)
options = parser.parse_args()
report = json.loads(options.json.read_text())
experiments = {e["name"]: e for e in report["experiments"]}
nanoseconds = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def words(text):
    return {w.strip(".:").lower() for w in re.findall(r"[\w.:-]+", text)}


def parts(unit):
    """What is counted, and what one operation is: ns/pair -> ns, pair."""
    counted, _, operation = unit.partition("/")
    return counted.strip(), operation.strip()


class cell:
    """Figures of the table: "12.99; 0.17 ms / 19500 calls, mean"; none for words and "-"."""

    def __init__(self, text):
        m = re.fullmatch(r"([\d.; ]*\d) ?([^/,]*?)(?: ?/ ?(?:(\d+) )?([\w ]+?))?(?:, (\w+))?", text)
        self.figures = [float(n) / int(m[3] or 1) for n in m[1].split(";")] if m else []
        self.counted = m[2] if m else ""
        self.operation = m[4] or "" if m else ""
        if m and m[3]:
            self.operation = self.operation.removesuffix("s")
        self.of = m[5] or "median" if m else ""


def why_not(asked, figure, p, case):
    """Why the published figure `p` of a row is not `figure` of the table; empty: it is."""
    counted, operation = parts(p["unit"])
    scale = nanoseconds[asked.counted] / nanoseconds[counted] if {asked.counted, counted} <= nanoseconds.keys() else 1
    if scale == 1 and counted != asked.counted:
        return f"its unit is {p['unit']}, not {asked.counted}"
    if abs(p["value"] - figure * scale) > 1e-3 * figure * scale:
        return f"{p['value']:g} stands beside it, not {figure * scale:g} {counted}"
    if p["of"] != asked.of:
        return f"it stands beside the {p['of']}, not the {asked.of}"
    if operation != asked.operation:
        return f"it is a figure for one {operation or '(nothing)'}, not for one {asked.operation or '(nothing)'}"
    if parts(case["unit"])[1] != operation:
        return f"it is a figure for one {operation}, and the case counts {case['unit']}"
    return ""


problems, absent, found, elsewhere, named = [], set(), 0, 0, set()
for line in options.table.read_text().splitlines():
    cells = [c.strip().strip("`") for c in line.split("|")[1:-1]]
    if len(cells) != 6 or cells[0] in ("source", "") or set(cells[0]) <= {"-"}:
        continue
    source, result, published, experiment, case, contender = cells
    experiment, _, option = experiment.partition(" --")
    begins = tuple(case.split(" or "))
    cases = [c for c in experiments.get(experiment, {}).get("cases", []) if c["name"].startswith(begins)]
    had_option = report["mode"] == "full" if option == "full" else bool(cases)
    if experiment == "-" or (option and not had_option):
        elsewhere += 1
        continue
    if experiment not in experiments and not options.strict:
        absent.add(experiment)
        continue
    asked = cell(published)
    names = [n.strip() for n in contender.split(";")]
    if asked.figures and len(asked.figures) not in (1, len(names)):
        problems.append(f"{source}, {result}: {len(asked.figures)} figures for {len(names)} contenders")
        continue
    for i, name in enumerate(names):
        rows = [(c, row) for c in cases for row in c["contenders"] if row["name"].startswith(name)]
        where = f"{source}, {result}: {experiment} / {case} / {name}"
        if not rows:
            problems.append(f"{where}: is not in the report")
            continue
        beside = [(c, id(p), p) for c, row in rows for p in row.get("published_figures", []) if words(source) <= words(p["source"])]
        if asked.figures:
            figure = asked.figures[i if len(asked.figures) > 1 else 0]
            reasons = [(why_not(asked, figure, p, c), key) for c, key, p in beside]
            named |= {key for why, key in reasons if not why}
            if not any(not why for why, _ in reasons):
                problems.append(f"{where}: " + ("; ".join(sorted({why for why, _ in reasons})) or "has no published figure of that source"))
                continue
        elif published not in ("", "-"):
            named |= {key for _, key, _ in beside}
            if not beside:
                problems.append(f"{where}: has no published figure of that source")
                continue
        if not any(isinstance(row["median"], (int, float)) for _, row in rows):
            problems.append(f"{where}: was not measured ({rows[0][1]['status']}: {rows[0][1]['note']})")
            continue
        found += 1
for e in experiments.values():
    for c in e["cases"]:
        for row in c["contenders"]:
            for p in row.get("published_figures", []):
                if id(p) not in named:
                    problems.append(f"{e['name']} / {c['name']} / {row['name']}: {p['value']:g} {p['unit']} ({p['of']}, {p['source']}) is in no row of the table")
if absent:
    print("not in this report: " + ", ".join(sorted(absent)))
print("\n".join(problems) or f"{found} results of the seeds stand in the report, {elsewhere} say why they do not")
sys.exit(bool(problems))
