#!/usr/bin/env python3
"""Compiles cairn with the warnings that users have: no line of cairn has one.

One unit has the single headers, all sources and a use of each class (uses.hpp). Clang warns in its front
end alone. gcc also warns in its optimizer, with link-time optimization when it links.

    without --all   each compiler's front end: checked, and unchecked under sanitizers; gcc also compiles the
                    unchecked unit at -O3, and links it at -O2 with link-time optimization
    --all           each compiler x sanitizers x asserts x level, by gcc also with link-time optimization:
                    36 commands, 25 minutes of one processor

Usage: flags_test.py [--all] [--work DIR] [COMPILER...]        without COMPILER: g++ and clang++-19
Exit status 0: no warning; 1: the warnings are shown; 2: a COMPILER is not here. Of the two above, one that is not here
is left out, and the test says so.
"""
import argparse
import concurrent.futures
import itertools
import pathlib
import re
import shutil
import subprocess
import sys
import time

here = pathlib.Path(__file__).resolve().parent
root = here.parent.parent
warnings = """-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast
-Wnull-dereference""".split()
path = "/usr/bin:/bin"
sanitizers = [], ["-fsanitize=address,undefined"], ["-fsanitize=thread"]


def command(compiler, work, asserts, *options):
    return [compiler, "-std=c++20", *warnings, f"-DCAIRN_ASSERTS={asserts}", *options, f"-I{work}", f"-I{here}",
            str(here / "greedy_names.cpp")]


def linked(compiler, work, asserts, *options):
    """With link-time optimization to the end: -r alone would leave the optimizer's part to a later link."""
    return command(compiler, work, asserts, *options, "-flto", "-r", "-nostdlib", "-flinker-output=nolto-rel",
                   "-o", "/dev/null")


def some_commands(compiler, work):
    yield command(compiler, work, 1, "-fsyntax-only")
    yield command(compiler, work, 0, "-fsyntax-only", *sanitizers[1])
    if "clang" not in compiler:
        yield command(compiler, work, 0, "-O3", "-S", "-o", "/dev/null")
        yield linked(compiler, work, 0, "-O2")


def every_command(compiler, work):
    for asserts, sanitizer in itertools.product((0, 1), sanitizers):
        if "clang" in compiler:
            yield command(compiler, work, asserts, "-fsyntax-only", *sanitizer)
            yield command(compiler, work, asserts, "-fsyntax-only", "-O2", *sanitizer)
        else:
            for level in "-O0", "-O2", "-O3":
                yield command(compiler, work, asserts, level, *sanitizer, "-S", "-o", "/dev/null")
            yield linked(compiler, work, asserts, "-O2", *sanitizer)


def faults_of(words):
    """Warnings at a line of cairn: the uses in tests/ dereference what they did not test."""
    began = time.monotonic()
    run = subprocess.run(words, capture_output=True, text=True, env={"PATH": path, "LC_ALL": "C"})
    if run.returncode != 0:
        return f"{' '.join(words)}\n{run.stderr[:4000]}"
    lines = sorted({line for line in run.stderr.splitlines()
                    if re.match(r"\S*cairn\S*:\d+:\d+: warning:", line) and str(here) not in line})
    if "-v" in sys.argv:
        print(f"{time.monotonic() - began:4.0f} s, {len(lines)} warnings: {' '.join(words)}", flush=True)
    return "\n".join([" ".join(words), *lines]) if lines else ""


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("compilers", nargs="*")
    arguments.add_argument("--all", action="store_true")
    arguments.add_argument("--work", type=pathlib.Path, default=root / "build/user_code_flags")
    arguments.add_argument("-v", action="store_true", help="prints each command and its time")
    asked = arguments.parse_args()
    wanted = asked.compilers or ["g++", "clang++-19"]
    missing = ", ".join(c for c in wanted if shutil.which(c, path=path) is None)
    compilers = [c for c in wanted if shutil.which(c, path=path) is not None]
    if missing and (asked.compilers or not compilers):
        arguments.error(f"cannot find {missing}")
    if missing:
        print(f"left out: cannot find {missing}", flush=True)
    asked.work.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, root / "tools/amalgamate", "-o", asked.work], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([sys.executable, here / "generate.py", asked.work], check=True)
    (asked.work / "cairn_headers.inc").write_text("#define CAIRN_IMPLEMENTATION\n" + "".join(
        f'#include "cairn_{name}.hpp"\n' for name in ("all", "std", "testing")))
    commands = every_command if asked.all else some_commands
    all_commands = [c for compiler in compilers for c in commands(compiler, asked.work)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        faults = [fault for fault in pool.map(faults_of, all_commands) if fault]
    print("\n".join(faults) if faults else f"{len(all_commands)} commands: no warning at a line of cairn")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
