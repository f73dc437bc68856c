#!/usr/bin/env python3
"""Shows what breaks the rule of the tree: every include that points up the layers, every include of a
header's inside by a file that is not its own, every file that opens another namespace than the
library's, every header whose essay does not fit the first screen, every public header that has no name
for users or no test of its name, every one that takes memory and has no call that gives back what a peak
took, and every two headers of one file name.

The order is read from docs/architecture.md, from its block that opens with ```layers, so the text and
this check cannot disagree. LAYER/NOUN.hpp is for users. The folder LAYER/NOUN is its inside: NOUN.hpp,
NOUN.cpp and that folder's own files include from there. LAYER/inside is what several nouns share: the
files of its layer and of those above include from there, and users do not.

Usage: tools/layers.py    exit status 0: all arrows point down; 1: some do not; 2: it cannot tell
"""
import collections
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
architecture = root / "docs/architecture.md"
opening = "namespace cairn { inline namespace CAIRN_FLAVOUR {"
afternoon_lines_max = 4500   # of the files that docs/architecture.md recommends to read first
screen_lines_max = 40   # of a header before its #pragma once
# Public headers that name nothing in namespace cairn.
name_nothing = {
    "core/version": "macros",
    "std/format": "a specialization of std::formatter",
}
# Public headers without a test of their name, and where their sentences are tested.
tested_elsewhere = {
    "core/version": "numbers, which core/flavour_test.cpp compares with the names",
}
# Public headers that take memory and have neither shrink_to_fit() nor trim(), and why they need none.
keeps_no_peak = {
    "alloc/arena": "one block",
    "alloc/concurrent_pool_of": "a concurrent_pool, which has trim()",
    "alloc/double_ended_arena": "one block",
    "alloc/scratch": "release_scratch()",
    "collected/collected_heap": "one region",
    "containers/message_queue": "one block",
    "containers/slot_table": "slot_rows, in slot_map.hpp, has shrink_to_fit()",
    "debug/registry": "a block for each entry, freed with it",
    "movable/concurrent_relocatable_heap": "one region, and tables for options::object_count",
    "movable/offset_heap": "one region",
    "os/per_thread": "one block",
    "os/system_allocator": "the system's",
    "owners/deferred_store": "owned_map, its base, has shrink_to_fit()",
    "owners/destruction_queue": "a block for each object, freed with it",
    "owners/shared_handle": "owned_map, the base of shared_store, has shrink_to_fit()",
    "std/deferred_in": "a block for each object, freed with it",
    "storage/clone": "functions",
}
takes_memory = re.compile(r"\bupstream|\bsystem_memory\(|\b(growable_memory|block_table|slot_directory|cell_blocks)\b")
gives_back = re.compile(r"\b(shrink_to_fit|trim)\(")
# Of several nouns: what is inlined into callers, without and with checks.
may_be_namesakes = {"hot_path.hpp", "checked.hpp"}
include = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')


def order():
    """The layer names, lowest first."""
    try:
        text = architecture.read_text()
    except OSError as error:
        sys.exit(cannot_tell(f"{architecture.relative_to(root)}: {error.strerror}"))
    block = re.search(r"^```layers\n(.*?)^```", text, re.S | re.M)
    if block is None:
        sys.exit(cannot_tell("docs/architecture.md has no ```layers block"))
    return [line.split("#")[0].strip() for line in block[1].splitlines() if line.split("#")[0].strip()]


def cannot_tell(why):
    print(f"layers: {why}", file=sys.stderr)
    return 2


def layer_of(path):
    """("include/cairn" or "src") / LAYER / file -> LAYER; a file outside any layer has none."""
    parts = path.relative_to(root).parts
    below = parts[2:] if parts[0] == "include" else parts[1:]
    return below[0] if len(below) > 1 else None


def is_inside(name, where):
    """Is the header cairn/LAYER/NOUN/... the inside of another noun than the file `where` belongs to?"""
    parts = name.split("/")[1:]   # LAYER, NOUN, ..., file
    if len(parts) == 3 and parts[1] == "inside":
        return False   # shared by the layer and those above
    own = where.with_suffix("").parts[2 if where.parts[0] == "include" else 1:]
    return len(parts) > 2 and list(own[:len(parts) - 1]) != parts[:-1]


def findings(layers):
    rank = {name: index for index, name in enumerate(layers)}
    for folder in ("include/cairn", "src"):
        for path in sorted((root / folder).rglob("*.[hc]pp")):
            here = layer_of(path)
            if here is None:
                continue  # cairn.hpp, which includes them all
            where = path.relative_to(root)
            text = path.read_text()
            screen = text[:max(text.find("#pragma once"), 0)].count("\n")
            if screen > screen_lines_max:
                yield (f"{where}: {screen} lines before #pragma once: a first screen has at most "
                       f"{screen_lines_max}; the rest belongs to the declaration that it is about, or a guide")
            if here not in rank:
                yield f"{where}: the folder {here} is not in the layer list"
                continue
            if "CAIRN_FLAVOUR" in text and "#include <cairn/" not in text and '#include "' not in text \
                    and path.name != "flavour.hpp":
                yield f"{where}: opens the namespace without <cairn/core/inside/flavour.hpp>"
            for number, line in enumerate(text.splitlines(), 1):
                if line.startswith("namespace cairn") and not line.startswith(opening) and path.name != "compiler.hpp":
                    yield f"{where}:{number}: write `{opening}`: see flavour.hpp"
                found = include.match(line)
                if found is None:
                    continue
                quote, name = found[1], found[2]
                if quote == '"' and where.parts[0] == "src" and (path.parent / name).is_file():
                    continue  # a private header beside its source
                if quote == '"':
                    yield f'{where}:{number}: "{name}": the library includes its headers as <cairn/...>'
                elif name.startswith("cairn/"):
                    there = name.split("/")[1]
                    if there.endswith(".hpp"):
                        yield f"{where}:{number}: {here} includes <{name}>, which includes everything"
                    elif there not in rank:
                        yield f"{where}:{number}: {here} includes {there}, which is not in the layer list"
                    elif rank[there] > rank[here]:
                        yield f"{where}:{number}: {here} includes {there}"
                    elif is_inside(name, where):
                        yield f"{where}:{number}: <{name}> is the inside of another header"
                    elif not (root / "include" / name).exists():
                        yield f"{where}:{number}: <{name}> does not exist"


def nameless_headers(layers):
    """A public header whose names are all in cairn::detail belongs into LAYER/inside."""
    for layer in layers:
        for header in sorted((root / "include/cairn" / layer).glob("*.hpp")):
            has_names = any(line.startswith(opening) and "namespace detail" not in line
                            for line in header.read_text().splitlines())
            if has_names == (f"{layer}/{header.stem}" in name_nothing):
                yield f"{header.relative_to(root)}: {'has names for users now' if has_names else 'has no name for users'}"


def namesakes():
    """Two headers of one file name: a name says what is in the file without its folder."""
    by_name = collections.defaultdict(list)
    for header in sorted((root / "include/cairn").rglob("*.hpp")):
        by_name[header.name].append(str(header.relative_to(root / "include/cairn")))
    for name, headers in by_name.items():
        if len(headers) > 1 and name not in may_be_namesakes:
            yield f"include/cairn: {len(headers)} headers are called {name}: {', '.join(headers)}"


def untrue_afternoon():
    """The table of files to read first (docs/architecture.md) has their numbers of lines, to a tenth."""
    rows = re.findall(r"^\| `((?:include|src)/\S+)` \| (\d+) \|", architecture.read_text(), re.M)
    total = sum(int(lines) for _, lines in rows)
    if not 10 <= len(rows) <= 15 or total > afternoon_lines_max:
        yield f"docs/architecture.md: {len(rows)} files of {total} lines to read in an afternoon"
    for name, lines in rows:
        path = root / name
        count = len(path.read_text().splitlines()) if path.is_file() else 0
        if abs(count - int(lines)) > count // 10:
            yield f"docs/architecture.md: {name} has {count} lines, not {lines}"


def untested_headers(layers):
    """LAYER/NOUN.hpp has tests/LAYER/NOUN_test.cpp, a folder tests/LAYER/NOUN, or a file NOUN.cpp in the
    folder of a family."""
    for layer in layers:
        for header in sorted((root / "include/cairn" / layer).glob("*.hpp")):
            tests, noun = root / "tests" / layer, header.stem
            has_test = ((tests / f"{noun}_test.cpp").is_file() or (tests / noun).is_dir()
                        or any(tests.glob(f"*/{noun}.cpp")) or any(tests.glob(f"{noun}.cpp")))
            if has_test == (f"{layer}/{noun}" in tested_elsewhere):
                yield (f"{header.relative_to(root)}: it has a test of its name now" if has_test else
                       f"{header.relative_to(root)}: no test of tests/{layer} has its name")
    for name in tested_elsewhere:
        if not (root / f"include/cairn/{name}.hpp").is_file():
            yield f"tools/layers.py: {name} is tested elsewhere, and does not exist"


def one_way_memory(layers):
    """A public header that takes memory has shrink_to_fit() or trim(), or a reason in keeps_no_peak."""
    takers = set()
    for layer in layers:
        for header in sorted((root / "include/cairn" / layer).glob("*.hpp")):
            code = "\n".join(line.split("//")[0] for line in header.read_text().splitlines())
            name = f"{layer}/{header.stem}"
            if not takes_memory.search(code):
                continue
            takers.add(name)
            if bool(gives_back.search(code)) == (name in keeps_no_peak):
                yield (f"{header.relative_to(root)}: it gives memory back now" if name in keeps_no_peak else
                       f"{header.relative_to(root)}: takes memory, and has neither shrink_to_fit() nor trim()")
    for name in sorted(keeps_no_peak.keys() - takers):
        yield f"tools/layers.py: {name} is said to keep no peak, and takes no memory"


layers = order()
upward = [*findings(layers), *nameless_headers(layers), *untested_headers(layers), *untrue_afternoon(), *namesakes(),
          *one_way_memory(layers)]
print("\n".join(upward) or f"all includes point down: {' < '.join(layers)}")
sys.exit(bool(upward))
