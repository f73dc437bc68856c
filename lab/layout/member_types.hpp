// lab/layout/member_types.hpp - what the type of a member is: its size, its alignment.
//
// Debug information states sizes, and alignments only where the program did. The others follow from
// what a type is made of. References between entries may form rings in damaged files: every way ends
// after some steps.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "lab/layout/type_index.hpp"

namespace lab::layout {

/// The type that an entry refers to. Returns: false when there is none.
bool type_of(Dwarf_Die entry, Dwarf_Die& type);
[[nodiscard]] std::optional<std::uint64_t> number(Dwarf_Die& entry, unsigned attribute);
[[nodiscard]] bool flag(Dwarf_Die& entry, unsigned attribute);
/// "" where it has none.
[[nodiscard]] const char* name_of(Dwarf_Die entry);
/// Elements of one dimension of an array; no value for [].
[[nodiscard]] std::optional<std::uint64_t> extent(Dwarf_Die subrange);

// The entry itself: not the type that a typedef or a const stands for.
[[nodiscard]] bool is_class(unsigned tag);
[[nodiscard]] bool is_pointer(unsigned tag);  ///< or a reference

constexpr int depth_max = 40;  ///< of types in types: more than programs have

/// visit(Dwarf_Die&, tag) for each child, until it returns false.
template <class Visit>
void for_each_child(Dwarf_Die entry, Visit visit) {
    Dwarf_Die child;
    if (dwarf_child(&entry, &child) != 0) return;
    for (;;) {
        if (!visit(child, static_cast<unsigned>(dwarf_tag(&child)))) return;
        const void* const here = child.addr;
        if (dwarf_siblingof(&child, &child) != 0 || child.addr <= here) return;
    }
}

class member_types {
public:
    explicit member_types(const type_index& index) : index_{&index} {}

    /// Without typedefs, const and volatile; a class that is only declared here becomes its
    /// definition.
    [[nodiscard]] Dwarf_Die stripped(Dwarf_Die type) const;

    /// Bytes; no value for a type that is declared only.
    [[nodiscard]] std::optional<std::uint64_t> size_of(Dwarf_Die type) const;
    /// 0: not known.
    [[nodiscard]] std::uint64_t alignment_of(Dwarf_Die type);
    [[nodiscard]] bool has_virtual_bases(Dwarf_Die type);

private:
    struct known_class {
        std::uint64_t alignment = 1;
        bool has_virtual_bases = false;
    };
    known_class look_at_class(const Dwarf_Die& type, int depth);
    std::uint64_t alignment_of(Dwarf_Die type, int depth);
    std::optional<std::uint64_t> size_of(Dwarf_Die type, int depth) const;

    const type_index* index_;
    std::unordered_map<const void*, known_class> classes_;
};

}  // namespace lab::layout
