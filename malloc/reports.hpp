// malloc/reports.hpp - sentences on stderr, without an allocation and without a lock.
#pragma once

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace below_malloc {

/// Writes "cairn-malloc: " and the formatted sentence to stderr.
[[gnu::format(printf, 1, 2)]] void report(const char* format, ...) noexcept;

/// The same without the prefix.
[[gnu::format(printf, 1, 2)]] void write_line(const char* format, ...) noexcept;

}}}  // namespace cairn::CAIRN_FLAVOUR::below_malloc
