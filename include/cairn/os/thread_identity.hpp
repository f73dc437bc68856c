// cairn/os/thread_identity.hpp - a small number for a thread, and a name that never repeats.
//
//      thread          number   serial          numbers are the lowest free ones: an array indexed
//      main              0       s + 1          by them stays short and full
//      worker A          1       s + 2
//      worker B          2       s + 3
//      (A exits)
//      worker C          1       s + 4          A's number again, never A's serial
//
// Use it for: indexing an array of per-thread things (the number); asking "is this the thread that
//   made me?" (the serial: an owner that has exited is never mistaken for a newcomer).
// Look elsewhere for: a value per thread, already padded and summed: per_thread.hpp.
//
// Cost:    a load from thread-local memory and one predictable branch; the first call in a thread
//          searches a bitmap, O(thread_number_limit / 64).
// Modules: a program and its plugins that each contain a cairn give numbers and serials of their
//          own (docs/plugins.md). What is indexed by a number and used in several modules goes by
//          that of one of them, as per_thread.hpp does. Serials of two modules are never equal.
// Threads: any. Everything a thread did before it exited happens before anything that a later
//          thread with the same number does after asking for it: an array slot can be taken over
//          without further synchronization.
#pragma once

#include <cstdint>

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

/// Numbers below this belong to one living thread each. When so many threads live at once, and for
/// a thread that asks so late in its exit that its number has gone back already (from the
/// destructor of a pthread key: thread_exit.hpp), the number is thread_number_limit itself: it is
/// shared, so arrays indexed by it need a lock.
inline constexpr unsigned thread_number_limit = 4096;

struct thread_identity {
    unsigned number_plus_one = 0;  // 0: not yet asked for
    bool is_in_handler = false;    // of a concurrent_budget: room_maker.hpp
    std::uint64_t serial = 0;      // 0: not yet asked for
};

// constinit and trivial: no guard, no wrapper call, one load relative to the thread pointer.
#if CAIRN_SHARED
extern constinit thread_local thread_identity this_thread;
#else  // defined where it is used: the compiler then knows its offset from the thread pointer
CAIRN_DETAIL_MODULE_LOCAL inline constinit thread_local thread_identity this_thread{};
#endif

/// First call in this thread. Returns: the number.
CAIRN_DETAIL_MODULE_LOCAL unsigned assign_thread_number() noexcept;
CAIRN_DETAIL_MODULE_LOCAL std::uint64_t assign_thread_serial() noexcept;

/// The way to the numbers of one module, for objects that are used in several.
struct thread_numbers {
    unsigned (*of_this_thread)() noexcept;
};
CAIRN_DETAIL_MODULE_LOCAL extern const thread_numbers numbers_of_this_module;

}  // namespace detail

/// The number of the calling thread: the lowest that no living thread has, fixed until it exits.
/// Returns: thread_number_limit when there is none (see there).
[[nodiscard]] CAIRN_DETAIL_MODULE_LOCAL inline unsigned thread_number() noexcept {
    const unsigned plus_one = detail::this_thread.number_plus_one;
    if (plus_one != 0) [[likely]] { return plus_one - 1; }
    return detail::assign_thread_number();
}

/// A number that no other thread of this process has, had or will have. Never 0.
[[nodiscard]] CAIRN_DETAIL_MODULE_LOCAL inline std::uint64_t thread_serial() noexcept {
    const std::uint64_t serial = detail::this_thread.serial;
    if (serial != 0) [[likely]] { return serial; }
    return detail::assign_thread_serial();
}

namespace detail {

/// One more than the largest number that has ever been given out, at most thread_number_limit: how
/// long an array indexed by thread_number() has to be until now.
[[nodiscard]] CAIRN_DETAIL_MODULE_LOCAL unsigned thread_number_bound() noexcept;

}  // namespace detail

}}  // namespace cairn::CAIRN_FLAVOUR
