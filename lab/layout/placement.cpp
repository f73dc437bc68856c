#include "lab/layout/placement.hpp"

#include <algorithm>
#include <utility>

namespace lab::layout {

namespace {

void move(member& m, std::uint64_t from, std::uint64_t to) {
    m.offset = m.offset - from + to;
    m.bit_offset = m.bit_offset - from * 8 + to * 8;
    for (member& inner : m.inside) move(inner, from, to);
}

}  // namespace

placement::placement(const type_layout& type)
    : type_{&type}, alignment_{std::max<std::uint64_t>(type.alignment, 1)} {
    std::uint64_t first_data = type.size;
    for (const member& m : type.members) {
        if (m.is_movable()) {
            first_data = std::min(first_data, m.first_bit() / 8);
        } else {
            begin_ = std::max(begin_, m.offset + m.size);
            alignment_ = std::max(alignment_, m.alignment);
        }
    }
    // The padding at the end of a base may hold members of the derived class.
    begin_ = std::min(begin_, first_data);
}

type_layout placement::place(std::span<const std::size_t> order) const {
    type_layout t = *type_;
    t.members.clear();
    for (const member& m : type_->members) {
        if (!m.is_movable()) t.members.push_back(m);
    }
    std::uint64_t bit = begin_ * 8;
    std::uint64_t alignment = alignment_;
    for (const std::size_t i : order) {
        member m = type_->members[i];
        alignment = std::max(alignment, m.alignment);
        if (m.is_bit_field()) {
            const std::uint64_t unit = m.unit_size * 8;
            if (bit / unit != (bit + m.bit_size - 1) / unit) bit = rounded_up(bit, unit);
            m.bit_offset = bit;
            bit += m.bit_size;
            m.offset = m.bit_offset / 8;
            m.size = (bit + 7) / 8 - m.offset;
        } else {
            const std::uint64_t old = m.offset;
            m.offset = rounded_up((bit + 7) / 8, std::max<std::uint64_t>(m.alignment, 1));
            bit = (m.offset + m.size) * 8;
            for (member& inner : m.inside) move(inner, old, m.offset);
        }
        t.members.push_back(std::move(m));
    }
    std::uint64_t end = (bit + 7) / 8;
    for (const member& m : type_->members) {
        if (!m.is_movable()) end = std::max(end, m.offset + m.size);
    }
    t.size = std::max<std::uint64_t>(rounded_up(end, alignment), 1);
    return t;
}

}  // namespace lab::layout
