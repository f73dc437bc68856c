#!/usr/bin/env python3
"""The memory checkers' reports name cairn's allocators.

Usage: named_reports_test.py PROGRAM asan|valgrind

Runs PROGRAM (named_reports.cpp) under the checker that it was built for, or under valgrind. Exit status 77
(skipped) where that is not installed.
"""
import re
import shutil
import subprocess
import sys

# what the program does: (what AddressSanitizer's report says, what Valgrind's says); None: no
# report
CASES = {
    "freed-slot": (r"cairn: 0x\w+ lies 8 bytes into slot 12 of pool 'enemies' \(64 bytes, freed\)",
                   r"is 776 bytes inside a pool 'enemies' of size 2,048"),
    "freed-block": (r"cairn: 0x\w+ lies 24 bytes into block \d+ of heap 'sounds' \(\d+ bytes, freed\)",
                    r"bytes inside a heap 'sounds' of size [\d,]+"),
    "freed-job": (r"cairn: 0x\w+ lies 8 bytes into slot \d+ of concurrent_pool 'jobs' \(64 bytes, free\)",
                  r"bytes inside a concurrent_pool 'jobs' of size [\d,]+"),
    "past-arena": (r"cairn: 0x\w+ lies 112 bytes into arena 'level' \(4096 bytes, above the top",
                   r"is 112 bytes inside a arena 'level' of size 4,096"),
    "past-frame": (r"cairn: 0x\w+ lies 112 bytes into block 0 of growing_arena 'frames'",
                   r"is 112 bytes inside a growing_arena 'frames' of size"),
    "freed-guarded": (r"cairn: 0x\w+ lies 4 bytes into block \d+ of guarded 'textures' \(100 bytes, freed\), "
                      r"freed by \S*named_reports\.cpp:\d+ in int main",
                      r"is 4 bytes inside a guarded 'textures', freed by \S*named_reports\.cpp:\d+ of size 100"),
    "freed-message": (r"cairn: 0x\w+ lies 8 bytes into slot \d+ of concurrent_heap 'messages' \(112 bytes, free\)",
                      r"bytes inside a concurrent_heap 'messages' of size [\d,]+"),
    "past-image": (r"cairn: 0x\w+ lies 9000001 bytes into concurrent_heap 'messages' \(9043968 bytes, live\)",
                   r"is 9,000,001 bytes inside a concurrent_heap 'messages' of size 9,043,968"),
    "ended-tag": (r"cairn: 0x\w+ lies \d+ bytes into block 0 of tagged_arenas 'stages' \(\d+ bytes, of no tag\)",
                  r"bytes inside a tagged_arenas 'stages' of size [\d,]+"),
    "plain": (None, None),
}


def main():
    program, checker = sys.argv[1:]
    command = []
    if checker == "valgrind":
        if shutil.which("valgrind") is None:
            print("skipped: valgrind is not installed")
            return 77
        command = ["valgrind", "-q", "--error-exitcode=9"]
    if subprocess.run([program, "plain"], stdout=subprocess.DEVNULL).returncode == 77:
        print("skipped: allocators have names in checked builds")
        return 77
    failed = 0
    for what, wanted in CASES.items():
        sentence = wanted[checker == "valgrind"]
        run = subprocess.run(command + [program, what], capture_output=True, text=True, errors="replace")
        good = (run.returncode != 0 and re.search(sentence, run.stderr)) if sentence else \
            (run.returncode == 0 and "cairn" not in run.stderr)
        if not good:
            failed += 1
            print(f"{what}: exit status {run.returncode}, wanted {sentence!r} in\n{run.stderr}")
    print(f"{len(CASES) - failed} of {len(CASES)} reports are as they should be")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
