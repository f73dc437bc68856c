// cairn/alloc/locked.hpp - any allocator, for any number of threads.
//
//      cairn::locked memory{heap};             // refers to `heap`
//      cairn::locked<cairn::pool> slots{64};   // owns a pool
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
// Threads: any, as long as everybody goes through this wrapper. Constructor and destructor: one.
// fork():  the child of a fork finds the mutex as it was: held for ever, if another thread held it then.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <cairn/core/allocator_ref.hpp>
#include <cairn/os/mutex.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

/// Mutex: anything with lock() and unlock(), std::mutex included.
template <byte_allocator A, class Mutex = mutex>
class locked {
public:
    template <class... Args>
        requires std::constructible_from<A, Args...>
    explicit locked(Args&&... args) : inner_(std::forward<Args>(args)...) {}

    [[nodiscard]] void* allocate(std::size_t size, alignment align = default_alignment) noexcept {
        const lock_scope held{mutex_};
        return inner_.allocate(size, align);
    }

    void deallocate(void* p, std::size_t size, alignment align = default_alignment) noexcept {
        const lock_scope held{mutex_};
        inner_.deallocate(p, size, align);
    }

    /// For allocators whose blocks know their size, or have only one.
    void deallocate(void* p) noexcept
        requires requires(std::remove_reference_t<A>& a) {
            { a.deallocate(p) } noexcept;
        }
    {
        const lock_scope held{mutex_};
        inner_.deallocate(p);
    }

    [[nodiscard]] bool try_resize(void* p, std::size_t old_size, std::size_t new_size,
                                  alignment align = default_alignment) noexcept
        requires resizes_in_place<A>
    {
        const lock_scope held{mutex_};
        return inner_.try_resize(p, old_size, new_size, align);
    }

    [[nodiscard]] std::size_t good_size(std::size_t size, alignment align) const noexcept
        requires has_good_size<A>
    {
        const lock_scope held{mutex_};
        return inner_.good_size(size, align);
    }

    [[nodiscard]] std::size_t usable_size(const void* p) const noexcept
        requires requires(const std::remove_reference_t<A>& a) {
            { a.usable_size(p) } noexcept -> std::same_as<std::size_t>;
        }
    {
        const lock_scope held{mutex_};
        return inner_.usable_size(p);
    }

    [[nodiscard]] bool owns(const void* p) const noexcept
        requires has_owns<A>
    {
        const lock_scope held{mutex_};
        return inner_.owns(p);
    }

    void reset() noexcept
        requires resettable<A>
    {
        const lock_scope held{mutex_};
        inner_.reset();
    }

    void validate() const noexcept
        requires validatable<A>
    {
        const lock_scope held{mutex_};
        inner_.validate();
    }

    /// Calls f(allocator) while nobody else uses it: batches, reserve(), statistics, all that has
    /// no function here. `f` must not come back through this wrapper. Returns: what f returns.
    template <class F>
    decltype(auto) with(F&& f) {
        const lock_scope held{mutex_};
        return std::forward<F>(f)(inner_);
    }

private:
    A inner_;
    mutable Mutex mutex_;
};

template <class A>
locked(A&) -> locked<A&>;

}  // namespace cairn::inline CAIRN_FLAVOUR
