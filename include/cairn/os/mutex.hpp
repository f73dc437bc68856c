// cairn/os/mutex.hpp - a mutex of four bytes, without <mutex>.
//
//      0 free      1 locked      2 locked, and somebody sleeps
//
// <mutex> costs thousands of lines to include, and std::mutex 40 bytes to hold. This one spins for
// a moment, then sleeps in the kernel through std::atomic::wait (a futex on Linux). Not fair, not
// recursive.
//
// Use it for: locked<A>; cold paths.
// Look elsewhere for: condition variables, timeouts, priority inheritance: <mutex>, pthread.
//
// Cost:    uncontended: one exchange to lock, one to unlock, inlined; no system call.
// Threads: any. unlock() by the thread that locked.
// Source:  Ulrich Drepper, "Futexes are tricky", mutex 2.
#pragma once

#include <atomic>
#include <cstdint>

namespace cairn {

class mutex {
public:
    constexpr mutex() noexcept = default;
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;

    void lock() noexcept {
        std::uint32_t free = 0;
        // acquire: sees what the previous holder did.
        if (!state_.compare_exchange_strong(free, 1, std::memory_order_acquire,
                                            std::memory_order_relaxed)) [[unlikely]] {
            wait_and_lock();
        }
    }

    [[nodiscard]] bool try_lock() noexcept {
        std::uint32_t free = 0;
        return state_.compare_exchange_strong(free, 1, std::memory_order_acquire,
                                              std::memory_order_relaxed);
    }

    void unlock() noexcept {
        // release: the next holder sees what this one did.
        if (state_.exchange(0, std::memory_order_release) == 2) [[unlikely]] { wake_one(); }
    }

    /// Free again, whoever held it. For the child of a fork, where the holder does not exist.
    void forget_holder() noexcept { state_.store(0, std::memory_order_relaxed); }

private:
    void wait_and_lock() noexcept;
    void wake_one() noexcept;

    std::atomic<std::uint32_t> state_{0};
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

}  // namespace cairn
