#!/usr/bin/env python3
"""Finds what only some compilers understand outside of core/inside/compiler.hpp, which has one spelling of
cairn's for each of them, with that of Microsoft's compiler beside it (decision 0108).

In the headers nothing else may stand there; in the sources also what is for one system, named below.

Usage: tools/gnu_only.py [--check]

Exit status 0: nothing was found; 1: something was
"""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
home = "include/cairn/core/inside/compiler.hpp"
supported = "include/cairn/core/inside/supported.hpp"   # asks __cplusplus where there is no _MSVC_LANG

# A construct, and cairn's spelling of it.
spellings = [
    (r"gnu::always_inline", "CAIRN_FORCE_INLINE"),
    (r"__attribute__\s*\(\(\s*always_inline", "CAIRN_INLINE_LAMBDA"),
    (r"gnu::noinline", "CAIRN_NOINLINE"),
    (r"gnu::cold", "CAIRN_COLD"),
    (r"\[\[no_unique_address\]\]", "[[CAIRN_NO_UNIQUE_ADDRESS]]"),
    (r"(?:clang|msvc)::lifetimebound", "CAIRN_LIFETIMEBOUND"),
    (r"gnu::(?:used|retain)", "CAIRN_KEPT"),
    (r"gnu::visibility", "CAIRN_HIDDEN"),
    (r"__atomic_\w+|__ATOMIC_\w+|__sync_\w+|std::atomic_ref", "compiler::atomic_ref, compiler::load, detail::atomic"),
    (r"__builtin_prefetch|_mm_prefetch", "compiler::prefetch, prefetch_for_writing, prefetch_from_other_core"),
    (r"__builtin_mem(?:cpy|move)", "compiler::copy_bytes<size>, move_bytes"),
    (r"__builtin_unreachable|__assume", "compiler::unreachable"),
    (r"__builtin_addressof", "compiler::address_of"),
    (r"__builtin_bit_cast", "compiler::bit_cast"),
    (r"__builtin_c[lt]z\w*", "compiler::trailing_zeros; core/inside/bits.hpp"),
    (r'\b(?:__)?asm(?:__)?\b', "compiler::hide, pause, prefetch_from_other_core"),
    (r"vector_size|__builtin_ia32_\w+", "compiler::bytes16, pause"),
    (r"__extension__|__int128|_umul128|__umulh", "compiler::product"),
    (r"__restrict\b", "CAIRN_RESTRICT"),
    (r"__PRETTY_FUNCTION__|__FUNCSIG__", "CAIRN_SIGNATURE"),
    (r"#\s*pragma (?:GCC|clang|warning)|_Pragma", "CAIRN_WARNING_OFF, CAIRN_WARNING_ON, CAIRN_VECTORS_FIRST"),
    (r"\b__cplusplus\b", "a macro of <version>: cl says 199711 unless it is given /Zc:__cplusplus"),
    (r"__builtin_\w+|__attribute__|__declspec|__typeof__|(?:gnu|clang|msvc)::\w+|(?<!\w)\(\{", "no spelling yet: add one to " + home),
]
# In sources: the construct, and where it may stand, because a condition around it names the compiler or the
# system.
for_one_system = [
    (supported, r"__cplusplus"),
    ("src/core/assert.cpp", r"gnu::format"),
    ("src/debug/misuse.hpp", r"gnu::format"),
    ("src/core/poison.cpp", r"gnu::constructor"),               # Valgrind's, which Windows has not
    ("src/core/inside/flavour.cpp", r"\basm\b|__asm__"),        # a section of ELF
    ("src/os/page_memory_linux.cpp", r"gnu::no_sanitize_address"),
    ("src/containers/table/table_memory.cpp", r"gnu::target|__builtin_cpu_supports"),
]


def findings():
    for path in [*sorted((root / "include").rglob("*.hpp")), *sorted((root / "src").rglob("*.[hc]pp")),
                 *sorted((root / "testing").rglob("*.[hc]pp"))]:
        file = str(path.relative_to(root))
        allowed = [pattern for name, pattern in for_one_system if name == file]
        for number, line in enumerate(path.read_text().splitlines(), 1):
            rest = re.sub(r"//.*", "", line)
            for pattern in allowed:
                rest = re.sub(pattern, "", rest)
            for pattern, spelling in spellings if file != home else []:
                if re.search(pattern, rest):
                    yield f"{file}:{number}: {line.strip()}\n    say {spelling}"
                    break


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__.split("\n\n")[2], file=sys.stderr)
        return 2
    found = list(findings())
    print("\n".join(found) or f"nothing outside of {home} is for some compilers only")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
