// cairn/collected/marking_worker/protocol.hpp - what two threads share while one marks.
//
//      program's thread                                   worker's thread
//
//      old value --> log --> set A     handover     set B --> marks --> stack --> references
//      new value --> field ----------- publish, follow ------------------------^
//      new object: its mark ---------- one word of marks, fetch_or ---> marked: not looked at
//      stack, queue, both sets <------ the gate: of one side at a time -------> the same
//
//      gate    closed --open--> open --take--> of the worker, of the program --give back--> open
//                 ^                                               |
//                 +--------------------close----------------------+
//
// Each order stands in marking_orders with its reason. tests/collected/marking_worker_orders runs
// the interleavings, and finds a failing one when any of them is weakened.
#pragma once

#include <cstdint>

#include <cairn/core/inside/atomic.hpp>
#include <cairn/core/inside/atoms.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

struct marking_orders {
    // Acquire and release: what one side did with the stack, the marks and the sets of names is
    // there for the next one; and the program's writes before the gate opened are visible to all.
    static constexpr auto take = memory_order::acquire;
    static constexpr auto give_back = memory_order::release;
    // Release and acquire, both ways: the names are in the set, and out of it.
    static constexpr auto hand_over = memory_order::release;
    static constexpr auto receive = memory_order::acquire;
    // Release: a new object is marked, and its chunk described, before a field leads to it.
    static constexpr auto publish = memory_order::release;
    static constexpr auto follow = memory_order::acquire;

    // A mark is set by one operation: the other thread sets other bits of the word.
    static constexpr bool marks_at_once = true;
};

/// The program stores a reference in a place that the worker may read.
template <class Orders = marking_orders, class Place, class Name>
void publish(Place&& place, Name name) noexcept {
    place.store(name, Orders::publish);
}
/// The worker reads one.
template <class Orders = marking_orders, class Place>
[[nodiscard]] auto follow(const Place& place) noexcept {
    return place.load(Orders::follow);
}
/// Both threads. Returns: true when the bit was not set.
template <class Orders = marking_orders, class Word, class Bits>
[[nodiscard]] bool set_mark(Word&& word, Bits bit) noexcept {
    constexpr auto relaxed = memory_order::relaxed;
    const Bits seen = word.load(relaxed);
    if ((seen & bit) != 0) { return false; }
    if constexpr (Orders::marks_at_once) {
        return (word.fetch_or(bit, relaxed) & bit) == 0;
    } else {  // what must not be done, for the test
        word.store(seen | bit, relaxed);
        return true;
    }
}

/// Who may use the state of marking.
template <class Atoms, class Orders = marking_orders>
class basic_marking_gate {
public:
    enum side : std::uint32_t { closed, open, of_worker, of_program };

    /// The program's thread: the worker may mark from now on. Requires: it is closed.
    void let_in() noexcept { word_.store(open, Orders::give_back); }
    /// Returns: false when the other side has it, or it is closed.
    [[nodiscard]] bool try_take(side by) noexcept {
        std::uint32_t seen = open;
        return word_.compare_exchange_strong(seen, by, Orders::take, memory_order::relaxed);
    }
    /// The side that has it.
    void give_back() noexcept { word_.store(open, Orders::give_back); }
    /// The program's thread, which has it: the worker touches nothing any more.
    void close() noexcept { word_.store(closed, memory_order::relaxed); }

private:
    typename Atoms::template atomic<std::uint32_t> word_{closed};
};

/// Which of two sets of names is whose: the program fills one while the worker empties the other.
template <class Atoms, class Orders = marking_orders>
class basic_handover {
public:
    static constexpr std::uint32_t none = 2;

    /// The program's thread: the set that it fills, 0 or 1.
    [[nodiscard]] std::uint32_t filled() const noexcept { return filled_; }
    /// The program's thread: the set that it fills goes to the worker.
    /// Returns: false when the worker is not through with the other one.
    bool try_hand_over() noexcept {
        if (received_.load(Orders::receive) != none) { return false; }
        received_.store(filled_, Orders::hand_over);
        filled_ = 1 - filled_;
        return true;
    }
    /// The side that has the gate: the set that was handed over and is not empty yet, or none.
    [[nodiscard]] std::uint32_t received() const noexcept {
        return received_.load(Orders::receive);
    }
    /// The same: it is empty now.
    void give_back() noexcept { received_.store(none, Orders::hand_over); }

private:
    typename Atoms::template atomic<std::uint32_t> received_{none};
    std::uint32_t filled_ = 0;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
