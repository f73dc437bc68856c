// cairn/std/format.hpp - handles and sizes in std::format and std::print.
//
//      std::print("{} has {:>8}\n", boss, cairn::size_text(level.capacity()));
//
// They are formatted as the text that std/text.hpp makes of them: width, fill, alignment and
// precision are those of a string. A program's own formatter of handle<enemy> is preferred.
//
// Where the standard library says that it has no std::format (no __cpp_lib_format, as in libstdc++
// before 13), this header is std/text.hpp and nothing more: format handle_text(h).view() by another
// library.
//
// Cost: that of <format>, which is dear to include: for the files that format.
#pragma once

#include <version>

#include <cairn/std/text.hpp>

#if defined(__cpp_lib_format) && __has_include(<format>)

#    include <format>

template <>
struct std::formatter<cairn::short_text, char> : std::formatter<std::string_view, char> {
    template <class Context>
    auto format(const cairn::short_text& text, Context& context) const {
        return std::formatter<std::string_view, char>::format(text.view(), context);
    }
};

template <class Of, unsigned Bits, unsigned IndexBits, unsigned UserBits, class Tag>
struct std::formatter<cairn::handle<Of, Bits, IndexBits, UserBits, Tag>, char>
    : std::formatter<cairn::short_text, char> {
    template <class Context>
    auto format(const cairn::handle<Of, Bits, IndexBits, UserBits, Tag>& h,
                Context& context) const {
        return std::formatter<cairn::short_text, char>::format(cairn::handle_text(h), context);
    }
};

#endif
