// cairn/containers/message_queue.hpp - a bounded queue from many threads to many threads, without
// locks.
//
//      producers    try_push                        try_pop    consumers
//                       \    tail           head    /
//                        v    v              v     v
//      cells      +------+------+------+------+------+------+------+------+
//                 | free | free | m 13 | m 12 | m 11 | free | free | free |   capacity(): 8
//                 +------+------+------+------+------+------+------+------+
//
//    cairn::concurrent_pool_of<job> jobs;
//    cairn::message_queue<job*> todo;          // room for 1,024; {{.capacity = 64}} for less
//    if (job* const j = jobs.make(...); j != nullptr && !todo.try_push(j)) { ... }   // full: later
//    if (job* j; todo.try_pop(j)) { j->run(); jobs.destroy(j); }                     // empty: no
//
// Use it for: pointers and handles of objects that one thread makes and another one uses: jobs for
//             workers, messages to the audio thread, finished work on the way back.
// Look elsewhere for: threads that sleep until a message comes (a condition variable beside it); a
//             queue without a bound; large messages (put them into a concurrent_pool_of).
//
// Order:     what one thread pushes is popped in the order in which it was pushed.
// Progress:  no operation takes a lock, waits, allocates, or makes a system call. It is repeated
//            only when another thread has just succeeded with the same one. A producer that is
//            stopped between its two steps (a few instructions) hides what was pushed behind it:
//            try_pop() answers "empty" until it goes on. A stopped consumer likewise makes
//            try_push() answer "full" one round later.
// Cost:      one load, one compare-exchange and one store beside the message; 16 bytes a cell for a
//            message of 8 bytes, and three cache lines.
// Threads:   try_push, try_pop, approximate_count: any. Construction and destruction: one.
// Source:    D. Vyukov's bounded queue; turns, orders and their proof: message_queue/ring.hpp.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include <cairn/containers/message_queue/ring.hpp>
#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/inside/element.hpp>
#include <cairn/os/system_allocator.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

struct message_queue_options {
    std::size_t capacity = 1024;  // messages that fit at least: the next power of two, 2 or more
};

}  // namespace detail

template <detail::element T>
class message_queue {
    static_assert(std::is_trivially_copyable_v<T> && std::is_nothrow_default_constructible_v<T> &&
                      std::is_trivially_destructible_v<T>,
                  "a message is copied as bytes: send a pointer or a handle of the object");

public:
    using value_type = T;

    using options = detail::message_queue_options;

    /// All memory is taken here. When `upstream` refuses, or for more than 2^32 messages,
    /// capacity() is 0 and each push is refused.
    message_queue() noexcept : message_queue{system_memory()} {}
    explicit message_queue(allocator_ref upstream, const options& how = {}) noexcept
        : upstream_{upstream} {
        if (how.capacity > capacity_max) { return; }
        const std::size_t count = std::bit_ceil(how.capacity < 2 ? std::size_t{2} : how.capacity);
        void* const memory = upstream_.allocate(count * sizeof(cell), cell_alignment);
        if (memory == nullptr) { return; }
        capacity_ = count;
        cells_ = static_cast<cell*>(memory);
        for (std::size_t i = 0; i != count; ++i) { ::new (static_cast<void*>(cells_ + i)) cell{}; }
        ring_.start(cells_, count);
    }
    explicit message_queue(const options& how) noexcept : message_queue{system_memory(), how} {}
    explicit message_queue(std::size_t, ...) = delete;  // an option: {{.capacity = 1000}}
    /// Messages that were not popped are dropped. Requires: no thread uses the queue.
    ~message_queue() {
        if (cells_ != nullptr) {
            upstream_.deallocate(cells_, capacity_ * sizeof(cell), cell_alignment);
        }
    }
    message_queue(const message_queue&) = delete;
    message_queue& operator=(const message_queue&) = delete;

    /// Appends `message`. Returns: false when the queue is full, or has no memory; it is unchanged
    /// then.
    [[nodiscard]] bool try_push(T message) noexcept {
        return cells_ != nullptr && ring_.try_push(message);
    }

    /// Takes the oldest message. Returns: false when there is none; `message` is unchanged then.
    [[nodiscard]] bool try_pop(T& message) noexcept {
        return cells_ != nullptr && ring_.try_pop(message);
    }

    void push(...) const = delete;  // try_push(message): false when full
    void pop(...) const = delete;   // try_pop(message): false when empty
    void try_pop() const = delete;  // T m; if (q.try_pop(m)) ...
    void size() const = delete;     // approximate_count()
    void empty() const = delete;    // try_pop(m): false when empty

    /// Messages that fit; a power of two, or 0 when the upstream refused.
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

    /// Messages in the queue at some moment during the call. Exact while no thread pushes or pops.
    [[nodiscard]] std::size_t approximate_count() const noexcept { return ring_.count(); }

    [[nodiscard]] allocator_ref upstream() const noexcept { return upstream_; }

private:
    using ring = detail::message_ring<T>;
    using cell = typename ring::cell;
    static constexpr alignment cell_alignment{alignof(cell) > cache_line_size ? alignof(cell)
                                                                              : cache_line_size};
    static constexpr std::size_t capacity_max = std::size_t{1} << 32;  // times a cell fits SIZE_MAX
    static_assert(sizeof(cell) <= SIZE_MAX / capacity_max);

    ring ring_;
    cell* cells_ = nullptr;
    std::size_t capacity_ = 0;  // cells
    allocator_ref upstream_;
};

static_assert(sizeof(detail::message_ring<void*>::cell) == 16);

}}  // namespace cairn::CAIRN_FLAVOUR
