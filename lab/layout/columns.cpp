#include "lab/layout/columns.hpp"

#include <algorithm>
#include <utility>

namespace lab::layout {

columns propose_columns(const type_layout& type, std::span<const member_set> loops) {
    columns g;
    const auto path = [&](std::size_t i) {
        return "&" + type.name + "::" + std::string{type.members[i].name};
    };
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
        std::vector<bool> signature;
        for (const member_set& loop : loops) {
            signature.push_back(std::ranges::find(loop, i) != loop.end());
        }
        if (std::ranges::find(signature, true) == signature.end()) continue;
        if (m.name.empty() || m.is_bit_field()) {
            g.remarks.push_back("a member pointer cannot name " +
                                (m.name.empty() ? std::string{"an unnamed struct or union"}
                                                : "the bit field " + std::string{m.name}));
            continue;
        }
        if (!m.is_plain) {
            g.remarks.push_back(std::string{m.name} +
                                " is not plain data, so it keeps a column of its own");
            continue;
        }
        const auto same =
            std::ranges::find(found, signature, [](const auto& f) { return f.first; });
        if (same == found.end()) {
            found.push_back({signature, {i}});
        } else {
            same->second.push_back(i);
        }
    }
    std::string inner;
    for (const auto& [signature, members] : found) {
        if (members.size() < 2) continue;  // a column of its own is what soa gives it
        std::string names;
        for (const std::size_t i : members) names += (names.empty() ? "" : ", ") + path(i);
        inner += (inner.empty() ? "" : ", ") + ("cairn::group<" + names + ">");
    }
    g.line = "cairn::table<" + type.name + ", " +
             (inner.empty() ? "cairn::soa" : "cairn::grouped_soa<" + inner + ">") + ">";

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
