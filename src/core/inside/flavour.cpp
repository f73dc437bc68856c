// The other half of cairn/core/inside/flavour.hpp: what a program of this flavour refers to.
#include <cairn/core/inside/flavour.hpp>

const char CAIRN_DETAIL_FLAVOUR_MARK = 0;

// CAIRN_GDB_SCRIPT (cmake/install.cmake): each program that contains this file names the script
// that shows cairn's objects, and gdb loads it where it trusts its folder. 1: a file, for Python.
#if defined(CAIRN_GDB_SCRIPT) && defined(__ELF__)
__asm__(
    ".pushsection .debug_gdb_scripts, \"MS\", %progbits, 1\n"
    ".byte 1\n"
    ".asciz \"" CAIRN_GDB_SCRIPT
    "\"\n"
    ".popsection\n");
#endif
