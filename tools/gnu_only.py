#!/usr/bin/env python3
"""Lists what the library's headers use that gcc and clang know and the Microsoft compiler does not: what a
port of them would have to write in other words (decision 0108).

Usage: tools/gnu_only.py            each construct, how often it stands there, in which files
       tools/gnu_only.py --check    only those that the table below does not know

Exit status 0: the table knows all of them; 1: it does not; 2: a bad command line
"""
import collections
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent

# What it is, how it is found, and what would stand for it.
known = [
    ("an attribute that only guides the optimizer", r"gnu::(always_inline|noinline|cold)|__attribute__\(\(always_inline\)\)",
     "nothing: without it the code is right, and slower"),
    ("[[no_unique_address]]", r"\[\[no_unique_address\]\]", "[[msvc::no_unique_address]]"),
    ("a hidden or kept symbol", r"gnu::(used|retain|visibility)", "nothing: DLLs export by name; #pragma comment(linker, \"/include:..\")"),
    ("[[clang::lifetimebound]]", r"clang::lifetimebound", "[[msvc::lifetimebound]]; asked for by __has_cpp_attribute already"),
    ("atomic operations on plain words", r"__atomic_\w+|__ATOMIC_\w+", "std::atomic_ref"),
    ("a hint for the cache", r"__builtin_prefetch", "_mm_prefetch, __prefetch"),
    ("bytes copied in line", r"__builtin_mem(cpy|move)", "std::memcpy, std::memmove"),
    ("what never happens", r"__builtin_unreachable", "__assume(false)"),
    ("the address of an object", r"__builtin_addressof", "the same name"),
    ("bits of an object in a constant", r"__builtin_bit_cast", "the same name"),
    ("zeros at the end of a word", r"__builtin_ctzll", "std::countr_zero"),
    ("a value that the optimizer knows nothing about", r'__asm__( volatile)?\(""', "a volatile copy"),
    ("the thread's register", r'__asm__\("movq', "a thread_local variable, as on other systems"),
    ("sixteen bytes at a time", r"vector_size\(16\)|__builtin_ia32_\w+", "emmintrin.h"),
    ("a product of 128 bits", r"__extension__|__int128", "_umul128"),
    ("pointers that do not overlap", r"__restrict\b", "the same name"),
    ("the name of a type", r"__PRETTY_FUNCTION__", "__FUNCSIG__"),
    ("a warning switched off", r"#\s*pragma (?:GCC|clang) diagnostic", "#pragma warning; they stand under the name of their compiler"),
    ("what the target is", r"__(SIZEOF_POINTER|BYTE_ORDER|ORDER_LITTLE_ENDIAN)__", "known: 8 bytes, little endian"),
]
# Whatever looks like a compiler's own; names of systems and compilers and of standard macros are none.
suspect = re.compile(r"__builtin_\w+|__atomic_\w+|__sync_\w+|__attribute__|__asm__|__extension__|__int128|__restrict\b|__typeof__|"
                     r"__PRETTY_FUNCTION__|(?:gnu|clang)::\w+|#\s*pragma (?:GCC|clang)|(?<!\w)\(\{|no_unique_address")


def places():
    """{construct: {file: count}} and [(file, line, text)] of what no construct covers."""
    found = {name: collections.Counter() for name, _, _ in known}
    unknown = []
    for path in sorted((root / "include").rglob("*.hpp")):
        file = str(path.relative_to(root / "include/cairn"))
        for number, line in enumerate(path.read_text().splitlines(), 1):
            rest = re.sub(r"//.*", "", line)
            for name, pattern, _ in known:
                rest, count = re.subn(pattern, "", rest)
                if count:
                    found[name][file] += count
            if suspect.search(re.sub(r"__attribute__\(\(\)\)", "", rest)):
                unknown.append((file, number, line.strip()))
    return found, unknown


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    found, unknown = places()
    if not sys.argv[1:]:
        for name, _, instead in known:
            files = found[name]
            print(f"{files.total():4} in {len(files):3} files  {name}  ->  {instead}")
            for file, count in sorted(files.items(), key=lambda row: (-row[1], row[0])) if len(files) <= 8 else []:
                print(f"                     {count:3} {file}")
    for file, number, text in unknown:
        print(f"{file}:{number}: the table of tools/gnu_only.py does not know this: {text}")
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
