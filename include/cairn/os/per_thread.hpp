// cairn/os/per_thread.hpp - one value for each thread, each alone on its cache lines.
//
//      thread_number():    0                1                2               3 and above
//                    |<- 64 bytes ->|<- 64 bytes ->|<- 64 bytes ->|    |<- 64 bytes ->|
//                    +------+-------+------+-------+------+-------+    +------+-------+
//      slots_ -----> |  T   |       |  T   |       |  T   |       |    |  T   | lock  |  shared_
//                    +------+-------+------+-------+------+-------+    +------+-------+
//                    one block of `upstream`, capacity() slots           inside the object
//
//      per_thread<std::size_t> hits{8};                       // at most 8 threads without a lock
//      hits.update([](std::size_t& n) { ++n; });              // any thread, no false sharing
//      hits.combine(std::size_t{0}, std::plus{});             // when they are done
//
//      per_thread<arena> jobs{worker_count};                  // workers with numbers of their own
//      arena& mine = jobs.at(worker);
//
// Use it for: counters, scratch buffers, lists that every thread writes and one reads at the end.
// Look elsewhere for: a value that ends with its thread (thread_local); a handful of threads that
//             share one value rarely (an atomic).
//
// Invariant: the slots are constructed with the object and destroyed with it. A slot belongs to the
//            living thread with its number, then to the next thread that gets the number, with the
//            value as it was left.
// Cost:      update: a load of the thread number and two compares; no atomics. Threads with a
//            number of capacity() or above: two atomic exchanges more. In another module than the
//            object's: a call more. Memory: a multiple of 64
//            bytes for each slot.
// Threads:   update, local and at(own index): any thread, at once.
//            for_each, combine, at(another's index): while no thread updates; joining the threads
//            or any other synchronization with their last update is enough. To read while they
//            write, make T atomic: per_thread<std::atomic<std::size_t>>, with relaxed operations.
//            The destructor: when no thread uses it any more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/cache_line.hpp>
#include <cairn/core/inside/element.hpp>
#include <cairn/os/mutex.hpp>
#include <cairn/os/system_allocator.hpp>
#include <cairn/os/thread_identity.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

/// The slots as memory: constructed one by one, so that a throwing constructor leaves nothing
/// behind.
template <class Slot>
struct per_thread_slots {
    Slot* first = nullptr;
    std::size_t count = 0;  // constructed
    std::size_t taken = 0;  // room for so many
    allocator_ref upstream;

    per_thread_slots(std::size_t wanted, allocator_ref from) noexcept : upstream{from} {
        if (wanted > PTRDIFF_MAX / sizeof(Slot)) { return; }  // no upstream has that much
        first = static_cast<Slot*>(upstream.allocate(wanted * sizeof(Slot), alignment::of<Slot>()));
        taken = first != nullptr ? wanted : 0;
    }
    ~per_thread_slots() {
        while (count != 0) { first[--count].~Slot(); }
        if (first != nullptr) {
            upstream.deallocate(first, taken * sizeof(Slot), alignment::of<Slot>());
        }
    }
    per_thread_slots(const per_thread_slots&) = delete;
    per_thread_slots& operator=(const per_thread_slots&) = delete;
};

}  // namespace detail

template <detail::element T>
class per_thread {
    static_assert(sizeof(detail::concrete_rules<T>) != 0);
    using slot = cache_line_padded<T>;

public:
    /// `capacity` value-initialized slots in one block of `upstream`, and the shared one.
    /// When upstream refuses, capacity() is 0 and all threads use the shared slot.
    explicit per_thread(std::size_t capacity, allocator_ref upstream = system_memory())
        requires std::is_default_constructible_v<T>
        : per_thread{capacity, upstream, [](std::size_t) { return T{}; }} {}
    /// The same with 64 slots.
    per_thread()
        requires std::is_default_constructible_v<T>
        : per_thread{64} {}

    /// The same, each value made in place by `make(index)`, which returns a T; the shared one has
    /// index `capacity`. `per_thread<arena>{8, heap, [](std::size_t) { return arena{64_KiB}; }}`
    template <class Make>
        requires std::is_invocable_r_v<T, Make&, std::size_t>
    per_thread(std::size_t capacity, allocator_ref upstream, Make make)
        : slots_{capacity, upstream}, shared_{make(capacity)} {
        for (; slots_.count < slots_.taken; ++slots_.count) {
            ::new (static_cast<void*>(slots_.first + slots_.count)) slot{make(slots_.count)};
        }
        own_count_ =
            slots_.count < detail::thread_number_limit ? slots_.count : detail::thread_number_limit;
    }

    per_thread(const per_thread&) = delete;
    per_thread& operator=(const per_thread&) = delete;

    /// f(T&) with the value of the calling thread; with the shared value, under a lock, when its
    /// number is capacity() or above. Returns what f returns.
    /// Requires: f does not call update() of the same object.
    template <class F>
    decltype(auto) update(F&& f) {
        if (T* const mine = local()) [[likely]] { return static_cast<F&&>(f)(*mine); }
        const shared_scope held{shared_};
        return static_cast<F&&>(f)(shared_.value);
    }

    /// The value of the calling thread, which may keep the pointer until it exits.
    /// Returns: nullptr when its number is capacity() or above, or thread_number_limit, which
    ///          threads share: there is only the shared one then.
    [[nodiscard]] T* local() noexcept {
        const bool is_at_home = numbers_ == &detail::numbers_of_this_module;
        const std::size_t number = is_at_home ? thread_number() : numbers_->of_this_thread();
        return number < own_count_ ? compiler::address_of(slots_.first[number].value) : nullptr;
    }

    /// The value of slot `index`, for threads that have numbers of their own (workers of a pool);
    /// do not mix with update() and local(), which go by thread_number().
    /// Requires: index < capacity().
    [[nodiscard]] T& at(std::size_t index) noexcept {
        CAIRN_ASSERT(index < slots_.count, "a worker's index is below the capacity");
        return slots_.first[index].value;
    }

    /// f(T&) for every value, the shared one last. Threads: see above.
    /// Requires: f does not call update() or for_each() of the same object.
    template <class F>
    void for_each(F&& f) {
        for (std::size_t i = 0; i < slots_.count; ++i) { f(slots_.first[i].value); }
        const shared_scope held{shared_};
        f(shared_.value);
    }

    /// All values folded from the left: op(...op(op(init, slot 0), slot 1)..., shared).
    template <class R, class Op>
    [[nodiscard]] R combine(R init, Op op) {
        for_each([&](T& value) { init = op(static_cast<R&&>(init), value); });
        return init;
    }

    /// Slots that need no lock.
    [[nodiscard]] std::size_t capacity() const noexcept { return slots_.count; }

private:
    struct alignas(slot) shared_slot {
        T value;
        mutex lock{};
#if CAIRN_ASSERTS
        detail::atomic<const void*> holder{};  // an address of the thread that has the lock
#endif
    };

    /// Holds the lock of the shared value. Checked builds name a thread that would wait for itself.
    struct shared_scope {
        explicit shared_scope(shared_slot& slot) noexcept : slot_{slot} {
#if CAIRN_ASSERTS
            CAIRN_ASSERT(slot.holder.load(detail::memory_order::relaxed) != &detail::this_thread,
                         "a function that a per_thread calls does not use the same per_thread",
                         {.object = compiler::address_of(slot.value), .type = "per_thread"});
#endif
            slot.lock.lock();
            note(&detail::this_thread);
        }
        ~shared_scope() {
            note(nullptr);
            slot_.lock.unlock();
        }
        shared_scope(const shared_scope&) = delete;
        shared_scope& operator=(const shared_scope&) = delete;

        void note([[maybe_unused]] const void* thread) noexcept {
#if CAIRN_ASSERTS
            slot_.holder.store(thread, detail::memory_order::relaxed);
#endif
        }
        shared_slot& slot_;
    };

    detail::per_thread_slots<slot> slots_;
    std::size_t own_count_ =
        0;  // slots that one thread may have: the number at the limit is shared
    // Of the module that made this object: in another one (docs/plugins.md) a thread has other
    // numbers.
    const detail::thread_numbers* numbers_ = &detail::numbers_of_this_module;
    shared_slot shared_;
};

static_assert(sizeof(cache_line_padded<long>) == cache_line_size);

}}  // namespace cairn::CAIRN_FLAVOUR
