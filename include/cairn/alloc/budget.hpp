// cairn/alloc/budget.hpp - a limit on the bytes of an allocator, with a handler that may free some.
//
//      0                        live_size()      limit_size()
//      |============================|----------------|            the rest of the machine's memory
//                                   |<-- fits ------>|
//                                   |<-- does not: the handler is asked, then refused -->|
//
//      cairn::budget sounds{64_MiB, heap};               // refers to `heap`
//      sounds.set_handler([](void* cache, const cairn::budget_request& r) noexcept {
//          return static_cast<sound_cache*>(cache)->drop_oldest(r.missing_size());  // true: again
//      }, &cache);
//      void* p = sounds.allocate(size);                  // nullptr: as if memory were exhausted
//
//      class game { cairn::budget<cairn::system_allocator> memory{64_MiB}; ... };     // a member
//
// Use it for: the memory of a subsystem in a program that is shipped; a test console with less.
// Look elsewhere for: several threads (concurrent_budget.hpp); several ways to free memory
//             (reclaim_order.hpp); bytes that lie together (an arena or heap of that size);
//             refusals for tests (debug/failing.hpp); figures by owner (debug/tracked.hpp).
//
// Counted are the bytes that were asked for, not what the allocator rounds them up to. A budget may
// be the allocator of another budget: a request passes when all of them have room.
// Cost:    an addition, a compare and a maximum for each request, a subtraction for each free.
// Threads: those of A while one thread at a time uses the budget; locked<budget<A>> for several.
//          The mutex of locked<> is held while the handler runs. The handler then frees through the
//          budget inside, which locked::with() shows, and not through the locked<> wrapper.
#pragma once

#include <cstddef>

#include <cairn/core/inside/counts_live.hpp>
#include <cairn/os/system_allocator.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// A request that is beyond the limit.
struct budget_request {
    std::size_t size = 0;        // bytes asked for
    std::size_t live_size = 0;   // bytes given out
    std::size_t limit_size = 0;  // bytes that may be given out

    /// Bytes to free before the request fits. Requires: size <= limit_size.
    [[nodiscard]] constexpr std::size_t missing_size() const noexcept {
        return live_size - (limit_size - size);
    }
};

/// Called with a request that is beyond the limit, and not from inside itself. It may free memory
/// of this budget, or raise the limit. Returns: true to look again; false to refuse.
using budget_handler = bool (*)(void* context, const budget_request& request) noexcept;

/// Owns an A (`budget<pool>{limit, args...}`) or refers to one (`budget{limit, a}` is
/// `budget<A&>`).
template <byte_allocator A>
class budget : public detail::counts_live<budget<A>, A> {
    using base = detail::counts_live<budget<A>, A>;

public:
    using base::live_size;

    // allocate() and try_resize() are refused beyond the limit when the handler does not help; the
    // allocator inside is not asked then. live_size(), peak_size(): core/inside/counts_live.hpp.

    budget() = delete;  // it needs a limit: budget{64_MiB}
    explicit budget(const std::remove_reference_t<A>&) = delete;  // a limit: budget{64_MiB, a}

    /// At most `limit_size` bytes at a time from an A made of `args`.
    template <class... Args>
        requires std::is_constructible_v<A, Args...>
    explicit budget(std::size_t limit_size, Args&&... args)
        : base{static_cast<Args&&>(args)...}, limit_size_{limit_size} {}
    budget(std::size_t, allocator_ref)  // system_memory() is one: budget<allocator_ref>
        requires(!std::is_constructible_v<A, allocator_ref>)
    = delete;

    /// Calls handler(context, request) before a request is refused; nullptr: refused at once.
    void set_handler(budget_handler handler, void* context = nullptr) noexcept {
        handler_ = handler;
        context_ = context;
    }
    /// Below live_size(): live blocks stay, and requests are refused until enough bytes are freed.
    void set_limit_size(std::size_t bytes) noexcept { limit_size_ = bytes; }

    /// Bytes that may be live.
    [[nodiscard]] std::size_t limit_size() const noexcept { return limit_size_; }
    /// Requests that were refused for the limit.
    [[nodiscard]] std::size_t refused_count() const noexcept { return refused_count_; }

private:
    friend base;

    [[nodiscard]] bool fits(std::size_t size) const noexcept {
        return live_size() <= limit_size_ && size <= limit_size_ - live_size();
    }
    [[nodiscard]] bool admits(std::size_t size) noexcept {
        return fits(size) || makes_room_for(size);
    }
    [[nodiscard, CAIRN_NOINLINE, CAIRN_COLD]] bool makes_room_for(std::size_t size) noexcept {
        // What is larger than the whole budget cannot be helped, and a handler that allocates from
        // the budget is not asked for its own request.
        while (handler_ != nullptr && !is_asking_ && size <= limit_size_) {
            is_asking_ = true;
            const bool again = handler_(context_, {size, live_size(), limit_size_});
            is_asking_ = false;
            if (fits(size)) { return true; }
            if (!again) { break; }
        }
        ++refused_count_;
        return false;
    }

    std::size_t limit_size_;  // bytes
    std::size_t refused_count_ = 0;
    budget_handler handler_ = nullptr;
    void* context_ = nullptr;
    bool is_asking_ = false;  // the handler is running
};

template <class A>
budget(std::size_t, A&) -> budget<A&>;
template <byte_allocator A>
budget(A&) -> budget<A&>;
/// `budget{64_MiB}` limits memory of the C library.
budget(std::size_t) -> budget<system_allocator>;
budget(std::size_t, allocator_ref) -> budget<allocator_ref>;
budget() -> budget<system_allocator>;

}}  // namespace cairn::CAIRN_FLAVOUR
