// lab/system/linux_symbols.cpp - the sizes of functions in an ELF file.
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>

#include "lab/system/code_bytes.hpp"

namespace lab {

namespace {

/// This program's file, mapped.
class own_file {
public:
    own_file() {
        const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        struct stat facts{};
        if (file >= 0 && ::fstat(file, &facts) == 0) {
            size_ = static_cast<std::size_t>(facts.st_size);
            bytes_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
        }
        if (file >= 0) { ::close(file); }
        if (bytes_ == MAP_FAILED || size_ < sizeof(Elf64_Ehdr)) {
            throw std::runtime_error{"this program's file cannot be read"};
        }
    }
    own_file(const own_file&) = delete;
    own_file& operator=(const own_file&) = delete;
    ~own_file() {
        if (bytes_ != MAP_FAILED) { ::munmap(bytes_, size_); }
    }
    template <class T>
    [[nodiscard]] const T* at(std::uint64_t offset, std::size_t count = 1) const {
        if (offset > size_ || count > (size_ - offset) / sizeof(T)) {
            throw std::runtime_error{"this program's file is shorter than it says"};
        }
        return reinterpret_cast<const T*>(static_cast<const char*>(bytes_) + offset);
    }

private:
    void* bytes_ = MAP_FAILED;
    std::size_t size_ = 0;
};

}  // namespace

std::size_t code_bytes(std::string_view part) {
    const own_file file;
    const auto& header = *file.at<Elf64_Ehdr>(0);
    const auto* const sections = file.at<Elf64_Shdr>(header.e_shoff, header.e_shnum);
    std::size_t bytes = 0;
    bool has_symbols = false;
    for (unsigned s = 0; s != header.e_shnum; ++s) {
        if (sections[s].sh_type != SHT_SYMTAB || sections[s].sh_link >= header.e_shnum) {
            continue;
        }
        has_symbols = true;
        const Elf64_Shdr& names = sections[sections[s].sh_link];
        const std::size_t count = sections[s].sh_size / sizeof(Elf64_Sym);
        const auto* const symbols = file.at<Elf64_Sym>(sections[s].sh_offset, count);
        const char* const text = file.at<char>(names.sh_offset, names.sh_size);
        for (std::size_t i = 0; i != count; ++i) {
            if (ELF64_ST_TYPE(symbols[i].st_info) != STT_FUNC) { continue; }
            if (symbols[i].st_name >= names.sh_size) { continue; }
            const std::string_view name{text + symbols[i].st_name};
            if (name.find(part) != name.npos) { bytes += symbols[i].st_size; }
        }
    }
    if (!has_symbols) { throw std::runtime_error{"this program was stripped of its symbols"}; }
    return bytes;
}

}  // namespace lab
