#!/usr/bin/env python3
"""What tools/release takes from the change log: the section of its version, else Unreleased, and never nothing."""
import pathlib
import re
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent.parent
version = re.search(r"project\(cairn VERSION ([0-9.]+)", (root / "CMakeLists.txt").read_text())[1]


def changes(text):
    """(exit status, what is printed) of a change log with this text."""
    with tempfile.NamedTemporaryFile("w", suffix=".md") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([root / "tools/release", "--changes", file.name], text=True, capture_output=True)
        return done.returncode, done.stdout


def expect(what, is_so):
    if not is_so:
        sys.exit(f"release_test: not so: {what}")


older = "## 0.0.9\n\n- an old line\n"
made = f"# Changes\n\n## {version} (today)\n\n- a new line\n- another\n\n{older}"
expect("the section of the version is taken, and no other", changes(made) == (0, f"# cairn {version}\n\n- a new line\n- another\n"))
unreleased = f"# Changes\n\n## Unreleased\n\n### Added\n- a new line\n\n{older}"
expect("without it, Unreleased", changes(unreleased) == (0, f"# cairn {version}\n\n### Added\n- a new line\n"))
expect("an empty section is an error", changes(f"# Changes\n\n## Unreleased\n\n{older}")[0] != 0)
expect("no section is an error", changes(f"# Changes\n\n{older}")[0] != 0)
status, of_this_tree = changes((root / "CHANGELOG.md").read_text())
expect("this tree's change log has words for the release", status == 0 and len(of_this_tree.splitlines()) > 5)
print("release_test: passed")
