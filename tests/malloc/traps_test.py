#!/usr/bin/env python3
"""Runs each case of malloc_traps with libcairn-malloc preloaded, linked, and in a static program, and looks at
what the library is made of.

Usage: traps_test.py LIBRARY.so LIBRARY.a PLUGIN.so PROGRAM LINKED_PROGRAM STATIC_PROGRAM
       (a program of an empty name is left out)
"""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

library, archive, plugin, program, linked, static = sys.argv[1:7]
# What stands on stderr, and how the process ends, where that is not silence and 0.
said = {
    "wrong_size": (r"cairn-malloc: the block at 0x\w+ has room for 512 bytes and was deleted as one of 4: .*\n", 0),
    "foreign_pointers": (r"cairn-malloc: realloc got the pointer 0x\w+, .*\n(cairn-malloc: free got .*\n){3}", 0),
    "freed_twice": (r"cairn-malloc: the block at 0x\w+ was freed twice; the process stops\n", -6),
}
limited = {"memory_of_a_cgroup": 40 << 20}   # run where no more memory than this may be used
static_has_not = {"before_constructors", "closed_library"}   # dlopen and dlsym of a static program


def run(words, **more):
    environment = {**os.environ, "MALLOC_PLUGIN": plugin, **more}
    return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120)


def cgroup_with_limit(name, size):
    """A new cgroup below the one of this process. None where the system does not allow one with a limit."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, own = line.split(":", 2)
        root, limit, swap, swap_size = {
            "memory": ("/sys/fs/cgroup/memory", "memory.limit_in_bytes",   # version 1
                       "memory.memsw.limit_in_bytes", size),
            "": ("/sys/fs/cgroup", "memory.max", "memory.swap.max", 0)}.get(controllers, ("", "", "", 0))
        if not root:
            continue
        group = pathlib.Path(f"{root}{own}", f"cairn-malloc-{os.getpid()}-{name}")
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            # Absent where version 2 is mounted elsewhere: this is a folder of another file system.
            if (group / "cgroup.procs").exists():
                (group / limit).write_text(str(size))   # absent where the memory of a cgroup is not counted
                if (group / swap).exists():
                    (group / swap).write_text(str(swap_size))   # memory that is swapped out is not counted otherwise
                return group
        except OSError:
            pass
        group.rmdir()
    return None


def run_limited(words, way, size, **more):
    group = cgroup_with_limit(way, size)
    if group is None:
        notes.append("skipped: this user may not make a cgroup with a limit of memory")
        return run(words, **more)
    try:
        enter = f"(echo $$ > {group}/cgroup.procs) 2>/dev/null || exit 77"
        result = run(["sh", "-c", f'{enter}; exec "$@"', "sh", *words], **more)
    finally:
        group.rmdir()
    if result.returncode != 77:
        return result
    notes.append("skipped: this user may not put a process into a cgroup")
    return run(words, **more)


def try_case(way, words, case, **more):
    words = [*words, case]
    result = run_limited(words, way, limited[case], **more) if case in limited else run(words, **more)
    notes.extend(line for line in result.stdout.splitlines() if line.startswith("skipped: "))
    pattern, status = said.get(case, ("", 0))
    if result.returncode != status or not re.fullmatch(pattern, result.stderr):
        return f"{way} {case}: ended with {result.returncode}\n{result.stderr}"
    return None


def looks():
    """What can be read off the files."""
    def out(*words):
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout
    undefined = out("nm", "-D", "--undefined-only", library)
    for name in ("dlsym", "__tls_get_addr", "_Znw", "malloc"):   # 1: no look-up; 2: no dynamic thread-local data
        if re.search(rf" {name}\b", undefined):
            yield f"the library asks for {name}"
    if "libstdc++" in out("readelf", "-d", library):
        yield "the library needs the C++ library"
    members = out("ar", "t", archive).split()   # 13
    if len(members) != 1:
        yield f"the archive has {len(members)} members: a static link may take a part of them"
    exported = {line.split()[-1].split("@")[0] for line in out("nm", "-D", "--defined-only", library).splitlines()}
    in_archive = {line.split()[-1] for line in out("nm", "--defined-only", "-g", archive).splitlines() if " T " in line}
    functions = """malloc free cfree calloc realloc reallocarray memalign aligned_alloc posix_memalign valloc pvalloc
        free_sized free_aligned_sized malloc_usable_size malloc_trim mallinfo mallinfo2 mallopt""".split()
    operators = re.findall(r"_Z(?:n[wa]|d[la])\w*", " ".join(exported))
    if len(operators) != 20 or set(operators) | set(functions) != exported or not exported <= in_archive:
        yield f"exported are {sorted(exported)}"
    for kind in ("text", "json"):
        result = run([program, "every_function"], LD_PRELOAD=library, CAIRN_MALLOC_STATISTICS=kind)
        figures = json.loads(result.stderr)["cairn_malloc"] if kind == "json" else dict(
            re.findall(r"^  (\w+) +(\d+)$", result.stderr, re.M))
        if len(figures) < 11 or int(figures["peak_resident"]) < 1e6 or int(figures["live"]) == 0:
            yield f"statistics as {kind} are\n{result.stderr}"


cases = run([program]).stdout.split()
notes = []
problems = list(looks())
with concurrent.futures.ThreadPoolExecutor(3) as workers:   # one of three waits
    tries = []
    for case in cases:
        tries.append(workers.submit(try_case, "preloaded", [program], case, LD_PRELOAD=library))
        if linked:
            tries.append(workers.submit(try_case, "linked", [linked], case))
        if static and case not in static_has_not:
            tries.append(workers.submit(try_case, "static", [static], case))
    problems += [t.result() for t in tries if t.result()]
print(*sorted(set(notes)), sep="\n", end="\n" if notes else "")
print("\n".join(problems) or f"{len(tries)} processes: {len(cases)} cases")
sys.exit(1 if problems else 0)
