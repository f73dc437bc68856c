// What `cairn layout` finds, against the same counted byte by byte. A plain program: the lab needs no
// gtest.
#include <cstdio>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "lab/layout/columns.hpp"
#include "lab/layout/findings.hpp"
#include "lab/layout/placement.hpp"
#include "lab/layout/proposal.hpp"
#include "lab/layout/report.hpp"

namespace {

using namespace lab::layout;

int failures = 0;

void check(bool ok, const std::string& promise) {
    if (ok) return;
    std::printf("FAILED: %s\n", promise.c_str());
    ++failures;
}

member data(const char* name, std::uint64_t size, std::uint64_t alignment) {
    member m;
    m.name = name;
    m.declaration = name;
    m.size = size;
    m.alignment = alignment;
    return m;
}

/// Members one behind the other, as a compiler places them.
type_layout placed(std::vector<member> members) {
    type_layout t;
    t.name = "made_up";
    t.members = std::move(members);
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i != t.members.size(); ++i) order.push_back(i);
    return placement{t}.place(order);
}

void findings_are_those_of_a_byte_map() {
    std::mt19937 dice{1};
    const auto below = [&](std::uint64_t n) { return dice() % n; };
    for (int round = 0; round != 300; ++round) {
        type_layout t;
        t.size = 1 + below(300);
        std::vector<int> map(t.size, 0);
        std::vector<piece> pieces;
        for (std::uint64_t i = 0, n = 1 + below(9); i != n; ++i) {
            member m = data("m", 1 + below(40), 1);
            if (m.size > t.size) m.size = t.size;
            m.offset = below(t.size - m.size + 1);
            for (std::uint64_t b = m.offset; b != m.offset + m.size; ++b) map[b] = 1;
            pieces.push_back({m.offset, m.size});
            t.members.push_back(m);
        }
        const std::uint64_t line = std::uint64_t{32} << below(3);
        const findings f = look_at(t, line);
        std::uint64_t last = 0, free = 0;
        for (std::uint64_t b = 0; b != t.size; ++b) {
            if (map[b] != 0) last = b + 1;
            free += map[b] == 0 ? 1 : 0;
        }
        check(f.wasted() == free && f.padding.size == t.size - last,
              "holes and padding are the free bytes");
        check(f.member_size == t.size - free, "members are the others");

        const usage u = usage_of(t.size, pieces, line);
        std::set<std::uint64_t> lines, in_array;
        std::uint64_t used = 0;
        for (std::uint64_t b = 0; b != t.size; ++b) {
            if (map[b] != 0) lines.insert(b / line), ++used;
        }
        std::uint64_t touched = 0;
        for (std::uint64_t i = 0; i != line; ++i) {
            in_array.clear();
            for (std::uint64_t b = 0; b != t.size; ++b) {
                if (map[b] != 0) in_array.insert((i * t.size + b) / line);
            }
            touched += in_array.size();
        }
        check(u.used_size == used && u.touched_lines == lines.size(), "a loop uses each byte once");
        check(u.lines_in_array * static_cast<double>(line) == static_cast<double>(touched),
              "lines in an array are the mean over all beginnings");
    }
}

void straddling() {
    check(straddles(60, 12, 64) && !straddles(52, 12, 64), "what crosses a line straddles");
    check(!straddles(0, 80, 64) && straddles(56, 80, 64),
          "what needs two lines may have two, not three");
    check(!straddles(63, 1, 64) && !straddles(64, 0, 64), "a byte and nothing never do");
}

void orders_are_never_worse() {
    std::mt19937 dice{2};
    for (int round = 0; round != 200; ++round) {
        std::vector<member> members;
        static const char* const names[] = {"a", "b", "c", "d", "e", "f",
                                            "g", "h", "i", "j", "k", "l"};
        const std::size_t n = 2 + dice() % 11;
        for (std::size_t i = 0; i != n; ++i) {
            const std::uint64_t alignment = std::uint64_t{1} << dice() % 4;
            members.push_back(
                data(names[i], alignment * (1 + dice() % (dice() % 9 == 0 ? 20 : 4)), alignment));
        }
        const type_layout t = placed(members);
        std::vector<member_set> loops(dice() % 3);
        for (member_set& loop : loops) {
            for (std::size_t i = 0; i != n; ++i) {
                if (dice() % 3 == 0) loop.push_back(i);
            }
        }
        const proposal p = propose_order(t, loops, 64);
        check(p.why_not.empty() && std::set(p.order.begin(), p.order.end()).size() == n,
              "an order has every member once");
        check(p.type.size <= t.size, "and no more bytes");
        if (loops.empty()) {
            check(p.type.size < t.size ||
                      look_at(p.type, 64).straddling.size() <= look_at(t, 64).straddling.size(),
                  "and straddles less, or is smaller");
            std::uint64_t sum = 0, alignment = 1;
            for (const member& m : members)
                sum += m.size, alignment = std::max(alignment, m.alignment);
            check(p.type.size == rounded_up(sum, alignment),
                  "without loops it is as small as can be");
        }
    }
}

void refusals() {
    type_layout t = placed({data("a", 1, 1), data("b", 8, 8)});
    t.members[1].offset = 1;  // packed
    t.size = 9;
    check(propose_order(t, {}, 64).why_not.find("packed") != std::string::npos,
          "packed types are left alone");
    t.is_union = true;
    check(propose_order(t, {}, 64).why_not.find("union") != std::string::npos, "unions, too");
}

void columns_follow_the_loops() {
    type_layout t = placed({data("a", 4, 4), data("b", 4, 4), data("c", 4, 4), data("d", 4, 4)});
    const std::vector<member_set> loops{{0, 1, 2}, {2, 3}};
    for (member& m : t.members) m.declaration = "int " + std::string{m.name};
    const columns c = propose_columns(t, loops);
    check(
        c.row == std::vector<std::string>{"struct made_up_row {", "    struct together_1_fields {",
                                          "        int a;", "        int b;", "    } together_1;",
                                          "    int c;", "    int d;", "};"},
        "members of the same loops share a struct, and so a column");
    check(c.line == "cairn::table<made_up_row>" && c.remarks.empty(), "the table has that row");
    const std::vector<member_set> apart{{0}, {1, 2}, {2}};
    check(propose_columns(t, apart).line == "cairn::table<made_up>" &&
              propose_columns(t, apart).row.empty(),
          "members of different loops have a column each already");
}

void pictures() {
    const type_layout t = placed({data("a", 1, 1), data("b", 8, 8)});
    check(picture(t, 64, {}) == std::vector<std::string>{"a.......bbbbbbbb"},
          "a letter for each byte, a dot for a hole");
    const std::vector<piece> only{{8, 4}};
    check(picture(t, 8, only) == std::vector<std::string>{"........", "bbbb...."},
          "or only what a loop uses");
    check(printable("a\x1b[31m\n") == "a?[31m?", "names do not steer the terminal");
}

}  // namespace

int main() {
    findings_are_those_of_a_byte_map();
    straddling();
    orders_are_never_worse();
    refusals();
    columns_follow_the_loops();
    pictures();
    if (failures == 0) std::printf("all promises hold\n");
    return failures == 0 ? 0 : 1;
}
