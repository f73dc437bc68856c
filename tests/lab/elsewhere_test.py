#!/usr/bin/env python3
"""What `cairn lab` promises on every system: contenders that misbehave cost their own row, answers arrive.

Usage: elsewhere_test.py [EMULATOR] MISBEHAVIOUR
    MISBEHAVIOUR   the command with the experiments of tests/lab/misbehaviour.cpp
(On Linux tests/lab/lab_test.py asks for more; that what does nothing is suspect, for one: under an emulator two looks
at the clock may lie a microsecond apart.)
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

program = sys.argv[1:]
folder = pathlib.Path(tempfile.mkdtemp(prefix="cairn-lab-"))
program[-1] = os.path.abspath(program[-1])
os.chdir(folder)
failures = []


def check(ok, promise, more=""):
    if not ok:
        failures.append(promise)
        print(f"FAILED: {promise} {more}")


def run(*words):
    done = subprocess.run([*program, *words], capture_output=True, text=True, timeout=280)
    return done.returncode, done.stdout, done.stderr


code, out, err = run("lab", "--nonsense")
check(code == 2 and len(err.strip().splitlines()) == 1, "a word that is none is refused with one sentence", err)
code, out, err = run("lab", "--list")
names = [line.split()[0] for line in out.splitlines()]
check(code == 0 and {"bad", "good", "refused"} <= set(names), "--list names the experiments", out)

code, out, err = run("lab", "bad", "good", "refused", "--json", "d.json", "--html", "d.html", "--time-limit", "2", "--speed", "0.3")
check(code == 2 and "this input cannot be used" in err, "refused input is one sentence", err)
run_report = json.loads((folder / "d.json").read_text())
check(run_report["machine"]["usable_threads"] > 0 and run_report["machine"]["page_bytes"] >= 4096, "the report says on which machine", run_report["machine"])
written = {e["name"]: e for e in run_report["experiments"]}
rows = {r["name"]: r for r in written["bad"]["cases"][0]["contenders"]}
for name, status, piece in (("limit", "ok", ""), ("peer", "ok", ""), ("cairn", "ok", ""),
                            ("says nothing", "suspect", "no operations"),
                            ("crashes", "failed", ""), ("crashes later", "failed", ""), ("crashes in set-up", "failed", ""),
                            ("throws", "failed", "out of luck"), ("hangs", "failed", "time limit"),
                            ("hangs in a child", "failed", "time limit"), ("exits", "failed", "without an answer"),
                            ("wrong", "wrong", "another result")):
    check(rows[name]["status"] == status and piece in rows[name]["note"], f"'{name}' is {status}", rows[name])
check(rows["limit"]["samples"] >= 5, "rounds are many", rows["limit"])

cases = {c["name"]: c for c in written["good"]["cases"]}
value = {r["name"]: r for r in cases["value"]["contenders"]}
check(value["exact"]["median"] == 4096 and value["exact"]["samples"] == 1, "values arrive exactly, once")
check(value["exact"]["series"][0]["points"] == [[1, 2], [3, 4.5]], "curves arrive")
check(cases["column"]["contenders"][0]["median"] == 17, "further columns are cases of their own")
rate = {r["name"]: r["median"] for r in cases["rate"]["contenders"]}
check(rate["fast"] > rate["half"] > 0, "twice the work is slower", rate)
check(any(r["status"] == "ok" for r in cases["malloc"]["contenders"]), "the malloc of the C library is a row", cases["malloc"])
check("<html" in (folder / "d.html").read_text(encoding="utf-8"), "the page is one")

print("\n".join(f"{len(failures)} promises broken: {f}" for f in failures) or "every promise held")
sys.exit(bool(failures))
