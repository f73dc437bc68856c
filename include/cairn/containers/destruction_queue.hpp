// cairn/containers/destruction_queue.hpp - objects that wait for their destruction, in a list
// through the objects themselves.
//
//      reset()  ---push---->  [ link | object ] -> [ link | object ] -> [ link | object ]
//                                    collect({.microseconds = 100}) destroys from the front;
//                                    what an object owned is pushed while it is destroyed
//
// A chain of owners that destroys its links in one another's destructors needs a stack as deep as
// the chain is long. Here a destructor only pushes what it owned, and returns. So a list of a
// million owners ends on a stack of a few kilobytes, and over as many frames as it should take.
//
// Use it for: lists, trees and graphs of owners; levels whose end is spread over frames. The owners
//   that push into it are deferred_in<T> (std/deferred_in.hpp).
// Look elsewhere for: objects with handles (deferred_store.hpp, shared_handle.hpp); what a GPU still
//   uses (retire() of the maps).
//
// Order:     the newest first; an object before what it owned.
// Cost:      push: three stores. An object: a load, an indirect call. No allocation: the link stands
//            in front of the object, in its block.
// Threads:   one at a time: a queue for each thread that ends owners.
// Lifetimes: it outlives the owners that push into it. Its own end destroys what waits.
#pragma once

#include <cstddef>

#include <cairn/containers/destruction_budget.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

class destruction_queue;

/// In front of each object that may wait: for those who write an owner.
struct destruction_link {
    union {
        destruction_queue* queue;  // of an object that has its owner
        destruction_link* next;    // of one that waits
    };
    void (*destroy)(destruction_link* it) noexcept;  // the object's destructor; frees the block
};

class destruction_queue {
public:
    explicit destruction_queue(destroys when = destroys::in_collect) noexcept : when_{when} {}
    destruction_queue(const destruction_queue&) = delete;
    destruction_queue& operator=(const destruction_queue&) = delete;
    /// Destroys what waits.
    ~destruction_queue() { (void)collect(); }

    /// The object behind `link` has lost its owner. destroys::at_once: it is gone when this returns,
    /// unless this was called by a destructor that the queue runs.
    void push(destruction_link& link) noexcept {
        enqueue(link);
        if (when_ == destroys::at_once && !is_collecting_) { (void)collect(); }
    }

    /// The same; `Likely` is link.destroy, and probably that of all that it owned: no indirect call.
    template <auto Likely>
    void push_like(destruction_link& link) noexcept {
        enqueue(link);
        if (when_ != destroys::at_once || is_collecting_) { return; }
        is_collecting_ = true;
        while (destruction_link* const first = first_) {
            first_ = first->next;
            if (first->destroy == Likely) [[likely]] {
                Likely(first);
            } else {
                first->destroy(first);
            }
        }
        is_collecting_ = false;
    }

    /// Destroys what waits, and what that owned, until the budget is spent. Does nothing inside a
    /// destructor that the queue runs.
    destruction_report collect(const destruction_budget& budget = {}) noexcept {
        detail::destruction_meter meter{budget};
        if (is_collecting_) { return meter.report(false); }
        is_collecting_ = true;
        while (first_ != nullptr && meter.goes_on()) {
            destruction_link* const first = first_;
            first_ = first->next;
            first->destroy(first);
            meter.count();
        }
        is_collecting_ = false;
        return meter.report(first_ == nullptr);
    }

    /// True when nothing waits.
    [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }

private:
    void enqueue(destruction_link& link) noexcept {
        link.next = first_;
        first_ = &link;
    }

    destruction_link* first_ = nullptr;
    destroys when_;
    bool is_collecting_ = false;
};

}  // namespace cairn::inline CAIRN_FLAVOUR
