// cairn/os/inside/upstream_mutex.hpp - a mutex that is held while an upstream is called.
//
//      grow() --> [ mutex ] --> upstream.allocate(), of the user --> grow() --> [ mutex ]
//                                                                               ^ the same thread
//
// A thread that comes back so would wait for itself for ever. Checked builds stop there.
//
// Cost:    as mutex, and two stores more; in checked builds a load and a compare, too.
// Threads: any. unlock() by the thread that locked.
#pragma once

#include <cairn/core/assert.hpp>
#include <cairn/core/inside/atomic.hpp>
#include <cairn/os/mutex.hpp>
#include <cairn/os/thread_identity.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

class upstream_mutex {
public:
    void lock() noexcept {
        expect_other_thread();
        mutex_.lock();
        enter();
    }
    void unlock() noexcept {
        holder_.store(nullptr, memory_order::relaxed);
        mutex_.unlock();
    }
    /// Free again. For the child of a fork, where no other thread exists; one that has forked in a
    /// call of upstream still holds it there.
    void forget_holder() noexcept {
        if (is_mine()) { return; }
        holder_.store(nullptr, memory_order::relaxed);
        mutex_.forget_holder();
    }
    /// True on the thread that holds it: in a call of upstream.
    [[nodiscard]] bool is_mine() const noexcept {
        return holder_.load(memory_order::relaxed) == &this_thread;
    }
    void expect_other_thread() const noexcept {
        CAIRN_ASSERT(!is_mine(),
                     "an upstream does not make the allocator that called it grow or shrink: its "
                     "thread would wait for itself",
                     {.object = this, .type = "lock"});
    }
    /// The thread counts as the holder without the lock, until the object ends with the lock in it.
    void enter() noexcept { holder_.store(&this_thread, memory_order::relaxed); }

private:
    mutex mutex_;
    // Relaxed: a thread sees its own address only where it stored that address itself.
    atomic<const void*> holder_{nullptr};
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
