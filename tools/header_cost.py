#!/usr/bin/env python3
"""What including one public header costs an otherwise empty translation unit.

Lines are what the preprocessor leaves (g++ -E), without empty lines and line markers; times are the
least processor time of interleaved runs of `-fsyntax-only -std=c++20`, less that of an empty file:
a busy machine only adds to it. Two rows are no single header: <cairn/cairn.hpp>, which the build
writes, and a table of 16 columns that is used, compiled with -O2 (tools/table_of_16_columns.cpp).

Usage: tools/header_cost.py              prints the table: lines, and ms with g++ and clang++
       tools/header_cost.py --write      puts it into docs/header-cost.md
       tools/header_cost.py --check      only counts lines, and fails when a bar is passed, or when the
                                         table lacks a header or is 3 % off with its own compiler; says
                                         what those two rows take here, now, whatever it is
       tools/header_cost.py HEADER...    only these (cairn/alloc/arena.hpp)
"""
import argparse
import datetime
import os
import pathlib
import platform
import re
import resource
import shutil
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
page = root / "docs/header-cost.md"

# The promises, first match wins: how a header's path begins, lines, ms (None: no promise). Times
# depend on the machine: they are published, not checked.
umbrella = "cairn/cairn.hpp"
program = root / "tools/table_of_16_columns.cpp"
used_table = "a table of 16 columns, used, -O2"
bars = [
    (umbrella, None, 450),
    (used_table, None, 300),
    ("cairn/core/", 5000, 60),
    ("cairn/os/", 5000, 60),
    ("cairn/alloc/arena", 5000, 60),
    ("cairn/alloc/growing_arena", 5000, 60),
    ("cairn/alloc/virtual_arena", 5000, 60),
    ("cairn/alloc/double_ended_arena", 5000, 60),
    ("cairn/alloc/frame_arena", 5000, 60),
    ("cairn/alloc/scratch", 5000, 60),
    ("cairn/alloc/builder", 5000, 60),
    ("cairn/containers/slot_map.hpp", None, 150),
    ("cairn/containers/stable_slot_map.hpp", None, 150),
    ("cairn/containers/table.hpp", None, 150),
]


def promise(header):
    return next(((lines, ms) for start, lines, ms in bars if header.startswith(start)), (None, None))


def public_headers():
    folder = root / "include"
    return sorted(str(path.relative_to(folder)) for path in folder.glob("cairn/*/*.hpp"))


def all_rows():
    return [*public_headers(), umbrella, used_table]


def command(compiler, *options):
    return [compiler, "-std=c++20", "-DCAIRN_ASSERTS=1", f"-I{root / 'include'}", "-x", "c++",
            *options, "-"]


def source(header):
    if header == used_table:
        return program.read_text()
    if header == umbrella:  # as cmake/umbrella.cmake
        return "".join(map(source, (h for h in public_headers() if not h.startswith("cairn/std/"))))
    return f"#include <{header}>\n" if header else ""


def work(header):
    return ["-O2", "-S", "-o", "/dev/null"] if header == used_table else ["-fsyntax-only"]


def lines(header):
    """Lines left by the preprocessor."""
    done = subprocess.run(command("g++", "-E", "-P"), input=source(header), text=True,
                          capture_output=True)
    if done.returncode != 0:
        sys.exit(f"header_cost: {header} does not compile:\n{done.stderr[:400]}")
    return sum(1 for line in done.stdout.splitlines() if line.strip())


def processor_seconds():
    """Of all compilers that have ended: what others do meanwhile counts little."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def times_ms(compiler, headers, rounds):
    """header -> what it adds, in ms. Round by round over all headers, so that a slow moment of the
    machine hits all of them; the empty file is one of them."""
    samples = {header: [] for header in ["", *headers]}
    for _ in range(rounds):
        for header, taken in samples.items():
            before = processor_seconds()
            subprocess.run(command(compiler, *work(header)), input=source(header), text=True,
                           check=True, capture_output=True)
            taken.append((processor_seconds() - before) * 1000)
    empty = min(samples.pop(""))
    return {header: min(taken) - empty for header, taken in samples.items()}


def version(compiler):
    first = subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
    return first.splitlines()[0]


def processor():
    try:
        return next(line.split(":")[1].strip() for line in open("/proc/cpuinfo")
                    if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def stale_rows(count):
    """What the table in the documents says differently. Another compiler has other standard headers."""
    text = page.read_text() if page.is_file() else ""
    table = {header: int(n.replace(",", ""))
             for header, n in re.findall(r"^\| `([^`]+)` \| ([\d,]+) \|", text, re.M)}
    name = page.relative_to(root)
    for header, n in count.items():
        if header not in table:
            yield f"{name} lacks {header}, which adds {n} lines"
        elif version("g++") in text and abs(n - table[header]) > 0.03 * n:
            yield f"{name}: {header} adds {n} lines, the table says {table[header]}"
    for header in table.keys() - set(all_rows()):
        yield f"{name} lists {header}, which does not exist"


def main():
    parser = argparse.ArgumentParser(description="What including each public header costs.")
    parser.add_argument("--write", action="store_true", help=f"into {page.relative_to(root)}")
    parser.add_argument("--check", action="store_true", help="count lines, fail over a bar")
    parser.add_argument("--rounds", type=int, default=7, help="samples of each time (7)")
    parser.add_argument("headers", nargs="*")
    options = parser.parse_args()
    headers = options.headers or all_rows()

    count = {header: lines(header) for header in headers}
    over = [f"{header} adds {count[header]} lines, over {promise(header)[0]}"
            for header in headers if (promise(header)[0] or 1 << 30) < count[header]]
    if options.check:
        worst = max((h for h in headers if promise(h)[0]), key=count.get, default=None)
        over += stale_rows(count)
        if over:
            over.append("tools/header_cost.py --write measures the table anew")
        largest = f"; the largest with a bar: {worst}, {count[worst]} lines" if worst else ""
        print("\n".join(over) or f"{len(headers)} rows{largest}")
        for header, ms in times_ms("g++", [umbrella, used_table], 5).items():
            print(f"{header}: {ms:.0f} ms here, now (its bar on a quiet machine: {promise(header)[1]})")
        return bool(over)

    clang = next((name for name in ("clang++-19", "clang++") if shutil.which(name)), None)
    gcc_ms = times_ms("g++", headers, options.rounds)
    clang_ms = times_ms(clang, headers, options.rounds) if clang else {}
    rows = [f"| `{h}` | {count[h]:,} | {gcc_ms[h]:.0f} |" +
            (f" {clang_ms[h]:.0f} |" if clang else " |") for h in headers]
    table = "\n".join(["| header | lines | ms, g++ | ms, clang++ |", "|---|--:|--:|--:|", *rows])
    if not options.write:
        print(table)
    else:
        page.write_text(
            "# What a header costs\n\n"
            "Including one header in an empty file adds this many preprocessed lines (without empty\n"
            "ones) and this much processor time to parse it. Written by `tools/header_cost.py --write`.\n\n"
            "Bars: a header of `core`, `os` or an arena adds at most 5,000 lines and 60 ms;\n"
            "`slot_map`, `stable_slot_map` and `table` at most 150 ms; `cairn/cairn.hpp` at most 450 ms, and\n"
            "a table of 16 columns that is used (`tools/table_of_16_columns.cpp`), at `-O2`, 300 ms.\n\n"
            f"{version('g++')}; {version(clang) if clang else 'no clang'};\n"
            f"{processor()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}; {datetime.date.today()}.\n"
            f"A load above the cores makes the times upper bounds.\n\n{table}\n")
        print(f"{page.relative_to(root)} is written")
    slow = [f"{h} adds {ms:.0f} ms, over {promise(h)[1]}" for found in (gcc_ms, clang_ms)
            for h, ms in found.items() if (promise(h)[1] or 1e9) < ms]
    print("\n".join(over + slow), file=sys.stderr, end="\n" if over + slow else "")
    return False


sys.exit(main())
