#include "lab/layout/member_types.hpp"

#include <dwarf.h>
#include <gelf.h>

#include <algorithm>
#include <bit>
#include <vector>

namespace lab::layout {

namespace {

std::uint64_t address_size(Dwarf_Die entry) {
    Dwarf_Die unit;
    std::uint8_t size = 8;
    (void)dwarf_diecu(&entry, &unit, &size, nullptr);
    return size;
}

bool is_32_bit_x86(const Dwarf_Die& entry) {
    Elf* const elf = dwarf_getelf(dwarf_cu_getdwarf(entry.cu));
    GElf_Ehdr header{};
    return elf != nullptr && gelf_getehdr(elf, &header) != nullptr && header.e_machine == EM_386;
}

bool is_alias(unsigned tag) {
    return tag == DW_TAG_typedef || tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
           tag == DW_TAG_restrict_type || tag == DW_TAG_atomic_type || tag == DW_TAG_immutable_type;
}

}  // namespace

bool is_pointer(unsigned tag) {
    return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
           tag == DW_TAG_rvalue_reference_type;
}

const char* name_of(Dwarf_Die entry) {
    const char* const name = dwarf_diename(&entry);
    return name != nullptr ? name : "";
}

/// Elements of one dimension; no value for [].
std::optional<std::uint64_t> extent(Dwarf_Die subrange) {
    if (const auto n = number(subrange, DW_AT_count)) return n;
    const auto last = number(subrange, DW_AT_upper_bound);
    if (!last) return std::nullopt;
    const std::uint64_t first = number(subrange, DW_AT_lower_bound).value_or(0);
    return *last + 1 - first;  // char a[0] has the upper bound -1
}

bool type_of(Dwarf_Die entry, Dwarf_Die& type) {
    Dwarf_Attribute a;
    return dwarf_attr(&entry, DW_AT_type, &a) != nullptr && dwarf_formref_die(&a, &type) != nullptr;
}

std::optional<std::uint64_t> number(Dwarf_Die& entry, unsigned attribute) {
    Dwarf_Attribute a;
    Dwarf_Word n = 0;
    if (dwarf_attr(&entry, attribute, &a) == nullptr) return std::nullopt;
    if (dwarf_whatform(&a) == DW_FORM_sdata) {  // an upper bound of -1
        Dwarf_Sword s = 0;
        if (dwarf_formsdata(&a, &s) == 0) return static_cast<std::uint64_t>(s);
    }
    if (dwarf_formudata(&a, &n) != 0) return std::nullopt;
    return n;
}

bool flag(Dwarf_Die& entry, unsigned attribute) {
    Dwarf_Attribute a;
    bool is_set = false;
    return dwarf_attr(&entry, attribute, &a) != nullptr && dwarf_formflag(&a, &is_set) == 0 &&
           is_set;
}

bool is_class(unsigned tag) {
    return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

Dwarf_Die member_types::stripped(Dwarf_Die type) const {
    for (int steps = 0; steps != depth_max; ++steps) {
        if (!is_alias(static_cast<unsigned>(dwarf_tag(&type))) || !type_of(type, type)) break;
    }
    Dwarf_Attribute a;
    Dwarf_Die unit_type;
    if (dwarf_attr(&type, DW_AT_signature, &a) != nullptr &&
        dwarf_formref_die(&a, &unit_type) != nullptr) {
        return unit_type;  // it lies in a unit of its own
    }
    if (is_class(static_cast<unsigned>(dwarf_tag(&type))) && flag(type, DW_AT_declaration)) {
        if (const indexed_type* const t = index_->definition_of(type)) return t->entry;
    }
    return type;
}

std::optional<std::uint64_t> member_types::size_of(Dwarf_Die type) const {
    return size_of(type, 0);
}

std::optional<std::uint64_t> member_types::size_of(Dwarf_Die type, int depth) const {
    if (depth == depth_max) return std::nullopt;
    if (const auto n = number(type, DW_AT_byte_size)) return n;
    type = stripped(type);
    if (const auto n = number(type, DW_AT_byte_size)) return n;
    const auto tag = static_cast<unsigned>(dwarf_tag(&type));
    if (is_pointer(tag)) return address_size(type);
    if (tag == DW_TAG_ptr_to_member_type) {
        Dwarf_Die target;
        const bool is_function =
            type_of(type, target) && dwarf_tag(&target) == DW_TAG_subroutine_type;
        return address_size(type) * (is_function ? 2 : 1);
    }
    Dwarf_Die element;
    if (tag == DW_TAG_enumeration_type && type_of(type, element))
        return size_of(element, depth + 1);
    if (tag == DW_TAG_unspecified_type) return address_size(type);  // decltype(nullptr)
    if (tag != DW_TAG_array_type || !type_of(type, element)) return std::nullopt;
    auto size = size_of(element, depth + 1);
    if (!size) return std::nullopt;
    for_each_child(type, [&](Dwarf_Die& dimension, unsigned kind) {
        if (kind == DW_TAG_subrange_type) size = *size * extent(dimension).value_or(0);
        return true;
    });
    return size;
}

std::uint64_t member_types::alignment_of(Dwarf_Die type) { return alignment_of(type, 0); }

std::uint64_t member_types::alignment_of(Dwarf_Die type, int depth) {
    if (depth >= depth_max) return 0;
    if (const auto n = number(type, DW_AT_alignment); n && std::has_single_bit(*n)) return *n;
    const auto tag = static_cast<unsigned>(dwarf_tag(&type));
    Dwarf_Die other;
    if (is_alias(tag)) return type_of(type, other) ? alignment_of(other, depth + 1) : 0;
    if (is_pointer(tag) || tag == DW_TAG_ptr_to_member_type) return address_size(type);
    if (tag == DW_TAG_array_type && !flag(type, DW_AT_GNU_vector)) {
        return type_of(type, other) ? alignment_of(other, depth + 1) : 0;
    }
    if (is_class(tag)) {
        other = stripped(type);
        return flag(other, DW_AT_declaration) ? 0 : look_at_class(other, depth).alignment;
    }
    const std::uint64_t size = size_of(type, 0).value_or(0);
    if (!std::has_single_bit(size)) return size == 12 ? 4 : 0;  // long double on 32-bit x86
    return is_32_bit_x86(type) ? std::min<std::uint64_t>(size, 4) : size;
}

bool member_types::has_virtual_bases(Dwarf_Die type) {
    type = stripped(type);
    return is_class(static_cast<unsigned>(dwarf_tag(&type))) &&
           look_at_class(type, 0).has_virtual_bases;
}

member_types::known_class member_types::look_at_class(const Dwarf_Die& type, int depth) {
    if (depth >= depth_max) return {};
    if (const auto known = classes_.find(type.addr); known != classes_.end()) return known->second;
    classes_[type.addr] = {};  // what a ring of damaged entries finds
    known_class k;
    Dwarf_Die entry = type;
    for_each_child(type, [&](Dwarf_Die& child, unsigned tag) {
        const bool is_base = tag == DW_TAG_inheritance;
        if (tag != DW_TAG_member && !is_base) return true;
        if (flag(child, DW_AT_external) || flag(child, DW_AT_declaration)) return true;  // static
        Dwarf_Die t;
        if (!type_of(child, t)) return true;
        if (is_base) {
            k.has_virtual_bases |= number(child, DW_AT_virtuality).value_or(0) != 0 ||
                                   look_at_class(stripped(t), depth + 1).has_virtual_bases;
        }
        const std::uint64_t own =
            number(child, DW_AT_alignment).value_or(alignment_of(t, depth + 1));
        k.alignment = k.alignment == 0 || own == 0 ? 0 : std::max(k.alignment, own);
        return true;
    });
    if (const auto n = number(entry, DW_AT_alignment)) k.alignment = *n;
    // A size that is no multiple shows that it is packed.
    const std::uint64_t size = number(entry, DW_AT_byte_size).value_or(0);
    while (k.alignment > 1 && size % k.alignment != 0) k.alignment /= 2;
    return classes_[type.addr] = k;
}

}  // namespace lab::layout
