#include "lab/layout/unit_walk.hpp"

#include <dwarf.h>
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

namespace lab::layout {

namespace {

/// The attributes of an entry, as libdw reads them.
int collect_form(Dwarf_Attribute* attribute, void* forms) {
    static_cast<std::vector<unsigned>*>(forms)->push_back(dwarf_whatform(attribute));
    return DWARF_CB_OK;
}

}  // namespace

unit_walk::unit_walk(const Dwarf_Die& unit, const unsigned char* section_end)
    : unit_{unit.cu}, at_{static_cast<const unsigned char*>(unit.addr)}, end_{section_end} {
    Dwarf_Die die = unit;
    unit_begin_ = at_ - dwarf_cuoffset(&die);
    Dwarf_Die unused;
    std::uint8_t kind = 0;
    (void)dwarf_cu_info(unit_, &version_, &kind, &unused, nullptr, nullptr, &address_size_,
                        &offset_size_);
    if (Elf* const elf = dwarf_getelf(dwarf_cu_getdwarf(unit_))) {
        if (const char* const ident = elf_getident(elf, nullptr)) {
            is_big_endian_ = ident[EI_DATA] == ELFDATA2MSB;
        }
    }
    // The unit says how long it is, not counting the length itself.
    const bool is_64_bit = offset_size_ == 8;
    const unsigned char* const length = unit_begin_ + (is_64_bit ? 4 : 0);
    const std::uint64_t size = read_fixed(length, offset_size_) + (is_64_bit ? 12 : 4);
    if (size < static_cast<std::uint64_t>(end_ - unit_begin_)) end_ = unit_begin_ + size;
    if (end_ < at_) end_ = at_;
}

std::uint64_t unit_walk::read_fixed(const unsigned char* at, unsigned size) const {
    std::uint64_t n = 0;
    for (unsigned i = 0; i != size; ++i) n = n << 8 | at[is_big_endian_ ? i : size - 1 - i];
    return n;
}

bool unit_walk::read_leb(const unsigned char*& at, std::uint64_t& n) const {
    n = 0;
    for (unsigned shift = 0; at != end_; shift += 7) {
        const unsigned char byte = *at++;
        if (shift < 64) n |= std::uint64_t{byte & 0x7fu} << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

/// The forms whose values have a size of their own: DWARF 5, section 7.5.6.
constexpr std::pair<unsigned, unsigned> sizes_of_forms[]{
    {DW_FORM_flag_present, 0}, {DW_FORM_implicit_const, 0}, {DW_FORM_data1, 1},
    {DW_FORM_ref1, 1},         {DW_FORM_flag, 1},           {DW_FORM_strx1, 1},
    {DW_FORM_addrx1, 1},       {DW_FORM_data2, 2},          {DW_FORM_ref2, 2},
    {DW_FORM_strx2, 2},        {DW_FORM_addrx2, 2},         {DW_FORM_strx3, 3},
    {DW_FORM_addrx3, 3},       {DW_FORM_data4, 4},          {DW_FORM_ref4, 4},
    {DW_FORM_ref_sup4, 4},     {DW_FORM_strx4, 4},          {DW_FORM_addrx4, 4},
    {DW_FORM_data8, 8},        {DW_FORM_ref8, 8},           {DW_FORM_ref_sup8, 8},
    {DW_FORM_ref_sig8, 8},     {DW_FORM_data16, 16}};

unit_walk::step unit_walk::step_of(unsigned form) const {
    const auto sized =
        std::ranges::find(sizes_of_forms, form, [](const auto& f) { return f.first; });
    if (sized != std::end(sizes_of_forms)) return {shape::fixed, sized->second};
    switch (form) {
        case DW_FORM_addr:
            return {shape::fixed, address_size_};
        case DW_FORM_ref_addr:
            return {shape::fixed, version_ <= 2 ? address_size_ : offset_size_};
        case DW_FORM_strp:
        case DW_FORM_line_strp:
        case DW_FORM_strp_sup:
        case DW_FORM_sec_offset:
        case DW_FORM_GNU_ref_alt:
        case DW_FORM_GNU_strp_alt:
            return {shape::fixed, offset_size_};
        case DW_FORM_udata:
        case DW_FORM_sdata:
        case DW_FORM_ref_udata:
        case DW_FORM_strx:
        case DW_FORM_addrx:
        case DW_FORM_loclistx:
        case DW_FORM_rnglistx:
        case DW_FORM_GNU_addr_index:
        case DW_FORM_GNU_str_index:
            return {shape::leb, 0};
        case DW_FORM_string:
            return {shape::text, 0};
        case DW_FORM_block1:
            return {shape::block1, 0};
        case DW_FORM_block2:
            return {shape::block2, 0};
        case DW_FORM_block4:
            return {shape::block4, 0};
        case DW_FORM_block:
        case DW_FORM_exprloc:
            return {shape::block_leb, 0};
        case DW_FORM_indirect:
            return {shape::indirect, 0};
        default:
            return {shape::unknown, 0};
    }
}

const unit_walk::abbreviation* unit_walk::find(std::uint64_t code, const unsigned char* entry) {
    constexpr std::uint64_t code_max = 1 << 20;  // linkers that merge units come to some thousand
    if (code > code_max) return nullptr;
    if (code >= by_code_.size()) by_code_.resize(code + 64, -1);
    if (by_code_[code] >= 0) return &abbreviations_[static_cast<std::size_t>(by_code_[code])];

    Dwarf_Die die{};
    die.addr = const_cast<unsigned char*>(entry);
    die.cu = unit_;
    abbreviation a;
    a.tag = static_cast<unsigned>(dwarf_tag(&die));
    if (a.tag == DW_TAG_invalid) return nullptr;
    a.has_children = dwarf_haschildren(&die) == 1;
    std::vector<unsigned> forms;
    if (dwarf_getattrs(&die, &collect_form, &forms, 0) == -1) return nullptr;
    for (const unsigned form : forms) {
        const step s = step_of(form);
        if (s.how == shape::fixed && !a.steps.empty() && a.steps.back().how == shape::fixed) {
            a.steps.back().size += s.size;
        } else {
            a.steps.push_back(s);
        }
    }
    by_code_[code] = static_cast<std::int32_t>(abbreviations_.size());
    abbreviations_.push_back(std::move(a));
    return &abbreviations_.back();
}

const unsigned char* unit_walk::skip(const unsigned char* at, step s) const {
    std::uint64_t size = s.size;
    const auto left = [&] { return static_cast<std::uint64_t>(end_ - at); };
    const auto length_of = [&](unsigned width) {
        if (left() < width) return false;
        size = read_fixed(at, width);
        at += width;
        return true;
    };
    switch (s.how) {
        case shape::fixed:
            break;
        case shape::leb:
            if (!read_leb(at, size)) return nullptr;
            return at;
        case shape::text: {
            const void* const zero = std::memchr(at, 0, left());
            return zero == nullptr ? nullptr : static_cast<const unsigned char*>(zero) + 1;
        }
        case shape::block1:
            if (!length_of(1)) return nullptr;
            break;
        case shape::block2:
            if (!length_of(2)) return nullptr;
            break;
        case shape::block4:
            if (!length_of(4)) return nullptr;
            break;
        case shape::block_leb:
            if (!read_leb(at, size)) return nullptr;
            break;
        case shape::indirect: {
            std::uint64_t form = 0;
            if (!read_leb(at, form) || form > 0xffff || form == DW_FORM_indirect) return nullptr;
            return skip(at, step_of(static_cast<unsigned>(form)));
        }
        case shape::unknown:
            return nullptr;
    }
    return size <= left() ? at + size : nullptr;
}

bool unit_walk::next() {
    for (;;) {
        if (at_ == end_) return false;
        const unsigned char* at = at_;
        std::uint64_t code = 0;
        is_damaged_ = true;  // until it is known better
        if (!read_leb(at, code)) return false;
        if (code == 0) {  // the end of some entry's children
            is_damaged_ = false;
            at_ = at;
            if (next_depth_ <= 1) return false;  // of the unit's: padding follows
            --next_depth_;
            continue;
        }
        const abbreviation* const found = find(code, at_);
        if (found == nullptr) return false;
        for (const step& s : found->steps) {
            at = skip(at, s);
            if (at == nullptr) return false;
        }
        is_damaged_ = false;
        entry_ = at_;
        current_ = found;
        depth_ = next_depth_;
        next_depth_ += found->has_children ? 1 : 0;
        at_ = at;
        return true;
    }
}

Dwarf_Die unit_walk::entry() const {
    Dwarf_Die die{};
    die.addr = const_cast<unsigned char*>(entry_);
    die.cu = unit_;
    return die;
}

}  // namespace lab::layout
