// tests/support/sanitizers.hpp - which sanitizer this test was built with, for tests that must know.
#pragma once

#if defined(__SANITIZE_THREAD__)
inline constexpr bool under_tsan = true;
#elif defined(__has_feature)
#    if __has_feature(thread_sanitizer)
inline constexpr bool under_tsan = true;
#    else
inline constexpr bool under_tsan = false;
#    endif
#else
inline constexpr bool under_tsan = false;
#endif

#include <cairn/core/poison.hpp>

/// True when a memory checker sees a write into freed bytes itself: AddressSanitizer, or Valgrind
/// where the program runs under it. (poison_is_watched is true where Valgrind could run, too.)
[[nodiscard]] inline bool checker_is_faster() { return cairn::detail::poison_is_seen(); }
