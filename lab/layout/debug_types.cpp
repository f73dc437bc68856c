#include "lab/layout/debug_types.hpp"

#include <dwarf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "lab/layout/debug_file.hpp"
#include "lab/layout/declaration.hpp"
#include "lab/layout/member_types.hpp"
#include "lab/layout/type_index.hpp"

namespace lab::layout {

namespace {

enum class detail { places, all };

/// Where a base or member lies: bytes; no value where only the running program knows.
std::optional<std::uint64_t> location(Dwarf_Die& entry) {
    Dwarf_Attribute a;
    if (dwarf_attr(&entry, DW_AT_data_member_location, &a) == nullptr) return 0;  // of a union
    Dwarf_Word n = 0;
    if (dwarf_formudata(&a, &n) == 0) return n;
    Dwarf_Op* operations = nullptr;
    std::size_t count = 0;
    if (dwarf_getlocation(&a, &operations, &count) == 0 && count == 1 &&
        operations[0].atom == DW_OP_plus_uconst) {
        return operations[0].number;
    }
    return std::nullopt;
}

/// Bits from the beginning of the object. Before DWARF 4 counted from the other end of the unit.
std::uint64_t first_bit(Dwarf_Die& entry, std::uint64_t offset, std::uint64_t unit_size,
                        std::uint64_t bit_size) {
    if (const auto n = number(entry, DW_AT_data_bit_offset)) return *n;
    const std::uint64_t from_end = number(entry, DW_AT_bit_offset).value_or(0);
    const std::uint64_t unit = number(entry, DW_AT_byte_size).value_or(unit_size) * 8;
    return offset * 8 + unit - from_end - bit_size;
}

}  // namespace

struct debug_types::implementation {
    explicit implementation(const std::string& path) : file{path}, types{index} {}

    void add_members(Dwarf_Die of, detail how_much, std::uint64_t base, type_layout& t,
                     std::vector<member>& to, int depth);
    type_layout layout_of(Dwarf_Die entry, detail how_much);
    std::string place_of(Dwarf_Die entry) const;

    debug_file file;
    type_index index;
    member_types types;
    std::vector<std::string> notes;
};

void debug_types::implementation::add_members(Dwarf_Die of, detail how_much, std::uint64_t base,
                                              type_layout& t, std::vector<member>& to, int depth) {
    for_each_child(of, [&](Dwarf_Die& entry, unsigned tag) {
        if (tag == DW_TAG_variant_part) t.has_unknown_places = true;
        if (tag != DW_TAG_member && tag != DW_TAG_inheritance) return true;
        if (flag(entry, DW_AT_external) || flag(entry, DW_AT_declaration)) return true;  // static
        Dwarf_Die type;
        if (!type_of(entry, type)) return true;
        member m;
        m.name = name_of(entry);
        m.type = {type.addr, type.cu};
        const auto size = types.size_of(type);
        m.size_is_known = size.has_value();
        m.size = size.value_or(0);
        const auto offset = location(entry);
        m.offset = base + offset.value_or(0);
        if (tag == DW_TAG_inheritance) {
            const bool is_virtual = !offset || number(entry, DW_AT_virtuality).value_or(0) != 0;
            m.what = is_virtual ? role::virtual_base : role::base;
            if (is_virtual || types.has_virtual_bases(type)) t.has_unknown_places = true;
        } else if (m.name.starts_with("_vptr")) {
            m.what = role::vtable;
        }
        if (const auto bits = number(entry, DW_AT_bit_size); bits && *bits != 0 && size) {
            m.bit_size = *bits;
            m.unit_size = std::max<std::uint64_t>(m.size, 1);
            m.bit_offset = base * 8 + first_bit(entry, m.offset - base, m.unit_size, m.bit_size);
            m.offset = m.bit_offset / 8;
            m.size = (m.bit_offset + m.bit_size + 7) / 8 - m.offset;
        }
        Dwarf_Die plain = types.stripped(type);
        const auto plain_tag = static_cast<unsigned>(dwarf_tag(&plain));
        const bool is_unnamed = m.name.empty() && tag == DW_TAG_member && is_class(plain_tag);
        if (is_unnamed && depth < 8) {
            add_members(plain, how_much, m.offset, t, m.inside, depth + 1);
        }
        if (how_much == detail::all) {
            m.alignment = number(entry, DW_AT_alignment).value_or(types.alignment_of(type));
            m.is_array = plain_tag == DW_TAG_array_type;
            m.is_reference =
                plain_tag == DW_TAG_reference_type || plain_tag == DW_TAG_rvalue_reference_type;
            if (tag == DW_TAG_inheritance) {
                m.declaration =
                    (m.what == role::base ? "base " : "virtual base ") + declare(type, {});
            } else if (m.what == role::vtable) {
                m.declaration = "(pointer to the virtual functions)";
            } else if (is_unnamed) {
                m.declaration = plain_tag == DW_TAG_union_type ? "union" : "struct";
            } else {
                m.declaration = declare(type, std::string{m.name});
                if (m.bit_size != 0) m.declaration += " : " + std::to_string(m.bit_size);
            }
        }
        to.push_back(std::move(m));
        return true;
    });
    std::ranges::stable_sort(to, {}, &member::first_bit);
}

std::string debug_types::implementation::place_of(Dwarf_Die entry) const {
    // dwarf_decl_file takes 0 for none; in DWARF 5 it is the unit's own file.
    const auto file_number = number(entry, DW_AT_decl_file);
    const auto line = number(entry, DW_AT_decl_line);
    Dwarf_Die unit;
    Dwarf_Files* files = nullptr;
    std::size_t count = 0;
    if (!file_number || !line || dwarf_diecu(&entry, &unit, nullptr, nullptr) == nullptr ||
        dwarf_getsrcfiles(&unit, &files, &count) != 0 || *file_number >= count) {
        return {};
    }
    const char* const name = dwarf_filesrc(files, *file_number, nullptr, nullptr);
    return name == nullptr ? std::string{} : fmt::format("{}:{}", name, *line);
}

type_layout debug_types::implementation::layout_of(Dwarf_Die entry, detail how_much) {
    type_layout t;
    t.size = number(entry, DW_AT_byte_size).value_or(0);
    const int tag = dwarf_tag(&entry);
    t.is_union = tag == DW_TAG_union_type;
    t.keyword = t.is_union ? "union" : tag == DW_TAG_class_type ? "class" : "struct";
    if (how_much == detail::all) {
        t.alignment = types.alignment_of(entry);
        t.place = place_of(entry);
    }
    add_members(entry, how_much, 0, t, t.members, 0);
    return t;
}

namespace {

/// Where the last word of a::b<c::d>::e begins.
std::size_t last_word(std::string_view name) {
    int inside = 0;
    for (std::size_t i = name.size(); i > 1; --i) {
        const char c = name[i - 1];
        inside += c == '>' ? 1 : c == '<' ? -1 : 0;
        if (inside == 0 && c == ':' && name[i - 2] == ':') return i;
    }
    return 0;
}

/// The same name, or the same behind some namespaces.
bool ends_with_name(std::string_view full, std::string_view name) {
    return full.ends_with(name) && (full.size() == name.size() ||
                                    full.substr(0, full.size() - name.size()).ends_with("::"));
}

}  // namespace

debug_types::debug_types(const std::string& path) : m_{std::make_unique<implementation>(path)} {
    std::size_t units = 0;
    m_->file.for_each_unit([&](const Dwarf_Die& unit) {
        ++units;
        m_->index.add_unit(unit);
    });
    m_->notes = m_->file.notes();
    if (const std::size_t damaged = m_->index.damaged_units()) {
        m_->notes.push_back(fmt::format(
            "{} of {} units are damaged; some of their types are missing", damaged, units));
    }
}

debug_types::~debug_types() = default;

std::size_t debug_types::count() const { return m_->index.types().size(); }

std::string debug_types::name(std::size_t type) const { return *m_->index.types()[type].name.full; }

std::vector<std::size_t> debug_types::find(std::string_view asked) const {
    std::vector<std::size_t> exact, nested, templates;
    const std::size_t word_begin = last_word(asked);
    const std::string_view word = asked.substr(word_begin);
    for (std::size_t i = 0; i != count(); ++i) {
        const std::string_view own = m_->index.types()[i].name.own();
        if (asked.ends_with(own) || own.ends_with(asked)) {
            const std::string full = name(i);
            if (full == asked) {
                exact.push_back(i);
            } else if (ends_with_name(full, asked)) {
                nested.push_back(i);
            }
        } else if (own.starts_with(word) && own.substr(word.size()).starts_with('<')) {
            const std::string full = name(i);
            if (ends_with_name(
                    std::string_view{full}.substr(0, full.size() - own.size() + word.size()),
                    asked)) {
                templates.push_back(i);
            }
        }
    }
    return !exact.empty() ? exact : !nested.empty() ? nested : templates;
}

type_layout debug_types::read(std::size_t type) const {
    type_layout t = m_->layout_of(m_->index.types()[type].entry, detail::all);
    t.name = name(type);
    return t;
}

type_layout debug_types::measure(std::size_t type) const {
    return m_->layout_of(m_->index.types()[type].entry, detail::places);
}

type_layout debug_types::inside(const member& of) const {
    Dwarf_Die entry{};
    entry.addr = of.type.address;
    entry.cu = static_cast<Dwarf_CU*>(of.type.unit);
    if (entry.addr == nullptr) return {};
    entry = m_->types.stripped(entry);
    return is_class(static_cast<unsigned>(dwarf_tag(&entry))) ? m_->layout_of(entry, detail::all)
                                                              : type_layout{};
}

const std::vector<std::string>& debug_types::notes() const { return m_->notes; }

}  // namespace lab::layout
