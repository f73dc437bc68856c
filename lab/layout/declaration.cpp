#include "lab/layout/declaration.hpp"

#include <dwarf.h>

#include <algorithm>

#include "lab/layout/member_types.hpp"

namespace lab::layout {

namespace {

/// "float" and "**x": "float** x"; "float" and "(*x)": "float (*x)".
std::string joined(const std::string& type, const std::string& name) {
    const std::size_t stars = std::min(name.find_first_not_of("*&"), name.size());
    const std::string rest = name.substr(stars);
    return type + name.substr(0, stars) + (rest.empty() || rest[0] == ' ' ? "" : " ") + rest;
}

std::string declare(const Dwarf_Die* type, const std::string& name, int depth);

/// Whether a pointer to it stands in brackets: int (*x)[4].
bool binds_tighter_than_pointers(unsigned tag) {
    return tag == DW_TAG_array_type || tag == DW_TAG_subroutine_type;
}

/// "*", "&" or "&&"; "game::*" for a pointer to a member.
std::string mark_of(Dwarf_Die& pointer) {
    switch (dwarf_tag(&pointer)) {
        case DW_TAG_reference_type:
            return "&";
        case DW_TAG_rvalue_reference_type:
            return "&&";
        case DW_TAG_ptr_to_member_type: {
            Dwarf_Attribute a;
            Dwarf_Die of;
            const bool is_named = dwarf_attr(&pointer, DW_AT_containing_type, &a) != nullptr &&
                                  dwarf_formref_die(&a, &of) != nullptr;
            return std::string{is_named ? name_of(of) : ""} + "::*";
        }
        default:
            return "*";
    }
}

std::string bounds_of(Dwarf_Die& array) {
    std::string bounds;
    for_each_child(array, [&](Dwarf_Die& dimension, unsigned kind) {
        if (kind != DW_TAG_subrange_type) return true;
        const auto n = extent(dimension);
        bounds += n ? "[" + std::to_string(*n) + "]" : "[]";
        return true;
    });
    return bounds;
}

std::string arguments_of(Dwarf_Die& function, int depth) {
    std::string arguments;
    for_each_child(function, [&](Dwarf_Die& argument, unsigned kind) {
        if (kind != DW_TAG_formal_parameter || flag(argument, DW_AT_artificial)) return true;
        Dwarf_Die of;
        arguments += (arguments.empty() ? "" : ", ") +
                     declare(type_of(argument, of) ? &of : nullptr, {}, depth);
        return arguments.size() < 400;
    });
    return arguments;
}

std::string word_of(Dwarf_Die& type, unsigned tag) {
    const std::string word = name_of(type);
    if (!word.empty()) return word;
    if (tag == DW_TAG_union_type) return "union {...}";
    return tag == DW_TAG_enumeration_type ? "enum {...}" : "struct {...}";
}

// From the name outwards, as C declares: a pointer puts its star before the name, an array its bound
// behind it.
std::string declare(const Dwarf_Die* type, const std::string& name, int depth) {
    if (type == nullptr || depth == depth_max) return joined("void", name);
    Dwarf_Die t = *type;
    Dwarf_Die target;
    const bool has_target = type_of(t, target);
    const auto target_tag = has_target ? static_cast<unsigned>(dwarf_tag(&target)) : 0;
    const auto rest = [&](const std::string& of) {
        return declare(has_target ? &target : nullptr, of, depth + 1);
    };
    const auto tag = static_cast<unsigned>(dwarf_tag(&t));
    switch (tag) {
        case DW_TAG_const_type:
        case DW_TAG_volatile_type: {
            const std::string word = tag == DW_TAG_const_type ? "const" : "volatile";
            return is_pointer(target_tag) ? rest(" " + word + joined("", name))
                                          : word + " " + rest(name);
        }
        case DW_TAG_restrict_type:
        case DW_TAG_atomic_type:
        case DW_TAG_immutable_type:
            return rest(name);
        case DW_TAG_pointer_type:
        case DW_TAG_reference_type:
        case DW_TAG_rvalue_reference_type:
        case DW_TAG_ptr_to_member_type: {
            const std::string inner = mark_of(t) + name;
            return rest(binds_tighter_than_pointers(target_tag) ? "(" + inner + ")" : inner);
        }
        case DW_TAG_array_type:
            return rest(name + bounds_of(t));
        case DW_TAG_subroutine_type:
            return rest(name + "(" + arguments_of(t, depth + 1) + ")");
        default:
            return joined(word_of(t, tag), name);
    }
}

}  // namespace

std::string declare(const Dwarf_Die& type, const std::string& name) {
    return declare(&type, name, 0);
}

}  // namespace lab::layout
