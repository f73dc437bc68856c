// cairn/os/mutex.hpp - a mutex of four bytes, without <mutex>.
//
//      0 free      1 locked      2 locked, and a thread may sleep
//
// <mutex> costs thousands of lines to include, and std::mutex 40 bytes to hold. This one spins for
// a moment, then sleeps in the kernel (by a futex on Linux, elsewhere by std::atomic::wait). Not
// fair, not recursive.
//
// Use it for: locked<A>; cold paths.
// Look elsewhere for: condition variables, timeouts, priority inheritance: <mutex>, pthread.
//
// Cost:    uncontended: one exchange to lock, one to unlock, inlined; no system call. While the
//          process has one thread (where the C library says so): two plain stores, as std::mutex.
// Threads: any. unlock() by the thread that locked.
// Source:  Ulrich Drepper, "Futexes are tricky", mutex 2.
#pragma once

#include <cstdint>

#include <cairn/core/inside/atomic.hpp>
#include <cairn/core/inside/flavour.hpp>

#if __has_include(<sys/single_threaded.h>)  // glibc 2.32
#    include <sys/single_threaded.h>
#endif

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

/// True when the process is known to have one thread. It may start others later, never in between:
/// it would have to be the caller.
inline bool is_only_thread() noexcept {
#if __has_include(<sys/single_threaded.h>)
    return __libc_single_threaded != 0;
#else
    return false;
#endif
}

}  // namespace detail

class mutex {
public:
    constexpr mutex() noexcept = default;
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;

    void lock() noexcept {
        if (detail::is_only_thread() && state_.load(detail::memory_order::relaxed) == 0) {
            state_.store(1, detail::memory_order::relaxed);
            return;
        }
        std::uint32_t free = 0;
        // acquire: sees what the previous holder did.
        if (!state_.compare_exchange_strong(free, 1, detail::memory_order::acquire,
                                            detail::memory_order::relaxed)) [[unlikely]] {
            wait_and_lock();
        }
    }

    [[nodiscard]] bool try_lock() noexcept {
        std::uint32_t free = 0;
        return state_.compare_exchange_strong(free, 1, detail::memory_order::acquire,
                                              detail::memory_order::relaxed);
    }

    void unlock() noexcept {
        if (detail::is_only_thread()) {
            state_.store(0, detail::memory_order::relaxed);  // no thread is left that could sleep
            return;
        }
        // release: the next holder sees what this one did.
        if (state_.exchange(0, detail::memory_order::release) == 2) [[unlikely]] { wake_one(); }
    }

    /// Free again, with any holder. For the child of a fork, where the holder does not exist.
    void forget_holder() noexcept { state_.store(0, detail::memory_order::relaxed); }

private:
    void wait_and_lock() noexcept;
    void wake_one() noexcept;

    detail::atomic<std::uint32_t> state_{0};
};

/// Holds `m` until the end of the scope. Any type with lock() and unlock() will do.
template <class Mutex>
class [[nodiscard]] lock_scope {
public:
    explicit lock_scope(Mutex& m) noexcept(noexcept(m.lock())) : m_{m} { m_.lock(); }
    ~lock_scope() { m_.unlock(); }
    lock_scope(const lock_scope&) = delete;
    lock_scope& operator=(const lock_scope&) = delete;

private:
    Mutex& m_;
};

static_assert(sizeof(mutex) == 4);

}}  // namespace cairn::CAIRN_FLAVOUR
