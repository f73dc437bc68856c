#!/usr/bin/env python3
"""What gdb and lldb show of cairn's objects is what subjects/*.cpp say, and nothing is left out.

    debuggers_test.py gdb PROGRAM...      PROGRAM: subjects/*.cpp, compiled with -g
    debuggers_test.py lldb PROGRAM...
    debuggers_test.py names               every public class is shown, or exempt below
    debuggers_test.py natvis              cairn.natvis is XML, of types and members that exist

Exit status 77, with a sentence: the debugger is not here, or may not run a program.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

here = pathlib.Path(__file__).resolve().parent
root = here.parent.parent
printers = root / "debuggers"
sys.dont_write_bytecode = True
sys.path.insert(0, str(printers))
import cairn_views  # noqa: E402

seconds_max = 5     # for all variables of one stop; they take a hundredth of that

# Public classes that have no view of their own: why.
exempt = {
    "atomic_ref": "one reference, to a number",
    "call_site_allocator": "the tracked allocator, a label and a line, in their own words",
    "concurrent_budget": "a count and a credit of each thread: live_size()",
    "context_hooks": "functions for a C library, and a reference to the allocator",
    "deleter_in": "an allocator, of a std::unique_ptr",
    "destruction_queue": "links in front of objects: a list for those who look at blocks",
    "entry": "of a registry: a name and numbers, in their own words",
    "freetype_memory": "functions for FreeType, and a reference to the allocator",
    "from_pmr": "one pointer, to the resource",
    "hooks": "functions for a C library: it has no state",
    "imgui_inspector": "a panel, which shows itself",
    "imgui_memory": "one reference, to the allocator",
    "iterator": "of a ref_array: the array and an index",
    "lock_scope": "one reference, to the mutex",
    "marking_worker": "a gate; what it marks is in the heap's own state",
    "memory_page": "a function and its context, and the cell that is being filled",
    "memory_snapshot": "a packed_array, which is shown as such",
    "mutex": "one number: 0 is free",
    "node_allocator": "one pointer, to the node_pool",
    "null_allocator": "has no state",
    "page_allocator": "its options alone",
    "pmr_resource": "what is inside is shown as such",
    "registry": "a list of entries: a tree for those who print a snapshot",
    "reclaim_order": "links in front of its steps: a list for those who look at them",
    "reset_policy": "a constant in the options of an arena",
    "std_allocator": "one allocator_ref or pointer",
    "step": "of a reclaim_order: a function and its context",
    "system_allocator": "has no state",
    "tag": "of tagged_arenas: a record and its life",
    "type": "of allocator_for: a reference to an allocator",
    "view": "of tagged_arenas: what one thread allocates from, and its block",
    "visitor": "a function of the collector, for the time of one trace()",
}


def sentence(text):
    print(f"debuggers_test: {text}")
    sys.exit(77)


# ---- what is expected ----------------------------------------------------------------------------
def expectations(source):
    """function -> {name: text}, from the comments //= name: text."""
    result, function, name = {}, None, None
    for line in source.splitlines():
        if found := re.match(r"(?:\[\[.*\]\] )?void (?:\w+::)?(\w+)\(", line):
            function = found.group(1)
        if found := re.match(r"\s*//= (.+?): (.*)$", line):
            name = found.group(1)
            result.setdefault(function, {})[name] = found.group(2)
        elif name and (found := re.match(r"\s*//      *(\S.*)$", line)):
            result[function][name] += " " + found.group(1)
        else:
            name = None
    return result


def matches(expected, shown):
    pattern = re.escape(re.sub(r"\s+", " ", expected)).replace(r"0x\.\.", "0x[0-9a-f]+")
    return re.fullmatch(pattern.replace(r"\.\.", ".*"), re.sub(r"\s+", " ", shown), re.DOTALL)


def transcripts(debugger):
    """function -> [(command, text)], from the fences of docs/debugging.md:

        <!-- in maps() of tests/debuggers/subjects -->
        ```text
        (gdb) print foes
        ...
    """
    text = (root / "docs" / "debugging.md").read_text()
    result = {}
    for function, block in re.findall(
            r"<!-- in (\w+)\(\) of tests/debuggers/subjects -->\n```text\n(.*?)```", text,
            re.DOTALL):
        for part in re.split(rf"^\({debugger}\) ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            if not re.search(r"^\((gdb|lldb)\)", shown, re.MULTILINE):
                result.setdefault(function, []).append((command, shown.rstrip()))
    return result


def same_transcript(expected, shown):
    def plain(text):
        text = re.sub(r"^\$\d+ = ", "$1 = ", text, flags=re.MULTILINE)
        text = re.sub(r"v0_1_checked::|v0_1::", "", text)
        text = re.sub(r"0x[0-9a-f]+", "0x..", text)
        return re.sub(r"(?<=[{(\[]) | (?=[})\]])", "", re.sub(r"\s+", " ", text)).strip()
    return plain(expected) == plain(shown)


# ---- the debuggers -------------------------------------------------------------------------------
def find_debugger(name):
    names = ["gdb"] if name == "gdb" else ["lldb"] + [f"lldb-{n}" for n in range(22, 15, -1)]
    wanted = os.environ.get(f"CAIRN_{name.upper()}")
    for candidate in [wanted] if wanted else names:
        if shutil.which(candidate):
            return candidate
    sentence(f"no {name} here, so what it shows was not looked at")


def check_python(name, program):
    command = ([program, "-nx", "-batch", "-ex", "python print(6 * 7)"] if name == "gdb" else
               [program, "-X", "-b", "-o", "script print(6 * 7)"])
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if "42" not in done.stdout:
        sentence(f"{program} has no Python, so what it shows was not looked at")


def run(name, debugger, program, shown, wanted_transcripts, paths):
    with tempfile.TemporaryDirectory() as folder:
        ask, out = pathlib.Path(folder) / "ask.json", pathlib.Path(folder) / "answers.json"
        ask.write_text(json.dumps({"shown": shown, "transcripts": wanted_transcripts,
                                   "paths": paths}))
        environment = dict(os.environ, CAIRN_ASK=str(ask), CAIRN_ANSWERS=str(out),
                           CAIRN_PRINTERS=str(printers), CAIRN_PROGRAM=str(program),
                           PYTHONDONTWRITEBYTECODE="1", DEBUGINFOD_URLS="")
        script = str(here / "shows.py")
        command = ([debugger, "-nx", "-batch", "-x", script] if name == "gdb" else
                   [debugger, "-X", "-b", "-o", f"command script import {script}"])
        done = subprocess.run(command, capture_output=True, text=True, timeout=120,
                              env=environment, stdin=subprocess.DEVNULL)
        said = done.stdout + done.stderr
        answers = json.loads(out.read_text()) if out.exists() else None
        if not answers:
            if re.search(r"ptrace|Operation not permitted|personality|process launch failed", said):
                sentence(f"{name} may not run a program here: {said.strip()[-200:]}")
            sys.exit(f"debuggers_test: {name} showed nothing:\n{said[-4000:]}")
        return answers, said


def check(name, programs):
    debugger = find_debugger(name)
    check_python(name, debugger)
    expected = expectations("\n".join(f.read_text() for f in sorted((here / "subjects").glob("*.cpp"))))
    quoted = transcripts(name)
    failed = []
    for program in programs:
        shown = {function: list(names) for function, names in expected.items()}
        shown["wrecks"] = "*"
        commands = {function: [line for line, _ in lines] for function, lines in quoted.items()}
        answers, said = run(name, debugger, program, shown, commands, natvis_paths())
        where = f"{name}, {pathlib.Path(program).name}"
        stops = [answer["function"] for answer in answers]
        for function in expected:
            if function not in stops:
                failed.append(f"{where}: {function}() did not stop")
        if found := re.search(r"Python Exception.*|Traceback.*(\n.*){0,8}", said):
            failed.append(f"{where}: {found.group(0)}")
        for path, why in answers[-1]["missing"].items():
            failed.append(f"{where}: cairn.natvis, {path}: {why}")
        kinds = set()
        for answer in answers:
            function = answer["function"]
            if answer["seconds"] > seconds_max:
                failed.append(f"{where}: {function}() took {answer['seconds']:.1f} s")
            for variable, (type, text) in answer["shown"].items():
                kinds.add(cairn_views.class_of(type))
                if "detail::" in text:
                    failed.append(f"{where}: {function}(): {variable} shows a name of the inside: "
                                  f"{text[:200]}")
                wanted = expected.get(function, {}).get(variable)
                if wanted is None:   # wrecks: any text, but some
                    if text.startswith("error:") or "raw_" in text or not text:
                        failed.append(f"{where}: {function}(): {variable} ({type}) is shown as "
                                      f"{text[:200]}")
                elif not matches(wanted, text):
                    failed.append(f"{where}: {function}(): {variable}, a "
                                  f"{cairn_views.class_of(type) or type}\n"
                                  f"    is shown as  {text[:600]}\n    not as       {wanted}")
            for line, text in answer["transcripts"].items():
                wanted = dict(quoted[function])[line]
                if not same_transcript(wanted, text):
                    failed.append(f"{where}: docs/debugging.md: {line}\n    shows        {text}\n"
                                  f"    not          {wanted}")
        for kind in sorted(set(cairn_views.views) - kinds):
            failed.append(f"{where}: no {kind} in subjects/*.cpp, which cairn_views.py has a view of")
        print(f"{where}: {sum(len(a['shown']) for a in answers)} variables, "
              f"{sum(len(a['transcripts']) for a in answers)} transcripts, "
              f"{sum(a['seconds'] for a in answers):.1f} s")
    return failed


# ---- the names -----------------------------------------------------------------------------------
def public_classes():
    """name -> header: every class at namespace scope outside detail. A struct shows its members."""
    result = {}
    for path in sorted((root / "include" / "cairn").glob("*/**/*.hpp")):
        spaces = []
        text = re.sub(r"//[^\n]*", lambda m: m.group(0) if "namespace" in m.group(0) else "",
                      path.read_text())
        for line in text.splitlines():
            if found := re.match(r"namespace (.*)\{", line):
                spaces.append(found.group(1))
            elif spaces and re.match(r"\}  // namespace", line):
                spaces.pop()
            elif spaces and not any("detail" in space for space in spaces):
                found = re.match(r"(?:    )?class (?:\[\[[^\]]*\]\] )?(?:\w+::)*(\w+)"
                                 r"(?: final)?(?=[ <;{:]|$)", line)
                if found and not line.rstrip().endswith(";"):
                    result.setdefault(found.group(1), path.relative_to(root))
    return result


def check_names():
    classes = public_classes()
    failed = []
    if len(classes) < 50 or "slot_map" not in classes or "handle" not in classes:
        failed.append(f"the headers' classes were not found: {sorted(classes)}")
    for name, header in sorted(classes.items()):
        if name not in cairn_views.views and name not in exempt:
            failed.append(f"{header}: no debugger shows {name}: it needs a view in "
                          f"debuggers/cairn_views.py, or a reason in tests/debuggers/"
                          f"debuggers_test.py")
    for name in exempt:
        if name not in classes:
            failed.append(f"{name} is exempt and no public class")
        if name in cairn_views.views:
            failed.append(f"{name} is exempt and has a view")
    print(f"{len(classes)} public classes, {len(exempt)} exempt")
    return failed


# ---- natvis --------------------------------------------------------------------------------------
flavours = ["v0_1_checked", "v0_1", "v0_1_checked_asan", "v0_1_asan"]
# Words of expressions that are no members: types, and the variables of a list.
natvis_words = {"chunk", "slot", "void", "size_t", "unsigned", "nullptr", "ull", "s", "p", "i",
                "slots_per_chunk"}


def declared_names():
    """The names of classes, and of what stands in declarations of data."""
    classes, members = set(), set()
    data = re.compile(r"\s+(?!return )[\w:<>,*&\[\]. ]*[\s*](\w+)(?:\[\w+\])? *(?:;|=|\{)")
    for path in (root / "include" / "cairn").glob("**/*.hpp"):
        for line in re.sub(r"//[^\n]*", "", path.read_text()).splitlines():
            if found := re.match(r"\s*(?:class|struct)\s+(?:alignas\([^)]*\)\s+)?"
                                 r"(?:\[\[[^\]]*\]\] )?(\w+)", line):
                classes.add(found.group(1))
            elif found := data.match(line):
                members.add(found.group(1))
    return classes, members


space = "{http://schemas.microsoft.com/vstudio/debugger/natvis/2010}"


def natvis_types():
    """The name of each type, its element, and its expressions without numbers."""
    tree = xml.etree.ElementTree.parse(printers / "cairn.natvis").getroot()
    if tree.tag != space + "AutoVisualizer":
        sys.exit(f"cairn.natvis: its root is {tree.tag}")
    for type in tree:
        expressions = []
        for element in type.iter():
            texts = [element.get("Condition"), element.get("InitialValue")]
            if element.tag == space + "DisplayString":
                texts += re.findall(r"\{([^{}]*)\}", element.text)
            elif element.text:
                texts.append(element.text)
            expressions += [re.sub(r",s$|\$T\d|\b0x[0-9a-f]+|\b\d+(ull)?\b", " ", text)
                            for text in texts if text and text.strip()]
        yield type.get("Name"), type, expressions


def natvis_paths():
    """class -> the members that its expressions begin with, for gdb to look up."""
    result = {}
    for name, _, expressions in natvis_types():
        paths = set()
        for expression in expressions:
            for path in re.findall(r"(?<![\w.>\])])[A-Za-z_]\w*(?:(?:\.|->)\w+)*", expression):
                if re.split(r"\.|->", path)[0] not in natvis_words:
                    paths.add(path)
        kind = cairn_views.class_of(name.replace("<*", "<x"))
        result[kind] = sorted(paths | set(result.get(kind, [])))
    return result


def check_natvis():
    classes, members = declared_names()
    failed, words, count = [], 0, 0
    known = {space + tag for tag in (
        "Type AlternativeType DisplayString Expand Item ArrayItems Size ValuePointer ExpandedItem "
        "CustomListItems Variable Loop Break If Exec").split()}
    for first, type, expressions in natvis_types():
        count += 1
        names = [first] + [other.get("Name") for other in type.findall(space + "AlternativeType")]
        if names != [first.replace(flavours[0], flavour) for flavour in flavours]:
            failed.append(f"{first}: its names are not those of all flavours: {names}")
        name = re.match(r"cairn::v0_1_checked::(?:detail::)?(\w+)", first)
        if not name or name.group(1) not in classes:
            failed.append(f"{first}: the headers have no such class")
        failed += [f"{first}: what is <{element.tag}>?" for element in type.iter()
                   if element.tag not in known]
        # That some header declares each word; gdb looks further, where it is (natvis_paths).
        for word in re.findall(r"[A-Za-z_]\w*", " ".join(expressions)):
            words += 1
            if word not in natvis_words and word not in members:
                failed.append(f"{first}: no header declares a member {word}")
    print(f"cairn.natvis: {count} types, {words} words in expressions")
    if count < 30 or words < 100:
        failed.append("it is not what it was")
    return [f"cairn.natvis: {failure}" for failure in failed]


def main():
    what = sys.argv[1]
    failed = (check_names() if what == "names" else check_natvis() if what == "natvis" else
              check(what, sys.argv[2:]))
    for failure in failed:
        print(f"FAILED {failure}")
    sys.exit(bool(failed))


main()
