// cairn/alloc/locked.hpp - any allocator, for any number of threads.
//
//      cairn::locked memory{heap};             // refers to `heap`
//      cairn::locked<cairn::pool> slots{64};   // owns a pool; the same as a member of a class
//
//      memory.deallocate(p);                   // without a size, where the allocator has that
//
//      thread A --+
//      thread B --+--> [ mutex ] --> the allocator      one at a time
//      thread C --+
//
// Use it for: growth, start-up, everything that happens rarely; an upstream that threads share.
// Look elsewhere for: hot paths: a contended mutex costs a hundred times what the allocation does
//   (concurrent_pool, or an allocator for each thread).
//
// Cost:    a lock and an unlock on top of the allocator: 10 ns uncontended, 100 and more contended.
// Threads: any, as long as every call goes through this wrapper. Constructor and destructor: one.
// fork():  the child of a fork finds the mutex as it was: held for ever, if another thread held it
// then.
#pragma once

#include <type_traits>

#include <cairn/core/inside/atomic.hpp>
#include <cairn/core/inside/forwards.hpp>
#include <cairn/os/mutex.hpp>
#include <cairn/os/thread_identity.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

/// Checked builds: the thread that holds a mutex. Relaxed accesses: a thread sees its own address
/// only where it stored that address itself.
class mutex_holder {
public:
#if CAIRN_ASSERTS
    void expect_other() const noexcept {
        CAIRN_ASSERT(thread_.load(memory_order::relaxed) != &this_thread,
                     "a callback of a locked allocator uses the allocator inside, not the "
                     "wrapper, whose mutex this thread already holds",
                     {.object = this, .type = "locked"});
    }
    void enter() noexcept { thread_.store(&this_thread, memory_order::relaxed); }
    void leave() noexcept { thread_.store(nullptr, memory_order::relaxed); }

private:
    atomic<const void*> thread_;
#else
    void expect_other() const noexcept {}
    void enter() noexcept {}
    void leave() noexcept {}
#endif
};

/// Each call holds the mutex.
template <class Mutex>
struct one_at_a_time {
    struct scope {
        explicit scope(one_at_a_time& a) noexcept : all{a} {
            a.holder.expect_other();
            a.mutex.lock();
            a.holder.enter();
        }
        ~scope() {
            all.holder.leave();
            all.mutex.unlock();
        }
        scope(const scope&) = delete;
        scope& operator=(const scope&) = delete;
        one_at_a_time& all;
    };
    Mutex mutex;
    [[CAIRN_NO_UNIQUE_ADDRESS]] mutex_holder holder;
};

}  // namespace detail

/// What A has, one caller at a time; no markers, which would rewind what another thread allocated.
/// Mutex: anything with lock() and unlock(), std::mutex included.
template <byte_allocator A, class Mutex = mutex>
class locked : detail::forwards<A, detail::one_at_a_time<Mutex>> {
    friend struct detail::wrapped_in;
    using base = detail::forwards<A, detail::one_at_a_time<Mutex>>;

public:
    using base::base;
    explicit locked(std::remove_reference_t<A>&)  // locked<A>{args of the A}, or locked{a}
        requires(!std::is_reference_v<A> && !std::is_copy_constructible_v<A>)
    = delete;

    using base::allocate;
    using base::deallocate;
    using base::good_size;
    using base::owns;
    using base::refund;
    using base::reset;
    using base::try_charge;
    using base::try_resize;
    using base::usable_size;
    using base::validate;

    /// Calls f(allocator) while no other thread is in it: batches, reserve(), statistics, all that
    /// has no function here. Returns: what f returns.
    /// Requires: `f` does not call this wrapper, whose mutex is held. The same is true of callbacks
    ///           of the allocator inside, such as the handler of a budget: they use that allocator.
    template <class F>
    decltype(auto) with(F&& f) {
        const typename detail::one_at_a_time<Mutex>::scope held{this->around_};
        return static_cast<F&&>(f)(this->inner_);
    }
};

template <class A>
locked(A&) -> locked<A&>;
locked(allocator_ref) -> locked<allocator_ref>;

}}  // namespace cairn::CAIRN_FLAVOUR
