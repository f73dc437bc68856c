// lab/parser/source.hpp - the parsed text: a generated source, or a file of the user.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "lab/parser/lexer.hpp"

namespace lab::parser {

/// A source with the zero bytes behind it that the lexer wants.
class padded_source {
public:
    explicit padded_source(std::string text) : size_{text.size()}, text_{std::move(text)} {
        text_.append(padding, '\0');
    }
    [[nodiscard]] std::string_view view() const noexcept { return {text_.data(), size_}; }

private:
    std::size_t size_;
    std::string text_;
};

/// `lines` lines of calls, infix, blocks and lambdas: about 65 bytes, 20 nodes and 20 small
/// allocations (with std::vector) a line. The same text on every machine.
[[nodiscard]] std::string generate_source(std::size_t lines, std::uint64_t seed = 1);

/// The file's text, after trying that it parses. Throws lab::bad_input with one sentence.
[[nodiscard]] std::string read_source(const std::string& path);

[[nodiscard]] std::size_t count_lines(std::string_view source);

}  // namespace lab::parser
