#!/usr/bin/env python3
"""Shows functions of the headers that have two bodies in a program of -O0 and -O2 units.

The linker keeps one body for each inline function of one name. A header that asks whether its includer is
optimized (CAIRN_CALLER_IS_OPTIMIZED, core/inside/compiler.hpp) would give it two. Only a function that is
always_inline may ask: it has no body of its own in a program. This script

    preprocesses all public headers as for -O0 and as for -O2, compares their tokens, and names each function
    that differs and is not always_inline;
    compiles tests/tools/weak_symbols_program.cpp with -O0 and with -O2, and names each function that asks and
    has a weak symbol in one of them.

Usage: tools/weak_symbols.py [COMPILER]     exit status 0: each function has one body; 1: some have two, or another
                                            file asks __OPTIMIZE__; 2: there is no compiler
       tools/weak_symbols.py --list         also prints the weak symbols of both units, with their sizes
"""
import collections
import difflib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from public_headers import public_headers

root = pathlib.Path(__file__).resolve().parent.parent
program = root / "tests/tools/weak_symbols_program.cpp"
asking_header = root / "include/cairn/core/inside/compiler.hpp"


def run(*command, **options):
    done = subprocess.run(command, text=True, capture_output=True, cwd=root, **options)
    if done.returncode:
        sys.exit(f"weak_symbols: {' '.join(map(str, command[:8]))} failed:\n{done.stderr[:2000]}")
    return done.stdout


def preprocessed(compiler, *options):
    """{header: [(line number, text)]} of cairn's own headers."""
    source = "".join(f"#include <{header}>\n" for header in public_headers())
    out = run(compiler, "-std=c++20", "-E", f"-I{root / 'include'}", *options, "-x", "c++", "-", input=source)
    lines = collections.defaultdict(list)
    file, number = "", 0
    for line in out.splitlines():
        marker = re.match(r'# (\d+) "([^"]*)"', line)
        if marker:
            number, file = int(marker[1]), marker[2]
            continue
        if "/include/cairn/" in file and line.strip():
            lines[file.split("/include/")[1]].append((number, line))
        number += 1
    return lines


def parameters(text):
    """How many the list has that `text` begins with: (a, b)."""
    depth, count, is_empty = 0, 1, True
    for c in text:
        depth += c in "([{<"
        depth -= c in ")]}>"
        if depth == 0:
            break
        count += c == "," and depth == 1
        is_empty &= c in "( "
    return 0 if is_empty else count


class place:
    """What surrounds a token: the heads of the blocks that are open there, outermost first."""

    def __init__(self, heads):
        self.heads = heads

    def is_always_inline(self):
        return any("always_inline" in head for head in self.heads)

    def function(self):
        """(CLASS::NAME, how many parameters) of the function."""
        klass = name = ""
        count = 0
        for head in self.heads:
            found = re.search(r"\b(?:class|struct)\s+(?:\[\[.*?\]\]\s*)?(\w+)", head)
            if found and "(" not in head[:found.start()]:
                klass = found[1]
                continue
            plain = re.sub(r"\[\[.*?\]\]|<[^<>()]*>|requires\s*\(.*?\)", "", head)
            found = re.search(r"((?:\w+::)*~?(?:operator\W+|\w+))\s*\(", plain)
            if found and not name and found[1] not in ("if", "for", "while", "switch"):
                name, count = found[1], parameters(plain[found.end() - 1:])
        return (name if "::" in name or not klass else f"{klass}::{name}"), count


def places(lines):
    """Of each line, the place of its first token; strings and characters are skipped."""
    heads, since, out = [], "", []
    for _, line in lines:
        out.append(place([*heads, since + line]))
        for token in re.findall(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[{};]|[^{};"\']+|["\']', line):
            if token == "{":
                heads.append(since)
                since = ""
            elif token == "}":
                if heads:
                    heads.pop()
                since = ""
            elif token == ";":
                since = ""
            else:
                since += token
        since += " "
    return out


def functions_that_ask(compiler):
    """{(header, function): is it always_inline?}"""
    found = {}
    for asserts in (0, 1):
        option = f"-DCAIRN_ASSERTS={asserts}"
        plain, optimized = preprocessed(compiler, option), preprocessed(compiler, option, "-D__OPTIMIZE__=1")
        for header in plain.keys() | optimized.keys():
            both = [plain.get(header, []), optimized.get(header, [])]
            texts = [[text.strip() for _, text in lines] for lines in both]
            if texts[0] == texts[1]:
                continue
            where = [places(lines) for lines in both]
            for tag, a, b, c, d in difflib.SequenceMatcher(None, *texts, autojunk=False).get_opcodes():
                if tag == "equal":
                    continue
                for side, first, last in ((0, a, b), (1, c, d)):
                    for i in range(first, last):
                        at, number = where[side][i], both[side][i][0]
                        if "_mm_" in (root / "include" / header).read_text().splitlines()[number - 1]:
                            continue   # gcc's <emmintrin.h> has macros at -O0 for functions of the same effect
                        key = (f"{header}:{number}", at.function())
                        found[key] = at.is_always_inline()
    return found


def without_templates(name):
    while (shorter := re.sub(r"<[^<>]*>", "", name)) != name:
        name = shorter
    return name


def weak_symbols(compiler, folder, *options):
    """{demangled name: size} of cairn's weak functions in the program's unit."""
    out = pathlib.Path(folder, "unit.o")
    run(compiler, "-std=c++20", "-c", f"-I{root / 'include'}", "-DCAIRN_ASSERTS=1", *options, str(program), "-o", str(out))
    listed = re.findall(r"^\w+ (\w+) [WV] (.*)$", run("nm", "--demangle", "--print-size", str(out)), re.M)
    return {name: int(size, 16) for size, name in listed if "cairn::" in name}


def main():
    arguments = [a for a in sys.argv[1:] if a != "--list"]
    compiler = arguments[0] if arguments else next(filter(None, map(shutil.which, ["g++", "clang++-19", "clang++"])), None)
    if compiler is None or shutil.which(compiler) is None:
        print("weak_symbols: no compiler here", file=sys.stderr)
        sys.exit(2)
    wrong = []
    for folder in ("include", "src"):
        for path in sorted((root / folder).rglob("*.[hc]pp")):
            if path != asking_header and "__OPTIMIZE__" in path.read_text():
                wrong.append(f"{path.relative_to(root)}: asks __OPTIMIZE__; only core/inside/compiler.hpp does")
    asks = functions_that_ask(compiler)
    for (where, function), is_inlined in sorted(asks.items()):
        if not is_inlined:
            wrong.append(f"{where}: {function[0]} has another body at -O0, and is not always_inline")
    with tempfile.TemporaryDirectory() as folder:
        units = {level: weak_symbols(compiler, folder, level) for level in ("-O0", "-O2")}
    asking = {function for (_, function) in asks}
    for level, symbols in units.items():
        for name in sorted(symbols):
            plain = without_templates(name)
            bare = plain.split("(")[0]
            count = parameters(plain[len(bare):])
            if any(bare.endswith("::" + function) and count == those for function, those in asking):
                wrong.append(f"{level}: {name} is a weak symbol, and has another body where the caller is not optimized")
    both = units["-O0"].keys() & units["-O2"].keys()
    if "--list" in sys.argv:
        for name in sorted(both):
            print(f"{units['-O0'][name]:6} {units['-O2'][name]:6}  {name}")
    print("\n".join(wrong) or f"{len(asking)} functions ask whether their caller is optimized: all are inlined always; "
          f"{len(both)} weak functions stand in units of -O0 and -O2, each with one body")
    sys.exit(bool(wrong))


main()
