#!/usr/bin/env python3
"""Lays out the pages of the site for mkdocs: build/docs/pages and build/docs/mkdocs.json.

    README.md, docs/, lab/README.md ...   at the same path, so that links between them hold
    api/LAYER/HEADER.md                   from the headers (api.py)
    examples/NAME.md                      code and output
    choose/*.md                           the choosing tree, a question a page (choose.py)
    figures/                              the page of the last lab run, where there is one
    source/                               files that pages point to, as text

Usage: tools/site/pages.py EXAMPLES        EXAMPLES: the folder with the built examples
Exit status 0: laid out; 1: a public name has no words, or a link leads nowhere: a line for each.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import api
import choose

root = api.root
pages = root / "build/docs/pages"
wrong = []


def tracked(*patterns):
    return subprocess.run(["git", "ls-files", *patterns], cwd=root, text=True, capture_output=True,
                          check=True).stdout.split()


def write(path, text):
    target = pages / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


# ---- documents -------------------------------------------------------------------------------------------

def site_path(file):
    """Where the site has a file of the repository."""
    if file == "README.md":
        return "index.md"
    if file in ("examples", "examples/"):
        return "examples/index.md"
    if file.rstrip("/") in ("include/cairn", "include"):
        return "api/index.md"
    if re.fullmatch(r"examples/\w+\.cpp", file):
        return file.removesuffix(".cpp") + ".md"
    if api.is_public_header(file):
        return f"api/{api.included_as(file).removeprefix('cairn/').removesuffix('.hpp')}.md"
    if file.endswith((".md", ".png")):
        return file
    if (root / file).is_dir():
        return site_path(f"{file.rstrip('/')}/README.md") if (root / file / "README.md").exists() else None
    return f"source/{file}.txt"


def needed(file):
    """Copies a file that a page points to, as text."""
    target = pages / f"source/{file}.txt"
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        shutil.copyfile(root / file, target)


def relinked(file, text, page=None):
    """`text` of the document `file`, with its links led to where the site has what they point to: as a part
    of `page`, or of the document's own."""
    here = pathlib.PurePath(page or site_path(file)).parent

    def one(m):
        label, target, anchor = m[1], m[2], m[3] or ""
        if re.match(r"[a-z]+:", target) or not target:
            return m[0]
        path = pathlib.PurePath(file).parent / target
        path = pathlib.Path(root / path).resolve()
        if not path.exists() or not path.is_relative_to(root):
            wrong.append(f"{file}: {target} does not exist")
            return m[0]
        repository = str(path.relative_to(root))
        to = site_path(repository)
        if to is None:
            return label
        if to.startswith("source/"):
            needed(repository)
        if to.endswith(".png"):
            (pages / to).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, pages / to)
        return f"[{label}]({pathlib.PurePath(relative(to, here))}{anchor})"
    # Not inside of blocks of code. A label may have code in it.
    parts = re.split(r"(```.*?```)", text, flags=re.S)
    for k in range(0, len(parts), 2):
        parts[k] = re.sub(r"\[((?:[^\[\]]|\[[^\]]*\])+)\]\(([^)#\s]*)(#[^)\s]*)?\)", one, parts[k])
    return "".join(parts)


def relative(to, folder):
    return os.path.relpath(to, folder)


def documents():
    for file in tracked("*.md"):
        if not re.match(r"(README|CONTRIBUTING|CHANGELOG)\.md$|docs/|lab/README|tests/bugs/README", file):
            continue
        text = re.sub(r"^<!-- snippet: .*-->\n", "", (root / file).read_text(), flags=re.M)
        # Code that is only indented has no language; mkdocs wants lists and blocks set off by a line.
        text = re.sub(r"(?m)^(?!\s*(?:[-*|>]|\d+\.))(\S.*)\n(- )", r"\1\n\n\2", text)
        write(site_path(file), search_rank(file) + heading_escaped(relinked(file, text)))
    cost = root / "build/check/header-cost.md"   # by tools/header_cost.py
    if cost.is_file():
        write("docs/header-cost.md", cost.read_text())


# What people type, and the page that they look for: the search finds these words before all others.
typed = {
    "docs/guides/out-of-memory.md": ["out of memory", "bad_alloc", "allocation failed", "null"],
    "docs/guides/owners.md": ["smart pointer", "linked list", "unique_ptr", "shared_ptr", "ownership"],
    "docs/guides/threads.md": ["threads", "multithreading", "fibers", "lock-free"],
    "docs/guides/crash.md": ["crash", "assert", "segfault"],
    "docs/guides/collecting.md": ["garbage collection", "garbage collector", "gc", "cycles"],
    "docs/guides/game-frame.md": ["game loop", "frame allocator"],
    "docs/what-cairn-does-not-have.md": ["hash map", "unordered map", "json", "serialization", "savegame", "job system", "fps", "timer",
                                         "malloc replacement", "jemalloc", "mimalloc", "ld_preload", "unreal", "unity", "godot",
                                         "string", "deque", "ring buffer", "small vector", "set"],
    "docs/platforms.md": ["windows", "msvc", "macos", "android", "arm64", "visual studio", "console"],
    "docs/gotchas.md": ["compile error", "mistakes", "does not compile"],
    "docs/choosing.md": ["which allocator", "free memory", "how do I free"],
    "docs/debugging.md": ["gdb", "lldb", "natvis", "valgrind", "address sanitizer", "asan"],
    "docs/packages.md": ["vcpkg", "conan", "cmake", "install", "fetchcontent"],
    "api/alloc/pool.md": ["pool size", "block pool", "slab"],
    "api/alloc/locked.md": ["mutex", "lock"],
    "api/alloc/arena.md": ["stack allocator", "linear allocator", "bump allocator"],
    "api/alloc/frame_arena.md": ["double buffer"],
    "api/os/page_allocator.md": ["huge pages", "mmap", "virtual memory"],
    "api/containers/object_pool.md": ["object pool"],
    "api/containers/slot_map.md": ["slot map", "generational index"],
    "api/containers/table.md": ["structure of arrays", "soa"],
    "api/debug/tracked.md": ["leak", "memory leak", "statistics"],
    "api/movable/relocatable_heap.md": ["fragmentation", "defragmentation", "compaction"],
    "examples/particles.md": ["particles"],
}
# Guides and the words of users first; insides and history last.
ranks = [(4, r"docs/(guides/|(choosing|gotchas|platforms|containers|std|debugging|what-cairn-does-not-have)\.md)"),
         (0.2, r"docs/(decisions/|(dead-ends|coverage|lab-schema|measuring)\.md)|CONTRIBUTING|CHANGELOG|tests/|lab/|api/(storage|os)/"),
         (2, r"api/(alloc|containers)/"), (0.7, r"api/core/")]


def search_rank(page):
    """The front matter that ranks a page in the site's search."""
    boost = next((b for b, pattern in ranks if re.match(pattern, page)), 1)
    lines = [f"search:\n  boost: {boost}"]
    if page in typed:
        lines.append("tags:\n" + "\n".join(f"  - {json.dumps(words)}" for words in typed[page]))
    return "---\n" + "\n".join(lines) + "\n---\n"


def heading_escaped(text):
    """A name such as <atomic> in a heading is an element for a browser, which then takes the page for its title."""
    return re.sub(r"(?m)^(#+ .*)$", lambda m: re.sub(r"(`[^`]*`)|<", lambda x: x[1] or "&lt;", m[1]), text)


def title_of(page):
    found = re.search(r"^# (.+)$", (pages / page).read_text(), re.M)
    return re.sub(r"[`*\\]", "", found[1]) if found else pathlib.PurePath(page).stem


# ---- reference -------------------------------------------------------------------------------------------

def reference():
    ref = api.reference()
    tests = [t for t in tracked("tests") if t.endswith("_test.cpp")]
    index = ["# Reference\n", "Every public name, in the words of its header: a header that lies directly in "
             "a folder is for you. `<cairn/cairn.hpp>` has all of them but those of `std/`.\n"]
    nav = []
    for layer in api.layers:
        files = sorted(f for f in tracked(f"include/cairn/{layer}", f"testing/include/cairn/{layer}") if api.is_public_header(f))
        if not files:
            continue
        index += [f"## {layer}\n", api.layer_words[layer] + "\n", "| header | names |", "|---|---|"]
        entries = []
        for file in files:
            proof = api.tests_of(file, tests)
            needed(file)
            for t in proof:
                needed(t)
            write(site_path(file), search_rank(site_path(file)) + ref.page(file, proof))
            stem = pathlib.PurePath(file).stem
            names = list(dict.fromkeys(n for _, n in ref.pages.get(file, []) if "::" not in n and "operator" not in n))
            index.append(f"| [{stem}]({layer}/{stem}.md) | {', '.join(f'`{n}`' for n in names[:14])} |")
            entries.append({stem: site_path(file)})
        index.append("")
        nav.append({layer: entries})
    write("api/index.md", "\n".join(index))
    wrong.extend(f"{u} has no words" for u in ref.undocumented)
    return [{"All names": "api/index.md"}, *nav], ref.name_count


# ---- examples --------------------------------------------------------------------------------------------

def examples(built):
    index = ["# Examples\n", "One question each, and what it prints. All of them run as tests.\n"]
    nav = []
    for file in sorted(tracked("examples/*.cpp")):
        stem = "_".join(pathlib.PurePath(file).with_suffix("").parts[1:])
        lines = (root / file).read_text().split("\n")
        words = []
        while lines and lines[0].startswith("//"):
            words.append(lines.pop(0)[2:].strip())
        program = next((p for p in (built / f"example_{stem}", built / stem) if p.exists()), None)
        output = "(not built)"
        if program is None and file.startswith("examples/libraries/"):
            output = "(not built: its library is not installed)"
        elif program is None:
            wrong.append(f"{file}: {built} has no program of it")
        else:
            done = subprocess.run([program], text=True, capture_output=True, timeout=60)
            output = done.stdout.rstrip() or "(nothing; its exit status is 0)"
            if done.returncode != 0:
                wrong.append(f"{file} ends with {done.returncode}")
        title = stem.replace("_", " ").capitalize()
        write(f"examples/{stem}.md", search_rank(f"examples/{stem}.md") + f"# {title}\n\n{api.as_markdown(words)}\n```cpp\n" + "\n".join(lines).strip() +
              f"\n```\n\nIts output:\n\n```text\n{output}\n```\n")
        index.append(f"- [{title}]({stem}.md): {api.as_text(' '.join(words)[:160])}")
        nav.append({title: f"examples/{stem}.md"})
    write("examples/index.md", "\n".join(index) + "\n")
    return [{"All examples": "examples/index.md"}, *nav]


# ---- figures ---------------------------------------------------------------------------------------------

def figures():
    """The report of the last lab run in this folder, and its figures by case."""
    page, data = root / "cairn-lab.html", root / "cairn-lab.json"
    if not (page.exists() and data.exists()):
        write("figures/index.md", "# Figures\n\nThere is no lab run in this checkout. `make lab` measures cairn on your machine beside "
              "what you use now, and writes `cairn-lab.html`; `make docs` after it shows its plots here.\n")
        return None
    run = json.loads(data.read_text())
    shutil.copyfile(page, pages / "figures-lab.html")
    (pages / "figures").mkdir(exist_ok=True)
    shutil.move(pages / "figures-lab.html", pages / "figures/lab.html")
    machine = run.get("machine", {})
    write("figures/index.md", "# Figures\n\nThe last lab run in this checkout, "
          f"{machine.get('cpu', 'this machine')}. [The page by itself](lab.html).\n\n"
          '<iframe src="lab.html" title="The report of the lab" class="lab"></iframe>\n')
    return run


# ---- the site --------------------------------------------------------------------------------------------

def main():
    built = pathlib.Path(sys.argv[1]).resolve()
    shutil.rmtree(pages, ignore_errors=True)
    pages.mkdir(parents=True)
    documents()
    api_nav, name_count = reference()
    example_nav = examples(built)
    run = figures()
    choose_nav = choose.write_pages(write, relinked, wrong, run)
    write("assets/site.css", (root / "tools/site/site.css").read_text())

    def those(*files):
        return [{title_of(f): f} for f in files if (pages / f).exists()]

    guides = sorted(str(p.relative_to(pages)) for p in (pages / "docs/guides").glob("*.md")) if \
        (pages / "docs/guides").exists() else []
    guides = sorted(guides, key=lambda g: ("README" not in g, "start" not in g, g))
    decisions = sorted(str(p.relative_to(pages)) for p in (pages / "docs/decisions").glob("*.md"))
    for page in typed:
        if not (pages / page).exists():
            wrong.append(f"tools/site/pages.py: no page is called {page}")
    listed = {"docs/choosing.md", "docs/what-cairn-does-not-have.md", "docs/containers.md", "docs/std.md", "docs/gotchas.md", "docs/debugging.md", "docs/hardening.md",
              "docs/plugins.md", "docs/platforms.md"}
    others = sorted(str(p.relative_to(pages)) for p in (pages / "docs").glob("*.md"))
    nav = [{"Start": [{"cairn": "index.md"}, *those(*guides)]},
           {"Choose": [*choose_nav, *those("docs/choosing.md", "docs/what-cairn-does-not-have.md")]},
           {"Guides": those(*sorted(listed - {"docs/choosing.md", "docs/what-cairn-does-not-have.md"}))},
           {"Reference": api_nav},
           {"Examples": example_nav},
           {"Figures": [{"Figures": "figures/index.md"}, *those("docs/measuring.md", "docs/header-cost.md", "lab/README.md",
                                                               "docs/coverage.md", "docs/lab-schema.md")]},
           {"Inside": [*those(*[o for o in others if o not in listed and not re.search(
               r"measuring|header-cost|coverage|lab-schema", o)]), *those("CONTRIBUTING.md", "CHANGELOG.md"),
               {"Decisions": those(*sorted(decisions, key=lambda d: ("README" not in d, d)))}]}]
    config = {
        "site_name": "cairn", "site_description": "memory for real-time C++", "docs_dir": str(pages),
        "site_dir": str(root / "build/docs/site"), "use_directory_urls": False, "nav": nav,
        "theme": {"name": "material", "font": False, "language": "en",
                  "features": ["navigation.tabs", "navigation.indexes", "navigation.top", "search.highlight", "search.suggest",
                               "content.code.copy", "toc.follow"],
                  "palette": [{"media": "(prefers-color-scheme: light)", "scheme": "default", "primary": "blue grey",
                               "toggle": {"icon": "material/weather-night", "name": "dark"}},
                              {"media": "(prefers-color-scheme: dark)", "scheme": "slate", "primary": "blue grey",
                               "toggle": {"icon": "material/weather-sunny", "name": "light"}}]},
        "plugins": ["search", "offline"],
        "extra": {"polyfills": ["assets/iframe-worker.js"], "generator": False},
        "extra_css": ["assets/site.css"],
        "markdown_extensions": ["tables", "attr_list", "md_in_html", "pymdownx.superfences", {"toc": {"permalink": True}},
                                {"pymdownx.highlight": {"use_pygments": True}}],
        "validation": {"links": {"not_found": "warn", "anchors": "warn", "absolute_links": "warn"},
                       "nav": {"omitted_files": "ignore"}},
    }
    (root / "build/docs/mkdocs.json").write_text(json.dumps(config, indent=1))
    for line in wrong:
        print(f"docs: {line}", file=sys.stderr)
    print(f"docs: {name_count} public names, {len(list(pages.rglob('*.md')))} pages")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
