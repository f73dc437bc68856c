// Is libdw here, and new enough? (lab/CMakeLists.txt)
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>

#include <cstdint>

int main() {
    Dwarf_CU* unit = nullptr;
    Dwarf_Half version = 0;
    std::uint8_t kind = 0;
    // Without a file each answers with an error; what matters is that they are there.
    return dwarf_get_units(nullptr, unit, &unit, &version, &kind, nullptr, nullptr) != 1 &&
                   dwarf_getalt(nullptr) == nullptr && elf_version(EV_CURRENT) != EV_NONE &&
                   DW_FORM_strx3 != DW_FORM_addrx3
               ? 0
               : 1;
}
