#include "lab/layout/columns.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace lab::layout {

namespace {

/// "particle_row" for "game::particle<int>".
std::string row_name(const std::string& type) {
    const std::string plain = type.substr(0, type.find('<'));
    const std::size_t scope = plain.rfind("::");
    return (scope == std::string::npos ? plain : plain.substr(scope + 2)) + "_row";
}

/// The members of a row: those that the same loops use in a struct of their own.
std::vector<std::string> write_row(const type_layout& type, const std::vector<member_set>& groups) {
    std::vector<std::string> lines{"struct " + row_name(type.name) + " {"};
    std::vector<bool> is_grouped(type.members.size());
    for (std::size_t g = 0; g != groups.size(); ++g) {
        const std::string name = "together_" + std::to_string(g + 1);
        lines.push_back("    struct " + name + "_fields {");
        for (const std::size_t i : groups[g]) {
            is_grouped[i] = true;
            lines.push_back("        " + type.members[i].declaration + ";");
        }
        lines.push_back("    } " + name + ";");
    }
    for (std::size_t i = 0; i != type.members.size(); ++i) {
        if (type.members[i].is_movable() && !is_grouped[i]) {
            lines.push_back("    " + type.members[i].declaration + ";");
        }
    }
    lines.emplace_back("};");
    return lines;
}

/// The members that the same loops use, two or more: a struct of their own each.
std::vector<member_set> used_together(const type_layout& type, std::span<const member_set> loops) {
    std::map<std::vector<bool>, member_set> found;  // by the loops that use them
    std::vector<std::vector<bool>> order;
    for (std::size_t i = 0; i != type.members.size(); ++i) {
        const member& m = type.members[i];
        if (!m.is_movable() || m.name.empty() || m.is_bit_field()) continue;
        std::vector<bool> signature;
        for (const member_set& loop : loops) {
            signature.push_back(std::ranges::find(loop, i) != loop.end());
        }
        if (std::ranges::find(signature, true) == signature.end()) continue;
        member_set& same = found[signature];
        if (same.empty()) order.push_back(signature);
        same.push_back(i);
    }
    std::vector<member_set> groups;
    for (const auto& signature : order) {
        if (found[signature].size() >= 2) groups.push_back(found[signature]);
    }
    return groups;
}

/// What a row of a table cannot have, of what the type has.
std::vector<std::string> obstacles(const type_layout& type) {
    std::vector<std::string> all;
    const auto say = [&](const char* what, const member& m, const char* cure) {
        all.push_back(std::string{"a row of a table has no "} + what + std::string{m.name} + cure);
    };
    const auto is_part = [](const member& m) { return m.is_movable(); };
    for (const member& m : type.members) {
        if (is_part(m) && m.name.empty()) {
            all.emplace_back("a row of a table has no unnamed struct or union: give it a name");
        }
    }
    if (!std::ranges::all_of(type.members, is_part)) {
        all.emplace_back("a row of a table has no base class and no virtual function");
    }
    for (const member& m : type.members) {
        if (!is_part(m)) continue;
        if (m.is_array) say("C array: make ", m, " a std::array");
        if (m.is_reference) say("reference: make ", m, " a pointer");
        if (m.is_bit_field()) {
            say("bit field such as ", m, "");
            break;
        }
    }
    return all;
}

}  // namespace

columns propose_columns(const type_layout& type, std::span<const member_set> loops) {
    const std::vector<member_set> groups = used_together(type, loops);
    columns g;
    if (!groups.empty()) g.row = write_row(type, groups);
    g.line = "cairn::table<" + (groups.empty() ? type.name : row_name(type.name)) + ">";
    g.remarks = obstacles(type);
    auto fields = static_cast<std::size_t>(
        std::ranges::count_if(type.members, [](const member& m) { return m.is_movable(); }));
    for (const member_set& group : groups) fields -= group.size() - 1;
    constexpr std::size_t field_count_max = 24;  // cairn/containers/inside/row_fields.hpp
    if (fields > field_count_max) {
        g.remarks.push_back("a row of a table has at most 24 members, and this has " +
                            std::to_string(fields) + ": move some into a struct of their own");
    }
    return g;
}

}  // namespace lab::layout
