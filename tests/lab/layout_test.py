#!/usr/bin/env python3
"""What `cairn layout` promises: the thesis's figures, the same answer from every form of debug information, orders
and tables that compilers agree with, and one sentence for what cannot be read.

Usage: layout_test.py CAIRN SOURCE COMPILER...
    CAIRN      the command
    SOURCE     the checkout
    COMPILER   the first must be there; others (clang++-19, aarch64-linux-gnu-g++-12) are asked where they are
"""
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

cairn, source = sys.argv[1], pathlib.Path(sys.argv[2])
compilers = [c for c in sys.argv[3:] if shutil.which(c)]
subjects = source / "tests/lab/layout_subjects.cpp"
mutations = int(os.environ.get("CAIRN_LAYOUT_MUTATIONS", "60"))  # more by hand
folder = pathlib.Path(tempfile.mkdtemp(prefix="cairn-layout-"))
os.chdir(folder)
failures = []


def check(ok, promise, more=""):
    if not ok:
        failures.append(promise)
        print(f"FAILED: {promise} {more}")


def run(*words):
    done = subprocess.run([cairn, "layout", *map(str, words)], capture_output=True, text=True, errors="replace",
                          timeout=250)
    return done.returncode, done.stdout, done.stderr


def compiled(*words):
    """Returns: "" or why not."""
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=250)
    return "" if done.returncode == 0 else f"{words}: {done.stderr[-600:]}"


def one_sentence(code, err, piece):
    lines = err.strip().splitlines()
    return code == 2 and len(lines) == 1 and lines[0].startswith(("cairn layout: ", "cairn: ")) and piece in lines[0]


def about(binary, name, *words):
    code, out, err = run(binary, name, "--json", "-", *words)
    check(code == 0, f"{name} in {binary} can be read", err)
    return json.loads(out)["types"][0] if code == 0 else None


def layout_of(t):
    return [(m["name"], m.get("bit_offset", m["offset"] * 8), m["size"]) for m in t["members"]]


def places(t):
    return [(m["name"], m["offset"], m["size"]) for m in t["members"]]


# ---- the thesis's listing 5.2 -----------------------------------------------------------------------
why = compiled(compilers[0], "-std=c++20", "-g", subjects, "-o", "program")
if why:
    sys.exit(f"layout_test: the subjects do not compile: {why}")
listing = [("age", 0, 4), ("max_age", 4, 4), ("pending_kill", 8, 1), ("position", 12, 12), ("rotation", 24, 12),
           ("scale", 36, 12), ("linear_velocity", 48, 12), ("angular_velocity", 60, 12), ("linear_force", 72, 12),
           ("torque", 84, 12), ("color", 96, 4), ("texture_handle", 100, 4), ("parent", 104, 8), ("user_ptr", 112, 8),
           ("flags", 120, 8)]


def check_listing(binary):
    t = about(binary, "Particle")
    if t is None:
        return
    check(places(t) == listing, f"{binary}: listing 5.2, member by member", places(t))
    check((t["size"], t["lines"], len(t["members"])) == (128, 2, 15), f"{binary}: size: 128, cachelines: 2, members: 15")
    check((t["member_size"], t["holes"], t["padding"]) == (125, [{"offset": 9, "size": 3}], 0),
          f"{binary}: sum members: 125, holes: 1, sum holes: 3", t["holes"])
    check(t["straddling"] == ["angular_velocity"], f"{binary}: angular_velocity lies on two lines", t["straddling"])


check_listing("program")
code, out, err = run("program", "Particle", "--uses", "angular_velocity")
check("angular_velocity;   <- line 1 begins 8 bytes before its end" in out, "the boundary was 8 bytes ago", out)
check("15 members, 125 bytes; 1 hole, 3 bytes; padding at the end: 0 bytes" in out, "the sums are said", out)
check("|aaaabbbbc...ddddddddddddeeeeeeeeeeeeffffffffffffgggggggggggghhhh|" in out, "the first line is drawn", out)
check("12 of 128 bytes that are loaded are used: 9.4 %; 90.6 % are wasted" in out, "the thesis's 90.6 % are wasted", out)
check("Vector3 position;" in out and "ParticleSystem* parent;" in out and "layout_subjects.cpp:" in out,
      "members are declared as the program does", out)

# ---- loops, orders, tables --------------------------------------------------------------------------
loop = "position,linear_velocity,linear_force"
t = about("program", "Particle", "--uses", loop)
check(t["loops"][0]["used_of_line"] == [24, 12] and t["loops"][0]["lines"] == 2, "a loop's share of each line", t["loops"])
check(t["order"]["is_better"] and t["order"]["loops"][0]["lines"] == 1, "its members come to one line", t["order"])
check(t["order"]["size"] == 128 and t["order"]["straddling"] == 0, "and none on two, in no more bytes", t["order"])
def together(columns):
    """The members of the structs inside the proposed row."""
    inside = [line for line in columns["row"] if line.startswith("        ")]
    return [line.split()[-1].rstrip(";") for line in inside]


check(t["columns"]["line"] == "cairn::table<Particle_row>" and together(t["columns"]) == loop.split(","),
      "a loop's members are one struct", t["columns"])
two = about("program", "Particle", "--uses", loop, "--uses", "age,max_age,color", "--uses", "color,flags")
check(together(two["columns"])[:2] == ["age", "max_age"] and "color" not in together(two["columns"]),
      "what different loops share stays out of their structs", two["columns"])
pathlib.Path("rows.cpp").write_text(
    f'#define CAIRN_WITHOUT_MAIN\n#include "{subjects}"\n#include <cairn/containers/table.hpp>\n'
    + "".join("int rows%d() {\n%s\n%s a; return int(a.size()); }\n" % (i, "\n".join(c["row"]), c["line"])
              for i, c in enumerate((t["columns"], two["columns"]))))
why = compiled(compilers[0], "-std=c++20", "-fsyntax-only", f"-I{source}/include", "rows.cpp")
check(not why, "cairn takes the lines for tables", why)

check(about("program", "Particle", "--uses", "position.y")["loops"][0]["used"] == 4, "a member of a member can be used")
check(about("program", "circle", "--uses", "radius,id")["loops"][0]["used"] == 8, "and a base's")
check(about("program", "message", "--uses", "text")["loops"][0]["used"] == 12, "and an unnamed union's")
small = about("program", "careless", "--uses", "b,d")
check(small["loops"][0]["lines_in_array"] == 1.25, "in an array objects begin anywhere: 10 lines for 8 objects of 40 bytes",
      small["loops"])
wide = about("program", "Particle", "--line", "128")
check(wide["lines"] == 1 and wide["straddling"] == [], "lines may have 128 bytes")
owned = about("program", "with_owner", "--uses", "a,o,b")["columns"]
check(owned["line"] == "cairn::table<with_owner_row>" and "o" in together(owned), "what has a destructor may be in it", owned)
for words, piece in ((["--uses", "speed"], "there are: age, max_age"), (["--uses", "position.w"], "x, y, z"),
                     (["--uses", ""], "empty word"), (["--uses", "age,,color"], "no member ''")):
    code, out, err = run("program", "Particle", *words)
    check(one_sentence(code, err, piece), f"{words}: one sentence", err)

# ---- what types are made of -------------------------------------------------------------------------
check(about("program", "careless")["wasted"] == 21 and about("program", "careless")["order"]["size"] == 24,
      "a careless order wastes 21 of 40 bytes, and 24 are enough")
m = about("program", "message")
check([i["name"] for i in m["members"][1]["inside"]] == ["number", "", "text"], "an unnamed union shows its members", m)
check([h["offset"] for h in m["holes"]] == [4, 20] and m["wasted"] == 15, "and leaves its own holes to the type", m)
b = {x["name"]: x for x in about("program", "bits")["members"]}
check([(b[n]["bit_offset"], b[n]["bit_size"]) for n in ("low", "middle", "high")] == [(0, 3), (3, 7), (32, 5)],
      "bit fields lie where their bits are", b)
c = about("program", "circle")
check([(x["kind"], x["offset"]) for x in c["members"]] == [("base", 0), ("data", 12), ("data", 16)] and c["holes"] == [],
      "a derived class may use the padding of its base", c)
check([x["kind"] for x in about("program", "shape")["members"]] == ["vtable", "data"], "the pointer to virtual functions is shown")
v = about("program", "both")
check(v["places_unknown"] and "virtual bases" in v["order"]["why_not"] and v["wasted"] == 0,
      "what lies behind virtual bases is not called padding", v)
p = about("program", "packed")
check(p["wasted"] == 0 and "packed" in p["order"]["why_not"], "a packed struct is left alone", p["order"])
check("union" in about("program", "word")["order"]["why_not"], "so is a union")
a = [x["declaration"] for x in about("program", "arrays")["members"]]
check(a == ["char name[13]", "float matrix[4][4]", "int (*call)(float, const char*)", "int shape::*field",
            "const char* const text", "int& target"], "declarations read as C++", a)
check(about("program", "tail")["order"]["members"][-1]["name"] == "values", "an array without a bound stays last")
check(places(about("program", "game::outer::inner")) == [("x", 0, 1), ("y", 8, 8)],
      "a class that is defined apart from its declaration has its whole name")
for name in ("game::(anonymous namespace)::hidden", "layout_subjects(int)::local", "named_by_typedef"):
    code, out, err = run("program", name.split("::")[-1], "--json", "-")
    found = json.loads(out)["types"][0]["name"] if code == 0 else err
    check(found.replace("(int)", "()") == name.replace("(int)", "()"), f"{name} is found by its last word", found)
code, out, err = run("program", "box")
check(code == 0 and "game::box<double, 3>" in out and "game::box<char, 5>" in out, "all of a template are listed by its name", out)
code, out, err = run("program", "box", "--uses", "tag")
check(one_sentence(code, err, "2 types"), "and --uses wants one of them", err)

# ---- the list of types ------------------------------------------------------------------------------
code, out, err = run("program", "--all", "--json", "-")
reference = {t["name"]: t for t in json.loads(out)["types"]}
wasted = [t["wasted"] for t in reference.values()]
check(wasted == sorted(wasted, reverse=True) and reference["Particle"]["wasted"] == 3, "the list begins with the worst")
check("game::empty" in reference and reference["game::empty"]["wasted"] == 0, "--all lists every type")
code, out, err = run("program", "--json", "list.json")
shown = json.loads(pathlib.Path("list.json").read_text())
check("game::empty" not in out and len(shown["types"]) <= 20 and "game::careless" in out, "without it those that waste, 20 at most", out)

# ---- every form of debug information ----------------------------------------------------------------
names = [n for n in reference if "Vector" in n or "game::" in n or n in ("Particle", "named_by_typedef")]


def check_same(binary, what):
    code, out, err = run(binary, "--all", "--json", "-")
    check(code == 0 and not err, f"{what}: is read", err)
    here = {t["name"]: t for t in json.loads(out)["types"]} if code == 0 else {}
    for name in names:
        if "types-section" in what and name == "named_by_typedef":
            continue  # the typedef and the struct lie in two units
        check(here.get(name) == reference[name], f"{what}: {name} as from {compilers[0]}", here.get(name))
    if here:
        check_listing(binary)
        check(layout_of(about(binary, "bits")) == layout_of(about("program", "bits")), f"{what}: the same bits")


forms = [["-gdwarf-4"], ["-gdwarf-3"], ["-gdwarf-5", "-O2"], ["-gdwarf-5", "-gz"], ["-gdwarf-4", "-fdebug-types-section"],
         ["-gdwarf-5", "-fdebug-types-section"], ["-gdwarf-4", "-gsplit-dwarf"], ["-gdwarf-5", "-gsplit-dwarf"]]
for number, compiler in enumerate(compilers):
    for form in forms:
        name = f"form{number}{''.join(form)}"
        what = f"{compiler} {' '.join(form)}"
        # Each unit of types is a section of its own, until a linker puts them together.
        whole_program = [] if "-fdebug-types-section" in form and "aarch64" not in compiler else ["-c"]
        why = compiled(compiler, "-std=c++20", "-g", *form, *whole_program, subjects, "-o", f"{name}.o")
        if why:
            check("aarch64" in compiler, f"{what} compiles", why)
            continue
        check_same(f"{name}.o", what)
        if "aarch64" in compiler:
            break
why = compiled(compilers[0], "-std=c++20", "-g", "-gdwarf-4", "-fdebug-types-section", "-c", subjects, "-o", "units.o")
code, out, err = run("units.o")
check("has several sections of debug information, of which one is read: link it" in err, "an object file with units of types says so", err)
why = compiled(compilers[0], "-std=c++20", "-g", "-gdwarf-5", "-gsplit-dwarf", "-c", subjects, "-o", "split.o") or \
    compiled(compilers[0], "split.o", "-o", "split")
check(not why, "a split program links", why)
check_same("split", "a program with its .dwo files")
pathlib.Path("split.dwo").rename("elsewhere.dwo")
code, out, err = run("split")
check(one_sentence(code, err, ".dwo files of 1 units are not there"), "without them: one sentence", err)
check_same("elsewhere.dwo", "a .dwo file by itself")

if shutil.which("objcopy"):
    why = compiled("objcopy", "--only-keep-debug", "program", "program.debug") or \
        compiled("objcopy", "--strip-debug", "--add-gnu-debuglink=program.debug", "program", "stripped")
    check(not why, "debug information can be put apart", why)
    check_same("stripped", "a program whose debug information is in a file of its own")
    pathlib.Path("program.debug").unlink()
    code, out, err = run("stripped")
    check(one_sentence(code, err, "has no debug information"), "without that file: one sentence", err)

# ---- compilers agree with the proposed orders -------------------------------------------------------
dice = random.Random(7)
kinds = ["char {}", "short {}", "int {}", "long {}", "float {}", "double {}", "char* {}", "char {}[13]", "float {}[3]",
         "unsigned {} : 3", "unsigned {} : 12", "struct {{ char x; short y; }} {}", "double {}[9]"]
structs = [[dice.choice(kinds).format(f"m{i}") for i in range(dice.randint(2, 14))] for _ in range(30)]


def write_structs(name, all_members):
    text = "".join(f"struct s{i} {{ {' '.join(m + ';' for m in members)} }} v{i};\n" for i, members in enumerate(all_members))
    pathlib.Path(f"{name}.cpp").write_text(text)
    return compiled(compilers[0], "-std=c++20", "-g", "-c", f"{name}.cpp", "-o", f"{name}.o")


why = write_structs("random", structs)
check(not why, "random structs compile", why)
found, proposed, better = [about("random.o", f"s{i}") for i in range(len(structs))], [], 0
for members, t in zip(structs, found):
    order = t["order"]
    by_name = {m["name"]: written for m, written in zip(t["members"], members)}
    check("why_not" not in order, "an order is looked for", order.get("why_not"))
    check(sorted(by_name) == sorted(m["name"] for m in order["members"]), "an order has the same members", order)
    check(order["size"] <= t["size"] and (order["size"] < t["size"] or order["straddling"] <= len(t["straddling"])),
          "no order is worse", (t["size"], t["straddling"], order))
    better += order["is_better"]
    proposed.append([by_name[m["name"]] for m in order["members"]])
why = write_structs("proposed", proposed)
check(not why and better > 10, "proposed orders compile, and many are better", (why, better))
for i, t in enumerate(found):
    then = about("proposed.o", f"s{i}")
    check(layout_of(then) == layout_of(t["order"]) and then["size"] == t["order"]["size"],
          "a compiler lays the proposed order out as it was said", (structs[i], proposed[i], layout_of(then), layout_of(t["order"])))

# ---- the guide ---------------------------------------------------------------------------------------
guide = (source / "docs/guides/layout-of-your-structs.md").read_text()
os.symlink("program", "particles")
said = re.findall(r"```text\n\$ cairn layout (.*)\n((?:.*\n)*?)```", guide)
check(len(said) >= 3, "the guide shows what the command says")
for words, text in said if compilers[0].endswith("g++") else []:  # others write 'short int' differently
    code, out, err = run(*words.split())
    check((out or err).replace(f"{source}/", "") == text, f"the guide has what 'cairn layout {words}' says", out)

# ---- cairn's own types ------------------------------------------------------------------------------
pathlib.Path("own.cpp").write_text(
    "#include <cairn/alloc/growing_arena.hpp>\n#include <cairn/alloc/pool.hpp>\n#include <cstdio>\n"
    "std::size_t seen(cairn::pool& p, cairn::growing_arena& a) { return sizeof p + sizeof a; }\n"
    "int main() { std::printf(\"%zu %zu\", sizeof(cairn::pool), sizeof(cairn::growing_arena)); }\n")
whole = ["-fstandalone-debug"] if "clang" in compilers[0] else []  # clang leaves out what others may describe
why = compiled(compilers[0], "-std=c++20", "-g", *whole, f"-I{source}/include", "-c", "own.cpp", "-o", "own.o")
check(not why, "cairn's headers compile with -g", why)
code, out, err = run("own.o", "pool", "--json", "-")
check(code == 0 and json.loads(out)["types"][0]["name"].endswith("::pool"), "cairn::pool is found in its inline namespace", err)
own = {n: about("own.o", n) for n in ("pool", "growing_arena")}
for name, t in own.items():
    check(t["size"] == t["member_size"] + t["wasted"] and t["members"], f"cairn::{name} adds up", t)

# ---- a large packaged program -------------------------------------------------------------------------
# Debian's libc6-dbg, which valgrind needs, puts glibc's there: C of several compilations.
packaged = sorted(pathlib.Path("/usr/lib/debug").rglob("*.debug"), key=lambda f: f.stat().st_size)[-1:]
for file in packaged:
    code, out, err = run(file, "--json", "-")
    report = json.loads(out) if code == 0 else {"type_count": 0, "types": []}
    check(report["type_count"] > 20 and report["types"], f"{file}: its types are listed", (code, err))
    if "libc" in out and "pthread" in [t["name"] for t in report["types"]]:
        t = about(file, "pthread")
        check(t["size"] == t["member_size"] + t["wasted"] and len(t["members"]) > 20, "glibc's own thread adds up", t["size"])

# ---- what cannot be read ----------------------------------------------------------------------------
pathlib.Path("text").write_text("no program\n")
pathlib.Path("nothing").write_text("")
pathlib.Path("few").write_bytes(b"\x7fELF")
os.mkfifo("pipe")
why = compiled(compilers[0], "-std=c++20", "-c", subjects, "-o", "plain.o")
for words, piece in ((["nowhere"], "No such file"), (["."], "directory"), (["text"], "no ELF file"), (["nothing"], "no ELF file"),
                     (["few"], "ELF"), (["pipe"], "no regular file"), (["plain.o"], "has no debug information"),
                     (["program", "particle"], "no type"), (["program", "Partic"], "there are: Particle"), ([], "binary"),
                     (["program", "Particle", "one", "more"], "one"), (["program", "--line", "65"], "--line"),
                     (["program", "--nonsense"], "nonsense"), (["program", ""], "empty word"),
                     (["program", "--json", "/nowhere/at/all"], "cannot be written")):
    code, out, err = run(*words)
    check(one_sentence(code, err, piece), f"'{' '.join(words)}' is refused with one sentence", err)
code, out, err = run("--help")
check(code == 0 and "--uses" in out, "--help explains and succeeds", err)
done = subprocess.run(["bash", "-c", f"exec '{cairn}' layout program >/dev/full"], capture_output=True, text=True)
check(one_sentence(done.returncode, done.stderr, "standard output cannot be written"), "standard output is full: one sentence", done.stderr)
done = subprocess.run(["bash", "-c", f"'{cairn}' layout program --all | exit 0; exit ${{PIPESTATUS[0]}}"], capture_output=True, text=True)
check(done.returncode in (0, 2) and "damaged" not in done.stderr, "a pipe without a reader is no damage", done.stderr)

# ---- damaged files ----------------------------------------------------------------------------------
whole = bytearray(pathlib.Path("form0-gdwarf-4.o").read_bytes())
fates = {}


def check_damaged(data, how):
    pathlib.Path("damaged").write_bytes(data)
    code, out, err = run("damaged", *dice.choice(([], ["--all"], ["Particle", "--uses", "age,flags"], ["message"])))
    lines = err.strip().splitlines()
    check(code in (0, 2) and all(l.startswith("cairn layout: ") for l in lines) and (code == 0 or lines),
          f"damaged file ({how}): a sentence", (code, err))
    fate = "read" if code == 0 else "crashed" if "it is damaged (" in err else "refused"
    fates[fate] = fates.get(fate, 0) + 1


program = bytearray(pathlib.Path("program").read_bytes())
for i in range(mutations // 2):
    data = dice.choice((whole, program))
    check_damaged(data[:dice.randrange(len(data))], "cut off")
for i in range(mutations):
    data = bytearray(dice.choice((whole, program)))
    begin = data.find(b"Particle") if dice.random() < 0.2 else dice.randrange(len(data))
    for _ in range(dice.choice((1, 4, 60))):
        data[dice.randrange(len(data)) if dice.random() < 0.5 else min(begin + dice.randrange(400), len(data) - 1)] = dice.randrange(256)
    check_damaged(data, f"mutation {i}")
check(fates.get("refused", 0) > mutations // 4, "damage is seen", fates)

shutil.rmtree(folder)
print(f"damaged files: {fates}")
print("all promises hold" if not failures else f"{len(failures)} promises are broken")
sys.exit(1 if failures else 0)
