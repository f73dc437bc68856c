// lab/parser/source.hpp - the parsed text, which is generated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lab::parser {

/// `lines` lines of calls, infix, blocks and lambdas: about 65 bytes, 20 nodes and 20 small
/// allocations (with std::vector) a line. The same text on every machine.
[[nodiscard]] std::string generate_source(std::size_t lines, std::uint64_t seed = 1);

[[nodiscard]] std::size_t count_lines(std::string_view source);

}  // namespace lab::parser
