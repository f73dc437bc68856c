#!/usr/bin/env python3
"""Shows where a retired word is still in use, and comments that are hard to read.

The retired words stand in docs/vocabulary.md, in the table under "Retired words": what is written there
in `code` is looked for as a whole word, in the library, tests, lab, examples, tools and documents.
Decisions, dead ends, the changelog and the vocabulary itself tell history and may name them.

In the library it also shows comments wider than 100 columns, and sentences without a subject: nobody,
whoever, somebody, everybody, anybody, more than 10 times together.

Usage: tools/words.py    exit status 0: nothing was found; 1: something was; 2: it cannot tell
"""
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
vocabulary = root / "docs/vocabulary.md"
history = ("docs/decisions/", "docs/dead-ends.md", "docs/vocabulary.md", "CHANGELOG.md", "tests/mutants/list",
           "tools/words.py")
kinds = (".hpp", ".cpp", ".md", ".py", ".txt", ".cmake", ".mjs", ".ts")
subjectless = re.compile(r"\b(nobody|whoever|somebody|everybody|anybody)\b", re.I)
subjectless_max = 10
column_max = 100


def retired_words():
    """The retired words, each with what to say instead."""
    if not vocabulary.is_file():
        cannot_tell("docs/vocabulary.md is missing")
    section = re.search(r"^## Retired words\n(.*?)(?=^## |\Z)", vocabulary.read_text(), re.S | re.M)
    rows = re.findall(r"^\| (`.*?) \| (.*?) \|", section[1], re.M) if section else []
    if not rows:
        cannot_tell("docs/vocabulary.md has no table under '## Retired words'")
    return {word: instead for words, instead in rows for word in re.findall(r"`([^`]+)`", words)}


def cannot_tell(why):
    print(f"words: {why}", file=sys.stderr)
    sys.exit(2)


def findings(words):
    retired = re.compile(r"(?<![\w/])(" + "|".join(map(re.escape, words)) + r")(?!\w)")
    listed = subprocess.run(["git", "ls-files"], cwd=root, text=True, capture_output=True, check=True)
    vague = []
    for name in listed.stdout.splitlines():
        path = root / name
        if not name.endswith(kinds) or name.startswith(history) or not path.is_file():
            continue
        in_library = name.startswith(("include/", "src/"))
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            for word in retired.findall(line):
                yield f"{name}:{number}: `{word}`: say {words[word]}"
            if in_library and len(line) > column_max:
                yield f"{name}:{number}: {len(line)} columns"
            if in_library and subjectless.search(line):
                vague.append(f"{name}:{number}: {line.strip()}")
    if len(vague) > subjectless_max:
        yield from vague
        yield f"{len(vague)} sentences without a subject; {subjectless_max} may be"


words = retired_words()
found = list(findings(words))
print("\n".join(found) or f"none of the {len(words)} retired words is in use")
sys.exit(bool(found))
