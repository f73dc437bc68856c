// src/debug/misuse.hpp - a broken promise with its figures, named in any build.
//
//      textures.cpp:41: broken promise: a block is freed with the size it was allocated with
//          in texture* load(const char*)
//          block 0x7f32a0 has 100 bytes and is freed as 96
//
// CAIRN_ASSERT vanishes from release builds. A user of a debugging wrapper wants
// to know there too, so the wrappers report through this function, to the same handler
// (set_assert_handler), and the program stops.
#pragma once

#include <source_location>

#include <cairn/core/assert.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Reports `invariant`, which should have been true at `where`, with the details that `format`
/// (printf) spells out as its condition, and aborts.
#if defined(__GNUC__) && !defined(_WIN32)  // there, gcc checks against a printf without %zu
[[gnu::format(printf, 4, 5), CAIRN_COLD]]
#endif
[[noreturn]] void
misuse(misuse_kind kind, const std::source_location& where, const char* invariant,
       const char* format, ...) noexcept;

/// The file of a line, or words where an unchecked build does not know it: line 0.
[[nodiscard]] inline const char* file_of(const std::source_location& where) noexcept {
    return where.line() != 0 ? where.file_name() : "(a line that only checked builds name)";
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
