#!/usr/bin/env python3
"""Does a report of the lab hold every measured result of the seeds?

Usage: tools/check_coverage.py [--strict] JSON
Reads the table of docs/coverage.md (source | result | published | experiment | case | contender) and looks each row up:
the case begins with the words in `case` (alternatives: "this or that"), each contender (they are separated by ";") with its
words; the median must be there, and beside it the published figure of the table. "1.5; 3 ms / 1000": one figure a contender,
of 1000 operations together; the note of the row in the report names the unit that it has there. Words instead of figures: any
published figure will do. "experiment --option": looked up where the run had that option. A row whose experiment is "-" says
why. Without --strict an experiment that this build of the lab does not have is named, and is no failure.
Exit status 0: all are there; 1: some are not, and are named.
"""
import json
import pathlib
import re
import sys

arguments = [a for a in sys.argv[1:] if a != "--strict"]
if len(arguments) != 1:
    sys.exit(__doc__)
report = json.loads(pathlib.Path(arguments[0]).read_text())
experiments = {e["name"]: e for e in report["experiments"]}
table = pathlib.Path(__file__).parent.parent / "docs" / "coverage.md"
nanoseconds = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def figures_of(cell):
    """("12.99; 0.17 ms / 19500") -> [12.99 / 19500, ...], "ms"; words and "-" -> [], ""."""
    m = re.fullmatch(r"([\d.; ]+?)(?: ([a-z]+))?(?: / (\d+))?", cell)
    return ([float(n) / int(m[3] or 1) for n in m[1].split(";")], m[2] or "") if m else ([], "")


def stands_beside(row, figure, unit):
    """Is it the published figure of the row, converted into the unit that the row's note begins with?"""
    there = re.split(r"[ ,/]", row["published_note"])[0]
    scale = nanoseconds[unit] / nanoseconds[there] if unit in nanoseconds and there in nanoseconds else 1
    return row["published"] is not None and abs(row["published"] - figure * scale) <= 1e-3 * figure * scale


problems, absent, found, elsewhere = [], set(), 0, 0
for line in table.read_text().splitlines():
    cells = [cell.strip().strip("`") for cell in line.split("|")[1:-1]]
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
    if experiment not in experiments and "--strict" not in sys.argv:
        absent.add(experiment)
        continue
    figures, unit = figures_of(published)
    names = [n.strip() for n in contender.split(";")]
    if figures and len(figures) not in (1, len(names)):
        problems.append(f"{source}, {result}: {len(figures)} figures for {len(names)} contenders")
    for i, name in enumerate(names):
        rows = [row for c in cases for row in c["contenders"] if row["name"].startswith(name)]
        where = f"{source}, {result}: {experiment} / {case} / {name}"
        if not rows:
            problems.append(f"{where}: is not in the report")
        elif not any(isinstance(row["median"], (int, float)) for row in rows):
            problems.append(f"{where}: was not measured ({rows[0]['status']}: {rows[0]['note']})")
        elif published not in ("", "-") and not any(row["published"] is not None for row in rows):
            problems.append(f"{where}: has no published figure beside it")
        elif i < len(figures) and not any(stands_beside(row, figures[i], unit) for row in rows):
            beside = ", ".join(str(row["published"]) for row in rows if row["published"] is not None)
            problems.append(f"{where}: {beside} stands beside it, not {figures[i]:g} {unit}")
        else:
            found += 1
if absent:
    print("not in this report: " + ", ".join(sorted(absent)))
print("\n".join(problems) or f"{found} results of the seeds stand in the report, {elsewhere} say why they do not")
sys.exit(bool(problems))
