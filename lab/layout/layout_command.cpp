#include "lab/layout/layout_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <optional>
#include <string_view>
#include <tuple>

#include "lab/command/report_file.hpp"
#include "lab/layout/debug_types.hpp"
#include "lab/layout/report.hpp"
#include "lab/system/process.hpp"
#include "lab/system/system.hpp"

namespace lab::layout {

namespace {

constexpr std::size_t rows_shown = 20;
constexpr std::uint64_t loop_size_max = std::uint64_t{1}
                                        << 26;  // of a type that loops are shown for

void complain(std::string_view sentence) {
    fmt::print(stderr, "cairn layout: {}\n", printable(sentence));
}

std::vector<std::string> split(std::string_view text, char at) {
    std::vector<std::string> words;
    while (true) {
        const std::size_t end = text.find(at);
        words.emplace_back(text.substr(0, end));
        if (end == std::string_view::npos) return words;
        text.remove_prefix(end + 1);
    }
}

/// Where a member lies, by its name; in the type, in unnamed structs of it, in its bases.
struct found_member {
    piece where;
    member what;
    std::optional<std::size_t> top;  ///< its place among the type's own members
};

std::optional<found_member> find_in(const debug_types& types, const std::vector<member>& members,
                                    std::uint64_t base, std::string_view name, int depth) {
    for (std::size_t i = 0; i != members.size(); ++i) {
        const member& m = members[i];
        if (m.name == name && !name.empty()) return found_member{{base + m.offset, m.size}, m, i};
        if (!m.inside.empty()) {
            if (auto found = find_in(types, m.inside, base, name, depth + 1)) {
                found->top = i;
                return found;
            }
        }
        if (m.what == role::base && depth < 16) {
            const type_layout outer = types.inside(m);
            if (auto found = find_in(types, outer.members, base + m.offset, name, depth + 1)) {
                found->top.reset();
                return found;
            }
        }
    }
    return std::nullopt;
}

std::string known_members(const type_layout& t) {
    std::string s;
    for (const member& m : t.members) {
        if (m.name.empty()) continue;
        if (s.size() > 300) return s + " ...";
        s += (s.empty() ? "" : ", ") + std::string{m.name};
    }
    return s.empty() ? "none" : s;
}

/// "position,velocity.x": position, and a member of velocity.
loop loop_of(const debug_types& types, const type_layout& type, const std::string& words,
             std::uint64_t line_size) {
    loop l;
    if (type.size > loop_size_max) {
        throw unreadable{fmt::format("'{}' has {} bytes; --uses is for types of up to 64 MiB",
                                     type.name, type.size)};
    }
    for (const std::string& word : split(words, ',')) {
        std::optional<found_member> found;
        const type_layout* in = &type;
        type_layout next;
        std::uint64_t base = 0;
        std::optional<std::size_t> top;
        for (const std::string& name : split(word, '.')) {
            found = find_in(types, in->members, base, name, 0);
            if (!found) {
                throw unreadable{fmt::format("'{}' has no member '{}' for --uses {}; there are: {}",
                                             in->name.empty() ? word : in->name, name, words,
                                             known_members(*in))};
            }
            if (in == &type) top = found->top;
            base = found->where.offset;
            next = types.inside(found->what);
            in = &next;
        }
        l.names.push_back(word);
        l.pieces.push_back(found->where);
        if (top && std::ranges::find(l.members, *top) == l.members.end()) l.members.push_back(*top);
    }
    l.costs = usage_of(type.size, l.pieces, line_size);
    return l;
}

/// What the loop touches when the members lie in another order.
usage costs_in(const type_report& r, const loop& l, std::uint64_t line_size) {
    std::vector<piece> pieces;
    const std::size_t fixed = r.order.type.members.size() - r.order.order.size();
    for (const piece& p : l.pieces) {
        piece then = p;  // in a base: where it is
        for (std::size_t i = 0; i != r.order.order.size(); ++i) {
            const member& before = r.type.members[r.order.order[i]];
            if (p.offset < before.offset || p.offset >= before.offset + before.size) continue;
            then.offset = p.offset - before.offset + r.order.type.members[fixed + i].offset;
        }
        pieces.push_back(then);
    }
    return usage_of(r.order.type.size, pieces, line_size);
}

type_report report_of(const debug_types& types, std::size_t which, const layout_arguments& a) {
    type_report r;
    r.type = types.read(which);
    r.found = look_at(r.type, a.line_size);
    std::vector<member_set> sets;
    for (const std::string& words : a.uses) {
        r.loops.push_back(loop_of(types, r.type, words, a.line_size));
        sets.push_back(r.loops.back().members);
    }
    r.order = propose_order(r.type, sets, a.line_size);
    if (r.order.why_not.empty()) {
        for (const loop& l : r.loops) r.costs_then.push_back(costs_in(r, l, a.line_size));
    }
    if (!sets.empty()) r.as_columns = propose_columns(r.type, sets);
    return r;
}

/// Worst first: what wastes most.
void list_types(const debug_types& types, std::span<const std::size_t> which, bool all,
                program_report& r) {
    for (const std::size_t i : which) {
        const type_layout t = types.measure(i);
        const findings f = look_at(t, r.line_size);
        if (!all && f.wasted() == 0 && f.straddling.empty()) continue;
        r.rows.push_back({types.name(i), t.size, f.wasted(), f.hole_size, f.padding.size,
                          f.line_count, f.straddling.size()});
    }
    std::ranges::sort(r.rows, [](const summary_row& x, const summary_row& y) {
        return std::tie(y.wasted, y.straddling, x.name) < std::tie(x.wasted, x.straddling, y.name);
    });
    if (!all && r.rows.size() > rows_shown) {
        r.rows_left_out = r.rows.size() - rows_shown;
        r.rows.resize(rows_shown);
    }
}

/// Names that have this one somewhere in them.
std::string similar_names(const debug_types& types, std::string_view name) {
    std::string s;
    for (std::size_t i = 0; i != types.count(); ++i) {
        const std::string other = types.name(i);
        if (other.find(name) == std::string::npos) continue;
        if (s.size() > 200) return s + " ...";
        s += (s.empty() ? "; there are: " : ", ") + other;
    }
    return s;
}

program_report look_into(const debug_types& types, const layout_arguments& a) {
    program_report r;
    r.path = a.binary;
    r.line_size = a.line_size;
    r.type_count = types.count();
    r.notes = types.notes();
    if (r.type_count == 0) {
        throw unreadable{
            fmt::format("the debug information of '{}' has no struct, class or union{}{}", a.binary,
                        r.notes.empty() ? "" : ": ", r.notes.empty() ? "" : r.notes.front())};
    }
    if (a.type.empty()) {
        std::vector<std::size_t> every(types.count());
        for (std::size_t i = 0; i != every.size(); ++i) every[i] = i;
        list_types(types, every, a.all, r);
        return r;
    }
    const std::vector<std::size_t> found = types.find(a.type);
    if (found.empty()) {
        throw unreadable{fmt::format("no type of '{}' is called '{}'{}", a.binary, a.type,
                                     similar_names(types, a.type))};
    }
    const bool is_one_name = std::ranges::all_of(
        found, [&](std::size_t i) { return types.name(i) == types.name(found.front()); });
    if (is_one_name) {
        for (const std::size_t i : found) r.types.push_back(report_of(types, i, a));
        return r;
    }
    if (!a.uses.empty()) {
        throw unreadable{
            fmt::format("{} types are called '{}', and --uses is about one: name it whole",
                        found.size(), a.type)};
    }
    list_types(types, found, true, r);
    return r;
}

/// Returns: "" when all of it is written.
std::string say(const std::string& text) {
    errno = 0;
    if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
        std::fflush(stdout) == 0) {
        return {};
    }
    return fmt::format("standard output cannot be written: {}",
                       errno != 0 ? std::strerror(errno) : "it ended");
}

int look_and_say(const layout_arguments& a, const report_file& json) {
    try {
        const debug_types types{a.binary};  // the report's names are its bytes
        const program_report r = look_into(types, a);
        for (const std::string& note : r.notes) complain(note);
        std::string why;
        if (a.json == "-") {
            why = say(as_json(r));
        } else {
            if (json) why = json.write(as_json(r));
            if (!why.empty())
                why = fmt::format("the report '{}' cannot be written: {}", a.json, why);
            const std::string text = as_text(r);
            const std::string broken =
                say(text.empty() ? "no type wastes a byte or lies on more lines than it needs\n"
                                 : text);
            if (why.empty()) why = broken;
        }
        if (why.empty()) return 0;
        complain(why);
    } catch (const unreadable& e) { complain(e.what()); } catch (const std::exception& e) {
        complain(fmt::format("'{}' cannot be read: {}", a.binary, e.what()));
    }
    return 2;
}

}  // namespace

int run_layout(const layout_arguments& a) {
    ignore_broken_pipes();
    const report_file json{a.json == "-" ? "" : a.json};
    if (json) {
        const std::string why = json.obstacle();
        if (!why.empty()) {
            complain(fmt::format("the report '{}' cannot be written: {}", a.json, why));
            return 2;
        }
    }
    if (a.in_process) return look_and_say(a, json);

    // libdw believes what it reads in places: a file that brings it down costs a copy of this process.
    // Two minutes, and more for files beyond a gigabyte: a hundred times what they take.
    std::error_code e;
    const std::uintmax_t size = std::filesystem::file_size(a.binary, e);
    const unsigned seconds = 120 + (e ? 0 : static_cast<unsigned>(size >> 23));
    const copy_end end = in_copy([&] { return look_and_say(a, json); }, seconds);
    if (end.fate.empty()) return end.exit_code;
    complain(fmt::format("'{}' cannot be read: it is damaged ({})", a.binary, end.fate));
    return 2;
}

}  // namespace lab::layout
