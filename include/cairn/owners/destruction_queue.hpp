// cairn/owners/destruction_queue.hpp - objects that wait for their destruction, in a list
// through their own blocks.
//
//      first ---> [ next | object ] ---> [ next | object ]      waiting
//                 [ queue | object ]                            owned: the word names the queue
//
//      end(object)              puts it on the list
//      collect({.steps = 64})   destroys from the front; what an object owned joins it meanwhile
//
// A chain of owners that destroy one another in their destructors needs a stack as deep as the
// chain is long. Here a destructor only puts its objects on the list. So a list of a million
// owners ends on a stack of a few kilobytes, and over as many frames as it should take.
//
// Use it for: lists, trees and graphs of owners; levels whose end is spread over frames. The owner
//   is deferred_in<T> or a std::shared_ptr (std/deferred_in.hpp), or one of yours that calls end().
// Look elsewhere for: objects with handles (deferred_store.hpp, shared_handle.hpp); what a GPU
//   still uses (retire() of the maps).
//
// Order:     the newest first; an object before those that it owned. Objects of several types
//            that own each other: a queue for each type; the stack is as deep as there are queues.
// Cost:      a word before each object. end(): a load, three stores. It allocates objects alone.
// Threads:   one at a time: queues of its own for each thread that ends objects.
// Lifetimes: the queue outlives its objects, the allocator both. Its end destroys waiting objects.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/inside/construct.hpp>
#include <cairn/core/inside/element.hpp>
#include <cairn/core/inside/rollback.hpp>
#include <cairn/owners/destruction_report.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// Of objects of type T in memory of an A. (Name the allocator's type for an inlined path.)
template <detail::maybe_const_element T, byte_allocator A = allocator_ref>
class destruction_queue {
    using reference = std::conditional_t<std::is_same_v<A, allocator_ref>, allocator_ref, A&>;

public:
    /// Objects lie in `memory`.
    explicit destruction_queue(reference memory, destroys when = destroys::in_collect) noexcept
        : memory_{memory}, when_{when}, is_asleep_{when == destroys::at_once} {}
    destruction_queue(const destruction_queue&) = delete;
    destruction_queue& operator=(const destruction_queue&) = delete;
    /// Destroys waiting objects.
    ~destruction_queue() {
        static_assert(sizeof(detail::concrete_rules<T>) != 0);
        (void)collect();
    }

    /// A new T, built from `args`, for an owner who calls end().
    /// Returns: nullptr when the allocator is exhausted; nothing is constructed then.
    /// Throws:  only what T's constructor throws; the memory has gone back then.
    template <class... Args>
    [[nodiscard]] T* make(Args&&... args) {
        void* const block = memory_.allocate(block_size(), block_alignment());
        if (block == nullptr) [[unlikely]] { return nullptr; }
        detail::rollback undo{
            [&]() noexcept { memory_.deallocate(block, block_size(), block_alignment()); }};
        T* const object = detail::construct_at<T>(static_cast<std::byte*>(block) + offset(),
                                                  static_cast<Args&&>(args)...);
        undo.cancel();
        ::new (block) link{{this}};
        return object;
    }

    /// The object has lost its owner: it waits in its queue. destroys::at_once: it is gone when
    /// this returns, with all that it owned, unless a destructor that the queue runs has called.
    /// Requires: make() of a queue has made it, and this is the first end().
    static void end(T& object) noexcept {
        auto* const bytes = reinterpret_cast<std::byte*>(
            const_cast<std::remove_cv_t<T>*>(compiler::address_of(object)));
        link* const it = reinterpret_cast<link*>(bytes - offset());
        destruction_queue& queue = *it->queue;
        it->next = queue.first_;
        queue.first_ = it;
        if (queue.is_asleep_) { queue.drain(); }
    }

    /// Destroys waiting objects, and objects that they owned, until the limit is reached. Does
    /// nothing inside a destructor that this queue runs.
    destruction_report collect(const work_limit& limit = {}) noexcept {
        if (is_collecting_) { return {}; }
        is_collecting_ = true;
        is_asleep_ = false;
        const destruction_report r = detail::destroy_within(
            limit, [this] { return first_ != nullptr; }, [this] { destroy_first(); });
        is_collecting_ = false;
        is_asleep_ = when_ == destroys::at_once;
        return r;
    }

    /// Where objects lie.
    [[nodiscard]] reference upstream() const noexcept { return memory_; }

    /// True when nothing waits.
    [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }

    /// Bytes of a block: for the slots of a pool.
    [[nodiscard]] static constexpr std::size_t block_size() noexcept {
        return offset() + sizeof(T);
    }

private:
    struct link {
        union {
            destruction_queue* queue;  // as long as the object is owned
            link* next;                // when it waits
        };
    };

    // Functions: T may be incomplete where an owner is a member.
    [[nodiscard]] static constexpr std::size_t offset() noexcept {
        return detail::round_up(sizeof(link), alignment::of<T>());
    }
    [[nodiscard]] static constexpr alignment block_alignment() noexcept {
        return alignment{alignof(T) > alignof(link) ? alignof(T) : alignof(link)};
    }

    /// All that waits, without a limit.
    void drain() noexcept {
        is_collecting_ = true;
        is_asleep_ = false;
        while (first_ != nullptr) { destroy_first(); }
        is_collecting_ = false;
        is_asleep_ = true;
    }
    void destroy_first() noexcept {
        link* const it = first_;
        first_ = it->next;
        reinterpret_cast<T*>(reinterpret_cast<std::byte*>(it) + offset())->~T();
        memory_.deallocate(it, block_size(), block_alignment());
    }

    reference memory_;
    link* first_ = nullptr;
    destroys when_;
    bool is_collecting_ = false;
    bool is_asleep_;  // the next end() destroys: at_once, and nothing is being destroyed
};

}}  // namespace cairn::CAIRN_FLAVOUR
