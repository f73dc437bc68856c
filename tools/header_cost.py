#!/usr/bin/env python3
"""What including one public header costs an otherwise empty translation unit.

Lines are what the preprocessor leaves (g++ -E), without empty lines and line markers; times are the
least processor time of interleaved runs of `-fsyntax-only -std=c++20`, less that of an empty file:
a busy machine only adds to it. Two rows are no single header: <cairn/cairn.hpp>, which the build
writes, and a table of 16 columns that is used, compiled with -O2 (tools/table_of_16_columns.cpp).

Usage: tools/header_cost.py              prints the table: lines, and ms with g++ and clang++
       tools/header_cost.py --write      writes it as a page, build/check/header-cost.md
       tools/header_cost.py --check      only counts lines, writes them as that page, and fails when a header has
                                         more lines than its bar; prints how many ms the last two rows take
       tools/header_cost.py HEADER...    only these (cairn/alloc/arena.hpp)
"""
import argparse
import datetime
import os
import pathlib
import platform
import resource
import shutil
import subprocess
import sys

from public_headers import public_headers

root = pathlib.Path(__file__).resolve().parent.parent
page = root / "build/check/header-cost.md"   # the site takes it from there

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
    ("cairn/alloc/frame_arena", 5200, 60),
    ("cairn/alloc/scratch", 5200, 60),
    ("cairn/alloc/builder", 5000, 60),
    ("cairn/containers/slot_map.hpp", None, 150),
    ("cairn/containers/stable_slot_map.hpp", None, 150),
    ("cairn/containers/table.hpp", None, 150),
]


def promise(header):
    return next(((lines, ms) for start, lines, ms in bars if header.startswith(start)), (None, None))


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


def write_page(count, columns, taken):
    """`columns`: a name and {header: ms} for each compiler that was asked."""
    rows = [f"| `{h}` | {n:,} |" + "".join(f" {ms[h]:.0f} |" for _, ms in columns) for h, n in count.items()]
    table = "\n".join(["| header | lines |" + "".join(f" ms, {name} |" for name, _ in columns),
                       "|---|--:|" + "--:|" * len(columns), *rows])
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(
        "# What a header costs\n\n"
        "Including one header in an empty file adds this many preprocessed lines (without empty ones)"
        + (" and this\nmuch processor time to parse it" if columns else "") + ". Written by `tools/header_cost.py`.\n\n"
        "Bars: a header of `core`, `os` or an arena adds at most 5,000 lines and 60 ms;\n"
        "`slot_map`, `stable_slot_map` and `table` at most 150 ms; `cairn/cairn.hpp` at most 450 ms, and\n"
        "a table of 16 columns that is used (`tools/table_of_16_columns.cpp`), at `-O2`, 300 ms.\n\n"
        f"{taken}\n\n{table}\n")


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
        largest = f"; the largest with a bar: {worst}, {count[worst]} lines" if worst else ""
        print("\n".join(over) or f"{len(headers)} rows{largest}")
        for header, ms in times_ms("g++", [umbrella, used_table], 5).items():
            print(f"{header}: {ms:.0f} ms here, now (its bar on a quiet machine: {promise(header)[1]})")
        if not options.headers:
            write_page(count, [], version("g++"))
        return bool(over)

    compilers = ["g++", *[name for name in ("clang++-19", "clang++") if shutil.which(name)][:1]]
    columns = [(name, times_ms(name, headers, options.rounds)) for name in compilers]
    if options.write:
        write_page(count, columns, ";\n".join(map(version, compilers)) +
                   f";\n{processor()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}; "
                   f"{datetime.date.today()}.\nA load above the cores makes the times upper bounds.")
        print(f"{page.relative_to(root)} is written")
    else:
        for h in headers:
            print(f"{count[h]:7,} lines" + "".join(f"  {ms[h]:5.0f} ms {name}" for name, ms in columns) + f"  {h}")
    slow = [f"{h} adds {ms:.0f} ms, over {promise(h)[1]}" for _, found in columns
            for h, ms in found.items() if (promise(h)[1] or 1e9) < ms]
    print("\n".join(over + slow), file=sys.stderr, end="\n" if over + slow else "")
    return False


sys.exit(main())
