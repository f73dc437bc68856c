// lab/parser/lexer.hpp - characters to tokens, one at a time, without memory.
//
//      let total = price(item, 3) * (1 + tax);
//      ^^^ ^^^^^ ^ ^^^^^^^^^^ ...                 a token is a kind and a piece of the source
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__SSE2__)
#    include <emmintrin.h>
#endif

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

/// Bytes behind the source that the lexer may read (and that are no part of a word).
inline constexpr std::uint32_t padding = 32;

class lexer {
public:
    /// Requires: `padding` zero bytes follow the source (padded_source, source.hpp).
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

/// How many bytes from `p` on are letters, digits or '_'. Sixteen at a time where the processor can:
/// the length of a word is what a branch cannot predict.
inline std::uint32_t word_size(const char* p) noexcept {
    std::uint32_t size = 0;
#if defined(__SSE2__)
    for (;; size += 16) {
        const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + size));
        const auto in_range = [](__m128i v, char low, char high) {
            return _mm_and_si128(_mm_cmpgt_epi8(v, _mm_set1_epi8(static_cast<char>(low - 1))),
                                 _mm_cmplt_epi8(v, _mm_set1_epi8(static_cast<char>(high + 1))));
        };
        const __m128i letters = in_range(_mm_or_si128(c, _mm_set1_epi8(0x20)), 'a', 'z');
        const __m128i others =
            _mm_or_si128(in_range(c, '0', '9'), _mm_cmpeq_epi8(c, _mm_set1_epi8('_')));
        const auto mask = static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(letters, others)));
        if (mask != 0xffff) [[likely]] {
            return size + static_cast<std::uint32_t>(std::countr_one(mask));
        }
    }
#else
    while (bytes.word[static_cast<unsigned char>(p[size])]) ++size;
    return size;
#endif
}

/// The word as a number, when it is short enough for a keyword: compared without branches.
inline std::uint32_t as_number(const char* p, std::uint32_t size) noexcept {
    std::uint32_t v;
    std::memcpy(&v, p, sizeof v);
    return size < 4 ? v & ((std::uint32_t{1} << (8 * size)) - 1) : v;
}

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
        const std::uint32_t size = detail::word_size(text_ + at);
        at_ = at + size;
        token_kind kind = detail::bytes.single[first];
        const std::uint32_t word = detail::as_number(text_ + at, size);
        static constexpr auto number_of = [](const char(&w)[5]) { return detail::as_number(w, 4); };
        if (size <= 4) {
            static const std::uint32_t let = number_of("let\0"), fn = number_of("fn\0\0"),
                                       if_ = number_of("if\0\0"), else_ = number_of("else");
            kind = word == let ? token_kind::let : kind;
            kind = word == fn ? token_kind::fn : kind;
            kind = word == if_ ? token_kind::if_ : kind;
            kind = word == else_ ? token_kind::else_ : kind;
        }
        return {kind, at, size};
    }
    const bool pair =
        detail::bytes.second[first] != '\0' && text_[at + 1] == detail::bytes.second[first];
    at_ = at + (pair ? 2 : first != 0);
    return {pair ? detail::bytes.doubled[first] : detail::bytes.single[first], at, pair ? 2u : 1u};
}

}  // namespace lab::parser
