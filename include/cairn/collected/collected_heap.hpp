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
// A cycle frees the objects that were garbage when it began. Objects that were reachable then, or
// were made since, stay for this cycle (a snapshot at the beginning). Two cycles free all garbage.
// A cycle begins in step() and collect() only, the safe points. Between two of them a T* stays
// good, whatever is made or overwritten; make() may finish a running cycle when memory is short,
// but never begins one.
//
// Use it for: objects that refer to each other in cycles, where the owner is not known: quests,
//             scripts, blackboards, user interfaces.
// Look elsewhere for: objects with one owner (pool_of, slot_map: cheaper, and freed at once);
//             many threads.
//
// Invariant: an object that a root reaches through refs is never freed or reused, and moves in
//            compact() only (and, under options::stress, at each safe point).
// Bound:     with required_budget() bytes of work a frame it is never exhausted, and marking needs
//            no memory that was not there at the start, however deep the graph.
//            A type's memory is reused by its type, and by others 16 KiB at a time: live bytes may
//            occupy the sum of each type's peak, until compact().
// Memory:    pages of the system's, taken when the heap is made and given back when it ends. The
//            upstream counts them (budget). Free memory is kept for other objects.
// Cost:      make: a few loads and stores. Beside objects: 2 % for records of chunks; 6 % of
//            addresses for the mark stack, touched as deep as it gets, 26 % for lives of weak
//            references and objects set aside, untouched until they are needed. No header.
// Threads:   one; a second one may mark (marking_worker.hpp).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cairn/collected/collection_report.hpp>
#include <cairn/collected/inside/collected_region.hpp>
#include <cairn/collected/ref.hpp>
#include <cairn/collected/ref_array.hpp>
#include <cairn/collected/trace.hpp>
#include <cairn/core/inside/construct.hpp>
#include <cairn/core/inside/element.hpp>
#include <cairn/core/inside/moved.hpp>
#include <cairn/core/inside/rollback.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/os/page_memory.hpp>
#include <cairn/storage/work_limit.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

class marking_worker;

namespace detail {

/// Options of a heap.
struct collected_heap_options {
    /// Bytes of work that make() may do between two steps, when memory is short: they bound
    /// its time. Beyond it make() returns null. 0: it never helps.
    std::size_t work_in_make_max = SIZE_MAX;
    /// Called at the end of each cycle, in the step that ends it; it makes and steps nothing.
    void (*cycle_ended)(void* context, const collection_cycle& cycle) = nullptr;
    void* cycle_ended_context = nullptr;
    /// Objects that wait to be traced, in memory taken at the start. 0: one for each 64 bytes of
    /// the heap. What exceeds it is set aside in bitmaps and found again: slower, never lost.
    std::size_t mark_stack_count = 0;
    /// How the system is asked for pages: huge ones, touched ahead of need, a name.
    page_options pages{.name = "cairn collected"};
    /// The debug mode: every step() collects all, so that an object that only a raw pointer kept
    /// over a safe point is gone, and step() and collect() move what compact() may move, as far as
    /// chunks are free. Where objects were is poisoned; checked builds name a ref that is used
    /// there, and a T* from there that becomes a ref, root or weak_ref.
    bool stress = false;
    /// The debug mode: when marking ends, a second, simple walk compares, and each object is asked
    /// whether it lists all references that began with it. In checked builds.
    bool verify = false;
};

}  // namespace detail

class collected_heap {
public:
    /// See `options`.
    using options = detail::collected_heap_options;
    using stats_type = detail::collected_heap_stats;
    /// Bytes for objects where no size is given: 64 MiB of addresses, and memory as it is touched.
    static constexpr std::size_t size_default = std::size_t{64} << 20;

    /// A heap of size_default bytes.
    collected_heap() noexcept : collected_heap{size_default} {}
    explicit collected_heap(allocator_ref upstream, const options& how = {}) noexcept
        : collected_heap{size_default, upstream, how} {}
    explicit collected_heap(const options& how) noexcept : collected_heap{size_default, how} {}
    /// `size` bytes for objects, 3 GiB at most, and a third of that beside them (the drawing in
    /// inside/collected_region.hpp). All of it are pages of the system's: addresses at once, memory
    /// when it is touched. Where the system refuses them (ulimit -v), or the upstream's limit does,
    /// capacity() is 0 and make() returns null.
    explicit collected_heap(std::size_t size, const options& how = {}) noexcept;
    /// `upstream` counts those pages where it counts (budget, also behind other wrappers). It gives
    /// memory only to a marking_worker's sets.
    collected_heap(std::size_t size, allocator_ref upstream, const options& how = {}) noexcept;
    collected_heap(collected_heap&& other) noexcept = default;
    collected_heap& operator=(collected_heap&& other) noexcept;
    /// Ends every object. Requires: no root refers to one. (Without checks they become null.)
    ~collected_heap() { release(); }

    /// A new T from `args`; without any, T(): cleared whole, unless T has a constructor. May finish
    /// what the running cycle owes, where memory is short: at the required budget it never has to,
    /// and options::work_in_make_max limits it. Never begins one.
    /// Returns: null when exhausted, or when there are more than 128 types; nothing is constructed.
    /// Throws:  exceptions of the constructor; the slot has gone back then.
    template <detail::element T, class... Args>
    [[nodiscard]] std::add_pointer_t<T> make(Args&&... args);

    /// The safe point: goes on with the running cycle, or begins one when memory is getting short,
    /// within `limit`. Without a limit ({}) it ends the running cycle, or a new one. Destructors
    /// and before_collect() run in here.
    /// Requires: no constructor, destructor, trace() or before_collect() of its objects calls it.
    ///
    /// Work is counted in bytes, so that time, memory and required_budget() share a unit:
    ///     an object is marked             the bytes of its slot, or 8 for each of its references,
    ///                                     if that is more (ref_array: 128 references at a time)
    ///     a root is looked at             32
    ///     a chunk is swept                256
    ///     a destructor, a before_collect  128
    /// Each of these is one step of the limit. A call passes its limit by one unit of work at most,
    /// and its time by about a microsecond more: the clock is read every 2048 bytes of work. A
    /// destructor and a trace() are not divided, and a traced container is one unit.
    collection_report step(const work_limit& limit) noexcept;
    template <std::integral Number>
    collection_report step(Number) = delete;  // the limit has a unit: step({.microseconds = 50})
    /// What is owed: a cycle that runs ends before the memory does. The work that it may still cost
    /// is spread over the bytes that may be allocated until half of the bytes free at its beginning
    /// is left; each step pays for those allocated since the last one.
    collection_report step() noexcept;
    /// Finishes the running cycle and goes through a whole new one: all present garbage is freed.
    collection_report collect() noexcept;
    /// As collect(); then objects of each type move together, and chunks that become empty are free
    /// for any type: less than 16 KiB of each type that moves are not live afterwards. Every T* and
    /// T& ends; ref, root and traced containers know the new places. It moves what
    /// is_trivially_relocatable: say so for a type with references,
    ///     template <> inline constexpr bool cairn::enable_trivial_relocation<quest> = true;
    /// and buffers of ref_array; not objects above 8 KiB, nor those of a chunk in which an object
    /// was ever referred to weakly. For level changes: O(capacity + objects), in one piece.
    /// Requires: as step().
    collection_report compact() noexcept;

    /// From now on `worker` marks for this heap, and an earlier one does not: marking_worker.hpp.
    /// Requires: it marks for no heap yet, and outlives this one or mark_alone().
    /// Returns: false when the upstream refuses memory for the names that the threads hand over;
    /// the heap marks by itself then, as it does without this call.
    bool mark_on(marking_worker& worker) noexcept;
    /// Only step(), collect() and make() mark from now on. Waits until the worker has ended its
    /// unit of work, an object or 128 references of an array, as do make() that is out of memory,
    /// collect(), a step without a limit, and the end of the heap or of the worker. (A thread that
    /// the system has stopped inside of run() takes longer.) Call it before a fork, else the child
    /// waits for a worker that it does not have.
    void mark_alone() noexcept;

    /// What a program asks of the heap at most. Memory of a type is free for others by 16 KiB, when
    /// all of that is free: so where several types take turns, live_max and allocated_per_frame are
    /// the sums of each one's most. Arrays are objects, a type for each power of two.
    struct load {
        /// Bytes of slots that are reachable at one time, weakly too where get() brings them back.
        std::size_t live_max = 0;
        /// Of these, bytes of arrays (ref_array: its buffers), and of types of which more than half
        /// is references. Besides, 8 for each reference in a traced container.
        std::size_t array_size = 0;
        std::size_t allocated_per_frame = 0;  // bytes of slots
        std::size_t roots = 0;                // at one time
        /// Objects with a destructor or a before_collect, garbage too, at one time. One with both
        /// counts twice.
        std::size_t with_destructors = 0;
        std::size_t types = 0;  // 0: those that it has now
    };
    /// Bytes of work a frame with which this heap is never exhausted, at whatever rates memory is
    /// taken: src/collected/collected_heap/pacing.cpp has the proof.
    /// It does not know objects above 8 KiB, which have chunks of their own and need 16 KiB and
    /// more in one piece.
    /// Returns: SIZE_MAX when no budget is enough, because live_max leaves too little room.
    [[nodiscard]] std::size_t required_budget(const load& of) const noexcept;

    /// True while a cycle runs.
    [[nodiscard]] bool is_collecting() const noexcept {
        return region_ != nullptr && region_->now != detail::phase::idle;
    }
    /// True while stores log the values that they overwrite.
    [[nodiscard]] bool is_marking() const noexcept {
        return region_ != nullptr && region_->is_marking;
    }
    [[nodiscard]] bool owns(const void* p) const noexcept;
    [[nodiscard]] std::size_t capacity() const noexcept;
    [[nodiscard]] stats_type stats() const noexcept;
    /// What keeps `object` alive: calls visit(const collected_keeper&) for the objects on a
    /// shortest way from a root to it, which is the last. The buffer of a ref_array counts, too.
    /// For debugging: O(objects), 8 bytes of system memory for each 16 of the heap in use; at any
    /// time, also between steps.
    /// Returns: false when no root leads to it, or the system refuses memory; nothing is visited.
    template <class Visit>
    bool who_keeps(const void* object, Visit visit) const;

    /// Calls sink(const char* text, std::size_t length) with pieces of JSON: the objects of each
    /// type, and to how many of which types they refer; with `object`, what keeps it alive.
    ///     {"capacity":1048576,"used":3072,"roots":1,"cycles":4,"types":[{"type":"quest",
    ///      "count":40,"size":1280,"chunks":1,"roots":0,"refers_to":[{"type":"quest","count":9}]}],
    ///      "kept_by":[{"type":"quest","address":"0x7f5400010000","offset":4}, ...]}
    /// What is condemned is left out; other garbage counts: collect() before. O(objects x types).
    template <class Sink>
    void write_json(Sink sink, const void* object = nullptr) const;

    /// Checks every invariant; O(objects).
    void validate() const noexcept;

private:
    void release() noexcept;

    detail::moved<detail::collected_region*> region_;
};

namespace detail {

// What collected_heap is made of; each says more in its source.
[[nodiscard]] collected_region* create_region(std::size_t size, const collected_heap_options& how,
                                              allocator_ref upstream) noexcept;
void end_all_roots(collected_region& r) noexcept;
void end_all_objects(collected_region& r) noexcept;
void destroy_region(collected_region& r) noexcept;
[[nodiscard]] type_record* find_record(collected_region& r, const collected_type& type) noexcept;
[[nodiscard]] void* take_from_next_word(collected_region& r, type_record& record) noexcept;
[[nodiscard]] void* take_large(collected_region& r, const collected_type& type,
                               std::size_t size) noexcept;
void give_back_slot(collected_region& r, void* slot) noexcept;

[[nodiscard]] inline std::size_t record_number(const collected_type& type) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(&type);
    return (address >> 3) * 0x9E37'79B9'7F4A'7C15u >> 56;
}
static_assert(type_record_count == 256);

/// A slot for an object of `type`; nullptr when exhausted.
template <std::size_t SlotSize>
[[nodiscard]] inline void* take_slot(collected_region& r, const collected_type& type) noexcept {
    type_record* record = &r.types[record_number(type)];
    if (record->type != &type) [[unlikely]] {
        record = find_record(r, type);
        if (record == nullptr) { return nullptr; }
    }
    const std::uint64_t free = record->free_bits;
    if (free == 0) [[unlikely]] { return take_from_next_word(r, *record); }
    record->free_bits = free & (free - 1);
    std::byte* const slot = record->word_begin + compiler::trailing_zeros(free) * slot_size_min;
    unpoison(slot, SlotSize);
    return slot;
}

using text_sink = void (*)(void* context, const char* text, std::size_t length);
using keeper_function = void (*)(void* context, const collected_keeper& keeper);

/// As collected_heap::who_keeps() and write_json(); `object` may be nullptr in the latter.
[[nodiscard]] bool visit_keepers(const collected_region& r, const void* object,
                                 keeper_function visit, void* context) noexcept;
void write_region(const collected_region& r, const void* object, text_sink sink,
                  void* context) noexcept;

/// Checked builds: the object under construction, to check that its type lists all references.
class construction_scope {
public:
#if CAIRN_ASSERTS
    construction_scope(collected_region& r, void* slot, std::size_t size) noexcept;
    ~construction_scope();
    void check_listed(const collected_type& type, void* object) noexcept;

private:
    collected_region& region_;
    collected_region::construction outer_;
#else
    construction_scope(collected_region&, void*, std::size_t) noexcept {}
    void check_listed(const collected_type&, void*) noexcept {}
#endif
};

}  // namespace detail

template <class Visit>
bool collected_heap::who_keeps(const void* object, Visit visit) const {
    const auto call = [](void* to, const collected_keeper& k) { (*static_cast<Visit*>(to))(k); };
    return region_ != nullptr &&
           detail::visit_keepers(*region_, object, call, compiler::address_of(visit));
}

template <class Sink>
void collected_heap::write_json(Sink sink, const void* object) const {
    const auto call = [](void* to, const char* text, std::size_t length) {
        (*static_cast<Sink*>(to))(text, length);
    };
    if (region_ != nullptr) {
        detail::write_region(*region_, object, call, compiler::address_of(sink));
    }
}

template <detail::element T, class... Args>
std::add_pointer_t<T> collected_heap::make(Args&&... args) {
    static_assert(sizeof(detail::concrete_rules<T>) != 0);
    if constexpr (!detail::is_described<T>()) {
        return nullptr;
    } else {
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
        scope.check_listed(detail::type_of<T>, object);
        return object;
    }
}

}}  // namespace cairn::CAIRN_FLAVOUR
