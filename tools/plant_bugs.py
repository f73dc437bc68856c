#!/usr/bin/env python3
"""Puts plausible mistakes back into a copy of the library and shows that a test notices each one.

The bugs are in tests/bugs/*.txt (format: tests/bugs/README.md). The working tree is never touched:
its files are copied to build/bugs/N/tree, and each bug is applied there, built and tested, and undone.
There are as many copies N as the machine has processors, at most four; each takes its share of the bugs,
as one bug builds one test, which keeps one processor busy.

Usage: tools/plant_bugs.py [--quick] [--list] [WORD...]
    --quick   only the first bug of each file (what make check does)
    --list    only says which bugs there are, and whether their text still is in the code
    WORD      only bugs whose file name, test or sentence holds one of the words

Exit status 0: every bug was caught; 1: one survived, or does not apply any more; 2: cannot run.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field

root = pathlib.Path(__file__).resolve().parent.parent
scratch = root / "build/bugs"
flags = {  # one build folder for each way to look
    "plain": "-O0 -g0",
    "sanitize": "-O0 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all",
    "tsan": "-O1 -g1 -fsanitize=thread",
    "release": "-O2 -g0",
}
time_limit_s = 120  # a test that a bug sends into an endless loop is a test that noticed


@dataclass
class bug:
    source: str                 # tests/bugs/NAME.txt:LINE
    sentence: str
    file: str = ""
    test: str = ""
    build: str = "plain"
    filter: str = "*"
    caught_by: str = "test"
    old: list = field(default_factory=list)
    new: list = field(default_factory=list)


def read_bugs(path):
    """The bugs of one file, in its order. A line that fits nothing ends the program with a sentence."""
    bugs, part = [], None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        where = f"{path.relative_to(root)}:{number}"
        if line == "---- replace" and bugs and part is None:
            part = "old"
        elif line == "---- with" and part == "old":
            part = "new"
        elif line == "---- end" and part == "new":
            part = None
        elif part is not None:
            getattr(bugs[-1], part).append(line)
        elif not line.strip() or line.startswith("#"):
            continue
        else:
            key, colon, value = line.partition(":")
            key, value = key.strip().replace(" ", "_"), value.strip()
            if key == "bug":
                bugs.append(bug(where, value))
            elif bugs and colon and key in ("file", "test", "build", "filter", "caught_by"):
                setattr(bugs[-1], key, value)
            else:
                fail(f"{where}: cannot read this line: {line}")
    for b in bugs:
        if not (b.sentence and b.file and b.test and b.old):
            fail(f"{b.source}: a bug has a sentence, a file, a test and the text to replace")
        if b.build not in flags:
            fail(f"{b.source}: build is one of {', '.join(flags)}")
    return bugs


def fail(sentence):
    print(f"plant_bugs: {sentence}", file=sys.stderr)
    sys.exit(2)


def planted(b, text):
    """The text with the bug in it, or None when the old lines are not there exactly once."""
    old, new = "\n".join(b.old), "\n".join(b.new)
    return text.replace(old, new) if text.count(old) == 1 else None


def copy_tree(to_tree, edit=lambda name, data: data):
    """Brings a copy of the working tree up to date, with edit(name, bytes) applied to each file; files
    that did not change keep their time, so that a second run rebuilds little."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=root,
                            capture_output=True, text=True, check=True).stdout.split("\0")
    names = {name for name in listed if name and (root / name).is_file()}
    for name in names:
        to = to_tree / name
        data = edit(name, (root / name).read_bytes())
        if not to.exists() or to.read_bytes() != data:
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(data)
            shutil.copymode(root / name, to)
    for path in to_tree.rglob("*"):
        if path.is_file() and str(path.relative_to(to_tree)) not in names:
            path.unlink()


def run_program(program, options, limit_s, environment=None):
    """Whether a test program passes, and a word about how it did not."""
    # A session of its own: a death test's child that hangs must not outlive the time limit.
    done = subprocess.Popen([program, "--gtest_brief=1", *options], env={**os.environ, **(environment or {})},
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            errors="replace", stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        output, _ = done.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(done.pid, signal.SIGKILL)
        done.communicate()
        return False, "the test did not end"
    if "[==========] 0 tests" in output:
        fail(f"{program.name}: {' '.join(options)} matches no case")
    if done.returncode == 0:
        return True, output
    failed = [line.split("]", 1)[1].split("(")[0].strip()
              for line in output.splitlines() if line.startswith("[  FAILED  ]") and "." in line]
    last = (output.strip().splitlines() or ["it crashed"])[-1]
    return False, failed[0] if failed else re.sub(r"/\S*/(?=(?:include|src|tests)/)", "", last)[:90]   # of any tree


class workplace:
    """A copy of the working tree, and its build folders; one bug at a time is in it."""

    def __init__(self, number):
        self.folder = scratch / str(number)
        self.tree = self.folder / "tree"
        copy_tree(self.tree)

    def build_folder(self, kind):
        folder = self.folder / kind
        if not (folder / "build.ninja").exists():
            command = ["cmake", "-G", "Ninja", "-S", self.tree, "-B", folder, "-DCMAKE_BUILD_TYPE=None",
                       f"-DCMAKE_CXX_FLAGS={flags[kind]}",
                       f"-DCAIRN_ASSERTS={'OFF' if kind == 'release' else 'ON'}"]
            if shutil.which("ccache"):
                command.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                fail(f"cannot configure {folder.relative_to(root)}:\n{done.stdout}{done.stderr}")
        return folder

    def build(self, kind, *targets):
        done = subprocess.run(["cmake", "--build", self.build_folder(kind), "--target", *targets],
                              capture_output=True, text=True)
        return done.returncode == 0, done.stdout + done.stderr

    def run(self, kind, test, case_filter):
        program = next((p for p in (self.build_folder(kind) / "tests").rglob(test)
                        if p.is_file() and os.access(p, os.X_OK)), None)
        if program is None:
            fail(f"there is no test program {test}")
        return run_program(program, [f"--gtest_filter={case_filter}"], time_limit_s)

    def expect_health(self, bugs):
        """Without any bug every test builds and passes; otherwise nothing would be shown."""
        for kind in dict.fromkeys(b.build for b in bugs):
            mine = [b for b in bugs if b.build == kind]
            built, output = self.build(kind, *dict.fromkeys(b.test for b in mine))
            if not built:
                fail(f"the tests do not build without any bug in them:\n{output[-2000:]}")
            for test, case_filter in dict.fromkeys((b.test, b.filter) for b in mine):
                passes, how = self.run(kind, test, case_filter)
                if not passes:
                    fail(f"{test} ({kind}) fails without any bug in it: {how}")

    def try_bug(self, b):
        """("caught" or a reason to worry, by what)."""
        path = self.tree / b.file
        text = path.read_text()
        bad = planted(b, text)
        if bad is None:
            return "does not apply", f"its text is not in {b.file} exactly once"
        path.write_text(bad)
        try:
            built, output = self.build(b.build, b.test)
            if not built:
                first = next((l for l in output.splitlines() if "error" in l), "error")
                if b.caught_by == "compiler":
                    return "caught", f"the compiler: {first.split('error:')[-1].strip()[:80]}"
                return "does not compile", first[:160]
            passes, how = self.run(b.build, b.test, b.filter)
            return ("survived", f"{b.test} passes") if passes else ("caught", how)
        finally:
            path.write_text(text)


def try_share(number, bugs):
    """How many of these were not caught. Prints a line or two for each."""
    place, started, bad = workplace(number), time.monotonic(), 0
    place.expect_health(bugs)
    print(f"without a bug the tests of {len(bugs)} pass ({time.monotonic() - started:.0f} s)", flush=True)
    for b in bugs:
        before = time.monotonic()
        verdict, how = place.try_bug(b)
        bad += verdict != "caught"
        print(f"{verdict.upper() if verdict != 'caught' else verdict}  "
              f"{b.source}: {b.sentence}\n        {how}  ({time.monotonic() - before:.0f} s)", flush=True)
    return bad


def main():
    parser = argparse.ArgumentParser(description="Plants bugs; each must be caught by a test.")
    parser.add_argument("--quick", action="store_true", help="the first bug of each file")
    parser.add_argument("--list", action="store_true", help="only say which there are")
    parser.add_argument("words", nargs="*", metavar="WORD")
    options = parser.parse_args()

    bugs = []
    for path in sorted((root / "tests/bugs").glob("*.txt")):
        bugs += read_bugs(path)[:1 if options.quick else None]
    if options.words:
        bugs = [b for b in bugs
                if any(w in f"{b.source} {b.test} {b.sentence}" for w in options.words)]
    if not bugs:
        fail("no bugs match")

    if options.list:
        lost = 0
        for b in bugs:
            path = root / b.file
            there = path.is_file() and planted(b, path.read_text()) is not None
            lost += not there
            print(f"{'applies' if there else 'LOST   '}  {b.source}: {b.sentence}")
        return lost != 0

    bugs.sort(key=lambda b: (b.build, b.test))  # one build folder and one test at a time
    started, bad = time.monotonic(), 0
    shares = min(os.cpu_count() or 1, 4, len(bugs))
    with concurrent.futures.ThreadPoolExecutor(shares) as copies:
        cuts = [len(bugs) * n // shares for n in range(shares + 1)]
        running = [copies.submit(try_share, n, bugs[cuts[n]:cuts[n + 1]]) for n in range(shares)]
        for share in concurrent.futures.as_completed(running):
            bad += share.result()
    print(f"{len(bugs) - bad} of {len(bugs)} planted bugs were caught, {time.monotonic() - started:.0f} s")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
