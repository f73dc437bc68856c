#include "lab/layout/type_index.hpp"

#include <dwarf.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <string_view>
#include <utility>

#include "lab/layout/unit_walk.hpp"

namespace lab::layout {

namespace {

/// The facts read from one entry.
struct facts {
    const char* name = nullptr;
    std::uint64_t size = 0;
    std::uint64_t line = 0;
    bool has_size = false;
    bool is_declaration = false;
    Dwarf_Attribute origin{};  ///< of what it completes or repeats
    bool has_origin = false;
    Dwarf_Attribute type{};
    bool has_type = false;
};

int collect(Dwarf_Attribute* a, void* to) {
    facts& f = *static_cast<facts*>(to);
    Dwarf_Word n = 0;
    switch (dwarf_whatattr(a)) {
        case DW_AT_name:
            f.name = dwarf_formstring(a);
            break;
        case DW_AT_byte_size:
            f.has_size = dwarf_formudata(a, &n) == 0;
            f.size = n;
            break;
        case DW_AT_decl_line:
            if (dwarf_formudata(a, &n) == 0) f.line = n;
            break;
        case DW_AT_declaration:
            (void)dwarf_formflag(a, &f.is_declaration);
            break;
        case DW_AT_specification:
        case DW_AT_abstract_origin:
            f.origin = *a;
            f.has_origin = true;
            break;
        case DW_AT_type:
            f.type = *a;
            f.has_type = true;
            break;
        default:
            break;
    }
    return DWARF_CB_OK;
}

facts facts_of(Dwarf_Die& entry) {
    facts f;
    (void)dwarf_getattrs(&entry, &collect, &f, 0);
    return f;
}

bool is_type(unsigned tag) {
    return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
    a ^= b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2);
    return a * 0xff51afd7ed558ccdu;
}

std::uint64_t hash_of(const scope* where, const char* name) {
    return mixed(where == nullptr ? 0 : where->hash, std::hash<std::string_view>{}(name));
}

/// A function that was inlined or is defined apart from its declaration has its name there.
const char* function_name(Dwarf_Die entry) {
    for (int steps = 0; steps != 4; ++steps) {
        const facts f = facts_of(entry);
        if (f.name != nullptr) return f.name;
        Dwarf_Attribute origin = f.origin;
        if (!f.has_origin || dwarf_formref_die(&origin, &entry) == nullptr) break;
    }
    return "(unnamed function)";
}

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

}  // namespace

std::string full_name(const scope* where, const char* name) {
    std::vector<const scope*> outer;
    for (; where != nullptr; where = where->outer) outer.push_back(where);
    std::string s;
    for (std::size_t i = outer.size(); i-- != 0;) {
        s += outer[i]->name;
        s += outer[i]->is_function ? "()::" : "::";
    }
    return s + name;
}

const scope* type_index::make_scope(const scope* outer, const char* name, bool is_function) {
    scopes_.push_back({outer, name, is_function, 0});
    scopes_.back().hash = mixed(hash_of(outer, name), is_function ? 2 : 1);
    return &scopes_.back();
}

/// What levels_[0] to levels_[depth - 1] are for a type below them.
const scope* type_index::scope_at(std::size_t depth) {
    std::size_t known = depth;
    while (known != 0 && !levels_[known - 1].is_known) --known;
    const scope* where = known == 0 ? nullptr : levels_[known - 1].where;
    for (; known != depth; ++known) {
        level& l = levels_[known];
        if (l.tag == DW_TAG_namespace) {
            const facts f = facts_of(l.entry);
            where = make_scope(where, f.name != nullptr ? f.name : "(anonymous namespace)", false);
        } else if (is_type(l.tag)) {
            where = make_scope(where, class_name(l.entry), false);
        } else if (l.tag == DW_TAG_subprogram) {
            where = make_scope(where, function_name(l.entry), true);
        }
        l.where = where;
        l.is_known = true;
    }
    return where;
}

void type_index::add(indexed_type type) {
    const std::uint64_t hash = hash_of(type.where, type.name);
    const auto place = static_cast<std::uint32_t>(types_.size() + 1);
    const auto [first, is_new] = by_name_.try_emplace(hash, place);
    for (std::uint32_t i = is_new ? 0 : first->second; i != 0;) {
        indexed_type& other = types_[i - 1];
        if (other.size == type.size && other.line == type.line) return;
        i = other.next_same_name;
        if (i == 0) other.next_same_name = place;
    }
    types_.push_back(type);
}

void type_index::see_type(Dwarf_Die entry, unsigned tag, std::size_t depth) {
    const facts f = facts_of(entry);
    indexed_type t;
    t.entry = entry;
    t.tag = tag;
    t.size = f.size;
    t.line = f.line;
    if (f.has_origin && !f.is_declaration) {
        // struct outer::inner {...}; was declared inside of outer.
        Dwarf_Die declared;
        Dwarf_Attribute origin = f.origin;
        if (dwarf_formref_die(&origin, &declared) == nullptr) return;
        const named_entry* const d = find_declaration(declared.addr);
        if (d == nullptr) return;
        t.where = d->where;
        t.name = d->name;
        // What lies in it has the declared name, not that of this place.
        levels_.push_back({entry, tag, make_scope(t.where, t.name, false), true});
        declarations_.push_back({entry.addr, t.where, t.name});
    } else if (f.name != nullptr) {
        t.where = scope_at(depth);
        t.name = f.name;
        declarations_.push_back({entry.addr, t.where, t.name});
    } else if (!f.is_declaration && f.has_size) {
        unnamed_.push_back(t);
        return;
    }
    if (f.is_declaration || !f.has_size || t.name[0] == '\0') return;
    add(t);
}

/// typedef struct {...} name: the name of the struct, when it has no other.
void type_index::see_typedef(Dwarf_Die entry, std::size_t depth) {
    facts f = facts_of(entry);
    Dwarf_Die target;
    if (f.name == nullptr || !f.has_type || dwarf_formref_die(&f.type, &target) == nullptr) return;
    typedefs_.push_back({target.addr, scope_at(depth), f.name});
}

void type_index::add_unit(const Dwarf_Die& unit) {
    levels_.clear();
    unnamed_.clear();
    typedefs_.clear();
    part& of_unit = units_[unit.addr];
    of_unit = {declarations_.size(), declarations_.max_size()};  // as far as it is known
    unit_walk walk{unit};
    while (walk.next()) {
        levels_.resize(std::min(levels_.size(), walk.depth()));
        const unsigned tag = walk.tag();
        if (is_type(tag)) {
            see_type(walk.entry(), tag, walk.depth());
        } else if (tag == DW_TAG_typedef && !levels_.empty() &&
                   (levels_.size() == 1 || levels_.back().tag == DW_TAG_namespace)) {
            see_typedef(walk.entry(), walk.depth());
        }
        if (levels_.size() == walk.depth()) levels_.push_back({walk.entry(), tag, nullptr, false});
    }
    of_unit.end = declarations_.size();
    if (walk.is_damaged()) ++damaged_units_;

    std::ranges::sort(typedefs_, {}, &named_entry::address);
    for (indexed_type& t : unnamed_) {
        const auto named =
            std::ranges::lower_bound(typedefs_, t.entry.addr, {}, &named_entry::address);
        if (named == typedefs_.end() || named->address != t.entry.addr) continue;
        t.where = named->where;
        t.name = named->name;
        add(t);
    }
}

const type_index::named_entry* type_index::find_declaration(const void* address) const {
    auto unit = units_.upper_bound(address);
    if (unit == units_.begin()) return nullptr;
    --unit;
    const auto all = declarations_.begin();
    const auto begin = all + static_cast<std::ptrdiff_t>(unit->second.begin);
    const auto end =
        all + static_cast<std::ptrdiff_t>(std::min(unit->second.end, declarations_.size()));
    const auto found = std::lower_bound(
        begin, end, address,
        [](const named_entry& d, const void* a) { return std::less<>{}(d.address, a); });
    return found != end && found->address == address ? &*found : nullptr;
}

const indexed_type* type_index::definition_of(const Dwarf_Die& declared) const {
    const named_entry* const d = find_declaration(declared.addr);
    if (d == nullptr) return nullptr;
    const auto found = by_name_.find(hash_of(d->where, d->name));
    return found == by_name_.end() ? nullptr : &types_[found->second - 1];
}

}  // namespace lab::layout
