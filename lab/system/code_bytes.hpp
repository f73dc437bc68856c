// lab/system/code_bytes.hpp - how large functions of this program are, by its symbols.
#pragma once

#include <cstddef>
#include <string_view>

namespace lab {

/// Symbols of Windows' programs have no sizes.
#if defined(_WIN32)
inline constexpr bool has_code_bytes = false;
#else
inline constexpr bool has_code_bytes = true;
#endif

/// The bytes of all functions whose mangled names hold `part`.
/// Throws: std::runtime_error when this program's file does not tell.
[[nodiscard]] std::size_t code_bytes(std::string_view part);

}  // namespace lab
