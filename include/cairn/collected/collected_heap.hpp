// cairn/collected/collected_heap.hpp - garbage is found while the program runs, some work a frame.
//
//      root --> [quest]<-->[npc]      reachable: lives             step({.microseconds = 50})
//               [quest]<-->[npc]      a cycle without a root:      once a frame, at the safe point
//                                     its memory comes back
//
//      idle --> roots --> mark ------------------> before_collect --> sweep --> idle
//               each      what they refer to,      (types with one)   memory comes back,
//               root      and so on                                   destructors run
//
//      cairn::collected_heap heap{64_MiB};
//      cairn::root<quest> first = heap.make<quest>("find the cairn");   // null: exhausted
//      first->next = heap.make<quest>("add a stone");
//      heap.step({.microseconds = 50});         no T* but in roots is used after it
//
// What a cycle frees is what was garbage when it began: everything that was reachable then, or was
// made since, stays for this cycle (a snapshot at the beginning). So garbage is gone after two.
// A cycle begins in step() and collect() only, the safe points. Between two of them a T* stays
// good, whatever is made or overwritten; make() may finish a running cycle when memory is short,
// but never begins one.
//
// Use it for: objects that refer to each other in cycles, where the owner is not known: quests,
//   scripts, blackboards, user interfaces.
// Look elsewhere for: objects with one owner (pool_of, slot_map: cheaper, and freed at once);
//   many threads.
//
// How much to collect. Let M be capacity(), L the most bytes that are live (slots: multiples of
// 16), a the bytes allocated a frame, b the work a frame, e = 16 KiB for each type, and
//      W = L + 32 roots + 9 M / 512 + 128 objects with destructors
// the most work of a cycle (each object is marked once, each chunk swept once). A cycle then takes
// at most W / b + 2 frames, while which A = a (W / b + 2) bytes are allocated. These live through
// it, and the next cycle begins with L + A in use and needs A more. So with
//      L + 2 A + e <= M       that is     b >= W / ((M - L - e) / (2 a) - 2) = required_budget()
// every cycle begins with A free and ends before they are used up. (Blelloch and Cheng 1999; Bacon,
// Cheng and Rajan 2003.) step() without a budget divides what a cycle may still cost by what may
// still be allocated until half of what was free at its beginning is left.
//
// Invariant: what a root refers to, by ref after ref, is never freed, moved or reused.
// Bound:     a type's memory is reused by its type, and by others 16 KiB at a time: live bytes may
//            occupy the sum of each type's peak. Objects above 8 KiB have chunks of their own.
//            Marking needs no memory that was not there at the start, however deep the graph.
// Cost:      make: a few loads and stores. Beside objects: 2 % for records of chunks, 3 % for the
//            mark stack; 26 % of addresses for lives of weak references and objects set aside,
//            untouched until they are needed. No header.
// Threads:   one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cairn/collected/budget.hpp>
#include <cairn/collected/collected_heap/slots.hpp>
#include <cairn/collected/collected_heap/stats.hpp>
#include <cairn/collected/ref.hpp>
#include <cairn/collected/ref_array.hpp>
#include <cairn/collected/trace.hpp>
#include <cairn/core/construct.hpp>
#include <cairn/core/rollback.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

class collected_heap {
public:
    /// See collected_heap_options.
    using options = collected_heap_options;

    /// `size` bytes for objects, 3 GiB at most, from the system's pages, and what the drawing in
    /// region.hpp has beside them. Where the memory is refused, the heap refuses everything.
    explicit collected_heap(std::size_t size, const options& how = {}) noexcept;
    /// The same from `upstream`, in one request aligned to 4 GiB: page_allocator, or a wrapper.
    collected_heap(std::size_t size, allocator_ref upstream, const options& how = {}) noexcept;
    collected_heap(collected_heap&& other) noexcept : region_{other.region_} {
        other.region_ = nullptr;
    }
    collected_heap& operator=(collected_heap&& other) noexcept;
    /// Ends every object. Requires: no root refers to one. (Without checks they become null.)
    ~collected_heap() { release(); }

    /// A new T from `args`. May finish what the running cycle owes, and never begins one.
    /// Returns: null when exhausted, or when there are more than 128 types; nothing is constructed.
    /// Throws:  what the constructor throws; the slot has gone back then.
    template <class T, class... Args>
    [[nodiscard]] T* make(Args&&... args);

    /// The safe point: goes on with the running cycle, or begins one where memory is getting short,
    /// within `budget`. Destructors and before_collect() run in here.
    /// Requires: it is not called by a constructor, a destructor, a trace() or a before_collect().
    collection_report step(const collection_budget& budget) noexcept;
    /// What is owed: a cycle that runs ends before the memory does.
    collection_report step() noexcept;
    /// Finishes the running cycle and goes through a whole new one: what is garbage now is gone.
    collection_report collect() noexcept;

    /// What a program asks of the heap at most.
    struct load {
        std::size_t live_max = 0;             // bytes of slots that are reachable at one time
        std::size_t allocated_per_frame = 0;  // bytes of slots
        std::size_t roots = 0;                // at one time
        std::size_t with_destructors = 0;     // objects that have one, garbage too, at one time
        std::size_t types = 0;                // 0: those that it has now
    };
    /// Bytes of work a frame with which this heap is never exhausted, as derived above.
    /// Returns: SIZE_MAX when no budget is enough, because live_max leaves too little room.
    [[nodiscard]] std::size_t required_budget(const load& of) const noexcept;

    /// True while a cycle runs.
    [[nodiscard]] bool is_collecting() const noexcept {
        return region_ != nullptr && region_->now != detail::phase::idle;
    }
    /// True while stores log what they overwrite.
    [[nodiscard]] bool is_marking() const noexcept {
        return region_ != nullptr && region_->is_marking;
    }
    [[nodiscard]] bool owns(const void* p) const noexcept;
    [[nodiscard]] std::size_t capacity() const noexcept;
    [[nodiscard]] collected_heap_stats stats() const noexcept;
    /// Checks every invariant; O(objects).
    void validate() const noexcept;

private:
    void release() noexcept;

    detail::collected_region* region_;
};

namespace detail {

/// Checked builds: knows what a constructor is at work on, and that all its references are told.
class construction_scope {
public:
#if CAIRN_ASSERTS
    construction_scope(collected_region& r, void* slot, std::size_t size) noexcept;
    ~construction_scope();
    void check_told(const collected_type& type, void* object) noexcept;

private:
    collected_region& region_;
    collected_region::construction outer_;
#else
    construction_scope(collected_region&, void*, std::size_t) noexcept {}
    void check_told(const collected_type&, void*) noexcept {}
#endif
};

}  // namespace detail

template <class T, class... Args>
T* collected_heap::make(Args&&... args) {
    static_assert(detail::is_described<T>());
    static_assert(std::is_same_v<T, std::remove_cvref_t<T>>, "make<T>: T is a type, not const");
    constexpr std::uint32_t size = detail::slot_size_of<T>();
    detail::collected_region* const r = region_;
    if (r == nullptr) [[unlikely]] { return nullptr; }
    void* slot;
    if constexpr (size > detail::slot_size_max) {
        slot = detail::take_large(*r, detail::type_of<T>, size);
    } else {
        slot = detail::take_slot<size>(*r, detail::type_of<T>);
    }
    if (slot == nullptr) [[unlikely]] { return nullptr; }
    detail::construction_scope scope{*r, slot, sizeof(T)};
    detail::rollback undo{[&]() noexcept { detail::give_back_slot(*r, slot); }};
    T* const object = detail::construct_at<T>(slot, static_cast<Args&&>(args)...);
    undo.cancel();
    scope.check_told(detail::type_of<T>, object);
    return object;
}

}  // namespace cairn::inline CAIRN_FLAVOUR
