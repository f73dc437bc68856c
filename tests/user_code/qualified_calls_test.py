#!/usr/bin/env python3
"""No call in a template of cairn finds a function of the user by its arguments.

Clang's syntax tree names each call whose function is looked up in the namespaces of its arguments, too. A
call without arguments finds none. swap and get are customized by users.

Usage: qualified_calls_test.py --include FOLDER... --generated FOLDER COMPILER...       a clang is among them, or
the test is skipped (exit status 77)
"""
import argparse
import pathlib
import re
import subprocess
import sys

customized = {"swap", "get"}
place = re.compile(r"(?:((?:/|\.)?[\w./+-]+\.(?:hpp|inc|cpp|h|cc|tcc)|/[\w./+-]+|<[\w ]+>):(\d+):\d+)|\bline:(\d+):\d+")
looked_up = re.compile(r"^[ |]*([|`])-UnresolvedLookupExpr .*\(ADL\) = '(\w+)'")


def calls(tree):
    """(file, line, name) of each call with arguments. A place is written as far as it differs from the last one."""
    file, line = "", 0
    for text in tree:
        begin = None
        for found in place.finditer(text.split("'", 1)[0]):
            if found[1]:
                file, line = found[1], int(found[2])
            else:
                line = int(found[3])
            begin = begin or (file, line)
        if "(ADL)" not in text:
            continue
        call = looked_up.match(text)
        if call and call[1] == "|" and not call[2].startswith("operator"):
            yield *(begin or (file, line)), call[2]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--include", nargs="+")
    parser.add_argument("--generated", required=True)
    parser.add_argument("compilers", nargs="+")
    options = parser.parse_args()
    clang = next((c for c in options.compilers if "clang" in pathlib.Path(c).name), None)
    if clang is None:
        print("skipped: no clang")
        return 77
    command = [clang, "-std=c++20", *(f"-I{folder}" for folder in options.include), "-fsyntax-only", "-Xclang",
               "-ast-dump", "-fno-color-diagnostics", "-x", "c++", f"{options.generated}/cairn_headers.inc"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as run:
        found = sorted(set(calls(run.stdout)))
    if run.returncode != 0:
        return 1
    names = {name for _, _, name in found}
    bad = [(file, line, name) for file, line, name in found
           if "/cairn/" in file and name not in customized]
    for file, line, name in bad:
        print(f"{file}:{line}: {name}() may be the user's: write its namespace")
    if not customized & names:
        print("not one call of swap or get was found: the tree is not as this program reads it")
        return 1
    print(f"{len(found)} calls that look up their function, {len(bad)} of them wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
