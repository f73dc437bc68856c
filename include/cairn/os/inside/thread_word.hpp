// cairn/os/inside/thread_word.hpp - the address of a word that each thread has for itself.
//
// The word is the same in every module of the process, which a thread-local variable of a plugin's
// own cairn is not: an allocator that several modules use can compare threads.
//
// Use it for: "is it the thread that was here before?", asked at each operation of a checked build.
// Look elsewhere for: a number, or an identity that a later thread never has: thread_identity.hpp.
//
// Cost: one load on x86-64 Linux, where the thread pointer points to itself; elsewhere what the
//       system takes to find errno, usually a call.
#pragma once

#include <cairn/core/inside/flavour.hpp>

#if !defined(__linux__) || !defined(__x86_64__) || defined(__ILP32__)
#    include <cerrno>
#endif

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

[[nodiscard]] [[gnu::always_inline]] inline const void* this_thread_word() noexcept {
#if defined(__linux__) && defined(__x86_64__) && !defined(__ILP32__)
    const void* word;
    __asm__("movq %%fs:0, %0" : "=r"(word));
    return word;
#else
    return &errno;
#endif
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
