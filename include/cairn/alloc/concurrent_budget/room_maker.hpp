// cairn/alloc/concurrent_budget/room_maker.hpp - one thread at a time asks the handler of a budget.
//
//      thread A   request does not fit --> [ mutex ] handler ... handler --> fits, or refused
//      thread B   request does not fit ----waits-----------------------> tries again, asks
//      thread A   inside the handler: a request that does not fit is refused unasked
//
// Threads: any, but for set().
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/budget.hpp>
#include <cairn/core/inside/atomic.hpp>
#include <cairn/os/mutex.hpp>
#include <cairn/os/thread_identity.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

class room_maker {
public:
    void set(budget_handler handler, void* context) noexcept {
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
        const std::uint64_t self = thread_serial();
        if (handler_ == nullptr || !can_fit(request()) ||
            asking_thread_.load(memory_order::relaxed) == self) {
            return false;
        }
        const lock_scope held{asking_};
        if (retry()) { return true; }  // another thread made room meanwhile
        asking_thread_.store(self, memory_order::relaxed);
        bool again = true;
        bool has_room = false;
        while (again && !has_room && can_fit(request())) {
            again = handler_(context_, request());
            has_room = retry();
        }
        asking_thread_.store(0, memory_order::relaxed);
        return has_room;
    }
    [[nodiscard]] static bool can_fit(const budget_request& r) noexcept {
        return r.size <= r.limit_size;
    }

    budget_handler handler_ = nullptr;
    void* context_ = nullptr;
    atomic<std::size_t> refused_count_{0};
    atomic<std::uint64_t> asking_thread_{0};  // serial of the thread in the handler; 0: none
    mutex asking_;                            // held while the handler runs
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
