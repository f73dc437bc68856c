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

// From the name outwards, as C declares: a pointer puts its star before the name, what is an
// array its bound behind it.
std::string declare(const Dwarf_Die* type, const std::string& name, int depth) {
    if (type == nullptr || depth == depth_max) return joined("void", name);
    Dwarf_Die t = *type;
    Dwarf_Die target;
    const bool has_target = type_of(t, target);
    const Dwarf_Die* const next = has_target ? &target : nullptr;
    const auto target_tag = has_target ? static_cast<unsigned>(dwarf_tag(&target)) : 0;
    const auto tag = static_cast<unsigned>(dwarf_tag(&t));
    const auto pointer = [&](const std::string& mark) {
        const bool is_inside =
            target_tag == DW_TAG_array_type || target_tag == DW_TAG_subroutine_type;
        return declare(next, is_inside ? "(" + mark + name + ")" : mark + name, depth + 1);
    };
    switch (tag) {
        case DW_TAG_const_type:
        case DW_TAG_volatile_type: {
            const std::string word = tag == DW_TAG_const_type ? "const" : "volatile";
            if (is_pointer(target_tag))
                return declare(next, " " + word + joined("", name), depth + 1);
            return word + " " + declare(next, name, depth + 1);
        }
        case DW_TAG_restrict_type:
        case DW_TAG_atomic_type:
        case DW_TAG_immutable_type:
            return declare(next, name, depth + 1);
        case DW_TAG_pointer_type:
            return pointer("*");
        case DW_TAG_reference_type:
            return pointer("&");
        case DW_TAG_rvalue_reference_type:
            return pointer("&&");
        case DW_TAG_ptr_to_member_type: {
            Dwarf_Attribute a;
            Dwarf_Die of;
            const bool is_named = dwarf_attr(&t, DW_AT_containing_type, &a) != nullptr &&
                                  dwarf_formref_die(&a, &of) != nullptr;
            return pointer(std::string{is_named ? name_of(of) : ""} + "::*");
        }
        case DW_TAG_array_type: {
            std::string bounds;
            for_each_child(t, [&](Dwarf_Die& dimension, unsigned kind) {
                if (kind != DW_TAG_subrange_type) return true;
                const auto n = extent(dimension);
                bounds += n ? "[" + std::to_string(*n) + "]" : "[]";
                return true;
            });
            return declare(next, name + bounds, depth + 1);
        }
        case DW_TAG_subroutine_type: {
            std::string arguments;
            for_each_child(t, [&](Dwarf_Die& argument, unsigned kind) {
                if (kind != DW_TAG_formal_parameter || flag(argument, DW_AT_artificial))
                    return true;
                Dwarf_Die of;
                arguments += (arguments.empty() ? "" : ", ") +
                             declare(type_of(argument, of) ? &of : nullptr, {}, depth + 1);
                return arguments.size() < 400;
            });
            return declare(next, name + "(" + arguments + ")", depth + 1);
        }
        default:
            break;
    }
    std::string word = name_of(t);
    if (word.empty()) {
        word = tag == DW_TAG_union_type         ? "union {...}"
               : tag == DW_TAG_enumeration_type ? "enum {...}"
                                                : "struct {...}";
    }
    return joined(word, name);
}

}  // namespace

std::string declare(const Dwarf_Die& type, const std::string& name) {
    return declare(&type, name, 0);
}

}  // namespace lab::layout
