// aside.hpp - runs a function where what it breaks stays behind.
//
//      POSIX     a child of fork() runs it and ends; its report comes back through a pipe. Nothing
//                that it did to memory is seen by the caller.
//      Windows   a fibre of the calling thread runs it. end_aside() leaves its stack as it lies:
//                what it holds stays held, what it changed stays changed. No limit of time.
//
// Use it for: tests of broken promises (cairn/testing/expect_broken_promise.hpp).
//
// Threads: one caller at a time. The child of a fork has only the calling thread: `work` must not
//          wait for other threads, nor for locks that they may hold.
#pragma once

#include <cstddef>

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

enum class aside_end : unsigned char {
    reported,    // by end_aside()
    returned,    // work() came to its end
    died,        // POSIX: of a signal, an exception, exit(), or after a minute; Windows: of abort()
    impossible,  // no process, pipe or stack could be had: nothing ran
};

/// Runs work(context) aside. `report`: where the `size` bytes given to end_aside() go.
aside_end run_aside(void (*work)(void* context) noexcept, void* context, void* report,
                    std::size_t size) noexcept;

/// Ends what run_aside() began, from inside, with `size` bytes of report; does not return.
/// Requires: called in `work`, with the size that was given to run_aside().
[[noreturn]] void end_aside(const void* report, std::size_t size) noexcept;

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
