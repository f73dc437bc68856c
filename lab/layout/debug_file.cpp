#include "lab/layout/debug_file.hpp"

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "lab/layout/debug_types.hpp"

namespace lab::layout {

namespace {

/// Where separate debug information is looked for: the places that gdb looks at.
const Dwfl_Callbacks callbacks = {.find_elf = &dwfl_build_id_find_elf,
                                  .find_debuginfo = &dwfl_standard_find_debuginfo,
                                  .section_address = &dwfl_offline_section_address,
                                  .debuginfo_path = nullptr};

/// Returns: why this is no whole ELF file, or "".
std::string obstacle(int file) {
    struct stat s{};
    if (::fstat(file, &s) != 0) return std::strerror(errno);
    if (S_ISDIR(s.st_mode)) return "it is a directory";
    if (!S_ISREG(s.st_mode)) return "it is no regular file";
    char magic[4] = {};
    const ssize_t n = ::pread(file, magic, sizeof magic, 0);
    if (n < 0) return std::strerror(errno);
    const std::string_view seen{magic, static_cast<std::size_t>(n)};
    // Compressed images and archives are libdwfl's to open.
    const bool is_packed = seen.starts_with("\x1f\x8b") || seen.starts_with("!<ar") ||
                           seen.starts_with(
                               "\xfd"
                               "7zX") ||
                           seen.starts_with("BZh");
    if (is_packed) return {};
    if (seen !=
        "\x7f"
        "ELF")
        return "it is no ELF file";

    Elf* const elf = elf_begin(file, ELF_C_READ_MMAP, nullptr);
    GElf_Ehdr header{};
    if (elf == nullptr || gelf_getehdr(elf, &header) == nullptr) {
        elf_end(elf);
        return "its ELF header makes no sense";
    }
    const auto size = static_cast<std::uint64_t>(s.st_size);
    const std::uint64_t table = std::uint64_t{header.e_shnum} * header.e_shentsize;
    std::string why;
    if (header.e_shoff > size || table > size - header.e_shoff) {
        why = "it is cut off: its table of sections would lie behind its end";
    }
    for (Elf_Scn* section = nullptr;
         why.empty() && (section = elf_nextscn(elf, section)) != nullptr;) {
        GElf_Shdr shdr{};
        if (gelf_getshdr(section, &shdr) == nullptr) {
            why = "its table of sections makes no sense";
        } else if (shdr.sh_type != SHT_NOBITS &&
                   (shdr.sh_offset > size || shdr.sh_size > size - shdr.sh_offset)) {
            why = "it is cut off or damaged: a section would lie behind its end";
        }
    }
    elf_end(elf);
    return why;
}

/// True for what libdw reads one of: each unit of types in an object file is a section of its own.
bool has_twin_sections(Dwarf* part) {
    Elf* const elf = dwarf_getelf(part);
    std::size_t names = 0;
    if (elf == nullptr || elf_getshdrstrndx(elf, &names) != 0) return false;
    int infos = 0, types = 0;
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
        GElf_Shdr header{};
        if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
        const char* const name = elf_strptr(elf, names, header.sh_name);
        const std::string_view n{name != nullptr ? name : ""};
        infos += n == ".debug_info" || n == ".debug_info.dwo" ? 1 : 0;
        types += n == ".debug_types" || n == ".debug_types.dwo" ? 1 : 0;
    }
    return infos > 1 || types > 1;
}

}  // namespace

debug_file::debug_file(const std::string& path) : path_{path} {
    elf_version(EV_CURRENT);
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        throw unreadable{fmt::format("'{}' cannot be read: {}", path, std::strerror(errno))};
    const std::string why = obstacle(file);
    ::close(file);
    if (!why.empty()) throw unreadable{fmt::format("'{}' cannot be read: {}", path, why)};

    session_ = dwfl_begin(&callbacks);
    if (session_ == nullptr) throw unreadable{"libdw does not start: out of memory"};
    dwfl_report_begin(session_);
    const bool is_open = dwfl_report_offline(session_, path.c_str(), path.c_str(), -1) != nullptr;
    const std::string open_error = is_open ? "" : dwfl_errmsg(-1);
    dwfl_report_end(session_, nullptr, nullptr);
    if (!is_open) {
        dwfl_end(session_);
        throw unreadable{fmt::format("'{}' cannot be read: {}", path, open_error)};
    }
    std::string why_none;
    const auto add_module = [&](Dwfl_Module* module) {
        Dwarf_Addr bias = 0;
        if (Dwarf* const part = dwfl_module_getdwarf(module, &bias)) {
            parts_.push_back(part);
        } else if (const char* const error = dwfl_errmsg(-1)) {
            why_none = error;
        }
    };
    dwfl_getmodules(
        session_,
        [](Dwfl_Module* module, void**, const char*, Dwarf_Addr, void* add) {
            (*static_cast<decltype(add_module)*>(add))(module);
            return static_cast<int>(DWARF_CB_OK);
        },
        const_cast<void*>(static_cast<const void*>(&add_module)), 0);
    if (parts_.empty()) {  // libdwfl wants symbols, which clang's .dwo files have not
        file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        plain_ = dwarf_begin(file_, DWARF_C_READ);
        if (plain_ != nullptr) parts_.push_back(plain_);
    }
    if (parts_.empty()) {
        ::close(file_);
        dwfl_end(session_);
        const bool is_stripped = why_none.empty() || why_none.find("o DWARF") != std::string::npos;
        throw unreadable{
            is_stripped
                ? fmt::format("'{}' has no debug information: compile with -g, or install the "
                              "package that has it apart",
                              path)
                : fmt::format("the debug information of '{}' cannot be read: {}", path, why_none)};
    }
}

debug_file::~debug_file() {
    dwarf_end(plain_);
    if (file_ != -1) ::close(file_);
    dwfl_end(session_);
}

void debug_file::visit_all(Dwarf* part, const visitor& visit) {
    if (std::ranges::find(visited_, part) != visited_.end()) return;
    visited_.push_back(part);
    Dwarf_CU* unit = nullptr;
    for (;;) {
        Dwarf_Half version = 0;
        std::uint8_t kind = 0;
        Dwarf_Die entry{}, split{};
        const int result = dwarf_get_units(part, unit, &unit, &version, &kind, &entry, &split);
        if (result == -1) is_broken_ = true;
        if (result != 0) break;
        if (kind == DW_UT_skeleton) {
            if (split.addr == nullptr) {
                ++split_away_;
            } else {
                visit_all(dwarf_cu_getdwarf(split.cu), visit);
            }
            continue;
        }
        if (entry.addr == nullptr) continue;
        visit(entry);
    }

    const char* name = nullptr;
    const void* build_id = nullptr;
    if (Dwarf* const common = dwarf_getalt(part)) {
        visit_all(common, visit);
    } else if (dwelf_dwarf_gnu_debugaltlink(part, &name, &build_id) > 0) {
        notes_.push_back(fmt::format(
            "the file '{}', which has debug information that it shares with others, is not there",
            name));
    }
}

void debug_file::for_each_unit(const visitor& visit) {
    for (Dwarf* const part : parts_) visit_all(part, visit);
    if (split_away_ != 0) {
        notes_.push_back(fmt::format(
            "the .dwo files of {} units are not there; their types are missing", split_away_));
    }
    if (std::ranges::any_of(visited_, &has_twin_sections)) {
        notes_.push_back(
            fmt::format("'{}' has several sections of debug information, of which one is read: "
                        "link it, and ask the program",
                        path_));
    }
    if (is_broken_)
        notes_.emplace_back("a part of the debug information is damaged, and was left out");
}

}  // namespace lab::layout
