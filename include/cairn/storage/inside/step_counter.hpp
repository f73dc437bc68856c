// cairn/storage/inside/step_counter.hpp - counts what an operation touches, in a build for tests.
//
// A clock cannot prove a worst case. So every loop turn, list link, block header and bitmap word
// that a bounded operation may touch is followed by CAIRN_DETAIL_STEP(). The library of the users
// is built without CAIRN_COUNTS_STEPS: the macro is empty there. The tests of the worst cases are
// built with it, together with the sources of the library (tests/CMakeLists.txt, COUNTS), and
// assert the documented maximum after every single operation.
//
// Cost:    none; with CAIRN_COUNTS_STEPS one increment of a thread-local number.
// Threads: each thread has its own count.
#pragma once

#include <cstdint>

#include <cairn/core/inside/flavour.hpp>

#if defined(CAIRN_COUNTS_STEPS)

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Steps of this thread so far. Tests set it to 0 before an operation.
inline thread_local std::uint64_t steps_taken = 0;

}}}  // namespace cairn::CAIRN_FLAVOUR::detail

#    define CAIRN_DETAIL_STEP() (++::cairn::detail::steps_taken)
#else
#    define CAIRN_DETAIL_STEP() (static_cast<void>(0))
#endif
