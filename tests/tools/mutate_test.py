#!/usr/bin/env python3
"""tools/mutate: options that exclude each other, and a machine without pkg-config."""
import importlib.machinery
import importlib.util
import os
import pathlib
import subprocess
import sys

tools = pathlib.Path(__file__).resolve().parent.parent.parent / "tools"


def expect(what, is_so):
    if not is_so:
        sys.exit(f"mutate_test: not so: {what}")


for other in "--orders", "--again":
    done = subprocess.run([sys.executable, tools / "mutate", "--unchecked", other], capture_output=True, text=True)
    expect(f"--unchecked with {other} is refused with a sentence",
           done.returncode == 2 and f"{other} " in done.stderr.splitlines()[-1])

sys.path.insert(0, str(tools))
loader = importlib.machinery.SourceFileLoader("mutate", str(tools / "mutate"))
mutate = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", loader))
loader.exec_module(mutate)
os.environ["PATH"] = ""
expect("without pkg-config no adapter is found", mutate.adapters() == [])
print("mutate_test: passed")
