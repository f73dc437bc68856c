#!/usr/bin/env python3
"""Does a report of the lab hold every measured result of the seeds?

Usage: tools/check_coverage.py [--strict] JSON
Reads the table of docs/coverage.md (source | result | published | experiment | case | contender) and looks each row up:
the case begins with the words in `case`, each contender (they are separated by ";") with its words; the median and,
where the row has a published figure, a published one must be there. A row whose experiment is "-" says why. Without --strict an
experiment that this build of the lab does not have is named, and is no failure.
Exit status 0: all are there; 1: some are not, and are named.
"""
import json
import pathlib
import sys

arguments = [a for a in sys.argv[1:] if a != "--strict"]
if len(arguments) != 1:
    sys.exit(__doc__)
report = json.loads(pathlib.Path(arguments[0]).read_text())
experiments = {e["name"]: e for e in report["experiments"]}
table = pathlib.Path(__file__).parent.parent / "docs" / "coverage.md"
problems, absent, found, elsewhere = [], set(), 0, 0
for line in table.read_text().splitlines():
    cells = [cell.strip().strip("`") for cell in line.split("|")[1:-1]]
    if len(cells) != 6 or cells[0] in ("source", "") or set(cells[0]) <= {"-"}:
        continue
    source, result, published, experiment, case, contender = cells
    if experiment == "-":
        elsewhere += 1
        continue
    if experiment not in experiments and "--strict" not in sys.argv:
        absent.add(experiment)
        continue
    cases = [c for c in experiments.get(experiment, {}).get("cases", []) if c["name"].startswith(case)]
    for name in (n.strip() for n in contender.split(";")):
        rows = [row for c in cases for row in c["contenders"] if row["name"].startswith(name)]
        where = f"{source}, {result}: {experiment} / {case} / {name}"
        if not rows:
            problems.append(f"{where}: is not in the report")
        elif not any(isinstance(row["median"], (int, float)) for row in rows):
            problems.append(f"{where}: was not measured ({rows[0]['status']}: {rows[0]['note']})")
        elif published not in ("", "-") and not any(row["published"] is not None for row in rows):
            problems.append(f"{where}: has no published figure beside it")
        else:
            found += 1
if absent:
    print("not in this report: " + ", ".join(sorted(absent)))
print("\n".join(problems) or f"{found} results of the seeds stand in the report, {elsewhere} say why they do not")
sys.exit(bool(problems))
