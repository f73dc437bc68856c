#!/usr/bin/env python3
"""Writes what the tests in tests/user_code include, from the headers as they are now.

    std_headers.inc      each standard header that cairn includes
    cairn_headers.inc    each public header
    classes.inc          CLASS(name) for each public class with a constructor that takes an allocator_ref
    greedy_names.inc     GREEDY(name) for each name that a header declares or calls as a function, without a
                         scope in front of it

Usage: generate.py FOLDER
"""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(root / "tools"))
from public_headers import is_adapter  # noqa: E402

folder = pathlib.Path(sys.argv[1])
# swap, get, iter_move and iter_swap are looked up by their arguments: users customize them. The others are no functions.
no_functions = set("""swap get iter_move iter_swap if for while switch return sizeof alignof alignas decltype noexcept requires catch throw
static_assert operator defined __attribute__ __asm__ asm typeid const_cast static_cast reinterpret_cast dynamic_cast
explicit new delete co_await co_return co_yield and or not xor else case do goto default this nullptr true false
volatile const consteval constexpr concept typename template auto void bool int unsigned char long short float double main""".split())


def without_comments(text):
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', " ", text, flags=re.S)


headers = sorted(path for path in (root / "include/cairn").rglob("*.hpp") if not is_adapter(path))
code = {path: path.read_text() for path in headers}
names, standard = set(), set()
for text in code.values():
    standard.update(re.findall(r"^\s*#\s*include\s*<([a-z_]+)>", text, re.M))
    names.update(re.findall(r"(?<![\w.:>])([a-z]\w*)\s*\(", without_comments(text)))
    names.update(re.findall(r"(?<![\w.:>])([a-z]\w*)\s*<[^<>;(){}]*>\s*\(", without_comments(text)))


def write(name, lines):
    (folder / name).write_text("".join(f"{line}\n" for line in sorted(lines)))


write("std_headers.inc", (f"#if __has_include(<{name}>)\n#include <{name}>\n#endif" for name in standard))
write("cairn_headers.inc", (f"#include <cairn/{path.relative_to(root / 'include/cairn')}>" for path in headers
                            if len(path.relative_to(root / "include/cairn").parts) == 2))
public = {path: without_comments(text) for path, text in code.items()
          if len(path.relative_to(root / "include/cairn").parts) == 2}
classes = {name for text in public.values() for name in re.findall(r"^class (\w+)", text, re.M)
           if re.search(rf"\b{name}\((?:[^;{{}}]|{{}})*allocator_ref", text)}
write("classes.inc", (f"CLASS({name})" for name in classes))
write("greedy_names.inc", (f"#ifndef {name}\nGREEDY({name})\n#endif" for name in names - no_functions
                           if not name.startswith("__")))
