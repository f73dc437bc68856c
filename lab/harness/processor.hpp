// lab/harness/processor.hpp - what differs from processor to processor, behind one word each: time
// stamps, single steps, a pause in a loop that waits.
//
//                       x86-64                 arm64                   any other
//      ticks            rdtsc, fenced          cntvct_el0, fenced      the clock: 1 tick is 1 ns
//      single steps     the trap flag          none                    none
//      pause            pause                  isb                     nothing
#pragma once

#include <cstdint>

#include "lab/harness/clock.hpp"

#if defined(__x86_64__)
#    include <x86intrin.h>
#endif

namespace lab {

// ---- time stamps -------------------------------------------------------------------------------

/// Ticks are those of the processor's own clock, which x86 counts in cycles of its base frequency.
#if defined(__x86_64__)
inline constexpr bool ticks_are_cycles = true;
#else
inline constexpr bool ticks_are_cycles = false;
#endif

/// Ticks since some time ago. May be read early or late by what stands around it.
[[nodiscard]] inline std::uint64_t ticks_now() noexcept {
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    std::uint64_t t;
    asm volatile("mrs %0, cntvct_el0" : "=r"(t));
    return t;
#else
    return static_cast<std::uint64_t>(now_ns());
#endif
}

/// Before the timed part: all instructions above have ended, nothing below has begun.
[[nodiscard]] inline std::uint64_t ticks_before() noexcept {
#if defined(__x86_64__)
    _mm_lfence();
    const std::uint64_t t = __rdtsc();
    _mm_lfence();
    return t;
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
    const std::uint64_t t = ticks_now();
    asm volatile("isb" ::: "memory");
    return t;
#else
    return ticks_now();
#endif
}

/// After it.
[[nodiscard]] inline std::uint64_t ticks_after() noexcept {
#if defined(__x86_64__)
    unsigned processor = 0;
    const std::uint64_t t = __rdtscp(&processor);
    _mm_lfence();
    return t;
#else
    return ticks_before();
#endif
}

/// Looks at the clock for `ns` nanoseconds. Returns: the length of a tick, in ns.
[[nodiscard]] inline double measured_ns_per_tick(std::int64_t ns) noexcept {
    const std::int64_t began = now_ns();
    const std::uint64_t first = ticks_now();
    std::int64_t now = began;
    while (now - began < ns) now = now_ns();
    return static_cast<double>(now - began) / static_cast<double>(ticks_now() - first);
}

// ---- single steps ------------------------------------------------------------------------------

/// The processor can stop after each instruction of this process, with a SIGTRAP.
#if defined(__x86_64__) && !defined(_WIN32)
inline constexpr bool has_single_steps = true;
#else
inline constexpr bool has_single_steps = false;
#endif

/// Requires: has_single_steps, and a handler of SIGTRAP.
[[gnu::always_inline]] inline void begin_single_steps() noexcept {
#if defined(__x86_64__)
    __writeeflags(__readeflags() | 0x100ull);
#endif
}
[[gnu::always_inline]] inline void end_single_steps() noexcept {
#if defined(__x86_64__)
    __writeeflags(__readeflags() & ~0x100ull);
#endif
}

// ---- waiting -----------------------------------------------------------------------------------

inline void pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#endif
}

}  // namespace lab
