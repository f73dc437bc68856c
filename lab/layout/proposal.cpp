#include "lab/layout/proposal.hpp"

#include <algorithm>
#include <tuple>

#include "lab/layout/findings.hpp"
#include "lab/layout/placement.hpp"

namespace lab::layout {

namespace {

/// What moves as one: a member, or bit fields that stand side by side.
struct item {
    std::vector<std::size_t> members;
    std::uint64_t size = 0;
    std::uint64_t alignment = 1;
    bool is_hot = false;   ///< a loop uses it
    bool is_last = false;  ///< an array without a bound
};

std::vector<item> items_of(const type_layout& type, std::span<const member_set> loops) {
    const auto is_hot = [&](std::size_t i) {
        return std::ranges::any_of(loops, [&](const member_set& loop) {
            return std::ranges::find(loop, i) != loop.end();
        });
    };
    std::vector<item> items;
    bool in_bits = false;
    for (std::size_t i = 0; i != type.members.size(); ++i) {
        const member& m = type.members[i];
        if (!m.is_movable()) continue;
        if (!m.is_bit_field() || !in_bits) items.emplace_back();
        in_bits = m.is_bit_field();
        item& it = items.back();
        it.members.push_back(i);
        it.alignment = std::max(it.alignment, m.alignment);
        it.is_hot |= is_hot(i);
        it.is_last = m.size == 0 && m.is_array;
        if (in_bits) {  // from a unit's beginning on, where it will be put
            std::uint64_t bit = 0;
            for (const std::size_t b : it.members) {
                const member& f = type.members[b];
                const std::uint64_t unit = f.unit_size * 8;
                if (bit / unit != (bit + f.bit_size - 1) / unit) bit = rounded_up(bit, unit);
                bit += f.bit_size;
            }
            it.size = (bit + 7) / 8;
        } else {
            it.size = m.size;
        }
    }
    return items;
}

/// Items that fill `room` bytes as far as possible, without one over its end: which of `from`. Where
/// several choices fill it as far, the one with larger alignments, then the earlier members.
std::vector<std::size_t> fill(std::span<const item> items, std::span<const std::size_t> from,
                              std::uint64_t room) {
    // reach[n]: the item that makes a sum of n bytes, and the sum before it.
    struct step {
        bool reached = false;
        std::size_t item = 0;
        std::uint64_t before = 0;
    };
    std::vector<std::vector<step>> steps(1, std::vector<step>(room + 1));
    steps[0][0].reached = true;
    for (const std::size_t i : from) {
        std::vector<step> next(room + 1);
        const std::vector<step>& last = steps.back();
        for (std::uint64_t n = 0; n <= room; ++n) {
            if (!last[n].reached) continue;
            const std::uint64_t with = n + items[i].size;
            if (with <= room && !last[with].reached) next[with] = {true, i, n};
        }
        for (std::uint64_t n = 0; n <= room; ++n) {
            if (last[n].reached) next[n] = {true, items.size(), n};  // without this item
        }
        steps.push_back(std::move(next));
    }
    std::uint64_t n = room;
    while (!steps.back()[n].reached) --n;
    std::vector<std::size_t> chosen;
    for (std::size_t k = steps.size(); --k != 0;) {
        const step& s = steps[k][n];
        if (s.item != items.size()) chosen.push_back(s.item);
        n = s.before;
    }
    std::ranges::reverse(chosen);
    return chosen;
}

/// Line after line: what fits best into the rest of the line, large alignments first.
std::vector<std::size_t> line_by_line(std::span<const item> items, std::uint64_t at,
                                      std::uint64_t line, std::vector<std::size_t> left) {
    std::vector<std::size_t> order;
    while (!left.empty()) {
        const std::uint64_t room = line - at % line;
        std::vector<std::size_t> small;
        for (const std::size_t i : left) {
            if (items[i].size <= room) small.push_back(i);
        }
        std::vector<std::size_t> next = fill(items, small, room);
        if (next.empty() || (room == line && small.size() < left.size())) {
            // Whole lines first for members larger than a line, from a line's beginning on.
            const auto large =
                std::ranges::find_if(left, [&](std::size_t i) { return items[i].size > line; });
            if (large != left.end()) {
                next = {*large};
            } else if (next.empty()) {
                at += room;  // nothing fits: a hole at the end of the line
                continue;
            }
        }
        // From a multiple of the largest alignment on, falling alignments leave no hole; otherwise
        // rising ones lead there.
        const bool rises = at % 16 != 0;
        std::ranges::stable_sort(next, [&](std::size_t a, std::size_t b) {
            return rises ? items[a].alignment < items[b].alignment
                         : items[a].alignment > items[b].alignment;
        });
        for (const std::size_t i : next) {
            at = rounded_up(at, items[i].alignment) + items[i].size;
            order.push_back(i);
            std::erase(left, i);
        }
    }
    return order;
}

std::vector<std::size_t> by_alignment(std::span<const item> items, std::vector<std::size_t> order) {
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
        return items[a].alignment > items[b].alignment;
    });
    return order;
}

/// Each piece of the loop, as it would lie.
std::vector<piece> pieces_of(const type_layout& t, std::span<const std::size_t> order,
                             std::size_t fixed, const member_set& loop) {
    std::vector<piece> pieces;
    for (std::size_t i = 0; i != order.size(); ++i) {
        if (std::ranges::find(loop, order[i]) == loop.end()) continue;
        pieces.push_back({t.members[fixed + i].offset, t.members[fixed + i].size});
    }
    return pieces;
}

using grade = std::tuple<std::uint64_t, std::uint64_t, std::size_t, double>;

/// Smaller is better: lines that the loops touch, size, straddling members, lines in an array.
grade grade_of(const type_layout& t, std::span<const std::size_t> order,
               std::span<const member_set> loops, std::uint64_t line_size) {
    const std::size_t fixed = t.members.size() - order.size();
    std::uint64_t touched = 0;
    double in_array = 0;
    for (const member_set& loop : loops) {
        const usage u = usage_of(t.size, pieces_of(t, order, fixed, loop), line_size);
        touched += u.touched_lines;
        in_array += u.lines_in_array;
    }
    return {touched, t.size, look_at(t, line_size).straddling.size(), in_array};
}

std::string obstacle(const type_layout& type) {
    if (type.is_union) return "the members of a union lie on each other";
    if (type.has_unknown_places) {
        return "it has virtual bases or variants, whose places only the running program knows";
    }
    std::size_t movable = 0;
    for (const member& m : type.members) {
        if (!m.size_is_known || m.alignment == 0) {
            return "a member's type is only declared in this program";
        }
        movable += m.is_movable() ? 1 : 0;
    }
    if (movable < 2) return "it has less than two members of its own";
    return {};
}

}  // namespace

proposal propose_order(const type_layout& type, std::span<const member_set> loops,
                       std::uint64_t line_size) {
    proposal p;
    p.why_not = obstacle(type);
    constexpr std::uint64_t size_max = 1 << 20;
    if (p.why_not.empty() && type.size > size_max) p.why_not = "it is larger than 1 MiB";
    if (!p.why_not.empty()) return p;

    const placement place{type};
    std::vector<std::size_t> now;
    for (std::size_t i = 0; i != type.members.size(); ++i) {
        if (type.members[i].is_movable()) now.push_back(i);
    }
    const type_layout same = place.place(now);
    const std::size_t fixed = same.members.size() - now.size();
    for (std::size_t i = 0; i != now.size(); ++i) {
        if (same.members[fixed + i].first_bit() != type.members[now[i]].first_bit() ||
            same.size != type.size) {
            p.why_not =
                "its members do not lie where their alignments would put them: packed, "
                "aligned by hand, or empty members that share a place";
            return p;
        }
    }

    const std::vector<item> items = items_of(type, loops);
    std::vector<std::size_t> hot, cold, last;
    for (std::size_t i = 0; i != items.size(); ++i) {
        (items[i].is_last ? last : items[i].is_hot ? hot : cold).push_back(i);
    }
    std::vector<std::size_t> all = hot;
    all.insert(all.end(), cold.begin(), cold.end());
    std::ranges::sort(all);
    const auto one_after_other = [](std::vector<std::size_t> a, const std::vector<std::size_t>& b) {
        a.insert(a.end(), b.begin(), b.end());
        return a;
    };
    std::vector<std::vector<std::size_t>> candidates{
        line_by_line(items, place.begin(), line_size, all),
        line_by_line(items, place.begin(), line_size, by_alignment(items, all)),
        by_alignment(items, all)};
    if (!hot.empty()) {
        // What the loop uses first; the rest goes on where that ends, or fills its last line.
        const std::vector<std::size_t> first = by_alignment(items, hot);
        candidates.push_back(one_after_other(first, by_alignment(items, cold)));
        std::uint64_t end = place.begin();
        for (const std::size_t i : first) {
            end = rounded_up(end, items[i].alignment) + items[i].size;
        }
        type_layout hot_type = type;
        std::erase_if(hot_type.members, [](const member& m) { return m.is_movable(); });
        member all_hot;  // stands for the loop's members, so that the rest is placed behind it
        all_hot.what = role::base;
        all_hot.size = end;
        all_hot.alignment = 1;
        hot_type.members.push_back(all_hot);
        hot_type.size = std::max(type.size, end);
        const placement behind{hot_type};
        candidates.push_back(
            one_after_other(first, line_by_line(items, behind.begin(), line_size, cold)));
        candidates.push_back(one_after_other(
            first, line_by_line(items, behind.begin(), line_size, by_alignment(items, cold))));
        candidates.push_back(one_after_other(
            line_by_line(items, place.begin(), line_size, hot),
            line_by_line(items, behind.begin(), line_size, by_alignment(items, cold))));
    }

    grade best = grade_of(same, now, loops, line_size);
    p.order = now;
    p.type = same;
    for (const std::vector<std::size_t>& c : candidates) {
        std::vector<std::size_t> order;
        for (const std::size_t i : one_after_other(c, last)) {
            order.insert(order.end(), items[i].members.begin(), items[i].members.end());
        }
        type_layout t = place.place(order);
        if (t.size > type.size) continue;  // never larger than it is
        const grade g = grade_of(t, order, loops, line_size);
        if (g < best) {
            best = g;
            p.order = std::move(order);
            p.type = std::move(t);
            p.is_better = true;
        }
    }
    return p;
}

}  // namespace lab::layout
