#include "lab/layout/columns.hpp"

#include <algorithm>
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

}  // namespace

columns propose_columns(const type_layout& type, std::span<const member_set> loops) {
    columns g;
    // Members with the same signature: the loops that use them.
    std::vector<std::pair<std::vector<bool>, member_set>> found;
    std::size_t fields = 0;
    bool has_base = false;
    for (std::size_t i = 0; i != type.members.size(); ++i) {
        const member& m = type.members[i];
        if (!m.is_movable()) {
            has_base = true;
            continue;
        }
        ++fields;
        if (m.name.empty()) {
            g.remarks.emplace_back(
                "a row of a table has no unnamed struct or union: give it a name");
            continue;
        }
        std::vector<bool> signature;
        for (const member_set& loop : loops) {
            signature.push_back(std::ranges::find(loop, i) != loop.end());
        }
        if (m.is_bit_field() || std::ranges::find(signature, true) == signature.end()) continue;
        const auto same =
            std::ranges::find(found, signature, [](const auto& f) { return f.first; });
        if (same == found.end()) {
            found.push_back({signature, {i}});
        } else {
            same->second.push_back(i);
        }
    }
    std::vector<member_set> groups;
    for (const auto& [signature, members] : found) {
        if (members.size() >= 2) groups.push_back(members);  // a single member is a column already
        if (members.size() >= 2) fields -= members.size() - 1;
    }
    if (!groups.empty()) g.row = write_row(type, groups);
    g.line = "cairn::table<" + (groups.empty() ? type.name : row_name(type.name)) + ">";

    constexpr std::size_t field_count_max = 24;  // cairn/containers/inside/row_fields.hpp
    if (has_base)
        g.remarks.emplace_back("a row of a table has no base class and no virtual function");
    if (fields > field_count_max) {
        g.remarks.push_back("a row of a table has at most 24 members, and this has " +
                            std::to_string(fields) + ": move some into a struct of their own");
    }
    for (const member& m : type.members) {
        if (!m.is_movable()) continue;
        if (m.is_array) {
            g.remarks.push_back("a row of a table has no C array: make " + std::string{m.name} +
                                " a std::array");
        }
        if (m.is_reference) {
            g.remarks.push_back("a row of a table has no reference: make " + std::string{m.name} +
                                " a pointer");
        }
        if (m.is_bit_field()) {
            g.remarks.push_back("a row of a table has no bit field such as " + std::string{m.name});
            break;
        }
    }
    return g;
}

}  // namespace lab::layout
