#!/usr/bin/env python3
"""Keeps the code in Markdown equal to code that compiles and runs.

A block in README.md, docs/ or lab/ that follows the line <!-- snippet: FILE#TAG --> must equal FILE
between the lines // [TAG] and // [/TAG], without their common indentation.

Links between the documents are looked at too: what they point to must exist.

Usage: tools/snippets.py           shows what differs; exit status 1 when something does
       tools/snippets.py --write   copies the code into the Markdown
"""
import difflib
import pathlib
import re
import sys
import textwrap

root = pathlib.Path(__file__).resolve().parent.parent
write = "--write" in sys.argv[1:]
marker = re.compile(r"^<!-- snippet: (?P<file>\S+?)#(?P<tag>\S+) -->\n", re.M)
block = re.compile(r"```(?:cpp|cmake|sh)\n(?P<code>.*?)^```$", re.S | re.M)
wrong = []
count = 0


def region(file, tag):
    """The lines of FILE between its two tags, or a sentence about why there are none."""
    path = root / file
    if not path.is_file():
        return None, f"{file} does not exist"
    comment = r"[ \t]*(?://|#) "
    found = re.search(rf"^{comment}\[{re.escape(tag)}\]\n(.*?)^{comment}\[/{re.escape(tag)}\]$",
                      path.read_text(), re.S | re.M)
    if found is None:
        return None, f"{file} has no region [{tag}] ... [/{tag}]"
    return textwrap.dedent(found[1]), None


def refreshed(page, text):
    """`text` with every snippet as it stands in its source file."""
    global count
    out, at = [], 0
    for mark in marker.finditer(text):
        count += 1
        line = text.count("\n", 0, mark.start()) + 1
        where = f"{page.relative_to(root)}:{line}"
        code = block.match(text, mark.end())
        if code is None:
            wrong.append(f"{where}: no ```cpp block follows the snippet line")
            continue
        want, why_not = region(mark["file"], mark["tag"])
        if want is None:
            wrong.append(f"{where}: {why_not}")
            continue
        if code["code"] != want:
            if not write:
                change = difflib.unified_diff(code["code"].splitlines(), want.splitlines(),
                                              "the document", "the code", lineterm="", n=1)
                wrong.append(f"{where}: differs from {mark['file']}#{mark['tag']}\n    " +
                             "\n    ".join(change))
            else:
                print(f"{where}: copied from {mark['file']}#{mark['tag']}")
        out += [text[at:code.start("code")], want]
        at = code.end("code")
    return "".join(out) + text[at:]


def dead_links(page, text):
    """Relative links whose file is not there."""
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.S)
    for found in re.finditer(r"\]\((?!https?:|#|mailto:)([^)#\s]+)(?:#[^)]*)?\)", prose):
        if not (page.parent / found[1]).exists():
            yield f"{page.relative_to(root)}: the link to {found[1]} leads nowhere"


pages = [*root.glob("*.md"), *(root / "docs").rglob("*.md"), *(root / "lab").rglob("*.md")]
for page in sorted(pages):
    text = page.read_text()
    updated = refreshed(page, text)
    wrong += dead_links(page, text)
    if write and updated != text:
        page.write_text(updated)

print("\n".join(wrong) or f"every snippet is compiled code ({count} of them)")
sys.exit(bool(wrong))
