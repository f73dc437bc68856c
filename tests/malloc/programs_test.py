#!/usr/bin/env python3
"""Runs programs that were not written for it, with libcairn-malloc and without: they must say and write the same.

Usage: programs_test.py LIBRARY.so FOLDER_OF_CAIRN [PROGRAM...]     all programs, or those that are named
Exit status 77: none of them is here. An absent one is skipped with a sentence.
"""
import concurrent.futures
import glob
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

library, root = (str(pathlib.Path(name).resolve()) for name in sys.argv[1:3])

sql = """
create table t(i integer primary key, a text, b real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 60000)
    insert into t select i, hex(i * 7919 % 10007) || 'x', i / 7.0 from n;
create index on_a on t(a);
select count(*), sum(b), min(a), max(a) from t where a like '3%';
select a, count(*) c, group_concat(i) from t group by a having c > 6 order by c desc, a limit 20;
update t set a = a || i where i % 3 = 0;
delete from t where i % 5 = 0;
select count(distinct a), sum(length(a)) from t;
select json_group_array(json_object('i', i, 'a', a)) from t where i < 2000;
"""
lua = """
local function tree(d) if d == 0 then return {} end return {tree(d - 1), tree(d - 1)} end
local function count(t) return t[1] and 1 + count(t[1]) + count(t[2]) or 1 end
for d = 4, 14, 2 do print(d, count(tree(d))) end
local words, parts = {}, {}
for i = 1, 60000 do local k = 'key' .. i % 5003; words[k] = (words[k] or '') .. i % 10 end
for k, v in pairs(words) do parts[#parts + 1] = k .. v:reverse():sub(1, 8) end
table.sort(parts); print(#parts, parts[1], parts[#parts], #table.concat(parts, ','))
"""
postscript = """%!PS
/Helvetica findfont 24 scalefont setfont
0 1 40 { /i exch def i 12 mul dup 20 add moveto (cairn ) show i 10 string cvs show
  gsave i 40 div 0.3 0.7 setrgbcolor i 9 mul 600 i 9 mul sub 80 0 360 arc stroke grestore } for
/fib { dup 2 lt { pop 1 } { dup 1 sub fib exch 2 sub fib add } ifelse } def 18 fib 10 string cvs show showpage
"""
python = """
import json, random, re, threading
random.seed(7)
def value(depth):
    if depth == 0: return random.choice([1, 2.5, None, True, 'text' * random.randrange(9)])
    return {str(random.random()): [value(depth - 1) for _ in range(3)] for _ in range(3)}
texts = [json.dumps(value(4), sort_keys=True) for _ in range(3)]
print([len(json.loads(t)) for t in texts], len(re.findall(r'"(0\\.\\d+)":', texts[0])))
sums = {}
def work(n): sums[n] = sum(len(str(i) * (i % 7)) for i in range(20000))
threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
for t in threads: t.start()
for t in threads: t.join()
print(sorted(sums.items()))
"""


def compile_words(*compiler):
    return [*compiler, "-std=c++20", "-O1", "-g0", "-DCAIRN_ASSERTS=1", f"-I{root}/include", "-c",
            f"{root}/src/alloc/arena.cpp", "-o", "out"]


def suite(name):
    """Of Python's own tests, whose output has times in it: that they say they pass."""
    here = glob.glob("/usr/lib/python3*/test/test_json/__init__.py")
    return (["/usr/bin/python3", "-m", "test", "-q", name] if here else None, {"passes": "Tests result: SUCCESS"})


# name: the words of a command, or None where it is not here; what it reads, or the sentence by which it passes.
convert = shutil.which("convert-im6.q16")
programs = {
    "python3": (["/usr/bin/python3", "-c", python], {}),
    "python3, test_json": suite("test_json"),
    "python3, test_re": suite("test_re"),
    "python3, test_threading": suite("test_threading"),
    "gcc": (compile_words("g++"), {}),
    "clang-19": (compile_words("clang++-19"), {}),
    "sqlite3": (["sqlite3", ":memory:"], {"stdin": sql}),
    "lua5.4": (["lua5.4", "-"], {"stdin": lua}),
    "git log": (["git", "-C", root, "log", "-n", "60", "--stat", "-p"], {}),
    "git blame": (["git", "-C", root, "blame", "CMakeLists.txt"], {}),
    "grep": (["grep", "-rnEi", "(alloc|free)[a-z_]*\\(.*(size|align)", f"{root}/include"], {}),
    "imagemagick": (convert and [convert, "-size", "600x600", "gradient:red-blue", "-swirl", "180", "-blur",
                    "0x4", "-resize", "50%", "-depth", "8", "ppm:out"], {}),
    "ghostscript": (["gs", "-q", "-dBATCH", "-dNOPAUSE", "-sDEVICE=ppmraw", "-r100", "-sOutputFile=out", "-"],
                    {"stdin": postscript}),
}


def outcome(words, options, **environment):
    """(status, stdout, stderr, digest of the file `out`) of a command in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run(
            words, cwd=folder, input=options.get("stdin", ""), capture_output=True, text=True, timeout=300,
            env={**os.environ, "PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0", "CCACHE_DISABLE": "1",
                 "MAGICK_THREAD_LIMIT": "2", **environment})
        out = pathlib.Path(folder, "out")
        digest = hashlib.sha256(out.read_bytes()).hexdigest() if out.exists() else ""
        return result.returncode, result.stdout, result.stderr, digest


def compare(name):
    words, options = programs[name]
    if words is None or not shutil.which(words[0]):
        return f"skipped: {name} is not here"
    with_it = outcome(words, options, LD_PRELOAD=library)
    if "passes" in options:
        passes = options["passes"] in with_it[1] + with_it[2]
        return None if passes else f"FAILED: {name}: {with_it[1][-500:]}"
    without = outcome(words, options)
    if without == with_it and with_it[0] == 0:
        return None
    differing = [f"{part}: {str(a)[:300]!r} without, {str(b)[:300]!r} with"
                 for part, a, b in zip(("status", "stdout", "stderr", "file"), without, with_it) if a != b]
    return f"FAILED: {name}: " + ("; ".join(differing) or f"ends with {without[0]} both times: {without[2][:300]}")


names = sys.argv[3:] or list(programs)
with concurrent.futures.ThreadPoolExecutor(3) as workers:
    answers = [a for a in workers.map(compare, names) if a]
print("\n".join(answers))
skipped = sum(a.startswith("skipped") for a in answers)
print(f"{len(names) - len(answers)} of {len(names)} agree, {skipped} are not here")
sys.exit(1 if len(answers) != skipped else 77 if skipped == len(names) else 0)
