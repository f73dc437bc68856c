#!/usr/bin/env python3
"""What tools/check_coverage.py promises: a published figure counts where it has the table's value, operation, statistic and source.

Usage: coverage_test.py CHECK_COVERAGE
"""
import copy
import json
import pathlib
import subprocess
import sys
import tempfile

folder = pathlib.Path(tempfile.mkdtemp(prefix="cairn-coverage-"))
failures = []
table = """| source | result | published | experiment | case | contender |
|---|---|---|---|---|---|
| thesis table 6.2 | pool and malloc | 187642; 942902 cycles / 3000 pairs | pool | thesis 6.2 | cairn::pool; glibc |
| parser article | median | 754604 lines / s | parser | lines | glibc |
| parser article | deviation | 34344 lines / s, stddev | parser | lines | glibc |
| article set 1 | churn | 35.91 ms / 500000 pairs | pool | thesis 6.2 | list |
| thesis fig. 2.2 | a quotient | 2.66 x | parser | lines | quotient |
| thesis fig. 7.2 | words | "perfectly linear" | parser | lines | words |
| thesis fig. 3.9 | a picture | - | parser | lines | words |
| thesis fig. 3.7 | elsewhere |  | - | why it is not measured |  |
"""


def row(name, *published, median=1):
    figures = [dict(zip(("value", "unit", "of", "source"), p)) for p in published]
    return {"name": name, "status": "ok", "note": "", "median": median, **({"published_figures": figures} if figures else {})}


good = {"mode": "quick", "experiments": [
    {"name": "pool", "cases": [{"name": "thesis 6.2", "unit": "ns/pair", "contenders": [
        row("cairn::pool", (62.5473, "cycles/pair", "median", "thesis table 6.2, pool allocator")),
        row("glibc", (314.3007, "cycles/pair", "median", "thesis table 6.2, malloc")),
        row("list", (71.82, "ns/pair", "median", "article set 1, M4 Pro"))]}]},
    {"name": "parser", "cases": [{"name": "lines per second", "unit": "lines/s", "contenders": [
        row("glibc", (754604.3, "lines/s", "median", "parser article (45,000 lines)"), (34344.2, "lines/s", "stddev", "parser article (45,000 lines)"))]},
        {"name": "lines, quotient", "unit": "x", "contenders": [
            row("quotient", (2.66, "x", "median", "thesis fig. 2.2 and 2.2.1")), row("words", (9, "x", "median", "thesis fig. 7.2: \"scales\""))]}]}]}


def says(change, code, piece, promise):
    report = copy.deepcopy(good)
    pool, (lines, others) = report["experiments"][0]["cases"][0], report["experiments"][1]["cases"]
    change(report, pool, lines, others)
    (folder / "report.json").write_text(json.dumps(report))
    (folder / "table.md").write_text(table)
    done = subprocess.run([sys.executable, sys.argv[1], "--strict", "--table", folder / "table.md", folder / "report.json"], capture_output=True, text=True)
    if done.returncode != code or piece not in done.stdout:
        failures.append(promise)
        print(f"FAILED: {promise}: {done.returncode} {done.stdout}{done.stderr}")


def first(case, contender=0, figure=0):
    return case["contenders"][contender]["published_figures"][figure]


says(lambda r, pool, lines, others: None, 0, "8 results of the seeds stand in the report, 1 say why", "figures in the right place are counted")
says(lambda r, pool, lines, others: first(pool).update(value=31.27), 1, "31.27 stands beside it, not 62.5473", "another value is told")
says(lambda r, pool, lines, others: first(pool).update(unit="cycles/call"), 1, "a figure for one call, not for one pair", "a figure for another operation is told")
says(lambda r, pool, lines, others: pool.update(unit="ns/call"), 1, "the case counts ns/call", "a case that counts another operation is told")
says(lambda r, pool, lines, others: first(pool).update(source="thesis table 6.1"), 1, "no published figure of that source", "another source is told")
says(lambda r, pool, lines, others: first(lines, 0, 1).update(of="median"), 1, "it stands beside the median, not the stddev", "a figure beside another statistic is told")
says(lambda r, pool, lines, others: first(pool, 2).update(value=71.82e-3, unit="us/pair"), 0, "8 results", "a time may have another unit")
says(lambda r, pool, lines, others: others["contenders"][1].pop("published_figures"), 1, "no published figure of that source", "words need a figure of the source")
says(lambda r, pool, lines, others: pool["contenders"].pop(1), 1, "is not in the report", "a row that is missing is told")
says(lambda r, pool, lines, others: pool["contenders"][1].update(median=None), 1, "was not measured", "a row without a figure of ours is told")
says(lambda r, pool, lines, others: pool["contenders"].append(row("more", (7, "ns/pair", "median", "thesis table 6.9"))), 1,
     "pool / thesis 6.2 / more: 7 ns/pair (median, thesis table 6.9) is in no row of the table", "a published figure that the table does not name is told")
sys.exit(bool(failures))
