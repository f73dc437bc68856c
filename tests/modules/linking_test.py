#!/usr/bin/env python3
"""A program and a library of two flavours do not link, and the linker's words name the cure; of two
compilers, they do.

Usage: linking_test.py flavours|compilers --library libcairn.a --include DIR... --asserts 0|1
                       --compiler C++ [--other C++]... [--sources FILE...] [--emulator COMMAND]
"""
import argparse
import itertools
import pathlib
import shlex
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("what", choices=["flavours", "compilers"])
parser.add_argument("--library", required=True)
parser.add_argument("--include", action="append", required=True)
parser.add_argument("--asserts", type=int, required=True)
parser.add_argument("--compiler", required=True)
parser.add_argument("--other", action="append", default=[])
parser.add_argument("--sources", nargs="*", default=[])
parser.add_argument("--emulator", default="", help="the command that runs programs")
arguments = parser.parse_args()

program = """
#include <cairn/alloc/arena.hpp>
int main() {
    std::byte memory[256];
    cairn::arena a{memory};                // inline alone: nothing but the mark tells
    return a.allocate(8, cairn::default_alignment) == nullptr;
}
"""
ways = {
    "plain": [],
    "optimized": ["-O2"],
    "LTO": ["-O2", "-flto"],
    "collected": ["-O2", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"],
    "LTO, collected": ["-O2", "-flto", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"],
}
failures = []
emulator = shlex.split(arguments.emulator)


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, errors="replace")


def link(compiler, source, out, asserts, options, headers=()):
    includes = [f"-I{folder}" for folder in [*headers, *arguments.include]]
    return run(compiler, "-std=c++20", f"-DCAIRN_ASSERTS={asserts}", *includes, *options, source,
               arguments.library, "-pthread", "-o", out)


def expect(is_so, what, output=""):
    print("ok   " if is_so else "NOT SO", what, flush=True)
    if not is_so:
        failures.append(what)
        print(output[-3000:])


def can(compiler, options, folder):
    """Does this compiler do that at all here? (No lld, no LTO plugin, no sanitizer runtime ...)"""
    empty = folder / "empty.cpp"
    empty.write_text("int main() {}")
    return run(compiler, *options, empty, "-o", folder / "empty").returncode == 0


def headers_of_the_next_version(folder):
    """The two headers that say which version this is, as 0.2 would have them; found before the others."""
    core = pathlib.Path(arguments.include[0]) / "cairn/core"
    changes = {"version.hpp": [("CAIRN_VERSION_MINOR 1", "CAIRN_VERSION_MINOR 2")],
               "inside/flavour.hpp": [("v0_1", "v0_2"), ("cairn_0_1_", "cairn_0_2_"), ("CAIRN_VERSION / 100 == 1", "CAIRN_VERSION / 100 == 2")]}
    (folder / "next/cairn/core/inside").mkdir(parents=True)
    for name, replacements in changes.items():
        text = (core / name).read_text()
        for old, new in replacements:
            expect(old in text, f"{name} has {old}")
            text = text.replace(old, new)
        (folder / "next/cairn/core" / name).write_text(text)
    return folder / "next"


def flavours(folder):
    source = folder / "program.cpp"
    source.write_text(program)
    out = folder / "program"
    next_version = headers_of_the_next_version(folder)
    linkers = {"": [], " with lld": ["-fuse-ld=lld"]}
    compilers = [arguments.compiler, *arguments.other]
    for compiler, (linker, with_linker), (way, options) in itertools.product(
            compilers, linkers.items(), ways.items()):
        options = [*options, *with_linker]
        what = f"{pathlib.Path(compiler).name}{linker}, {way}"
        if not can(compiler, options, folder):
            print("skip ", what)
            continue
        same = link(compiler, source, out, arguments.asserts, options)
        expect(same.returncode == 0 and run(*emulator, out).returncode == 0,
               f"{what}: one flavour links", same.stderr)
        other = link(compiler, source, out, 1 - arguments.asserts, options)
        sentence = f"needs_cairn_0_1_built_with_CAIRN_ASSERTS_{1 - arguments.asserts}_and_no_AddressSanitizer"
        expect(other.returncode != 0 and sentence in other.stderr,
               f"{what}: other asserts are refused with the cure", other.stderr)
        if way in ("plain", "collected"):
            newer = link(compiler, source, out, arguments.asserts, options, [next_version])
            sentence = f"needs_cairn_0_2_built_with_CAIRN_ASSERTS_{arguments.asserts}_and_no_AddressSanitizer"
            expect(newer.returncode != 0 and sentence in newer.stderr,
                   f"{what}: another version is refused with the cure", newer.stderr)
        sanitizer = ["-fsanitize=address"]
        if way in ("plain", "collected") and can(compiler, [*options, *sanitizer], folder):
            watched = link(compiler, source, out, arguments.asserts, [*options, *sanitizer])
            sentence = f"needs_cairn_0_1_built_with_CAIRN_ASSERTS_{arguments.asserts}_and_AddressSanitizer"
            expect(watched.returncode != 0 and sentence in watched.stderr,
                   f"{what}: AddressSanitizer in the program alone is refused with the cure", watched.stderr)


def compilers(folder):
    for compiler, options in itertools.product(arguments.other, (["-O0"], ["-O2"])):
        for source in arguments.sources:
            out = folder / "program"
            built = link(compiler, source, out, arguments.asserts, options)
            what = f"{pathlib.Path(source).name} by {pathlib.Path(compiler).name} {options[0]}"
            expect(built.returncode == 0, f"{what} links with the library by {arguments.compiler}",
                   built.stderr)
            if built.returncode == 0:
                ran = run(*emulator, out)
                expect(ran.returncode == 0, f"{what} runs", ran.stderr)


with tempfile.TemporaryDirectory() as folder:
    globals()[arguments.what](pathlib.Path(folder))
sys.exit(bool(failures))
