"""Runs inside gdb or lldb: stops wherever subjects/*.cpp calls look(), and writes what the debugger
shows of the variables that CAIRN_ASK names, as JSON to CAIRN_ANSWERS.

    CAIRN_ASK      {"shown": {"maps": ["foes", "*pointer"]}, of each function; "*": all variables
                    "transcripts": {"maps": [command]},
                    "paths": {class: [member.of->member]}}; gdb looks whether they are there
    answers        [{"function": "maps", "seconds": 0.1, "shown": {"foes": [type, text]},
                     "transcripts": {command: text}, "missing": {"class: path": why}}]

In lldb the text is put together from summaries and children, as gdb's print writes them: what an
IDE shows. Transcripts are what the debugger itself writes.
"""
import json
import os
import re
import sys
import time

ask = json.load(open(os.environ["CAIRN_ASK"]))
printers = os.environ["CAIRN_PRINTERS"]
program = os.environ["CAIRN_PROGRAM"]
answers = []
missing = {}


def save():
    with open(os.environ["CAIRN_ANSWERS"], "w") as out:
        json.dump(answers, out)


def name_of(function):
    return re.sub(r"\(.*$", "", (function or "").replace("(anonymous namespace)::", "")
                  ).split("::")[-1]


def visit(function, variables, show, command):
    """One stop: `variables()` names all, `show(name)` gives [class, text]."""
    wanted = ask["shown"].get(function, [])
    begin = time.monotonic()
    names = variables() if wanted == "*" else wanted
    shown = {name: show(name) for name in names}
    seconds = time.monotonic() - begin
    transcripts = {line: command(line) for line in ask["transcripts"].get(function, [])}
    answers.append({"function": function, "seconds": seconds, "shown": shown,
                    "transcripts": transcripts, "missing": dict(missing)})


def with_gdb(gdb):
    gdb.execute("set pagination off")
    gdb.execute("set width 0")
    gdb.execute("set confirm off")
    gdb.execute("set debuginfod enabled off")
    gdb.execute(f"source {printers}/cairn_gdb.py")
    gdb.execute(f"file {program}")
    gdb.Breakpoint("look")
    gdb.execute("run", to_string=True)

    def plain(value):
        return str(value.type.strip_typedefs().unqualified())

    def look_for_members(value):
        kind = sys.modules["cairn_views"].class_of(plain(value))
        for path in ask["paths"].pop(kind, []):
            at = value
            try:
                for name in re.split(r"\.|->", path):
                    if at.type.strip_typedefs().code == gdb.TYPE_CODE_PTR:
                        at = at.dereference()
                    at = at[name]
            except gdb.error as problem:
                missing[f"{kind}: {path}"] = str(problem)

    def show(name):
        try:
            value = gdb.parse_and_eval(name)
            if value.type.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
                value = value.referenced_value()
            look_for_members(value)
            text = gdb.execute(f"print {name}", to_string=True).split(" = ", 1)[1].strip()
            return [plain(value), re.sub(r"^\(.*? &\) @0x[0-9a-f]+: ", "", text)]
        except Exception as problem:
            return ["", f"error: {problem}"]

    def variables():
        block = gdb.selected_frame().block()
        return [symbol.name for symbol in block if symbol.is_variable]

    def command(line):
        try:
            return gdb.execute(line, to_string=True).rstrip()
        except gdb.error as problem:
            return str(problem)
    while gdb.selected_inferior().pid:
        frame = gdb.newest_frame().older()
        frame.select()
        visit(name_of(frame.name()), variables, show, command)
        gdb.execute("continue", to_string=True)
    save()


def with_lldb(lldb, debugger):
    classes = (lldb.eTypeClassClass, lldb.eTypeClassStruct, lldb.eTypeClassUnion,
               lldb.eTypeClassArray)

    def text(value, depth=0):
        if value.GetType().GetCanonicalType().IsReferenceType():
            value = value.Dereference()
        type = value.GetType().GetCanonicalType()
        summary, scalar = value.GetSummary(), value.GetValue()
        if type.GetTypeClass() not in classes:
            return scalar if scalar is not None else str(summary)
        if type.IsArrayType() and type.GetArrayElementType().GetName() == "char":
            return (summary or '""')[1:-1].replace('\\"', '"')
        if depth > 8:
            return "{...}"
        children = [value.GetChildAtIndex(i) for i in range(min(value.GetNumChildren(), 200))]
        counted = [child.GetName() for child in children] == [
            f"[{i}]" for i in range(len(children))]
        parts = [text(child, depth + 1) if counted else
                 f"{child.GetName()} = {text(child, depth + 1)}" for child in children]
        inside = "{" + ", ".join(parts) + "}" if parts else ""
        return " = ".join(part for part in (summary, inside) if part)

    debugger.SetAsync(False)
    debugger.HandleCommand(f"command script import {printers}/cairn_lldb.py")
    target = debugger.CreateTarget(program)
    debugger.SetSelectedTarget(target)
    target.BreakpointCreateByName("look")
    process = target.LaunchSimple([], None, os.getcwd())
    if process is None or not process.IsValid():   # containers forbid what it asks first
        debugger.HandleCommand("settings set target.disable-aslr false")
        process = target.LaunchSimple([], None, os.getcwd())

    def show(name):
        found = process.GetSelectedThread().GetSelectedFrame().GetValueForVariablePath(name)
        if not found.IsValid():
            return ["", f"error: there is no {name}"]
        type = found.GetType().GetCanonicalType()
        if type.IsReferenceType():
            type = type.GetDereferencedType().GetCanonicalType()
        return [type.GetUnqualifiedType().GetName(), text(found)]

    def variables():
        frame = process.GetSelectedThread().GetSelectedFrame()
        return [value.GetName() for value in frame.GetVariables(False, True, False, True)]

    def command(line):
        result = lldb.SBCommandReturnObject()
        debugger.GetCommandInterpreter().HandleCommand(line, result)
        return (result.GetOutput() or result.GetError() or "").rstrip()
    while process.GetState() == lldb.eStateStopped:
        thread = process.GetSelectedThread()
        thread.SetSelectedFrame(1)
        frame = thread.GetSelectedFrame()
        visit(name_of(frame.GetFunctionName()), variables, show, command)
        process.Continue()
    save()


def __lldb_init_module(debugger, _dictionary):
    import lldb
    with_lldb(lldb, debugger)


if "gdb" in sys.modules or os.environ.get("CAIRN_DEBUGGER") == "gdb":
    import gdb
    with_gdb(gdb)
