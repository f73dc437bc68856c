#!/usr/bin/env python3
"""Compiles every mistake in tests/mistakes/*.cpp and reads what the compiler says.

Each file has a prologue and cases; a case is the prologue and the lines up to the next case:

    //= mistake: a column of another struct
    //= says: a field is named by a member pointer of its own row      (more than one: each of them)
    //= lines: 12, clang 14                  at most so many lines in all; 20 where nothing is said
    auto wrong(cairn::table<particle>& t) { return t.column<&other::mass>(); }

    //= fine: a column of its own row        compiles without a warning (-Wall -Wextra ... -Werror)
    //= with: -std=c++17                     further options, for a mistake or what is fine
    //= only: clang                          cases that one compiler alone can judge
    //= alone: gcc                           without the precompiled header, in which gcc forgets the
                                             pragmas about warnings

A mistake passes when it does not compile, the sentence stands in the first 12 lines (the source line
that a compiler quotes counts), all lines are no more than the stated number, and no error names a
class of cairn::detail but those of `inside_names`. All cases of a compiler share one precompiled
<cairn/cairn.hpp>.

Usage: mistakes_test.py --include DIR... --work DIR [--show] [--case WORD] COMPILER...
       --show prints what the compilers say. Exit status 0: all as stated; 1: some are not.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent
first_lines = 12
lines_max = 20
flags = ["-std=c++20", "-DCAIRN_ASSERTS=1", "-Wpedantic"]
warnings = ["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Wsign-conversion", "-Wold-style-cast",
            "-Werror"]
gcc_warnings = ["-Wuseless-cast"]
# Classes of cairn::detail that an error may name: what a public class inherits is declared in them.
inside_names = {
    "other_names_of_arenas", "other_names_of_maps", "other_names_of_pools",  # the deleted wrong guesses
    "other_names_of_object_pools",
    "slot_rows", "slot_map_parts", "slot_table_parts",  # the members that slot_map and slot_table share
    "makes_objects",  # make(), make_array() and copy() of every arena
    "index_iterator", "row_proxy",  # behind the aliases `iterator` and `reference`
    "any_stream", "handle_word",    # parameters of what is deleted or not defined
    "operator",  # deleted ones of iterators
}
prelude = """#include <cairn/cairn.hpp>
#include <array>
#include <string>
#include <vector>
"""


class Case:
    def __init__(self, path, line, kind, name):
        self.path, self.line, self.kind, self.name = path, line, kind, name
        self.says, self.limits, self.options, self.body = [], {}, [], []
        self.only = self.alone = None

    def limit(self, family):
        return self.limits.get(family, self.limits.get("", lines_max))


def cases_of(path):
    """The prologue of a file, and its cases."""
    prologue, cases = [], []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        mark = re.match(r"//= (\w+): (.*)", line)
        if mark is None:
            (cases[-1].body if cases else prologue).append((number, line))
        elif mark[1] in ("mistake", "fine"):
            cases.append(Case(path, number, mark[1], mark[2]))
        elif mark[1] == "says":
            cases[-1].says.append(mark[2])
        elif mark[1] == "lines":
            for part in mark[2].split(","):
                words = part.split()
                cases[-1].limits[words[0] if len(words) > 1 else ""] = int(words[-1])
        elif mark[1] == "with":
            cases[-1].options += mark[2].split()
        elif mark[1] == "alone":
            cases[-1].alone = mark[2]
        elif mark[1] == "only":
            cases[-1].only = mark[2]
        else:
            sys.exit(f"{path.name}:{number}: what is {mark[1]}?")
    return prologue, cases


def family_of(compiler):
    text = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    return "clang" if "clang" in text else "gcc"


class Compiler:
    """One compiler and its precompiled header."""

    def __init__(self, program, includes, work):
        self.program, self.family = program, family_of(program)
        self.work = work / re.sub(r"\W", "_", program)
        self.work.mkdir(parents=True, exist_ok=True)
        self.base = [program] + flags + [f"-I{pathlib.Path(d).resolve()}" for d in includes]

    def precompile(self):
        header = self.work / "all.hpp"
        header.write_text(prelude)
        out = self.work / ("all.pch" if self.family == "clang" else "all.hpp.gch")
        subprocess.run(self.base + ["-x", "c++-header", str(header), "-o", str(out)], check=True)
        self.precompiled = (["-include-pch", str(out)] if self.family == "clang" else
                            ["-include", str(header), "-Winvalid-pch"])

    def output(self, case, prologue):
        """(exit status, what was said)"""
        name = re.sub(r"\W+", "_", f"{case.path.stem}_{case.name}")
        source = self.work / f"{name}.cpp"
        text, follows = "", None
        for number, line in prologue + case.body:
            if number != follows:
                text += f'#line {number} "{case.path.name}"\n'
            follows = number + 1
            text += line + "\n"
        source.write_text(text)
        command = self.base + ["-fsyntax-only"]
        if case.options or case.alone == self.family:
            command += case.options        # the precompiled header is made without them
        else:
            command += self.precompiled
        if case.kind == "fine":
            command += warnings + (gcc_warnings if self.family == "gcc" else [])
        else:
            command += ["-Wall", "-Wextra"]
        done = subprocess.run(command + [str(source)], capture_output=True, text=True, timeout=600,
                              env=dict(os.environ, LC_ALL="C"), cwd=case.path.parent)
        return done.returncode, done.stderr


def without_excerpts(lines):
    """Without the code that gcc 14 shows at each "required from": it pushes no sentence out of sight."""
    out, skipping = [], False
    for line in lines:
        if re.match(r"\s*\d* \|", line):
            if not skipping:
                out.append(line)
        else:
            skipping = re.search(r"required (from|by)|expansion of", line) is not None
            out.append(line)
    return out


def complaint(case, family, status, said):
    """None when all is as the case states."""
    if case.kind == "fine":
        return None if status == 0 and not said.strip() else "does not compile without a warning"
    lines = without_excerpts(said.splitlines())
    if status == 0:
        return "compiles"
    if status not in (1,) or "internal compiler error" in said:
        return f"exit status {status}"
    early = " ".join(re.sub(r"\s+", " ", l) for l in lines[:first_lines])
    for sentence in case.says:
        if sentence not in early:
            late = sentence in " ".join(re.sub(r"\s+", " ", l) for l in lines)
            return f'{"says too late" if late else "does not say"}: "{sentence}"'
    if not case.says:
        return "states no sentence"
    for line in lines:
        # clang quotes the condition of a static_assert, whose sentence is what counts.
        if "error:" in line and "static assertion" not in line:
            unknown = set(re.findall(r"detail::(\w+)", line)) - inside_names
            if unknown:
                return f"names {', '.join(sorted(unknown))} of the inside"
    if len(lines) > case.limit(family):
        return f"takes {len(lines)} lines, not {case.limit(family)}"
    return None


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("compilers", nargs="+")
    arguments.add_argument("--include", nargs="+", required=True)
    arguments.add_argument("--work", type=pathlib.Path, required=True)
    arguments.add_argument("--show", action="store_true")
    arguments.add_argument("--case", default="")
    asked = arguments.parse_args()

    files = [cases_of(path) for path in sorted(here.glob("*.cpp"))]
    chosen = [(prologue, case) for prologue, cases in files for case in cases
              if asked.case in f"{case.path.stem}: {case.name}"]
    if not chosen:
        sys.exit("no case has that name")
    compilers = [Compiler(program, asked.include, asked.work) for program in asked.compilers]
    failures, total = [], 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        list(pool.map(Compiler.precompile, compilers))
        jobs = [(compiler, case, pool.submit(compiler.output, case, prologue))
                for compiler in compilers for prologue, case in chosen
                if case.only in (None, compiler.family)]
        for compiler, case, job in jobs:
            status, said = job.result()
            total += 1
            why = complaint(case, compiler.family, status, said)
            title = f"{compiler.family}: {case.path.name}:{case.line}: {case.name}"
            if asked.show:
                print(f"---- {title}: {len(said.splitlines())} lines\n{said}")
            if why is not None:
                failures.append(f"{title}: {why}")
                if not asked.show:
                    print(f"---- {title}: {why}\n" + "\n".join(said.splitlines()[:40]))
    for failure in failures:
        print(failure)
    print(f"{total - len(failures)} of {total} as stated")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
