#include "lab/layout/findings.hpp"

#include <algorithm>
#include <numeric>

namespace lab::layout {

namespace {

struct bit_range {
    std::uint64_t begin, end;
};

/// What members lie in; an unnamed struct or union is what lies in it.
void add_ranges(std::span<const member> members, std::uint64_t end_max,
                std::vector<bit_range>& ranges) {
    for (const member& m : members) {
        if (m.what == role::virtual_base) continue;
        if (!m.inside.empty()) {
            add_ranges(m.inside, end_max, ranges);
            continue;
        }
        const std::uint64_t begin = std::min(m.first_bit(), end_max);
        // What has no known size reaches to the next member: a hole there would be a guess.
        ranges.push_back(
            {begin, m.size_is_known ? std::clamp(m.end_bit(), begin, end_max) : begin});
        if (!m.size_is_known) {
            std::uint64_t next = end_max;
            for (const member& other : members) {
                if (other.first_bit() > begin) next = std::min(next, other.first_bit());
            }
            ranges.back().end = next;
        }
    }
}

/// Lines from the first byte's to the last byte's.
std::uint64_t lines_of(std::uint64_t offset, std::uint64_t size, std::uint64_t line_size) {
    return size == 0 ? 0 : (offset + size - 1) / line_size - offset / line_size + 1;
}

void find_straddling(std::span<const member> members, std::uint64_t line_size,
                     std::vector<const member*>& found) {
    for (const member& m : members) {
        if (m.what == role::virtual_base) continue;
        if (!m.inside.empty()) {
            find_straddling(m.inside, line_size, found);
        } else if (straddles(m.offset, m.size, line_size)) {
            found.push_back(&m);
        }
    }
}

}  // namespace

bool straddles(std::uint64_t offset, std::uint64_t size, std::uint64_t line_size) {
    return lines_of(offset, size, line_size) > (size + line_size - 1) / line_size;
}

findings look_at(const type_layout& type, std::uint64_t line_size) {
    findings found;
    found.line_count = (type.size + line_size - 1) / line_size;
    found.member_count = type.members.size();
    find_straddling(type.members, line_size, found.straddling);

    std::vector<bit_range> ranges;
    add_ranges(type.members, type.size * 8, ranges);
    std::ranges::sort(ranges, {}, &bit_range::begin);
    std::uint64_t covered = 0;  // bits, from the beginning of the object on
    const auto skip_to = [&](std::uint64_t bit, bool at_end) {
        if (bit <= covered) return;
        const std::uint64_t first = (covered + 7) / 8;
        const std::uint64_t last = bit / 8;
        const std::uint64_t whole = last > first ? last - first : 0;
        found.unused_bits += bit - covered - whole * 8;
        if (whole == 0) return;
        if (at_end) {
            found.padding = {first, whole};
        } else {
            found.holes.push_back({first, whole});
            found.hole_size += whole;
        }
    };
    for (const bit_range& r : ranges) {
        if (r.begin == r.end) continue;
        skip_to(r.begin, false);
        covered = std::max(covered, r.end);
    }
    // An empty class has a byte so that its objects differ.
    const bool is_empty = covered == 0;
    if (type.has_unknown_places) {
        found.holes.clear();
        found.hole_size = 0;
        found.unused_bits = 0;
    } else if (!is_empty) {
        skip_to(type.size * 8, true);
    }
    found.member_size = is_empty ? 0 : type.size - found.wasted();
    return found;
}

usage usage_of(std::uint64_t size, std::span<const piece> pieces, std::uint64_t line_size) {
    usage u;
    u.used_of_line.assign((size + line_size - 1) / line_size, 0);
    std::vector<piece> sorted(pieces.begin(), pieces.end());
    std::ranges::sort(sorted, {}, &piece::offset);
    std::uint64_t counted = 0;  // up to here
    for (const piece& p : sorted) {
        std::uint64_t at = std::max(p.offset, counted);
        const std::uint64_t end = std::min(p.offset + p.size, size);
        while (at < end) {
            const std::uint64_t stop = std::min(end, (at / line_size + 1) * line_size);
            u.used_of_line[at / line_size] += stop - at;
            u.used_size += stop - at;
            at = stop;
        }
        counted = std::max(counted, end);
    }
    u.touched_lines = static_cast<std::uint64_t>(
        std::ranges::count_if(u.used_of_line, [](std::uint64_t used) { return used != 0; }));

    // After `period` objects one begins at a line again.
    const std::uint64_t period = size == 0 ? 1 : line_size / std::gcd(size, line_size);
    std::uint64_t touched = 0;
    for (std::uint64_t i = 0; i != period; ++i) {
        std::uint64_t next = 0;  // the first line that is not counted yet
        for (const piece& p : sorted) {
            if (p.size == 0 || p.offset >= size) continue;
            const std::uint64_t begin = i * size + p.offset;
            const std::uint64_t last = (begin + std::min(p.size, size - p.offset) - 1) / line_size;
            const std::uint64_t first = std::max(begin / line_size, next);
            if (last >= first) touched += last - first + 1;
            next = std::max(next, last + 1);
        }
    }
    u.lines_in_array = static_cast<double>(touched) / static_cast<double>(period);
    return u;
}

}  // namespace lab::layout
