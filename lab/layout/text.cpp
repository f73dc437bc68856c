// The terminal's words about layouts.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "lab/layout/report.hpp"

namespace lab::layout {

namespace {

/// "1 hole", "3 holes".
std::string counted(std::uint64_t n, std::string_view one, std::string_view many) {
    return fmt::format("{} {}", n, n == 1 ? one : many);
}
std::string counted(std::uint64_t n, std::string_view one) {
    return counted(n, one, std::string{one} + "s");
}

/// A long type loses its middle; the member's name is at the end.
std::string shortened(const std::string& s) {
    constexpr std::size_t size_max = 64, head = 34, tail = 28;
    return s.size() <= size_max ? s : s.substr(0, head) + "..." + s.substr(s.size() - tail);
}

std::string offset_text(const member& m) {
    if (m.is_bit_field()) return fmt::format("{}:{}", m.bit_offset / 8, m.bit_offset % 8);
    return m.what == role::virtual_base ? "?" : std::to_string(m.offset);
}

/// The lines that begin in a member or behind it, up to the next one.
class line_marks {
public:
    explicit line_marks(std::uint64_t line_size) : size_{line_size} {}

    /// What is said beside bytes [begin, end).
    std::string inside(std::uint64_t begin, std::uint64_t end) const {
        if (end <= begin || begin / size_ == (end - 1) / size_) return {};
        const std::uint64_t line = (end - 1) / size_;
        return fmt::format("   <- line {} begins {} before its end", line,
                           counted(end - line * size_, "byte"));
    }
    /// A rule where a line begins between two members.
    void rule_at(std::uint64_t offset, std::string& s) const {
        if (offset == 0 || offset % size_ != 0) return;
        s += fmt::format("  ------------- line {}\n", offset / size_);
    }

private:
    std::uint64_t size_;
};

void list_member(const member& m, char c, int depth, const line_marks& lines, std::string& s) {
    const std::string indent(static_cast<std::size_t>(depth) * 4, ' ');
    const std::string size = !m.size_is_known ? "?" : std::to_string(m.size);
    s += fmt::format("  {:>6} {:>5}  {}  {}{}{}{}\n", offset_text(m), size, c, indent,
                     shortened(printable(m.declaration)), m.inside.empty() ? ";" : " {",
                     m.what == role::virtual_base ? "   (its place is known at run time)"
                     : m.inside.empty()           ? lines.inside(m.offset, m.offset + m.size)
                                                  : "");
    for (const member& inner : m.inside) list_member(inner, c, depth + 1, lines, s);
    if (!m.inside.empty()) s += fmt::format("  {:15}  {}}};\n", "", indent);
}

/// Members, holes and where lines begin, in the order of the bytes.
void list_members(const type_layout& t, const findings& found, std::uint64_t line_size,
                  std::string& s) {
    const line_marks lines{line_size};
    std::size_t hole = 0;
    const auto say_gap = [&](const gap& g, std::string_view what) {
        lines.rule_at(g.offset, s);
        s += fmt::format("  {:>6} {:>5}  .  -- {}{}\n", g.offset, g.size, what,
                         lines.inside(g.offset, g.offset + g.size));
    };
    s += "  offset  size\n";
    std::uint64_t last = ~std::uint64_t{0};
    for (std::size_t i = 0; i != t.members.size(); ++i) {
        const member& m = t.members[i];
        while (hole != found.holes.size() && found.holes[hole].offset < m.offset) {
            say_gap(found.holes[hole++], "hole");
        }
        if (m.offset != last) lines.rule_at(m.offset, s);
        last = m.offset;
        list_member(m, letter(i), 0, lines, s);
    }
    for (; hole != found.holes.size(); ++hole) say_gap(found.holes[hole], "hole");
    if (found.padding.size != 0) say_gap(found.padding, "padding at the end");
}

void draw(const type_layout& t, std::uint64_t line_size, const loop* uses, const usage* costs,
          std::string& s) {
    const std::vector<std::string> rows =
        picture(t, line_size, uses == nullptr ? std::span<const piece>{} : uses->pieces);
    std::size_t same = 0;  // rows that repeat the one above them
    const auto say_same = [&](std::size_t next) {
        if (same == 1) s += fmt::format("  line {:<3} the same\n", next - 1);
        if (same > 1) s += fmt::format("  lines {} to {}: the same\n", next - same, next - 1);
        same = 0;
    };
    for (std::size_t i = 0; i != rows.size(); ++i) {
        if (i != 0 && rows[i] == rows[i - 1] && i + 1 != rows.size()) {
            ++same;
            continue;
        }
        say_same(i);
        s += fmt::format("  line {:<3} |{}|", i, rows[i]);
        if (costs != nullptr) {
            const std::uint64_t used = costs->used_of_line[i];
            s += fmt::format("{:{}} {:>3} of {} bytes, {:.1f} %", "", line_size - rows[i].size(),
                             used, line_size,
                             100.0 * static_cast<double>(used) / static_cast<double>(line_size));
        }
        s += '\n';
    }
    const std::uint64_t all = (t.size + line_size - 1) / line_size;
    if (rows.size() < all)
        s += fmt::format("  ... and {} more\n", counted(all - rows.size(), "line"));
}

std::string joined(const std::vector<std::string>& words) {
    std::string s;
    for (const std::string& w : words) s += (s.empty() ? "" : ", ") + w;
    return s;
}

void say_share(const usage& u, std::uint64_t line_size, std::uint64_t size, std::string& s) {
    const double share = u.share(line_size) * 100;
    s += fmt::format("  {} of {} bytes that are loaded are used: {:.1f} %; {:.1f} % are wasted\n",
                     u.used_size, u.touched_lines * line_size, share, 100 - share);
    if (size % line_size != 0) {
        s += fmt::format("  in an array, where objects begin anywhere: {:.2f} lines an object\n",
                         u.lines_in_array);
    }
}

void say_findings(const type_layout& t, const findings& f, std::string& s) {
    s += fmt::format("  {}, {} bytes; {}, {} bytes; padding at the end: {} bytes\n",
                     counted(f.member_count, "member"), f.member_size,
                     counted(f.holes.size(), "hole"), f.hole_size, f.padding.size);
    if (f.unused_bits != 0)
        s += fmt::format("  {} beside bit fields\n", counted(f.unused_bits, "unused bit"));
    if (t.has_unknown_places) {
        s += "  virtual bases or variants lie where only the running program knows: holes are not "
             "looked for\n";
    }
    for (const member* const m : f.straddling) {
        s += fmt::format("  on more lines than it needs: {}\n",
                         printable(m->name.empty() ? m->declaration : m->name));
    }
}

void say_order(const type_report& r, std::uint64_t line_size, std::string& s) {
    const proposal& p = r.order;
    if (!p.why_not.empty()) {
        s += fmt::format("\nno other order is proposed: {}\n", p.why_not);
        return;
    }
    if (!p.is_better) {
        s += "\nno better order was found\n";
        return;
    }
    const findings then = look_at(p.type, line_size);
    s +=
        fmt::format("\na better order: {} bytes (now {}), {} on more lines than they need (now {})",
                    p.type.size, r.type.size, counted(then.straddling.size(), "member"),
                    r.found.straddling.size());
    for (std::size_t i = 0; i != r.loops.size(); ++i) {
        s += fmt::format("\n  {}: {} (now {})", joined(r.loops[i].names),
                         counted(r.costs_then[i].touched_lines, "line"),
                         r.loops[i].costs.touched_lines);
    }
    s += '\n';
    list_members(p.type, then, line_size, s);
    s += '\n';
    draw(p.type, line_size, nullptr, nullptr, s);
}

void say_type(const type_report& r, std::uint64_t line_size, std::string& s) {
    const type_layout& t = r.type;
    s += fmt::format("{} {}{}\n", t.keyword, printable(t.name),
                     t.place.empty() ? "" : "   " + printable(t.place));
    s += fmt::format("  {}{}, {} of {} bytes\n\n", counted(t.size, "byte"),
                     t.alignment == 0 ? "" : fmt::format(", aligned to {}", t.alignment),
                     counted(r.found.line_count, "cache line"), line_size);
    list_members(t, r.found, line_size, s);
    s += '\n';
    if (!t.is_union && !t.members.empty()) {
        draw(t, line_size, nullptr, nullptr, s);
        s += '\n';
    }
    say_findings(t, r.found, s);
    for (const loop& l : r.loops) {
        s += fmt::format("\na loop that uses {}\n", joined(l.names));
        draw(t, line_size, &l, &l.costs, s);
        say_share(l.costs, line_size, t.size, s);
    }
    say_order(r, line_size, s);
    if (r.loops.empty()) return;
    s += "\nin columns, where the members of a loop lie side by side:\n";
    for (const std::string& line : r.as_columns.row) s += fmt::format("  {}\n", printable(line));
    s += fmt::format("  {}\n", printable(r.as_columns.line));
    for (const std::string& remark : r.as_columns.remarks)
        s += fmt::format("  but {}\n", printable(remark));
}

void say_rows(const program_report& r, std::string& s) {
    s += "  wasted    size  = holes  + padding  lines  on a border  type\n";
    for (const summary_row& row : r.rows) {
        s +=
            fmt::format("{:>8} {:>7} {:>8} {:>10} {:>6} {:>12}  {}\n", row.wasted, row.size,
                        row.hole_size, row.padding, row.lines, row.straddling, printable(row.name));
    }
    if (r.rows_left_out != 0) {
        s += fmt::format("and {}; --all shows every one\n", counted(r.rows_left_out, "more type"));
    }
}

}  // namespace

std::string as_text(const program_report& report) {
    std::string s;
    for (const type_report& t : report.types) {
        if (!s.empty()) s += '\n';
        say_type(t, report.line_size, s);
    }
    if (!report.rows.empty()) say_rows(report, s);
    return s;
}

}  // namespace lab::layout
