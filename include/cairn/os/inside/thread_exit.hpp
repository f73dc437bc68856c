// cairn/os/inside/thread_exit.hpp - a function that is called when a thread ends.
//
//      constinit thread_exit ending{[](void* mine) noexcept { ... }};       // one for the module
//      ending.watch(mine);                                                  // once in each thread
//
// Not the destructor of a thread_local object, for two reasons. Such a destructor never runs for a
// thread that needs it for the first time when it is ending already, in the destructor of a pthread
// key: C libraries free what C++ gave them there. And it keeps a plugin from being unloaded while
// any thread lives that once used it.
//
// POSIX:   a pthread key. The function runs after the destructors of thread_local objects, beside
//          those of other keys. First watched there, it still runs, in the same round or the next;
//          POSIX ends the rounds after PTHREAD_DESTRUCTOR_ITERATIONS (4): first watched in the last
//          round, it may not. Not for the main thread, which ends with the process.
// Windows: the destructor of a thread_local object.
//
// Cost:    watch(): one library call. Nothing else.
// Threads: any.
#pragma once

#include <cairn/core/inside/atomic.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

class thread_exit {
public:
    /// Called with the argument of its thread.
    using function = void (*)(void*) noexcept;

    constexpr explicit thread_exit(function f) noexcept : function_{f} {}
    /// When the program ends or the module is unloaded: threads that end later call nothing.
    ~thread_exit();
    thread_exit(const thread_exit&) = delete;
    thread_exit& operator=(const thread_exit&) = delete;

    /// Has the function called with `argument` when the calling thread ends; replaces an earlier
    /// argument of this thread.
    /// Requires: `argument` is not null.
    /// Returns: false when the system has no room for it, or the object is destroyed already.
    [[nodiscard]] bool watch(void* argument) noexcept;

private:
    static constexpr unsigned long over = ~0ul;

    /// Returns: what key_plus_one_ is now: 0 where the system refuses a key; over.
    unsigned long make_key() noexcept;

    function function_;
    // The system's key plus one, or this object's number; 0: none yet. No lock: the child of a fork
    // would wait for a holder that it does not have.
    atomic<unsigned long> key_plus_one_{0};
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
