// cairn/std/deferred_in.hpp - a std::unique_ptr, and a std::shared_ptr, whose end puts the object
// into a destruction_queue.
//
//      struct waypoint {
//          int value;
//          cairn::deferred_in<waypoint> next;              // a list of a million: no recursion
//      };
//      cairn::destruction_queue<waypoint> ended{memory};
//      auto path = cairn::make_deferred_in(ended, 1);      // null: memory is exhausted
//      path.reset();                                       // O(1)
//      ended.collect({.microseconds = 100});               // each frame, until settled
//
//      std::shared_ptr<stage> next;                        // a member of stage: the same, shared
//      auto first = cairn::make_shared_in(stages, 1);      // stages: a destruction_queue<stage>
//
// unique_in destroys in the destructor of its owner, and so does the std::shared_ptr of an
// allocator: a list of a million of them needs a stack of a hundred megabytes.
//
// Use it for: objects that own others of their type in a chain; more destruction than fits into a
//   frame.
// Look elsewhere for: owners that end at once and one by one (unique_in.hpp); objects with handles
//   (owners/deferred_store.hpp).
//
// Cost:      one word, and one before the object. Where a list ends: 20 instructions an object in a
//            pool, destroys::at_once, 25 by collect(); the loop written by hand over unique_in, 22
//            (gcc -O2, callgrind). A million of 64 bytes: 1.1 times its time. A std::shared_ptr has
//            its counts in a block of their own, of the same allocator.
// Lifetimes: the queue and its allocator outlive every pointer, and each std::weak_ptr.
// Threads:   one, that of the queue.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include <cairn/owners/destruction_queue.hpp>
#include <cairn/std/std_allocator.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// Puts an object that make_deferred_in() made into its queue.
template <class T, byte_allocator A = allocator_ref>
struct deferred_deleter {
    using pointer = T*;

    /// nullptr does nothing.
    void operator()(T* object) const noexcept {
        if (object != nullptr) { destruction_queue<T, A>::end(*object); }
    }
};

/// Owns one object in the memory of an allocator; its end puts the object into a queue.
template <class T, byte_allocator A = allocator_ref>
using deferred_in = std::unique_ptr<T, deferred_deleter<T, A>>;

/// A new T in memory of the queue's allocator, which the queue destroys when its owner has ended.
/// Returns: null when the allocator is exhausted; nothing is constructed then. Cannot throw unless
///          T's constructor does; the memory has gone back then.
template <class T, byte_allocator A, class... Args>
[[nodiscard]] deferred_in<T, A> make_deferred_in(destruction_queue<T, A>& queue, Args&&... args) {
    return deferred_in<T, A>{queue.make(std::forward<Args>(args)...)};
}

/// The same, shared: with the last owner the object expires for every std::weak_ptr, and waits in
/// the queue. Object and counts are two blocks of the queue's allocator. (A pool takes both where
/// its slots have 48 bytes or more.)
/// Throws: std::bad_alloc when the allocator is exhausted; without exceptions: prints the size and
///         aborts. What T's constructor throws.
template <class T, byte_allocator A, class... Args>
[[nodiscard]] std::shared_ptr<T> make_shared_in(destruction_queue<T, A>& queue, Args&&... args) {
    constexpr bool fit = std::is_constructible_v<T, Args...>;
    static_assert(fit, "an object is made as T(args...): these arguments build none");
    if constexpr (fit) {
        T* const object = queue.make(std::forward<Args>(args)...);
        if (object == nullptr) [[unlikely]] { detail::refuse(sizeof(T), alignment::of<T>()); }
        // Where there is no memory for the counts, the object ends in the queue.
        return {object, deferred_deleter<T, A>{}, std_allocator<T, A>{queue.upstream()}};
    } else {
        return nullptr;
    }
}

}}  // namespace cairn::CAIRN_FLAVOUR
