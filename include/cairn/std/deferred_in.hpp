// cairn/std/deferred_in.hpp - a std::unique_ptr whose end puts the object into a destruction_queue.
//
//      deferred_in<T>         block in the memory of an allocator
//      +--------+             +------+---------+-----------+--------+
//      | object |---.         | next | destroy | allocator | object |      one word; next is the queue
//      +--------+   |         +------+---------+-----------+--------+      as long as it is owned
//                   `-------------------------------------^
//
//      struct link {
//          int value;
//          cairn::deferred_in<link> next;                       // a list of a million: no recursion
//      };
//      cairn::destruction_queue ended;
//      auto list = cairn::make_deferred_in<link>(ended, memory, 1);   // null: exhausted
//      list.reset();                                            // O(1)
//      ended.collect({.microseconds = 100});                    // each frame, until settled
//
// unique_in destroys in the destructor of its owner: a list of a million of them needs a stack of
// a hundred megabytes.
//
// Use it for: objects that own others of their kind, one behind the other; what is too much for a
//   frame.
// Look elsewhere for: owners that end at once and one by one (unique_in.hpp); objects with handles
//   (containers/deferred_store.hpp).
//
// Cost:      the pointer is one word. 24 bytes before the object where the allocator's type is named
//            (32 with allocator_ref): less than two words more in all than unique_in has. A list of
//            a million ends in FIGURE the time of the loop written by hand (destroys::at_once).
// Lifetimes: the queue and the allocator outlive every pointer, and the allocator what waits.
// Threads:   one, that of the queue.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include <cairn/containers/destruction_queue.hpp>
#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/construct.hpp>
#include <cairn/core/rollback.hpp>
#include <cairn/std/std_allocator.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

/// Puts an object that make_deferred_in() made into its queue.
template <class T, byte_allocator A = allocator_ref>
class deferred_deleter {
public:
    using pointer = T*;

    /// nullptr does nothing.
    void operator()(T* object) const noexcept {
        if (object == nullptr) { return; }
        head& h = head_of(object);
        h.queue->template push_like<&destroy>(h);
    }

    /// Bytes of a block.
    [[nodiscard]] static constexpr std::size_t block_size() noexcept {
        return offset() + sizeof(T);
    }

    /// For make_deferred_in(). Returns: nullptr when the allocator is exhausted.
    template <class... Args>
    [[nodiscard]] static T* make(destruction_queue& queue, detail::held_allocator<A> from,
                                 Args&&... args) {
        void* const block = from.get().allocate(block_size(), block_alignment());
        if (block == nullptr) [[unlikely]] { return nullptr; }
        detail::rollback undo{
            [&]() noexcept { from.get().deallocate(block, block_size(), block_alignment()); }};
        T* const object = detail::construct_at<T>(static_cast<std::byte*>(block) + offset(),
                                                  std::forward<Args>(args)...);
        undo.cancel();
        ::new (block) head{{{&queue}, &destroy}, from};
        return object;
    }

private:
    struct head : destruction_link {
        detail::held_allocator<A> from;
    };
    // Functions: T may be incomplete where the owner is a member.
    [[nodiscard]] static constexpr std::size_t offset() noexcept {
        return round_up(sizeof(head), alignment::of<T>());
    }
    [[nodiscard]] static constexpr alignment block_alignment() noexcept {
        return alignment{alignof(T) > alignof(head) ? alignof(T) : alignof(head)};
    }
    [[nodiscard]] static head& head_of(T* object) noexcept {
        auto* const bytes =
            reinterpret_cast<std::byte*>(const_cast<std::remove_cv_t<T>*>(object));
        return *reinterpret_cast<head*>(bytes - offset());
    }
    static void destroy(destruction_link* it) noexcept {
        auto* const h = static_cast<head*>(it);
        detail::held_allocator<A> from = h->from;
        reinterpret_cast<T*>(reinterpret_cast<std::byte*>(h) + offset())->~T();
        from.get().deallocate(h, block_size(), block_alignment());
    }
};

/// Owns one object in the memory of an allocator; its end puts the object into a queue.
template <class T, byte_allocator A = allocator_ref>
using deferred_in = std::unique_ptr<T, deferred_deleter<T, A>>;

/// Bytes that an object takes: for the slots of a pool.
template <class T, byte_allocator A = allocator_ref>
[[nodiscard]] constexpr std::size_t deferred_size() noexcept {
    return deferred_deleter<T, A>::block_size();
}

/// A new T in memory of `allocator`, which `queue` destroys when its owner has ended. Name the
/// allocator's type too for a smaller block and an inlined path:
/// `make_deferred_in<link, pool>(ended, links, 1)`; a pool's slots are as large as
/// deferred_size<link, pool>() says.
/// Returns: null when the allocator is exhausted; nothing is constructed then. Cannot throw unless
///          T's constructor does; the memory has gone back then.
template <class T, byte_allocator A = allocator_ref, class... Args>
    requires(!std::is_array_v<T>)
[[nodiscard]] deferred_in<T, A> make_deferred_in(
    destruction_queue& queue,
    std::type_identity_t<std::conditional_t<std::is_same_v<A, allocator_ref>, allocator_ref, A&>>
        allocator,
    Args&&... args) {
    return deferred_in<T, A>{deferred_deleter<T, A>::make(
        queue, detail::held_allocator<A>{allocator}, std::forward<Args>(args)...)};
}

}  // namespace cairn::inline CAIRN_FLAVOUR
