// The picture of an object: a character for each byte.
#include <algorithm>
#include <string_view>

#include "lab/layout/report.hpp"

namespace lab::layout {

namespace {

constexpr std::uint64_t bytes_max = 4096;  // of a picture; more is said in one line

}  // namespace

std::string printable(std::string_view text) {
    std::string s{text};
    std::ranges::replace_if(
        s, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, '?');
    return s;
}

char letter(std::size_t i) {
    constexpr std::string_view letters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    return letters[i % letters.size()];
}

std::vector<std::string> picture(const type_layout& type, std::uint64_t line_size,
                                 std::span<const piece> only) {
    const std::uint64_t shown = std::min(type.size, bytes_max);
    std::string bytes(shown, '.');
    const auto paint = [&](std::uint64_t begin, std::uint64_t end, char c) {
        for (std::uint64_t i = begin; i < std::min(end, shown); ++i) bytes[i] = c;
    };
    for (std::size_t i = 0; i != type.members.size(); ++i) {
        const member& m = type.members[i];
        if (m.what == role::virtual_base) continue;
        const auto paint_all = [&](const auto& self, const member& part) -> void {
            if (part.inside.empty()) paint(part.offset, part.offset + part.size, letter(i));
            for (const member& inner : part.inside) self(self, inner);
        };
        paint_all(paint_all, m);
    }
    if (!only.empty()) {
        std::string masked(shown, '.');
        for (const piece& p : only) {
            for (std::uint64_t i = p.offset; i < std::min(p.offset + p.size, shown); ++i) {
                masked[i] = bytes[i];
            }
        }
        bytes = masked;
    }
    std::vector<std::string> lines;
    for (std::uint64_t at = 0; at < shown; at += line_size) {
        lines.push_back(bytes.substr(at, line_size));
    }
    return lines;
}

}  // namespace lab::layout
