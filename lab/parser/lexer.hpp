// lab/parser/lexer.hpp - characters to tokens, one at a time, without memory.
//
//      let total = price(item, 3) * (1 + tax);
//      ^^^ ^^^^^ ^ ^^^^^^^^^^ ...                 a token is a kind and a piece of the source
#pragma once

#include <cstdint>
#include <string_view>

namespace lab::parser {

enum class token_kind : std::uint8_t {
    end,
    error,
    name,
    number,
    let,
    fn,
    if_,
    else_,  // keywords
    left_paren,
    right_paren,
    left_brace,
    right_brace,
    comma,
    semicolon,
    assign,
    or_,
    and_,
    equal,
    not_equal,
    less,
    less_equal,
    greater,
    greater_equal,  // infix, by precedence
    plus,
    minus,
    star,
    slash,
    percent,
    not_
};

struct token {
    token_kind kind = token_kind::end;
    std::uint32_t offset = 0;  ///< bytes from the start of the source
    std::uint32_t size = 0;
};

class lexer {
public:
    /// Requires: a zero byte follows the source, as in a std::string.
    explicit lexer(std::string_view source) noexcept : text_{source.data()} {}

    [[nodiscard]] token next() noexcept;

private:
    const char* text_;
    std::uint32_t at_ = 0;
};

namespace detail {

/// What each byte is as a token of its own; `name` for letters, `number` for digits.
struct first_byte_table {
    token_kind single[256] = {};
    token_kind doubled[256] = {};  ///< with the byte in `second` behind it
    char second[256] = {};
    bool space[256] = {};
    bool word[256] = {};
    constexpr first_byte_table() {
        for (auto& k : single) k = token_kind::error;
        single[0] = token_kind::end;
        for (const unsigned char c : {' ', '\t', '\r', '\n'}) space[c] = true;
        for (int c = 'a'; c <= 'z'; ++c) letter(c), letter(c - 'a' + 'A');
        letter('_');
        for (int c = '0'; c <= '9'; ++c) single[c] = token_kind::number, word[c] = true;
        const auto set = [&](unsigned char c, token_kind k) { single[c] = k; };
        set('(', token_kind::left_paren), set(')', token_kind::right_paren);
        set('{', token_kind::left_brace), set('}', token_kind::right_brace);
        set(',', token_kind::comma), set(';', token_kind::semicolon);
        set('+', token_kind::plus), set('-', token_kind::minus), set('*', token_kind::star);
        set('/', token_kind::slash), set('%', token_kind::percent);
        set('=', token_kind::assign), set('!', token_kind::not_);
        set('<', token_kind::less), set('>', token_kind::greater);
        const auto pair = [&](unsigned char c, char with, token_kind k) {
            second[c] = with;
            doubled[c] = k;
        };
        pair('=', '=', token_kind::equal), pair('!', '=', token_kind::not_equal);
        pair('<', '=', token_kind::less_equal), pair('>', '=', token_kind::greater_equal);
        pair('|', '|', token_kind::or_), pair('&', '&', token_kind::and_);
    }
    constexpr void letter(int c) { single[c] = token_kind::name, word[c] = true; }
};
inline constexpr first_byte_table bytes;

}  // namespace detail

inline token lexer::next() noexcept {
    const auto byte_at = [&](std::uint32_t i) { return static_cast<unsigned char>(text_[i]); };
    std::uint32_t at = at_;
    while (detail::bytes.space[byte_at(at)] || text_[at] == '#') {
        if (text_[at] == '#') {  // a comment ends with its line
            while (text_[at] != '\n' && text_[at] != '\0') ++at;
        } else {
            ++at;
        }
    }
    const unsigned char first = byte_at(at);
    if (detail::bytes.word[first]) {
        std::uint32_t size = 1;
        while (detail::bytes.word[byte_at(at + size)]) ++size;
        at_ = at + size;
        const std::string_view word{text_ + at, size};
        const token_kind kind = word == "let"    ? token_kind::let
                                : word == "fn"   ? token_kind::fn
                                : word == "if"   ? token_kind::if_
                                : word == "else" ? token_kind::else_
                                                 : detail::bytes.single[first];
        return {kind, at, size};
    }
    const bool pair =
        detail::bytes.second[first] != '\0' && text_[at + 1] == detail::bytes.second[first];
    at_ = at + (pair ? 2 : first != 0);
    return {pair ? detail::bytes.doubled[first] : detail::bytes.single[first], at, pair ? 2u : 1u};
}

}  // namespace lab::parser
