#!/usr/bin/env python3
"""Does a report of the lab hold every experiment that the lab says it has?

Usage: tools/check_report.py LIST JSON HTML [WITHOUT...]
    LIST     what `cairn lab --list` printed: the first word of a line is an experiment's name
    WITHOUT  what this system cannot measure: an experiment, which says why in one sentence, or
             'EXPERIMENT: CASE', of which there is then no case
Needs of the choosing table (lab/experiments/summary.cpp) and the cases that they cover are looked up as well. Exit status 0: it does; 1: something is missing, and is named.
"""
import json
import pathlib
import re
import sys

if len(sys.argv) < 4:
    sys.exit(__doc__)
problems = []


def read(name):
    try:
        return pathlib.Path(name).read_text()
    except OSError as error:
        sys.exit(f"{name}: {error.strerror}")


def experiment_names(text):
    return [line.split()[0] for line in text.splitlines() if re.match(r"\s*[a-z][a-z0-9_-]*(\s|$)", line)]


listed = experiment_names(read(sys.argv[1]))
page = read(sys.argv[3])
try:
    report = json.loads(read(sys.argv[2]))
except json.JSONDecodeError as error:
    sys.exit(f"{sys.argv[2]} is not JSON: {error}")

if not listed:
    problems.append("the lab lists no experiments")
if report.get("schema") != 1:
    problems.append(f"the JSON has schema {report.get('schema')}, not 1")
if not report.get("machine"):
    problems.append("the JSON does not say on which machine")
measured = {experiment["name"]: experiment for experiment in report.get("experiments", [])}
for name in listed:
    if name not in measured:
        problems.append(f"{name} is listed but not in the JSON")
        continue
    if name not in page:
        problems.append(f"{name} is listed but not on the page")
    cases = measured[name].get("cases", [])
    if name in sys.argv[4:]:
        if cases or not measured[name].get("error"):
            problems.append(f"{name} does not say why it is not run")
    elif not cases:
        problems.append(f"{name} has no cases")
    for case in cases:
        kinds = {contender.get("kind") for contender in case.get("contenders", [])}
        published = any(contender.get("published") is not None for contender in case.get("contenders", []))
        if "cairn" not in kinds and not kinds & {"limit", "baseline"} and not published:
            problems.append(f"{name} / {case.get('name')} has no row of cairn's, no limit, and no published figure")
        for contender in case.get("contenders", []):
            if not isinstance(contender.get("median"), (int, float)):
                problems.append(f"{name} / {case.get('name')} / {contender.get('name')} has no median")
# Every need of the choosing table has its line, with what one would use instead, and each of its patterns covers a case.
# (The whole lab was asked for, or some experiment is missing above.)
source = (pathlib.Path(__file__).parent.parent / "lab/experiments/summary.cpp").read_text()
chosen = {line["need"]: line for line in report.get("choosing", [])}
threads = report.get("machine", {}).get("usable_threads", 1)
source, _, asked_about = source.partition("asked_questions()")
needs = re.findall(r'^ {8}\{"([^"]+)",(.*?)(?=^ {8}\{"|^ {4}\};)', source, re.MULTILINE | re.DOTALL)
if len(needs) < 10:
    problems.append(f"{len(needs)} needs were found in lab/experiments/summary.cpp")
for need, where in needs:
    if need not in chosen and (threads > 1 or "threads" not in need):
        problems.append(f"the choosing table has no line for '{need}'")
    if need not in chosen:
        continue
    line = chosen[need]
    if not line["instead"]:
        problems.append(f"the choosing table has nothing beside {line['take']} for '{need}'")
    if len(line["cases"]) != line["better"] + line["level"] + line["worse"]:
        problems.append(f"not every case of '{need}' has a verdict")
    for experiment, patterns in re.findall(r'\{"([^"]+)",\s*\{((?:\s*"[^"]+",?)+)\s*\}\}', where):
        for pattern in re.findall(r'"([^"]+)"', patterns):
            names = re.compile(re.escape(pattern).replace(r"\*", ".*"))
            is_there = any(k["experiment"] == experiment and names.fullmatch(k["case"]) for k in line["cases"])
            if f"{experiment}: {pattern}" in sys.argv[4:]:
                if is_there:
                    problems.append(f"{experiment}: {pattern} was measured all the same")
            elif not is_there:
                problems.append(f"'{need}' is not judged by {experiment}: {pattern}")
asked = {line["question"]: line["experiment"] for line in report.get("asked", [])}
answers = re.findall(r'^ {8}\{"([^"]+)", "([^"]+)"\}', asked_about, re.MULTILINE)
if not answers:
    problems.append("no question that people ask was found in lab/experiments/summary.cpp")
for question, experiment in answers:
    if asked.get(question) != experiment and experiment not in sys.argv[4:]:
        problems.append(f"'{question}' is not answered by {experiment}")
if re.search(r'(src|href)="https?://[^"]*\.(js|css)', page):
    problems.append("the page loads something from the network")
if len(page) < 2000:
    problems.append("the page is all but empty")

cases = sum(len(e.get("cases", [])) for e in measured.values())
print("\n".join(problems) or f"{len(listed)} experiments, {cases} cases: all in the JSON and on the page")
sys.exit(bool(problems))
