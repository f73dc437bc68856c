#!/usr/bin/env python3
"""What the first `make lab` on a machine promises, whatever is broken there: it goes on without what does not
work, or ends with one sentence; and the next start goes on.

Usage: first_run_test.py SOURCE CMAKE COMPILER PROBES MISBEHAVIOUR
    SOURCE         the checkout; it is copied, and nothing is written into it
    PROBES         where the build keeps the answers of probes: those need not be asked again
    MISBEHAVIOUR   the command with the experiments of tests/lab/misbehaviour.cpp

Nothing is installed and nothing is fetched. tools/lab runs with a cmake and a cairn that only pretend; the
probes of peers, the configuration of the lab and the file of the page are real.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

source, cmake, compiler, known_probes, misbehaviour = sys.argv[1:6]
source = pathlib.Path(source)
is_root = os.geteuid() == 0
folder = pathlib.Path(tempfile.mkdtemp(prefix="cairn first run ü "))
folder.chmod(0o755)
failures = []
skipped = []


def check(ok, promise, more=""):
    if not ok:
        failures.append(promise)
        print(f"FAILED: {promise} {more}")


def run(*words, at=folder, umask=-1, **options):
    """Returns exit status and all output. An interrupt that a program sends to its group does not reach us."""
    done = subprocess.run([str(w) for w in words], cwd=at, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=200, start_new_session=True, umask=umask, stdin=subprocess.DEVNULL, **options)
    return done.returncode, done.stdout


def copy_checkout(name):
    copy = folder / name
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("build", ".git", "node_modules", "__pycache__", "cairn-lab.*"))
    return copy


def fake(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


# ---- peers that are broken -----------------------------------------------------------------------
probes = folder / "probes"
shutil.copytree(known_probes, probes)


def ask(peers, folders="", **environment):
    """What cmake/needs, and so tools/bootstrap, finds of these peers. Returns: {name: why it is absent}."""
    code, text = run(cmake, "-G", "Ninja", "-S", source / "cmake/needs", "-B", folder / "needs", "-D", "PEERS=ON",
                     "-D", f"CMAKE_CXX_COMPILER={compiler}", "-D", f"CAIRN_LAB_PEERS={';'.join(peers)}", "-D", f"CAIRN_LAB_PEER_FOLDERS={folders}",
                     "-D", f"CAIRN_PROBES_DIR={probes}", env={**os.environ, **environment})
    check(code == 0, f"peers that are broken do not end the configuration ({peers})", text)
    lines = [line.split("peer ", 1)[1] for line in text.splitlines() if line.startswith("-- lab: peer ")]
    return {line.split()[0]: line.split("(", 1)[1].rstrip(")") for line in lines}


headers = {"foonathan": "foonathan/memory/memory_stack.hpp", "llvm": "llvm/Support/Allocator.h", "boost": "boost/pool/pool.hpp",
           "tbb": "tbb/scalable_allocator.h", "moodycamel": "concurrentqueue.h", "plf_colony": "plf_colony.h",
           "boehm": "gc.h", "lua": "lua.hpp"}
absent = ask(list(headers))
here = [peer for peer in headers if peer not in absent]
for peer in here:
    broken = folder / "broken" / peer / headers[peer]
    broken.parent.mkdir(parents=True)
    broken.write_text("#error this header is broken\n")
    why = ask([peer], CPATH=str(folder / "broken" / peer)).get(peer, "")
    check("does not compile" in why and "broken" in why, f"a broken header of {peer}: it is absent, and one line says why", why)
check(not set(here) & set(ask(here)), "the peers are there again when their headers are")
(folder / "broken/plf_colony.h").write_text("#if defined(NDEBUG) && defined(__OPTIMIZE__)\n#error as the lab builds\n#endif\n#include_next <plf_colony.h>\n")
if "plf_colony" in here:
    why = ask(["plf_colony"], CPATH=str(folder / "broken")).get("plf_colony", "")
    check("as the lab builds" in why, "a peer is tried with the flags that the lab is built with", why)
(folder / "broken/plf_colony.h").write_text("namespace plf { template <class T> struct colony { }; }\n")
if "plf_colony" in here:
    why = ask(["plf_colony"], CPATH=str(folder / "broken")).get("plf_colony", "")
    check("does not compile" in why, "a header without what the lab uses", why)
    (folder / "broken/plf_colony.h").write_text(
        "#include <cstdlib>\nnamespace plf { template <class T> struct colony { using iterator = int; colony() { std::abort(); }\n"
        "void reserve(unsigned long) {} int emplace(T) { return 0; } void erase(int) {}\n"
        "unsigned long size() const { return 1; } T* begin() { return nullptr; } T* end() { return nullptr; } }; }\n")
    why = ask(["plf_colony"], CPATH=str(folder / "broken")).get("plf_colony", "")
    check("did not end well" in why, "a peer that compiles and crashes is absent", why)

# Peers that Debian does not package are included from the folder that the user names.
hive = folder / "my hive"
hive.mkdir()
check("no Debian package has it: make lab LAB='--peer plf_hive=FOLDER'" in ask(["plf_hive"]).get("plf_hive", ""), "a peer without a package is absent, and one line says how it is measured")
check("|entt|" not in (folder / "needs/missing.txt").read_text(), "what no package has is not asked of the system's packages")
check("has no plf_hive.h" in ask(["plf_hive"], f"plf_hive={hive}").get("plf_hive", ""), "a folder without the peer's header is named")
(hive / "plf_hive.h").write_text(
    "#include <list>\nnamespace plf { template <class T> struct hive : std::list<T> { void reserve(unsigned long) {}\n"
    "template <class... A> auto emplace(A&&... a) { this->emplace_back(a...); return --this->end(); } }; }\n")
check("plf_hive" not in ask(["plf_hive"], f"entt=/nowhere;plf_hive={hive}"), "a peer is present from the folder that the user named")

libraries = pathlib.Path(tempfile.mkdtemp(prefix="cairn-libraries-"))   # LD_PRELOAD ends at a space
small_malloc = pathlib.Path(misbehaviour).parent / "test_mallocs/lab_small_malloc.so"
foreign = pathlib.Path(misbehaviour).parent / "test_mallocs/lab_foreign_library.so"
(libraries / "libmimalloc.so.2").write_text("This is no library.\n")
shutil.copy(foreign, libraries / "libjemalloc.so.2")
shutil.copy(small_malloc, libraries / "libtcmalloc_minimal.so.4")
shutil.copy(foreign, libraries / "libtbbmalloc_proxy.so.2")
if "tbb" in here:
    (libraries / "libtbbmalloc.so").write_text("This is no library.\n")
if "foonathan" in here:
    shutil.copy(foreign, libraries / "libfoonathan_memory.so")
why = ask(["mimalloc", "jemalloc", "tcmalloc", "tbbmalloc", "tbb", "foonathan"], CMAKE_LIBRARY_PATH=str(libraries))
for name, piece in (("mimalloc", "libmimalloc.so.2 was preloaded and is not there"), ("jemalloc", "libjemalloc.so.2 was preloaded and is not there"),
                    ("tcmalloc", "libtcmalloc_minimal.so.4 is another library"), ("tbbmalloc", "libtbbmalloc_proxy.so.2 was preloaded and is not there"),
                    *(("tbb", "does not compile"),) * ("tbb" in here), *(("foonathan", "does not compile"),) * ("foonathan" in here)):
    check(piece in why.get(name, ""), f"a broken or foreign library under the name of {name}: it is absent, and one line says why", why)

# ---- a path with spaces and umlauts, umask 077, no HOME, locale C, an npm that fails -------------
checkout = copy_checkout("Übung mit Leerzeichen")
tools = folder / "tools"
fake(tools / "npm", "#!/bin/sh\necho npm: no network >&2\nexit 1\n")
fake(tools / "node", "#!/bin/sh\nexit 1\n")
bare = {"PATH": f"{tools}:{os.environ['PATH']}", "LC_ALL": "C", "CXX": compiler}
(checkout / "lab/peers/std_pmr.hpp").write_text("#error this adapter is broken\n")


def configure(at, environment, **options):
    return run(cmake, "--preset", "bench", "-D", "CAIRN_LAB_PEERS=std_pmr;plf_colony", "-D", f"CAIRN_PROBES_DIR={probes}",
               at=at, umask=0o077, env=environment, **options)


# Interrupted in the middle of the configuration.
begun = folder / "begun"
waiting = fake(tools / "waiting", f"#!/bin/sh\ncase \"$*\" in *x86-64-v3*) touch '{begun}'; sleep 20;; esac\nexec '{compiler}' \"$@\"\n")
process = subprocess.Popen([cmake, "--preset", "bench"], cwd=checkout, env={**bare, "CXX": str(waiting)}, start_new_session=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
while not begun.exists() and process.poll() is None:
    time.sleep(0.05)
os.killpg(process.pid, signal.SIGINT)
check(process.wait(60) != 0 and begun.exists(), "the configuration was interrupted")
code, text = configure(checkout, bare)
check(code == 0, "the lab is configured in a path with spaces and umlauts, with another compiler than before an interrupt", text)
configured = (checkout / "build/bench/lab/configured.cpp").read_text() if code == 0 else ""
check('{"std_pmr", false,' in configured and "does not compile: #error this adapter is broken" in configured,
      "a peer whose own file does not compile is absent, and the report will say why", configured)
types = (checkout / "build/bench/lab/generated/present_peers.hpp").read_text() if code == 0 else ""
check("peers/std_pmr.hpp" not in types and "peers/plf_colony.hpp" in types, "and the build goes on without it")
page = checkout / "build/bench/lab/page/page.html"
code, text = run(cmake, "-D", "SOURCE=report", "-D", f"OUT={page}", "-P", "report/bundle.cmake", at=checkout, env=bare, umask=0o077)
check(code == 0 and "the page will be plain" in text and "npm could not fetch" in text, "an npm that fails costs the plots, and one line says so", text)
command = next(c for c in json.loads((checkout / "build/bench/compile_commands.json").read_text()) if c["file"].endswith("output/page.cpp"))
code, text = run("sh", "-c", command["command"], at=command["directory"], env=bare, umask=0o077)
check(code == 0, "the page lies in the binary, in a path with spaces and umlauts", text)
check(not list(source.rglob("cairn-lab.part")) and not (checkout / "report/node_modules").exists(), "packages go into the build folder")

# ---- tools/lab, with a cmake that only pretends --------------------------------------------------
# Each step can be told to interrupt everything, or to find the disk full.
step = 'if [ "${STOP_AT-}" = %s ]; then kill -INT 0; sleep 5; fi\n'
fake(tools / "cmake", "#!/bin/sh\ncase \"$*\" in\n--version) echo cmake version 3.25.1 ;;\n*cmake/needs*) " + step % "set-up"
     + "touch build/needs/missing.txt ;;\n*--build*) " + step % "build" + "mkdir -p build/bin && cp \"$FAKES/cairn\" build/bin/cairn ;;\n*--preset*) "
     + step % "configure" + "mkdir -p build/bench && echo \"$*\" >build/configured && echo '-- lab: peer llvm is absent (it is broken)' &&\n"
     + "{ [ -z \"${FILL-}\" ] || head -c 10000000 /dev/zero >build/bench/objects; } ;;\nesac\n")
fake(tools / "cairn", "#!/bin/sh\ntrap 'echo {} >cairn-lab.json; echo page >cairn-lab.html; exit 130' INT\n" + step % "run" + "echo \"words: $*\"\necho {} >cairn-lab.json; echo page >cairn-lab.html\n")
pretending = {**bare, "FAKES": str(tools), "CAIRN_NO_INSTALL": "1"}
shutil.rmtree(checkout / "build")


def lab(*words, at=checkout, umask=0o077, **options):
    environment = {**pretending, **options.pop("more", {})}
    return run(at / "tools/lab", *words, at=at, umask=umask, env=environment, **options)


code, text = lab("--peer", f"plf_hive={hive}", "pool", "--peer", f"entt={folder}")
check(code == 0 and f"CAIRN_LAB_PEER_FOLDERS=plf_hive={hive};entt={folder}" in (checkout / "build/configured").read_text()
      and "words: lab" in text and " pool" in text and "--peer" not in text.split("words:")[1].splitlines()[0],
      "make lab LAB='--peer NAME=FOLDER' hands the folders to the configuration and the other words to the command", text)
for words, begin in ((["demo", "--full"], "words: lab --json"), (["demo"], "words: lab --quick --json")):
    code, text = lab(*words)
    check(begin in text and text.split(begin)[1].splitlines()[0].endswith(" " + " ".join(words)),
          f"make lab LAB='{' '.join(words)}' gives the command --quick or --full, not both", (code, text))
for bad in (["--peer"], ["--peer", "entt"], ["--peer", "entt=/nowhere"], ["--peer", f"nosuch={folder}"]):
    code, text = lab(*bad)
    check(code == 1 and len(text.strip().splitlines()) == 1, f"{' '.join(bad[:2])} is refused with one sentence", text)
shutil.rmtree(checkout / "build")

for stop in ("set-up", "configure", "build", "run"):
    code, text = lab(more={"STOP_AT": stop})
    check(code == 130, f"make lab that is interrupted at the step {stop} ends with 130", (code, text))
    last = text.strip().splitlines()[-1:]
    if stop == "run":
        check((checkout / "cairn-lab.json").exists() and "the report is" in text, "an interrupted run says where its report is", text)
    else:
        check(last == ["lab: interrupted; the next make lab goes on from here"] and "failed" not in text, f"interrupted at {stop}: the last line says so", text)
    code, text = lab("--speed", "0.1")
    check(code == 0 and "the report is" in text and "Übung mit Leerzeichen/cairn-lab.html" in text, f"after an interrupt at {stop} the next start goes to its end", text)
    check("words: lab --quick --json cairn-lab.json --html cairn-lab.html --speed 0.1" in text, "words are handed on", text)
    check("lab: peer llvm is absent (it is broken)" in text, "absent peers are named", text)
    for left in ("build", "cairn-lab.json", "cairn-lab.html"):
        shutil.rmtree(checkout / left) if left == "build" else (checkout / left).unlink(missing_ok=True)

# A disk that is full.
full = checkout / "build"
full.mkdir()
mounted = is_root and subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", full], stderr=subprocess.DEVNULL).returncode == 0
if mounted:
    try:
        code, text = lab(more={"FILL": "1"})
        check(code == 1 and f"nothing more can be written into {full}" in text, "a disk that is full while building: one sentence says so", (code, text))
        code, text = run(misbehaviour, "lab", "good", "grow", "--speed", "0.02", "--quiet", "--json", full / "full.json")
        check(code == 2 and text.count("cannot be written") == 1 and not list(full.glob("full.json*")), "a report that has no room: one sentence, and no half report", text)
    finally:
        subprocess.run(["umount", full], check=True)
else:
    skipped.append("a full disk: no tmpfs can be mounted here")
shutil.rmtree(full)

# A checkout that cannot be written.
for place in [checkout, *checkout.rglob("*")]:
    mode = place.stat().st_mode
    place.chmod((mode & ~0o222) | stat.S_IROTH | (stat.S_IXOTH if place.is_dir() or mode & 0o100 else 0))
code, text = lab(**({"user": 65534, "group": 65534, "extra_groups": []} if is_root else {}))
lines = [line for line in text.strip().splitlines() if line.startswith("lab:")]
check(code == 1 and len(lines) == 1 and "cannot be written" in lines[0], "a checkout that cannot be written: one sentence", (code, text))
for place in [checkout, *checkout.rglob("*")]:
    place.chmod(place.stat().st_mode | 0o700)

# Tools that are missing, and nothing may be installed.
empty = folder / "empty path"
empty.mkdir()
for name in ("bash", "sh", "dirname", "sed", "grep", "head", "tail", "mkdir", "mktemp", "rm", "cut", "sort", "cat", "touch", "env", "tr", "df", "awk", "id"):
    (empty / name).symlink_to(shutil.which(name))
code, text = lab(more={"PATH": str(empty)})
check(code == 1 and "make lab needs" in text and all(p in text for p in ("g++", "cmake", "ninja-build", "libcli11-dev")),
      "what is required and missing is named, with its packages", (code, text))

# Each line of bootstrap's table is looked for: a copy of it that looks where nothing is misses every package.
elsewhere = fake(folder / "elsewhere/tools/bootstrap", re.sub(r"\| (run|file|inc|cmake):/?", r"| \1:/nowhere/", (checkout / "tools/bootstrap").read_text()))
wanted = {words[2].strip() for words in (line.split("|") for line in elsewhere.read_text().splitlines()) if len(words) == 4 and "/nowhere/" in words[1]}
wanted = {package.replace("CLANG", "19") for package in wanted}
code, text = run(elsewhere, "check", at=elsewhere.parent, env={**bare, "CAIRN_NO_INSTALL": "1", "PATH": str(empty)})
named = {line.split()[0] for line in text.splitlines() if line.startswith("    ")}
check(code == 1 and len(wanted) > 20 and wanted - named == set(), "every package that bootstrap knows is missed where it is not", (wanted - named, text))

shutil.rmtree(folder)
shutil.rmtree(libraries)
for what in skipped:
    print(f"skipped: {what}")
print(f"{len(failures)} promises broken" if failures else "all promises hold")
sys.exit(1 if failures else 0)
