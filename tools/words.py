#!/usr/bin/env python3
"""Shows where a retired word is still in use, and comments that are hard to read.

The retired words stand in docs/vocabulary.md, in the table under "Retired words": what is written there
in `code` is looked for as a whole word, in the library, tests, lab, examples, tools and documents.
Decisions, dead ends, the changelog and the vocabulary itself tell history and may name them.

In the library it also shows comments wider than 100 columns. In the library and the documents it shows the
manner of riddles (`riddles` below): a sentence whose subject is left out, a private verb, an idiom.

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
column_max = 100
# What a sentence of this kind leaves out or hides, and the words that show it.
riddles = {
    "name the subject": re.compile(r"\b(?:nobody|whoever|somebody|everybody|anybody)\b", re.I),
    "name who": re.compile(r"(?:^|[.;:(] |//+ )[Ww]ho (?:has|is|was|\w+s)\b"),
    "name the noun again": re.compile(r"\bthe ones? (?:that|which|who)\b|\b(?:of|by|than|for|to|from) those that\b|"
                                      r"\b(?:one|cases) of (?:its|their) own\b", re.I),
    "name what lives or waits": re.compile(r"\bwhat (?:lives|waits|dies)\b|\bwhat (?:\w+ ){1,3}(?:to )?what\b", re.I),
    "report, pass, detect": re.compile(r"\b(?:told|tells)\b(?! (?:\w+ )?apart)"),
    "use the field's verb": re.compile(r"\bspoken for\b|\b(?:make|give|gave|made)s? way\b|\bdies? singly\b|\bkept absurd\b|"
                                       r"\bupstream's trade\b|\bhides a quotient\b|\ba say\b", re.I),
    "no idiom": re.compile(r"\bbehind (?:the|its|their) \w+'s? backs?\b|\bbegins? elsewhere\b|\bwithout being asked\b", re.I),
}


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


def riddles_found():
    listed = subprocess.run(["git", "ls-files", "include", "src", "testing", "docs", "README.md", "CONTRIBUTING.md"],
                            cwd=root, text=True, capture_output=True, check=True)
    for name in listed.stdout.splitlines():
        path = root / name
        if not name.endswith((".hpp", ".cpp", ".md")) or not path.is_file():
            continue
        in_code = False
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            in_code ^= name.endswith(".md") and line.startswith("```")
            for cure, pattern in riddles.items():
                found = None if in_code else pattern.search(line)
                if found:
                    yield f"{name}:{number}: \"{found[0].strip()}\": {cure}: {line.strip()[:100]}"


words = retired_words()
found = [*findings(words), *riddles_found()]
print("\n".join(found) or f"none of the {len(words)} retired words is in use, and no riddle was found")
sys.exit(bool(found))
