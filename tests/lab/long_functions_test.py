#!/usr/bin/env python3
"""No function of the lab has more than 60 lines.

Usage: tests/lab/long_functions_test.py FOLDER
A function goes from the first line of its head to the line of its closing brace; a lambda that is handed
over counts as one. The files are formatted: a head ends in "{", and its block ends at the first line that
begins with "}" and is indented no further.
Exit status 0: none is longer; 1: one is, or the search misses one that it must find.
"""
import pathlib
import re
import sys

limit = 60
no_function = re.compile(r"(\} )?(else|if|for|while|switch|do|try|catch|namespace|inline namespace|struct|class|enum|union|extern)\b")


def indent(line):
    return len(line) - len(line.lstrip())


def functions(text):
    """Returns: for each function of `text` its first line and how many lines it has."""
    lines = text.split("\n")
    found = []
    for i, line in enumerate(lines):
        if not line.endswith("{") or line.lstrip().startswith("//"):
            continue
        first, head = i, line.strip()
        while first and lines[first - 1].strip() and not re.search(r"[;{}:]$|^ *(//|#)", lines[first - 1]):
            first -= 1
            head = lines[first].strip() + " " + head
        if no_function.match(re.sub(r"^(template <.*?> ?)+", "", head)) or not re.search(r"[)\]]", head):
            continue
        last = next((k for k in range(i + 1, len(lines)) if re.match(r" *\}", lines[k]) and indent(lines[k]) <= indent(line)), i)
        found.append((first + 1, last - first + 1))
    return found


def long_ones(text):
    return [(first, count) for first, count in functions(text) if count > limit]


body = "    step();\n"
for head, tail in (("void run() {\n", "}\n"), ("template <class T>\nvoid run(T value,\n         int more) {\n", "}\n"),
                   ("    \"all\", [](experiment& e) {\n", "    }};\n")):
    for lines in (limit, limit + 1):
        text = "const registration all{\n" + head + body * (lines - head.count("\n") - 1) + tail
        if bool(long_ones(text)) != (lines > limit):
            sys.exit(f"a function of {lines} lines is taken for another: {functions(text)}")
if long_ones("struct all {\n" + body * 70 + "};\n"):
    sys.exit("a struct is taken for a function")

found = []
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.[ch]pp")):
    found += [(count, path, first) for first, count in long_ones(path.read_text())]
for count, path, first in sorted(found, reverse=True):
    print(f"{count} lines: {path}:{first}")
print(f"{len(found)} functions of {sys.argv[1]} have more than {limit} lines; allowed is none")
sys.exit(len(found) > 0)
