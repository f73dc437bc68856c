#!/usr/bin/env python3
"""Reads the assembly of loops over rows (row_loops.cpp) at -O2.

1. The functions index_... and range_... call nothing: t[i] is inlined, also of rows with 27 columns.
   (A call for each row made such loops 15 to 43 times slower.)
2. x86-64: the loops of for_each and each over one, two or four columns are vectorised, also by gcc 12,
   which vectorises no loop of unknown length at -O2: packed additions stand in them.

Usage: row_loops_test.py --include DIR COMPILER...
Exit status 0: all as stated; 1: some are not.
"""
import argparse
import pathlib
import platform
import re
import subprocess
import sys

source = pathlib.Path(__file__).resolve().parent / "row_loops.cpp"


def functions_of(assembly):
    """The instructions of each function, by its name."""
    found, name = {}, None
    for line in assembly.splitlines():
        label = re.match(r"([\w.$]+):", line)
        if label and not label[1].startswith((".", "L")):
            name = label[1]
            found[name] = []
        elif name is not None and re.match(r"\s+[a-z]", line):
            found[name].append(line.strip())
    return found


def faults_of(compiler, include):
    command = [compiler, "-std=c++20", "-O2", "-DCAIRN_ASSERTS=0", f"-I{include}", "-S", "-o", "-", str(source)]
    functions = functions_of(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    for name in ("index_soa", "range_soa", "range_split", "index_split"):
        calls = [i for i in functions[name] if re.match(r"(call|bl|blr)\b", i)]
        if calls:
            yield f"{name} calls: {calls[0]}"
    if platform.machine() != "x86_64":
        return
    for name in ("for_each_six", "each_two", "each_four"):
        loops = [body for f, body in functions.items() if name in f]
        if not any(re.match(r"v?addps\b", i) for body in loops for i in body):
            yield f"{name} is not vectorised"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("compilers", nargs="+")
    arguments.add_argument("--include", required=True)
    asked = arguments.parse_args()
    faults = [f"{c}: {fault}" for c in asked.compilers for fault in faults_of(c, asked.include)]
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
