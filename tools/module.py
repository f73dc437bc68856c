#!/usr/bin/env python3
"""Keeps src/cairn.cppm, the module `cairn`, complete: it exports every name in namespace cairn but those of
cairn::detail. Which there are is asked of clang, with the promises checked and not.

Usage: tools/module.py             exit status 0: it exports them all and no others; 1: it does not (they
                                   are named); 2: there is no clang here to ask
       tools/module.py --write     writes it
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from public_headers import public_headers

root = pathlib.Path(__file__).resolve().parent.parent
module = root / "src/cairn.cppm"
# As clang writes them: without inline namespaces.
name_of = re.compile(r"cairn::((?:page_memory::)?(?:\w+|operator\W+\w*))$")
names_max = 255   # a name that only the library uses belongs in cairn::detail
no_names = re.compile(r"(detail|literals|page_memory|v\d+_\d+\w*)$")


def ask(clang, asserts, code, *options):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "all.cpp")
        source.write_text("".join(f"#include <{h}>\n" for h in public_headers()) + code)
        return subprocess.run([clang, "-std=c++20", "-fsyntax-only", "-ferror-limit=0", f"-I{root / 'include'}",
                               f"-DCAIRN_ASSERTS={asserts}", *options, str(source)], capture_output=True, text=True)


def names(clang):
    """Every name in namespace cairn, also of what only its own class knows (hidden friends)."""
    done = ask(clang, 1, "", "-Xclang", "-ast-list")
    if done.returncode:
        sys.exit(f"module: the headers do not compile:\n{done.stderr[:2000]}")
    found = {found[1] for found in map(name_of.match, done.stdout.splitlines()) if found}
    return {name for name in found if not no_names.match(name)}


def that_can_be_used(clang, asserts, candidates):
    """Those that a using-declaration finds."""
    if not candidates:
        return set()
    ordered = sorted(candidates)
    done = ask(clang, asserts, "namespace probe {\n" + "".join(f"using cairn::{name};\n" for name in ordered) + "}\n")
    lines = len(public_headers()) + 1
    refused = {int(line) - lines - 1 for line in re.findall(r"all\.cpp:(\d+):\d+: error", done.stderr)}
    return {name for number, name in enumerate(ordered) if number not in refused}


def text(exported):
    def using(names, indent, scope):
        return "".join(f"{indent}using cairn::{scope}{name};\n" for name in sorted(names))
    literals = [n for n in exported if n.startswith('operator""')]
    page_memory = [n.split("::")[1] for n in exported if n.startswith("page_memory::")]
    includes = "".join(f"#include <{h}>\n" for h in public_headers())
    return f"""\
// cairn.cppm - import cairn;
//
// Every name of every header, those of cairn/std/ too; written by tools/module.py, which also says when a
// name is missing. A macro is not exported: CAIRN_ASSERT is in <cairn/core/assert.hpp>, to be included in
// front of the import. CAIRN_ASSERTS is the module's own, as it was compiled: a unit that imports it asks
// cairn::asserts_enabled, and its own -DCAIRN_ASSERTS means nothing for what it imports. docs/packages.md.
module;

{includes}
export module cairn;

export namespace cairn {{

{using([n for n in exported if "::" not in n and n not in literals], "", "")}
inline namespace literals {{
{using(literals, "", "literals::")}}}  // namespace literals

namespace page_memory {{
{using(page_memory, "", "page_memory::")}}}  // namespace page_memory

}}  // namespace cairn

// For a unit that includes nothing: what the language and the standard library ask of a row
// (auto [x, y] = rows[i]), of a handle in a hashed container, and of a loop over a std::span.
export namespace std {{
using std::basic_common_reference;
using std::hash;
using std::tuple_element;
using std::tuple_size;
using std::operator-;
using std::operator==;
using std::operator<=>;
}}  // namespace std

#if defined(__GLIBCXX__)
export namespace __gnu_cxx {{
using __gnu_cxx::operator+;
using __gnu_cxx::operator-;
using __gnu_cxx::operator==;
using __gnu_cxx::operator<=>;
}}  // namespace __gnu_cxx
#endif
"""


def main():
    clang = next(filter(None, map(shutil.which, ["clang++-19", "clang++", "clang++-18", "clang++-17", "clang++-16"])), None)
    if clang is None:
        print("module: no clang here to ask", file=sys.stderr)
        sys.exit(2)
    if "--write" in sys.argv:
        candidates = names(clang)
        module.write_text(text(that_can_be_used(clang, 0, that_can_be_used(clang, 1, candidates))))
        return
    there = {name.removeprefix("literals::") for name in re.findall(r"^using cairn::(.*);$", module.read_text(), re.M)}
    missing = that_can_be_used(clang, 1, names(clang) - there)
    for name in sorted(missing):
        print(f"src/cairn.cppm lacks {name}: tools/module.py --write")
    if not missing and module.read_text() != text(there):
        print("src/cairn.cppm is not what tools/module.py --write writes")
        missing = {""}
    if len(there) > names_max:
        print(f"src/cairn.cppm exports {len(there)} names, and {names_max} are enough: users write none of cairn::detail")
        missing = {""}
    if missing:
        sys.exit(1)
    print(f"import cairn; exports {len(there)} names")   # that each of them is there, its compilation shows


main()
