#!/usr/bin/env python3
"""Compiles cairn with the warnings that users have: no line of cairn has one.

    whole.cpp            the single headers and all sources in one unit: checked, unchecked with sanitizers, and
                         by gcc with link-time optimization
    greedy_names.cpp     all headers and a use of each class; by gcc at -O2, where -Wnull-dereference looks into
                         functions that are inlined

Usage: flags_test.py --include DIR... --work DIR -- COMPILER...
Exit status 0: no warning; 1: the warnings are shown.
"""
import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent
root = here.parent.parent
warnings = """-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast
-Wnull-dereference""".split()


def commands(compiler, include, work):
    start = [compiler, "-std=c++20", *warnings]
    whole, uses = str(work / "whole.cpp"), str(here / "greedy_names.cpp")
    program = [*(f"-I{folder}" for folder in include), f"-I{work}", f"-I{here}", uses]
    yield [*start, "-DCAIRN_ASSERTS=1", "-fsyntax-only", whole]
    yield [*start, "-DCAIRN_ASSERTS=0", "-fsyntax-only", "-fsanitize=address,undefined", whole]
    if "clang" in compiler:
        yield [*start, "-DCAIRN_ASSERTS=1", "-fsyntax-only", *program]
    else:
        yield [*start, "-DCAIRN_ASSERTS=0", "-O2", "-S", "-o", "/dev/null", *program]
        yield [*start, "-DCAIRN_ASSERTS=1", "-O2", "-flto", "-r", "-o", str(work / "whole.o"), whole]


def faults_of(command):
    """Warnings at a line of cairn: the uses in tests/ dereference what they did not test."""
    run = subprocess.run(command, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"})
    if run.returncode != 0:
        return f"{' '.join(command)}\n{run.stderr[:4000]}"
    lines = [line for line in run.stderr.splitlines()
             if re.match(r"\S*cairn\S*:\d+:\d+: warning:", line) and str(here) not in line]
    return "\n".join([" ".join(command), *lines]) if lines else ""


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("compilers", nargs="+")
    arguments.add_argument("--include", nargs="+", required=True)
    arguments.add_argument("--work", type=pathlib.Path, required=True)
    asked = arguments.parse_args()
    asked.work.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, root / "tools/amalgamate", "-o", asked.work], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([sys.executable, here / "generate.py", asked.work], check=True)
    (asked.work / "whole.cpp").write_text("#define CAIRN_IMPLEMENTATION\n" + "".join(
        f'#include "{asked.work}/cairn_{name}.hpp"\n' for name in ("all", "std", "testing")))
    all_commands = [c for compiler in asked.compilers for c in commands(compiler, asked.include, asked.work)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        faults = [fault for fault in pool.map(faults_of, all_commands) if fault]
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
