// cairn/core/assert.hpp - how cairn reports a broken promise.
//
// Two things can go wrong, and the library never mixes them:
//   - a caller breaks a "Requires:" line -> a bug: CAIRN_ASSERT names it and the program stops;
//   - memory runs out                    -> normal life: the function returns nullptr or empty.
//
// CAIRN_ASSERT is the only macro of the library: it must vanish from release builds, and it must
// know the line it stands on. CAIRN_ASSERTS (0 or 1) is the only build option. The CMake target and
// the pkg-config file carry its value, so that the library and its user always agree.
//
// State the invariant in the positive: CAIRN_ASSERT(top <= end, "top stays inside the buffer").
// The condition is not evaluated when asserts are off: no side effects inside.
#pragma once

#include <source_location>

#include <cairn/core/flavour.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

/// What is known about a broken promise.
struct broken_promise {
    const char* condition;  // the expression that was false, as written
    const char* invariant;  // the sentence that should have been true
    std::source_location where;
};

/// Called once for a broken promise, before the program aborts. It may log, flush a trace, show a
/// dialog or leave by longjmp or an exception; when it returns, the program aborts.
using assert_handler = void (*)(const broken_promise&);

/// Installs `handler` (nullptr: the default, which prints one line to stderr) and returns the one
/// that was there before.
/// Threads: any; the exchange is atomic.
assert_handler set_assert_handler(assert_handler handler) noexcept;

/// True when this translation unit checks promises.
inline constexpr bool asserts_enabled = CAIRN_ASSERTS != 0;

namespace detail {

/// Calls the handler, then aborts. Out of line: it is the coldest path there is.
[[noreturn]] void assert_failed(
    const char* condition, const char* invariant,
    const std::source_location& where = std::source_location::current());

}  // namespace detail
}  // namespace cairn::inline CAIRN_FLAVOUR

#if CAIRN_ASSERTS
#    define CAIRN_ASSERT(condition, invariant) \
        ((condition) ? (void)0 : ::cairn::detail::assert_failed(#condition, invariant))
#else
#    define CAIRN_ASSERT(condition, invariant) ((void)sizeof((condition) ? 1 : 0))
#endif
