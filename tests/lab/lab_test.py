#!/usr/bin/env python3
"""What the command `cairn lab` promises: exit codes, sentences, reports, rows that fail alone.

Usage: lab_test.py CAIRN MISBEHAVIOUR SMALL_MALLOC
    CAIRN          the command
    MISBEHAVIOUR   the same command with the experiments of tests/lab/misbehaviour.cpp
    SMALL_MALLOC   the library made of tests/lab/small_malloc.cpp
"""
import json
import re
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

cairn, misbehaviour, small_malloc = sys.argv[1:4]
folder = pathlib.Path(tempfile.mkdtemp(prefix="cairn-lab-"))
os.chdir(folder)
failures = []


def check(ok, promise, more=""):
    if not ok:
        failures.append(promise)
        print(f"FAILED: {promise} {more}")


def run(*words, program=cairn):
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=250)
    return done.returncode, done.stdout, done.stderr


def report(name):
    return json.loads((folder / name).read_text())


def runs(exe, program):
    try:
        return exe.resolve() == pathlib.Path(program).resolve()
    except OSError:  # it ended meanwhile
        return False


def one_sentence(stderr):
    return len(stderr.strip().splitlines()) == 1


# ---- words that are wrong -----------------------------------------------------------------------
for words in (["--nonsense"], ["lab", "--nonsense"], ["lab", "--json"], [], ["lab", "--quick", "--full"],
              ["lab", "--speed", "never"], ["elsewhere"],
              *(["lab", "unknown-length", word, value] for word in ("--speed", "--time-limit") for value in ("nan", "inf", "-inf", "-1", "0", "1e300", "")),
              *(["lab", "unknown-length", word, ""] for word in ("--json", "--html", "--markdown")),
              ["lab", "unknown-length", "--json="], ["lab", "--compare", "", "x"], ["lab", "--compare", "x", ""], ["lab", ""], [""]):
    code, out, err = run(*words)
    check(code == 2 and one_sentence(err), f"'cairn {' '.join(words)}' is refused with one sentence", err)

code, out, err = run("lab", "--help")
check(code == 0 and "--json" in out, "--help explains and succeeds")

code, out, err = run("lab", "--list")
names = [line.split()[0] for line in out.splitlines()]
check(code == 0 and {"linear", "temporary-objects", "unknown-length", "parser"} <= set(names), "--list names the experiments", out)

code, out, err = run("lab", "nosuch")
check(code == 2 and one_sentence(err) and "nosuch" in err, "an unknown experiment is named", err)

code, out, err = run("lab", "temporary-objects", "--json", "/nowhere/at/all.json")
check(code == 2 and one_sentence(err) and "/nowhere" in err, "an unwritable report is refused before measuring", err)

# ---- where reports go -----------------------------------------------------------------------------
quick = ("lab", "struct-layout", "--speed", "0.02", "--quiet")
(folder / "link.json").symlink_to("target.json")
code, out, err = run(*quick, "--json", "link.json")
check(code == 0 and (folder / "link.json").is_symlink() and report("target.json")["schema"] == 1,
      "a report goes where a symbolic link points; the link stays", err)
code, out, err = run(*quick, "--json", "link.json")
check(code == 0 and (folder / "link.json").is_symlink() and not list(folder.glob("*.part")), "also when it is there already", err)
os.mkfifo("pipe")
reader = subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE, text=True)
code, out, err = run(*quick, "--json", "pipe")
check(code == 0 and json.loads(reader.communicate(timeout=20)[0])["schema"] == 1 and (folder / "pipe").is_fifo(),
      "a pipe is written into once, and stays a pipe", err)
code, out, err = run(*quick, "--json", "one.json", "--html", "./one.json")
check(code == 2 and one_sentence(err) and "another report" in err and report("one.json")["schema"] == 1,
      "two reports in one file are refused, the first is written", err)
code, out, err = run(*quick, "--json", "/dev/null", "--html", "/dev/null")
check(code == 0, "two reports for nobody are fine", err)
code, out, err = run("lab", "--markdown", "struct-layout", "--speed", "0.02", "--quiet")
check(code == 0 and "### struct-layout" in out and not (folder / "struct-layout").exists(), "--markdown leaves an experiment alone", err)

# ---- standard output that cannot be written ------------------------------------------------------
def run_into(redirection, *words, program=misbehaviour):
    command = " ".join([f"exec '{program}' lab", *words, redirection])
    done = subprocess.run(["bash", "-c", command], stderr=subprocess.PIPE, text=True, timeout=100)
    return done.returncode, done.stderr


for where, redirection in (("full", ">/dev/full"), ("closed", ">&-"), ("a pipe without a reader", "> >(exec <&-; exit)")):
    (folder / "kept.json").unlink(missing_ok=True)
    code, err = run_into(redirection, "good", "--speed", "0.05", "--json", "kept.json", "--html", "kept.html", "--markdown", "kept.md")
    check(code == 2 and one_sentence(err) and "standard output cannot be written" in err, f"standard output is {where}: one sentence", err)
    kept = report("kept.json")
    check(len(kept["experiments"]) == 1 and kept["experiments"][0]["complete"] and not kept["interrupted"], f"standard output is {where}: the JSON is whole", kept)
    check((folder / "kept.html").stat().st_size > 1000 and (folder / "kept.md").stat().st_size > 1000, f"standard output is {where}: so are the page and the Markdown")
    for words in (["--list"], ["--help"]):
        code, err = run_into(redirection if where != "a pipe without a reader" else ">/dev/full", *words)
        check(code == 2 and one_sentence(err) and "standard output" in err, f"standard output is {where}: {words[0]} says so", err)
code, err = run_into(">/dev/full", "--compare", "kept.json", "kept.json")
check(code == 2 and one_sentence(err), "standard output is full: --compare says so", err)
started = time.time()
code, err = run_into(">/dev/full", "good", "bad", "slow")
check(code == 2 and one_sentence(err) and time.time() - started < 10, "nothing is measured when no figure can be written", err)
code, err = run_into(">/dev/null <&- 2>&-", "good", "--speed", "0.05", "--json", "kept.json")
check(code == 0 and report("kept.json")["experiments"], "standard input and error may be closed")

# ---- bad input costs only itself ----------------------------------------------------------------
code, out, err = run("lab", "nosuch", "temporary-objects", "--speed", "0.02", "--quiet", "--json", "a.json", "--html", "/nowhere/a.html")
check(code == 2 and "nosuch" in err and "/nowhere" in err, "both mistakes are named", err)
check([e["name"] for e in report("a.json")["experiments"]] == ["temporary-objects"], "the other experiment is written")
check(len(report("a.json")["errors"]) == 2, "errors are in the report")

code, out, err = run("lab", "parser", "--speed", "0.05", "--json", "c.json", "--html", "c.html")
rows = report("c.json")["experiments"][0]["cases"][0]["contenders"]
check(code == 0 and all(r["status"] == "ok" for r in rows), "the source is parsed by all, to one tree", err)
check("lines/s" in out and "stddev" in out, "the parser's table shows mean and standard deviation")
page = (folder / "c.html").read_text()  # with plots (its JSON in it), or the plain one
check(("<svg" in page or 'id="run"' in page) and "lines per second" in page, "the page holds the figures")
check(not re.search(r"""(src|href)=['"]?https?:|url\(['"]?https?:|@import|import\(|fetch\(""", page), "the page is self-contained")

# ---- verdict, Markdown, comparison ----------------------------------------------------------------
written = report("c.json")
check(1 <= len(written["verdict"]) <= 5 and written["verdict"][0] in out, "a run ends with a verdict of at most five sentences")
line = written["choosing"][0]
check(len(written["choosing"]) == 1 and line["need"].startswith("a growing phase") and len(line["cases"]) == 1
      and line["rival"] in {r["name"] for r in rows} and line["advice"] in ("take", "tie", "depends", "peer")
      and line["take"] in out and line["need"] in out, "the need that was measured has its line, in the JSON and in the terminal", line)
code, out, err = run("lab", "--compare", "c.json", "c.json")
check(code == 0 and " 0 better, 0 worse" in out and "0 of" in out, "a run differs in nothing from itself", out + err)
slower = json.loads((folder / "c.json").read_text())
row = slower["experiments"][0]["cases"][0]["contenders"][0]
for field in ("median", "min", "max", "ci_low", "ci_high"):
    row[field] *= 3
slower["experiments"][0]["cases"][0]["contenders"][1]["status"] = "failed"
del slower["experiments"][0]["cases"][0]["contenders"][2]
(folder / "slower.json").write_text(json.dumps(slower))
code, out, err = run("lab", "--compare", "c.json", "slower.json", "--markdown")
check(code == 0 and "1 better, 0 worse" in out and row["name"] in out and "## No longer measured" in out and "## Gone" in out,
      "what changed is named: higher is better here, a row failed, one is gone", out + err)
code, out, err = run("lab", "--compare", "c.json", "c.html")
check(code == 2 and one_sentence(err) and "not JSON" in err, "what is no report is refused in one sentence", err)
for text in ("", "[1]", '{"schema":1}', '{"schema":"1"}', '{"schema":2}', '{"schema":1,"machine":{},"experiments":5}',
             '{"schema":1,"machine":{},"experiments":["x"]}', '{"schema":1,"machine":{},"experiments":[{"cases":[{"contenders":[3]}]}]}'):
    (folder / "odd.json").write_text(text)
    code, out, err = run("lab", "--compare", "c.json", "odd.json")
    check(code == 2 and one_sentence(err) and "odd.json" in err, f"--compare refuses {text} in one sentence", err)
code, out, err = run("lab", "--compare", ".", "c.json")
check(code == 2 and one_sentence(err), "--compare refuses a folder in one sentence", err)
for words in (["struct-layout", "--compare", "c.json", "c.json"], ["--compare", "c.json", "c.json", "--markdown", "struct-layout"],
              ["--compare", "c.json", "c.json", "--json", "x.json"], ["--compare", "c.json", "c.json", "--full"]):
    code, out, err = run("lab", *words)
    check(code == 2 and one_sentence(err), f"'{' '.join(words)}' is refused: --compare measures nothing", out + err)
code, out, err = run("lab", "unknown-length", "--speed", "0.02", "--quiet", "--markdown", "c.md")
check(code == 0 and "| you need |" not in out and "### unknown-length" in (folder / "c.md").read_text(), "a run as Markdown", err)

# ---- contenders that misbehave ------------------------------------------------------------------
code, out, err = run("lab", "slow", "--quiet", "--time-limit", "0.2", program=misbehaviour)
check(code == 1, "a run of which not one row could be measured ends with 1", err)
vanishing = pathlib.Path(small_malloc).parent / "vanishing.so"
shutil.copy(small_malloc, vanishing)
for trace in folder.glob("*.here"):  # of an earlier run
    trace.unlink()
code, out, err = run("lab", "bad", "good", "refused", "--json", "d.json", "--html", "d.html", "--time-limit", "1", "--speed", "0.3",
                     program=misbehaviour)
check(code == 2 and one_sentence(err) and "this input cannot be used" in err, "refused input is one sentence", err)
written = {e["name"]: e for e in report("d.json")["experiments"]}
rows = {r["name"]: r for r in written["bad"]["cases"][0]["contenders"]}
for name, status, piece in (("limit", "ok", ""), ("peer", "ok", ""), ("cairn", "ok", ""),
                            ("says nothing", "suspect", "no operations"), ("does nothing", "suspect", "empty loop"),
                            ("crashes", "failed", "SIGSEGV"), ("crashes later", "failed", "SIGABRT"),
                            ("crashes in set-up", "failed", "SIGABRT"), ("throws", "failed", "out of luck"),
                            ("hangs", "failed", "time limit"), ("hangs in a child", "failed", "time limit"), ("exits", "failed", "without an answer"),
                            ("wrong", "wrong", "another result")):
    check(rows[name]["status"] == status and piece in rows[name]["note"], f"'{name}' is {status}", rows[name])
check(written["bad"]["cases"][0]["best_peer"] == "peer", "only honest rows are best peer")
for _ in range(50):
    left = [p.parent.name for p in pathlib.Path("/proc").glob("[0-9]*/exe") if runs(p, misbehaviour)]
    if not left: break
    time.sleep(0.1)
check(not left, "what a killed contender had forked ends with it", left)
for other in ("limit", "peer"):
    ratio = rows["cairn"]["ratio_to_limit" if other == "limit" else "ratio_to_best_peer"]
    check(abs(ratio - rows["cairn"]["median"] / rows[other]["median"]) < 1e-9, f"ratios relate to the {other}", rows["cairn"])
check(rows["cairn"]["verdict"] in ("faster", "no difference"), "half the work is not slower", rows["cairn"])
low, high = rows["cairn"]["round_ratio_low"], rows["cairn"]["round_ratio_high"]
check(low <= high and (rows["cairn"]["verdict"] != "faster" or rows["cairn"]["samples"] < 9 or high < 1), "the interval of the ratio bears the verdict", rows["cairn"])
check(rows["peer"]["published"] == 4.2 and "4.20 cycles" in out, "published figures are there, with their unit where that is another")
check(rows["peer"]["published_note"] == "cycles/op, nowhere" and "published_figures" not in rows["limit"] and rows["peer"]["published_figures"] ==
      [{"value": 4.2, "unit": "cycles/op", "of": "median", "source": "nowhere"}, {"value": 9, "unit": "us/op", "of": "max", "source": "elsewhere"}]
      and "published, too: peer: 9.00 us/op, max, elsewhere" in out, "a row has every published figure, with its operation and what it stands beside")
check(all(c["ways"] >= 0 and c["inclusive"] in (True, False, None) for c in report("d.json")["machine"]["caches"]), "caches say how many ways they have, and whether they are inclusive")

# ---- a run that is over, shown again ---------------------------------------------------------------
live = out
code, out, err = run("lab", "--show", "d.json", "--tables", program=misbehaviour)
tables = out[out.find("\nbad: "):].split("\n\ncompare with")[0].rsplit("  Of 1 case", 1)[0]
check(code == 0 and "does nothing       peer     suspect" in tables and tables in live, "--show --tables prints what the run printed", out)
code, out, err = run("lab", "--show", "d.json", program=misbehaviour)
check(code == 0 and len(out.splitlines()) <= 50 and "compare with" in out and "--show d.json --against peer" in out and "contender" not in out,
      "--show alone is one screen: the verdict and whom to compare with", out)
code, out, err = run("lab", "--show", "d.json", "--against", "PEER", program=misbehaviour)
better = int(rows["cairn"]["verdict"] == "faster")   # a busy machine may leave it open
check(code == 0 and out.startswith(f"cairn against peer: 1 case: cairn better in {better}") and "bad: rows" in out, "--against shows every case beside one", out)
for words in (["--show", "d.json", "--against", "nobody"], ["--show", "nosuch.json"], ["--show", "d.html"], ["--show", "."], ["--show", "d.json", "good"], ["--show", "d.json", "--full"]):
    code, out, err = run("lab", *words, program=misbehaviour)
    check(code == 2 and one_sentence(err), f"'{' '.join(words)}' is refused with one sentence", err)
for damage in ("experiments", "machine"):
    (folder / "h.json").write_text(json.dumps({**report("d.json"), damage: 7}))
    code, out, err = run("lab", "--show", "h.json", program=misbehaviour)
    check(code == 2 and one_sentence(err), f"a report whose {damage} are damaged is refused with one sentence", err)
out = live

cases = {c["name"]: c for c in written["good"]["cases"]}
value = {r["name"]: r for r in cases["value"]["contenders"]}
check(value["exact"]["median"] == 4096 and value["exact"]["samples"] == 1, "values arrive exactly, once")
check(value["exact"]["series"][0]["points"] == [[1, 2], [3, 4.5]], "curves arrive")
check([r["median"] for r in cases["at once"]["contenders"]] == [1, 1], "exact rows are sampled at once", cases["at once"])
check([r["median"] for r in cases["at once, slow"]["contenders"]] == [1] * 4, "the time limit of exact rows is that of all together", cases["at once, slow"])
peaks = [cases[name]["contenders"][0]["median"] for name in ("peak", "peak of large")]
check(0 < peaks[0] < 30_000 < peaks[1], "the peak of a program is not that of one before it", peaks)
check(cases["column"]["contenders"][0]["median"] == 17, "further columns are cases of their own")
check(all(c["least_ratio"] == 0.07 for e in written.values() for c in e["cases"]), "every case of a quick run has its threshold, further columns too")
# A quiet machine may measure the same time again and again: a floor of 0 is one, but not of case after case.
floors = [c["noise"] for e in written.values() for c in e["cases"]]
check(sum(f > 0 for f in floors) > len(floors) / 2, "cases have a noise floor", floors)
check(any(cases[name]["noise"] > 0 for name in ("value", "column", "at once", "peak", "peak of large")), "those of one sample have one, too")
ratio = {r["name"]: r["median"] for r in cases["over half"]["contenders"]}
check(not any(r["verdict"] for r in cases["over half"]["contenders"]), "a case that only divides another has no verdicts of its own")
rate = {r["name"]: r["median"] for r in cases["rate"]["contenders"]}
check(abs(ratio["half"] - 1) < 1e-9 and abs(ratio["fast"] - rate["fast"] / rate["half"]) < 1e-9, "relative cases divide by their reference", ratio)
check(0 < cases["part of it"]["contenders"][0]["median"] < 1000, "only what lies between start and stop is timed")
mallocs = {r["name"]: r for r in cases["malloc"]["contenders"]}
present = {p["name"] for p in report("d.json")["peers"] if p["present"]}
check("glibc" in mallocs and all(r["status"] == "ok" for r in mallocs.values()), "every malloc that is here was measured", mallocs)
check(set(mallocs) - {"glibc"} <= present, "malloc rows are peers that are present")

# ---- libraries under the name of others ----------------------------------------------------------
check({"small", "vanishing"} <= set(mallocs), "a library that is what it says is measured", mallocs)
absent = {p["name"]: p["detail"] for p in report("d.json")["peers"] if not p["present"]}
for name, sentence in (("text", "text.so was preloaded and is not there: malloc is that of libc.so"),
                       ("gone", "gone.so was preloaded and is not there: malloc is that of libc.so"),
                       ("foreign", "lab_foreign_library.so was preloaded and is not there: malloc is that of libc.so"),
                       ("misnamed", "lab_small_malloc.so is another library: it does not define mi_version")):
    check(name not in mallocs and absent.get(name, "").startswith(sentence) and f"peer absent: {name} ({absent.get(name)})" in out,
          f"'{name}' is absent, with one sentence that names the library", absent)
code, out, err = run("lab", "vanishing", "--json", "v.json", program=misbehaviour)
rows = {r["name"]: r for r in report("v.json")["experiments"][0]["cases"][0]["contenders"]}
check(code == 0 and rows["vanishing"]["status"] == "absent" and rows["vanishing"]["note"].startswith("vanishing.so was preloaded and is not there")
      and rows["vanishing"]["median"] is None, "a worker measures nothing without its library", rows["vanishing"])
check(rows["glibc"]["status"] == "ok" and rows["small"]["status"] == "ok", "the others are measured", rows)
shutil.copy(small_malloc, vanishing)
preloaded = subprocess.run([misbehaviour, "lab", "good", "--speed", "0.05", "--quiet", "--json", "v.json"], env={**os.environ, "LD_PRELOAD": small_malloc})
rows = {r["name"]: r["status"] for r in {c["name"]: c for c in report("v.json")["experiments"][0]["cases"]}["malloc"]["contenders"]}
check(preloaded.returncode == 0 and rows["glibc"] == "ok", "what the user preloads is not in the workers", rows)
vanishing.unlink()

# ---- what is timed is optimized ------------------------------------------------------------------
release = "_ZNSt16_Sp_counted_baseILN9__gnu_cxx12_Lock_policyE2EE10_M_releaseEv"
if shutil.which("objdump"):
    code = subprocess.run(["objdump", "-d", f"--disassemble={release}", cairn], capture_output=True, text=True).stdout
    check(release in code and "mov    %rsp,%rbp" not in code, "the linker keeps the optimized copy of a function of std::shared_ptr", code)

# ---- programs that the lab compiles --------------------------------------------------------------
scratch = folder / "scratch"
scratch.mkdir()


def run_builds(*words, **environment):
    done = subprocess.run([cairn, "lab", "builds", "--speed", "0.05", "--json", "builds.json", *words], capture_output=True,
                          text=True, timeout=250, env={**os.environ, "TMPDIR": str(scratch), **environment})
    return done.returncode, done.stdout, report("builds.json")["experiments"][0]


code, out, builds = run_builds("--time-limit", "60")
rows = {c["name"].split(",")[0]: {r["name"]: r for r in c["contenders"]} for c in builds["cases"]}
check(code == 0 and set(rows) == {"pool pair", "heap pair", "arena allocation", "slot_map look-up", "soa for_each"}
      and all(r["status"] == "ok" for case in rows.values() for r in case.values()), "the same program runs in every build", builds)
check(set(rows["pool pair"]) == {"malloc, -O0", "malloc, -O2", *(f"cairn::pool, {how}" for how in ("-O2, no asserts", "-O2, asserts", "-O0, asserts"))}
      and rows["pool pair"]["cairn::pool, -O2, no asserts"]["ratio_to_limit"] == 1 and "With asserts, at -O2" in out,
      "a quick run shows what asserts and what -O0 cost, relative to -O2 without asserts", out)
check(not list(scratch.iterdir()), "the programs' folder is removed", list(scratch.iterdir()))
for reason, sentence, environment in (
        ("no compiler", "no compiler is here: g++ is not on the PATH", {"PATH": str(scratch)}),
        ("no sources", "the sources are not in '/nowhere'", {"CAIRN_LAB_SOURCES": "/nowhere"}),
        ("no folder", "no folder for its programs can be made in '/nowhere'", {"TMPDIR": "/nowhere"})):
    code, out, builds = run_builds(**environment)
    check(code == 1 and not builds["cases"] and builds["error"].startswith(sentence) and out.count(sentence) == 1
          and not list(scratch.iterdir()), f"{reason}: one sentence", out)
fake = folder / "fake"
fake.mkdir()
(fake / "g++").write_text("#!/bin/sh\necho 'x.cpp:1:2: error: this compiler is too old' >&2; exit 1\n")
(fake / "g++").chmod(0o755)
code, out, builds = run_builds(PATH=f"{fake}")
notes = {(r["status"], r["note"]) for c in builds["cases"] for r in c["contenders"]}
check(code == 1 and notes == {("failed", "failed: g++ does not compile it: x.cpp:1:2: error: this compiler is too old")}
      and out.count("clang++ is not on the PATH") == 1, "a compiler that fails costs its rows, one that is absent is named", out)
(fake / "g++").write_text("#!/bin/sh\n/bin/sleep 100 & /bin/sleep 100\n")
started = time.time()
code, out, builds = run_builds("--time-limit", "0.1", PATH=f"{fake}")
notes = {(r["status"], r["note"]) for c in builds["cases"] for r in c["contenders"]}
check(notes == {("failed", "failed: g++ took longer than its time limit of 0.6 s")} and time.time() - started < 60
      and not list(scratch.iterdir()), "a compiler that hangs is ended, and what it started too", (notes, list(scratch.iterdir())))
slow = folder / "slow"
slow.mkdir()
(slow / "g++").write_text("#!/bin/sh\n/bin/sleep 3 & /bin/sleep 3\n")
(slow / "g++").chmod(0o755)
for stop, code in ((signal.SIGINT, 130), (signal.SIGKILL, -9)):
    process = subprocess.Popen([cairn, "lab", "builds", "--quiet", "--time-limit", "200"], stderr=subprocess.PIPE,
                               env={**os.environ, "TMPDIR": str(scratch), "PATH": str(slow)})
    for _ in range(300):
        if list(scratch.iterdir()): break
        time.sleep(0.1)
    process.send_signal(stop)
    process.communicate(timeout=100)
    for _ in range(300):
        if not list(scratch.iterdir()): break
        time.sleep(0.1)
    check(process.returncode == code and not list(scratch.iterdir()), f"the folder is removed after {stop.name} too", process.returncode)

# ---- counters: the processor's, or valgrind's ------------------------------------------------------
row, case = "as written (listing 5.1)", "update of 1000000"
code, out, err = run("--lab-count", "struct-layout", case, row, "1", "quick")
check((code, out) in ((0, "operations counted: 1000000\n"), (2, "")), "the work that is counted says how many operations it was", out)
counts_here = code == 0  # else valgrind's headers were not there at compile time
for bad in (("struct-layout", case, "nobody"), ("struct-layout", "no case", row), ("nothing", case, row)):
    code, out, err = run("--lab-count", *bad, "1", "quick")
    check(code == 2 and out == "", "work that is not there is not counted")
code, out, err = run("lab", "struct-layout", "--speed", "0.02", "--quiet", "--json", "counts.json")
written = report("counts.json")["experiments"][0]
counted = [c for c in written["cases"] if c["name"].startswith("instructions, ")]
check(bool(counted) != ("no hardware counters, " in written["how"]), "instructions are counted, or one sentence says why not", written["how"])

# A valgrind that says what it was asked for, instead of one that takes half a minute.
(folder / "tools").mkdir()
(folder / "tools" / "valgrind").write_text("""#!/bin/sh
echo "$@" >> "$VALGRIND_WORDS"
echo "operations counted: 1000"
echo "==1== I   refs:      5,000"
echo "==1== D1  misses:      100  ( 60 rd + 40 wr)"
echo "==1== LLd misses:       10  ( 10 rd +  0 wr)"
""")
(folder / "tools" / "valgrind").chmod(0o755)
if counts_here:
    path = os.environ["PATH"]
    os.environ["VALGRIND_WORDS"] = str(folder / "words.txt")
    os.environ["PATH"] = f"{folder}/tools:{path}"
    code, out, err = run("lab", "struct-layout", "--cachegrind", "--speed", "0.02", "--quiet", "--json", "counts.json")
    cases = {c["name"]: {r["name"]: r["median"] for r in c["contenders"]} for c in report("counts.json")["experiments"][0]["cases"]}
    figures = [cases[f"{what}, {case}"][row] for what in ("instructions", "first-level misses", "last-level misses")]
    check(code == 0 and figures == [5, 0.1, 0.01], "what valgrind counts stands in three cases, for one operation", figures)
    asked = (folder / "words.txt").read_text()
    check(len(asked.splitlines()) == 2 and f"--lab-count struct-layout {case} {row} 1 quick" in asked, "each row is counted in a process of its own", asked)
    os.environ["PATH"] = str(folder)
    code, out, err = run("lab", "struct-layout", "--cachegrind", "--speed", "0.02", "--quiet", "--json", "counts.json")
    os.environ["PATH"] = path
    rows = [r for c in report("counts.json")["experiments"][0]["cases"] if c["name"] == f"instructions, {case}" for r in c["contenders"]]
    check(code == 0 and len(rows) == 2 and all(r["status"] == "failed" and "valgrind could not be started" in r["note"] for r in rows),
          "without valgrind only these rows fail, with a sentence", rows)

# ---- an interrupt -------------------------------------------------------------------------------
process = subprocess.Popen([cairn, "lab", "linear", "temporary-objects", "--quiet", "--json", "e.json"], stderr=subprocess.PIPE)
time.sleep(5)
process.send_signal(signal.SIGINT)
process.communicate(timeout=60)
check(process.returncode == 130, "an interrupted run ends with 130")
partial = report("e.json")
rows = partial["experiments"][0]["cases"][0]["contenders"]
check(partial["interrupted"] and not partial["experiments"][-1]["complete"], "the report says that it was interrupted")
check(any(r["status"] == "ok" and r["samples"] for r in rows), "what was measured before the interrupt is written")
process = subprocess.Popen([misbehaviour, "lab", "bad", "--quiet", "--time-limit", "200", "--json", "f.json"],
                           stderr=subprocess.PIPE)
time.sleep(3)
started = time.time()
process.send_signal(signal.SIGINT)
process.communicate(timeout=100)
check(process.returncode == 130 and time.time() - started < 20, "a hanging contender does not hold up an interrupt")

process = subprocess.Popen([misbehaviour, "lab", "slow", "--quiet", "--json", "g.json"], stderr=subprocess.PIPE)
time.sleep(1)
for _ in range(2):
    process.send_signal(signal.SIGINT)
    time.sleep(0.1)
process.communicate(timeout=100)
rows = report("g.json")["experiments"][0]["cases"][0]["contenders"]
check(process.returncode == 130 and [r["status"] for r in rows] == ["interrupted"], "a set-up that is interrupted has not failed", rows)

shutil.rmtree(folder)
print(f"{len(failures)} promises broken" if failures else "all promises hold")
sys.exit(1 if failures else 0)
