// cairn/alloc/concurrent_budget/heap_budget.hpp - a budget that owns its concurrent_heap.
//
//      0                                       granted       limit_size()
//      |=========================|==|===|===|===|-------------|
//      |<--- live_size() ------->| caches of threads A, B, C
//
// The free slots in a thread's cache are its credit: the heap counts slots when they move into a
// cache or out of it, and large blocks one by one. So a request costs what the heap costs.
//
// Counted are the bytes of slots and of whole units, as concurrent_heap::good_size() says. A full
// budget asks all threads for their caches (concurrent_heap::trim), then the handler.
#pragma once

#include <cairn/alloc/concurrent_budget.hpp>
#include <cairn/alloc/concurrent_heap.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// The members of concurrent_budget and those of the heap inside, with the same Requires, Returns
/// and threads. Not movable.
template <>
class concurrent_budget<concurrent_heap> {
public:
    /// At most `limit_size` bytes at a time from a concurrent_heap made of `args`.
    template <class... Args>
        requires std::is_constructible_v<concurrent_heap, Args...>
    explicit concurrent_budget(std::size_t limit_size, Args&&... args) noexcept
        : shared_{limit_size, 0}, heap_{static_cast<Args&&>(args)...} {
        heap_.limit_ = &shared_;
    }

    [[nodiscard, CAIRN_FORCE_INLINE]] void* allocate(std::size_t size,
                                                     alignment align = default_alignment) noexcept {
        void* const p = heap_.allocate(size, align);
        if (p == nullptr) [[unlikely]] { return allocate_in_new_room(size, align); }
        return p;
    }
    [[CAIRN_FORCE_INLINE]] void deallocate(void* p, std::size_t size,
                                           alignment align = default_alignment,
                                           call_site from = call_site::current()) noexcept {
        heap_.deallocate(p, size, align, from);
    }
    [[CAIRN_FORCE_INLINE]] void deallocate(void* p,
                                           call_site from = call_site::current()) noexcept {
        heap_.deallocate(p, from);
    }
    /// Asks no handler.
    [[nodiscard]] bool try_resize(void* p, std::size_t old_size, std::size_t new_size,
                                  alignment align = default_alignment) noexcept {
        return heap_.try_resize(p, old_size, new_size, align);
    }
    [[nodiscard]] std::size_t good_size(std::size_t size,
                                        alignment align = default_alignment) const noexcept {
        return heap_.good_size(size, align);
    }
    [[nodiscard]] std::size_t usable_size(const void* p) const noexcept {
        return heap_.usable_size(p);
    }
    [[nodiscard]] bool owns(const void* p) const noexcept { return heap_.owns(p); }
    void validate() const noexcept { heap_.validate(); }
    [[nodiscard]] concurrent_heap& inner() noexcept { return heap_; }
    [[nodiscard]] const concurrent_heap& inner() const noexcept { return heap_; }

    /// Counts bytes that do not come from the heap.
    [[nodiscard]] bool try_charge(std::size_t size) noexcept {
        const auto retry = [&]() noexcept {
            (void)heap_.trim({.steps = 1});
            return shared_.pay_shared(nullptr, size);
        };
        return shared_.pay_shared(nullptr, size) || retry() || make_room(size, retry);
    }
    void refund(std::size_t size) noexcept { shared_.put_shared(nullptr, size); }

    void set_handler(budget_handler handler, void* context = nullptr) noexcept {
        room_.set(handler, context);
    }
    void set_limit_size(std::size_t bytes) noexcept { shared_.set_limit_size(bytes); }
    void release_this_thread() noexcept { heap_.release_this_thread(); }

    [[nodiscard]] std::size_t limit_size() const noexcept { return shared_.limit_size(); }
    /// Bytes of live blocks, and those of try_charge().
    [[nodiscard]] std::size_t live_size() const noexcept {
        const std::size_t granted = shared_.granted_size();
        const std::size_t cached = heap_.stats().cached_size;
        return cached < granted ? granted - cached : 0;
    }
    [[nodiscard]] std::size_t peak_size() const noexcept { return shared_.peak_size(); }
    [[nodiscard]] std::size_t refused_count() const noexcept { return room_.refused_count(); }

private:
    [[nodiscard, CAIRN_NOINLINE, CAIRN_COLD]] void* allocate_in_new_room(std::size_t size,
                                                                         alignment align) noexcept {
        void* p = nullptr;
        if (shared_.has_room_for(good_size(size, align))) {
            // Another thread gave bytes back meanwhile, or upstream refused.
            p = heap_.allocate(size, align);
            if (p != nullptr || shared_.has_room_for(good_size(size, align))) { return p; }
        }
        const auto retry = [&]() noexcept {
            (void)heap_.trim({.steps = 1});
            p = heap_.allocate(size, align);
            return p != nullptr;
        };
        return retry() || make_room(good_size(size, align), retry) ? p : nullptr;
    }
    template <class Retry>
    [[nodiscard]] bool make_room(std::size_t size, Retry retry) noexcept {
        return room_.make_room(
            [&]() noexcept -> budget_request {
                return {size, shared_.granted_size(), limit_size()};
            },
            retry);
    }

    detail::byte_credits shared_;
    detail::room_maker room_;
    concurrent_heap heap_;
};

}}  // namespace cairn::CAIRN_FLAVOUR
