// cairn/alloc/concurrent_budget.hpp - a limit on the bytes of an allocator that threads share.
//
//      0                                      granted     limit_size()
//      |=======================|====|==|========|-------------|
//      |<--- live_size() ----->| A  |B |   C    |<-- left --->|
//                               credits of threads A, B, C
//
//      cairn::concurrent_heap heap;
//      cairn::concurrent_budget sounds{64_MiB, heap};           // refers to `heap`
//      class game { cairn::concurrent_budget<cairn::concurrent_heap> own{64_MiB}; ... };
//      cairn::concurrent_budget<cairn::concurrent_heap> part{64_MiB, cairn::allocator_ref{heap}};
//
// Each thread holds a credit of bytes. A request within the credit writes no word that threads
// share. A thread takes a step (16 KiB) from the shared count when its credit is used up, and gives
// back what it holds above two steps.
//
// The limit is exact to the sum of credits: live_size() never exceeds the limit, and a request is
// refused only when live_size() + the credits of other threads + the request exceed it. A thread
// holds at most 32 KiB; when little is left, a sixteenth of that. release_this_thread() gives the
// credit back.
//
// Use it for: the memory of a subsystem that several threads use.
// Look elsewhere for: one thread (budget.hpp), whose limit and peak are exact.
//
// Counted are the bytes that were asked for, as budget counts them. One that owns a concurrent_heap
// counts slots instead: a thread's free slots are its credit (heap_budget.hpp), and a request costs
// what the heap costs, also where the heap that it owns takes its segments from another one
// (`part`, 1 MiB at least). One that refers to a heap takes 1.4 to 2.5 of the heap's time.
// Cost:    the way to the thread's credit (three loads and two compares) and a load, a compare and
//          a store, for each request and each free. Beyond the credit: an atomic exchange.
// Memory:  4 KiB from system_memory(). The 65th thread that lives at one time has no credit: its
//          requests use the shared count.
// Threads: any that A allows, but for construction, destruction and set_handler(). One thread at a
//          time asks the handler; others that need room wait for it.
// fork():  credits of threads that the child does not have count as used there. A handler that
//          another thread ran is not in the child's way.
#pragma once

#include <cstddef>

#include <cairn/alloc/budget.hpp>
#include <cairn/alloc/concurrent_budget/room_maker.hpp>
#include <cairn/alloc/inside/byte_credits.hpp>
#include <cairn/os/per_thread.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// Owns an A (`concurrent_budget<concurrent_heap>{limit, args...}`) or refers to one.
template <byte_allocator A>
class concurrent_budget : detail::forwards<A> {
    friend struct detail::wrapped_in;
    using base = detail::forwards<A>;
    using credits = detail::byte_credits;
    using base::inner_;

public:
    using base::good_size;
    using base::inner;
    using base::owns;
    using base::usable_size;
    using base::validate;

    concurrent_budget() = delete;  // it needs a limit: concurrent_budget{64_MiB}
    explicit concurrent_budget(const std::remove_reference_t<A>&) = delete;  // a limit: {64_MiB, a}

    /// Bytes that a thread takes from the shared count at a time.
    static constexpr std::size_t credit_step = std::size_t{16} << 10;

    /// At most `limit_size` bytes at a time from an A made of `args`.
    template <class... Args>
        requires std::is_constructible_v<A, Args...>
    explicit concurrent_budget(std::size_t limit_size, Args&&... args)
        : base{static_cast<Args&&>(args)...}, shared_{limit_size, credit_step} {}

    /// Returns: nullptr when the request is beyond the limit and the handler does not help (A is
    ///          not asked then), or A is exhausted.
    [[nodiscard, CAIRN_FORCE_INLINE]] void* allocate(
        std::size_t size, alignment align = default_alignment,
        call_site from = call_site::current()) noexcept {
        if (!take(size)) [[unlikely]] { return nullptr; }
        void* const p = detail::allocate_for(inner_, size, align, from);
        if (p == nullptr) [[unlikely]] { give(size); }
        return p;
    }
    /// Requires: as A's. Any thread may free what another allocated.
    [[CAIRN_FORCE_INLINE]] void deallocate(void* p, std::size_t size,
                                           alignment align = default_alignment,
                                           call_site from = call_site::current()) noexcept {
        if (p == nullptr) { return; }
        detail::deallocate_for(inner_, p, size, align, from);
        give(size);
    }
    /// What a block grows by in place is a request.
    [[nodiscard]] bool try_resize(void* p, std::size_t old_size, std::size_t new_size,
                                  alignment align = default_alignment) noexcept
        requires resizes_in_place<A>
    {
        const std::size_t more = new_size > old_size ? new_size - old_size : 0;
        if (!take(more)) { return false; }
        if (!inner_.try_resize(p, old_size, new_size, align)) {
            give(more);
            return false;
        }
        if (new_size < old_size) { give(old_size - new_size); }
        return true;
    }
    /// Counts bytes that do not come from A. Returns: false when they are beyond the limit.
    [[nodiscard]] bool try_charge(std::size_t size) noexcept {
        if (!take(size)) { return false; }
        if constexpr (detail::counts_for_others<A>) {
            if (!inner_.try_charge(size)) {
                give(size);
                return false;
            }
        }
        return true;
    }
    /// Takes bytes of try_charge() off the count.
    void refund(std::size_t size) noexcept {
        if constexpr (detail::counts_for_others<A>) { inner_.refund(size); }
        give(size);
    }

    /// Calls handler(context, request) before a request is refused: budget_handler, budget.hpp.
    /// What it allocates beyond a limit is refused unasked, by every concurrent_budget. It is code
    /// of the module that allocates. Requires: no other thread uses the budget.
    void set_handler(budget_handler handler, void* context = nullptr) noexcept {
        room_.set(handler, context);
    }
    /// Below live_size(): live blocks and credits stay, and the shared count gives nothing more
    /// until enough bytes are freed.
    void set_limit_size(std::size_t bytes) noexcept { shared_.set_limit_size(bytes); }
    /// Gives the calling thread's credit back: before it sleeps, at the end of a job.
    void release_this_thread() noexcept {
        if (credits::credit* const mine = credits_.local()) {
            shared_.put_shared(nullptr, mine->size.exchange(0, detail::memory_order::relaxed));
        }
    }

    /// Bytes that may be live.
    [[nodiscard]] std::size_t limit_size() const noexcept { return shared_.limit_size(); }
    /// Bytes that were asked for and are not yet back. Beside other threads at work: of slightly
    /// different moments. O(64).
    [[nodiscard]] std::size_t live_size() const noexcept {
        const std::size_t granted = shared_.granted_size();
        std::size_t held = 0;
        credits_.for_each([&held](const credits::credit& c) { held += credits::held_by(&c); });
        return held < granted ? granted - held : 0;
    }
    /// The most that live_size() has been, and at most the credits of that moment more.
    [[nodiscard]] std::size_t peak_size() const noexcept { return shared_.peak_size(); }
    /// Requests that were refused for the limit.
    [[nodiscard]] std::size_t refused_count() const noexcept { return room_.refused_count(); }

private:
    [[nodiscard, CAIRN_FORCE_INLINE]] bool take(std::size_t size) noexcept {
        credits::credit* const mine = credits_.local();
        if (mine != nullptr && credits::pay(*mine, size)) [[likely]] { return true; }
        return take_shared(mine, size);
    }
    [[CAIRN_FORCE_INLINE]] void give(std::size_t size) noexcept {
        credits::credit* const mine = credits_.local();
        if (mine != nullptr && shared_.put(*mine, size)) [[likely]] { return; }
        give_shared(mine, size);
    }
    [[CAIRN_NOINLINE]] void give_shared(credits::credit* mine, std::size_t size) noexcept {
        shared_.put_shared(mine, size);
    }
    [[nodiscard, CAIRN_NOINLINE]] bool take_shared(credits::credit* mine,
                                                   std::size_t size) noexcept {
        if (shared_.pay_shared(mine, size)) { return true; }
        return room_.make_room(
            [&]() noexcept -> budget_request {
                return {size, shared_.granted_size() - credits::held_by(mine), limit_size()};
            },
            [&]() noexcept { return shared_.pay_shared(mine, size); });
    }

    mutable per_thread<credits::credit> credits_;
    detail::room_maker room_;
    alignas(cache_line_size) credits shared_;
};

template <class A>
concurrent_budget(std::size_t, A&) -> concurrent_budget<A&>;
template <byte_allocator A>
concurrent_budget(A&) -> concurrent_budget<A&>;
/// `concurrent_budget{64_MiB}` limits memory of the C library.
concurrent_budget(std::size_t) -> concurrent_budget<system_allocator>;
concurrent_budget(std::size_t, allocator_ref) -> concurrent_budget<allocator_ref>;
concurrent_budget() -> concurrent_budget<system_allocator>;

}}  // namespace cairn::CAIRN_FLAVOUR

#include <cairn/alloc/concurrent_budget/heap_budget.hpp>
