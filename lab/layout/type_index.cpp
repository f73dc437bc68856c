#include "lab/layout/type_index.hpp"

#include <dwarf.h>

#include <algorithm>

#include "lab/layout/member_types.hpp"
#include "lab/layout/unit_walk.hpp"

namespace lab::layout {

namespace {

/// A class around a type that lies in a unit of its own may lie in another such unit.
const char* class_name(Dwarf_Die entry) {
    Dwarf_Attribute a;
    Dwarf_Die in_its_unit;
    const char* name = dwarf_diename(&entry);
    if (name == nullptr && dwarf_attr(&entry, DW_AT_signature, &a) != nullptr &&
        dwarf_formref_die(&a, &in_its_unit) != nullptr) {
        name = dwarf_diename(&in_its_unit);
    }
    return name != nullptr ? name : "(unnamed)";
}

/// What the names in this entry begin with. dwarf_diename() goes to the declaration of a function that
/// is defined apart from it.
std::string prefix_of(Dwarf_Die entry, unsigned tag) {
    if (is_class(tag)) return std::string{class_name(entry)} + "::";
    const char* const name = dwarf_diename(&entry);
    if (tag == DW_TAG_namespace) {
        return std::string{name != nullptr ? name : "(anonymous namespace)"} + "::";
    }
    if (tag != DW_TAG_subprogram) return {};
    return std::string{name != nullptr ? name : "(unnamed function)"} + "()::";
}

/// The declaration that this definition completes or repeats. Returns: false when it names none.
bool has_origin(Dwarf_Die& entry, Dwarf_Attribute& origin) {
    return dwarf_attr(&entry, DW_AT_specification, &origin) != nullptr ||
           dwarf_attr(&entry, DW_AT_abstract_origin, &origin) != nullptr;
}

}  // namespace

const std::string& type_index::prefix_at(std::size_t depth) {
    static const std::string none;
    if (depth == 0) return none;
    level& l = levels_[depth - 1];
    if (!l.is_known) l.prefix = prefix_at(depth - 1) + prefix_of(l.entry, l.tag);
    l.is_known = true;
    return l.prefix;
}

type_name type_index::name_in(const std::string& prefix, const char* name) {
    return {&*names_.insert(prefix + name).first, prefix.size()};
}

void type_index::add(indexed_type type) {
    const auto place = static_cast<std::uint32_t>(types_.size() + 1);
    const auto [first, is_new] = by_name_.try_emplace(type.name.full, place);
    for (std::uint32_t i = is_new ? 0 : first->second; i != 0;) {
        indexed_type& other = types_[i - 1];
        if (other.size == type.size && other.line == type.line) return;
        i = other.next_same_name;
        if (i == 0) other.next_same_name = place;
    }
    types_.push_back(type);
}

void type_index::see_type(Dwarf_Die entry, unsigned tag, std::size_t depth) {
    const bool is_declaration = flag(entry, DW_AT_declaration);
    const auto size = number(entry, DW_AT_byte_size);
    const bool is_complete = !is_declaration && size.has_value();
    indexed_type t{entry, {}, size.value_or(0), number(entry, DW_AT_decl_line).value_or(0), tag};
    Dwarf_Attribute origin;
    if (!is_declaration && has_origin(entry, origin)) {
        // struct outer::inner {...}; was declared inside of outer.
        Dwarf_Die declared;
        if (dwarf_formref_die(&origin, &declared) == nullptr) return;
        const auto d = named_.find(declared.addr);
        if (d == named_.end()) return;
        t.name = d->second;
        // What lies in it has the declared name, not that of this place.
        levels_.push_back({entry, tag, *t.name.full + "::", true});
    } else if (const char* const name = dwarf_diename(&entry)) {
        t.name = name_in(prefix_at(depth), name);
    } else {
        if (is_complete) unnamed_.push_back(t);
        return;
    }
    named_.emplace(entry.addr, t.name);
    if (is_complete && !t.name.own().empty()) add(t);
}

/// typedef struct {...} name: the name of the struct, when it has no other.
void type_index::see_typedef(Dwarf_Die entry, std::size_t depth) {
    Dwarf_Die target;
    const char* const name = dwarf_diename(&entry);
    if (name == nullptr || !type_of(entry, target)) return;
    typedefs_.emplace(target.addr, name_in(prefix_at(depth), name));
}

void type_index::add_unit(const Dwarf_Die& unit) {
    levels_.clear();
    unnamed_.clear();
    typedefs_.clear();
    unit_walk walk{unit};
    while (walk.next()) {
        levels_.resize(std::min(levels_.size(), walk.depth()));
        const unsigned tag = walk.tag();
        if (is_class(tag)) {
            see_type(walk.entry(), tag, walk.depth());
        } else if (tag == DW_TAG_typedef && !levels_.empty() &&
                   (levels_.size() == 1 || levels_.back().tag == DW_TAG_namespace)) {
            see_typedef(walk.entry(), walk.depth());
        }
        if (levels_.size() == walk.depth()) levels_.push_back({walk.entry(), tag, {}, false});
    }
    if (walk.is_damaged()) ++damaged_units_;
    for (indexed_type& t : unnamed_) {
        const auto named = typedefs_.find(t.entry.addr);
        if (named == typedefs_.end()) continue;
        t.name = named->second;
        add(t);
    }
}

const indexed_type* type_index::definition_of(const Dwarf_Die& declared) const {
    const auto d = named_.find(declared.addr);
    if (d == named_.end()) return nullptr;
    const auto found = by_name_.find(d->second.full);
    return found == by_name_.end() ? nullptr : &types_[found->second - 1];
}

}  // namespace lab::layout
