// cairn/alloc/reclaim_order.hpp - what a full budget asks for memory, one step after the other.
//
//      priority   0          1            2
//               [ trim ] -> [ compact ] -> [ drop the cache ] -> the request is refused
//                  ^            |
//                  +------------+  a step that freed something: the budget tries again,
//                                  then begins at the first step
//
//      cairn::reclaim_order order;
//      const auto trim = [](void* heap, const cairn::budget_request&) noexcept {
//          return static_cast<cairn::concurrent_heap*>(heap)->trim() != 0;
//      };
//      cairn::reclaim_order::step trims{order, 0, trim, &heap};
//      sounds.set_handler(&cairn::reclaim_order::ask, &order);  // of a budget or concurrent_budget
//
// Use it for: subsystems that each can give memory back, at different prices.
// Look elsewhere for: one way to free memory (set_handler with it).
//
// What a step may do: docs/containers.md, "Callbacks that come back".
// Cost:    a step: a list node, no memory. Asking: the steps, in order.
// Threads: steps are added and removed while no budget can ask. ask() runs on the thread whose
//          request found the budget full; a concurrent_budget lets one thread at a time ask.
#pragma once

#include <cairn/alloc/budget.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// Not movable. Must exist as long as its steps, and as a budget may ask it.
class reclaim_order {
public:
    class step;

    /// An order without steps, which frees nothing.
    reclaim_order() = default;
    reclaim_order(const reclaim_order&) = delete;
    reclaim_order& operator=(const reclaim_order&) = delete;

    /// A budget_handler whose context is a reclaim_order: asks each step until one frees something.
    /// Returns: false when none did.
    static bool ask(void* order, const budget_request& request) noexcept;

private:
    step* first_ = nullptr;  // sorted by priority
};

/// One way to free memory, in the order as long as it exists.
class reclaim_order::step {
public:
    /// `priority`: steps with a lower one are asked before; equal ones in the order of their
    /// construction. `free_some` frees memory of the budget.
    /// Requires: it returns true only after it freed something; else the budget asks without end.
    step(reclaim_order& order, int priority, budget_handler free_some,
         void* context = nullptr) noexcept
        : order_{order}, priority_{priority}, free_some_{free_some}, context_{context} {
        step** link = &order.first_;
        while (*link != nullptr && (*link)->priority_ <= priority) { link = &(*link)->next_; }
        next_ = *link;
        *link = this;
    }
    ~step() {
        step** link = &order_.first_;
        while (*link != this) { link = &(*link)->next_; }
        *link = next_;
    }
    step(const step&) = delete;
    step& operator=(const step&) = delete;

private:
    friend class reclaim_order;

    reclaim_order& order_;
    int priority_;
    budget_handler free_some_;
    void* context_;
    step* next_ = nullptr;
};

inline bool reclaim_order::ask(void* order, const budget_request& request) noexcept {
    for (step* s = static_cast<reclaim_order*>(order)->first_; s != nullptr; s = s->next_) {
        if (s->free_some_(s->context_, request)) { return true; }
    }
    return false;
}

}}  // namespace cairn::CAIRN_FLAVOUR
