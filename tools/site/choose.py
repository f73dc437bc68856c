"""The choosing tree: a page for each question, and one for each answer with what it loses (docs/choosing.md)
and this machine's figures (the last lab run in this checkout)."""
import html
import re

import api

# A question is (text, [(answer, where it leads)]): another question, or the name of what to take.
tree = ("What is the memory for?", [
    ("bytes that all die at once: a frame, a level, a parse, a function", ("How long do they live?", [
        ("until the end of the frame, level or request", ("Is the most that it takes known?", [
            ("yes", "arena"),
            ("no, and it may lie in several blocks", "growing_arena"),
            ("no, and it must stay in one piece", "virtual_arena")])),
        ("one part long, the other short, in one budget", "double_ended_arena"),
        ("until the next frame, or the GPU, has read them", "frame_arena"),
        ("until the function returns", "scratch"),
        ("it is a list whose length is known at its end", "builder")])),
    ("blocks that are freed one by one", ("Have they one size?", [
        ("yes", ("Do several threads take and free them?", [
            ("no", "pool"),
            ("yes", "concurrent_pool"),
            ("one thread makes them, others read them: they travel", "message_queue")])),
        ("no", ("What must hold for years?", [
            ("nothing special: speed", "good_fit"),
            ("more speed, for 3 to 4 % more memory", "quick_fit"),
            ("the same bound for every single operation", "strict_good_fit"),
            ("as little memory as can be", "best_fit"),
            ("a proof, before it runs, that the region suffices", "half_fit"),
            ("a region that is nearly full, for days, and must never refuse", "relocatable_heap")]))])),
    ("objects that others refer to", ("How are they used?", [
        ("iterated, and no one refers to them", "packed_array"),
        ("iterated, and looked up by handles", ("May they move when another one is erased?", [
            ("yes", "slot_map"),
            ("no, their addresses are used", "stable_slot_map"),
            ("they are of several types, with a common base", "polymorphic_store")])),
        ("a few fields of many of them in a loop", ("Are single ones referred to?", [
            ("no", "table"),
            ("yes, by handles", "slot_table")])),
        ("they are expensive to build, so they are reused", "object_pool"),
        ("each has one owner, or several", "unique_handle"),
        ("by each other, in cycles, and no owner is known", "collected_heap")])),
    ("names that are compared and kept often", "string_pool"),
    ("memory that the processor does not touch: GPU buffers, files, atlases", "offset_heap"),
    ("containers of the standard library", ("Which?", [
        ("one whose type you choose", "std_allocator"),
        ("one made of nodes: map, list, set", "node_pool"),
        ("an interface that speaks pmr", "pmr_resource")])),
    ("to find out who leaks, overruns, or cannot cope with refusal", ("What do you suspect?", [
        ("a leak, or the wrong sizes", "tracked"),
        ("writes where none belong", "guarded"),
        ("attacks on the program that you ship", "hardened"),
        ("code that never saw a refusal", "failing"),
        ("a subsystem that takes too much", "budget")]))])


def headers():
    """By name: the public header of that name."""
    return {p.stem: f"{p.parent.name}/{p.stem}" for p in sorted((api.root / "include/cairn").glob("*/*.hpp"))} | {
        "strict_good_fit": "alloc/good_fit", "quick_fit": "alloc/good_fit"}


def losses():
    """By name: (need, loss) of each row of docs/choosing.md whose second column begins with it."""
    found = {}
    for line in (api.root / "docs/choosing.md").read_text().split("\n"):
        cells = [c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) != 3:
            continue
        for place in (1, 0):
            for name in re.findall(r"`(\w+)", cells[place]):
                found.setdefault(name, []).append((cells[1 - place], cells[2]))
    return found


def figures(run, name):
    lines = []
    for row in (run or {}).get("choosing", []):
        if not re.search(rf"\b{name}\b", row.get("take") or ""):
            continue
        lines.append(f"| {html.escape(row['need'])} | {row['figure']:.3g} {row['unit']} | {html.escape(str(row.get('instead') or '-'))} | "
                     f"{'-' if row.get('other') is None else format(row['other'], '.3g')} |")
    return lines


def write_pages(write, relinked, wrong, run):
    """The pages; returns their part of the navigation. `relinked(file, text, page)` leads the links of a
    document's text from a page."""
    where, lost, leaves = headers(), losses(), []

    def leaf(name):
        if name in leaves:
            return
        leaves.append(name)
        if name not in where:
            wrong.append(f"the choosing tree leads to {name}, which has no header")
            return
        out = [f"# Take {name}\n", f"```cpp\n#include <cairn/{where[name]}.hpp>\n```\n",
               f"[Everything about it](../api/{where[name]}.md){{ .md-button .md-button--primary }} [another way](index.md){{ .md-button }}\n"]
        if name in lost:
            rows = "\n".join(f"| {n} | {l} |" for n, l in lost[name])
            out += ["| you need | you lose |", "|---|---|", relinked("docs/choosing.md", rows, f"choose/{name}.md"), ""]
        lines = figures(run, name)
        if lines:
            out += ["On this machine, in the last run of the lab:\n", "| for | it costs | beside | which costs |", "|---|---|---|---|", *lines, ""]
        else:
            out.append("Its figures for your machine come from `make lab`; [what was measured](../docs/choosing.md).\n")
        write(f"choose/{name}.md", "\n".join(out))

    def question(node, path, file):
        text, answers = node
        out = [f"# {text}\n"]
        if path:
            out.append("So far: " + " › ".join(f"[{a}]({f})" for a, f in path) + "\n")
        out.append('<div class="choose" markdown>\n')
        for k, (answer, to) in enumerate(answers):
            if isinstance(to, str):
                leaf(to)
                out.append(f"- [{answer}]({to}.md): `{to}`")
            else:
                below = ("q" if file == "index.md" else file.removesuffix(".md") + "-") + str(k + 1) + ".md"
                question(to, [*path, (answer, file)], below)
                out.append(f"- [{answer}]({below})")
        out.append("\n</div>\n")
        write(f"choose/{file}", "\n".join(out))
    question(tree, [], "index.md")
    return [{"Step by step": "choose/index.md"}]
