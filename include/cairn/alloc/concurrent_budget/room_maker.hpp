// cairn/alloc/concurrent_budget/room_maker.hpp - one thread at a time asks the handler of a budget.
//
//      thread A   request does not fit --> [ mutex ] handler ... handler --> fits, or refused
//      thread B   request does not fit ----waits-----------------------> tries again, asks
//      thread A   inside the handler: a request that does not fit is refused unasked, by every
//                 budget: two handlers that allocate from each other's budget do not deadlock
//
// Threads: any, but for set().
// fork():  the child of a fork while another thread is in the handler asks on its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/budget.hpp>
#include <cairn/core/inside/atomic.hpp>
#include <cairn/os/mutex.hpp>
#include <cairn/os/thread_identity.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// From its construction to its end the calling thread holds `lock`, for which it waits. In the
/// child of a fork, threads that the child does not have hold nothing.
class CAIRN_DETAIL_MODULE_LOCAL asking_turn {
public:
    explicit asking_turn(mutex& lock) noexcept;
    ~asking_turn();
    asking_turn(const asking_turn&) = delete;
    asking_turn& operator=(const asking_turn&) = delete;

    /// Has forks watched. Where the system has no room for that, the next call asks again.
    static void watch_forks() noexcept;

private:
    friend struct asking_forks;
    mutex& lock_;
    const std::uint64_t thread_;  // serial
    asking_turn* next_;           // all turns of the module, of waiting threads too
    asking_turn* previous_;
};

class room_maker {
public:
    void set(budget_handler handler, void* context) noexcept {
        asking_turn::watch_forks();
        handler_ = handler;
        context_ = context;
    }

    /// Asks the handler with request() until it gives up or retry() is true.
    /// Returns: what the last retry() returned; false, and counted, when the request is refused.
    template <class Request, class Retry>
    [[nodiscard]] bool make_room(Request request, Retry retry) noexcept {
        if (asks(request, retry)) { return true; }
        refused_count_.fetch_add(1, memory_order::relaxed);
        return false;
    }
    [[nodiscard]] std::size_t refused_count() const noexcept {
        return refused_count_.load(memory_order::relaxed);
    }

private:
    template <class Request, class Retry>
    [[nodiscard]] bool asks(Request& request, Retry& retry) noexcept {
        if (handler_ == nullptr || this_thread.is_in_handler || !can_fit(request())) {
            return false;
        }
        const asking_turn turn{asking_};
        if (retry()) { return true; }  // another thread made room meanwhile
        bool again = true;
        bool has_room = false;
        while (again && !has_room && can_fit(request())) {
            this_thread.is_in_handler = true;
            again = handler_(context_, request());
            this_thread.is_in_handler = false;
            has_room = retry();
        }
        return has_room;
    }
    [[nodiscard]] static bool can_fit(const budget_request& r) noexcept {
        return r.size <= r.limit_size;
    }

    budget_handler handler_ = nullptr;
    void* context_ = nullptr;
    atomic<std::size_t> refused_count_{0};
    mutex asking_;  // held while the handler runs
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
