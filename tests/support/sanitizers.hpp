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
