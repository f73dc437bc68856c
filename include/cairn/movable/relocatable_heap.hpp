// cairn/movable/relocatable_heap.hpp - objects may move, so that free memory comes together.
//
// Objects are named by handles. The heap moves them in compact(), and only there: between two calls
// (the safe points of the program) every address that get() gave is good. What must stay longer
// (for DMA, the GPU, another thread) is pinned.
//
//      handle {index 2, generation 5}           the region: bytes of objects, and nothing else
//                    |                          +---------+-----+--------+-----+--------+-------+
//      slots:        v                          | obj 0   | ... | obj 2  | ... |  free  | large |
//      +---------+---------+---------+          +---------+-----+--------+-----+--------+-------+
//      | 4 | 0   | 9 | -   | 5 | 37 -+---------------------------^                        does not
//      +---------+---------+---------+            place 37                                move
//
//      compact({.microseconds = 50}), once a frame:
//      [ A ][    hole    ][ B ][  ][ C ][      ][ D ][ E ]........   evacuate E, then D: holes fill
//      [ A ][ E ][ D ]    [ B ][  ][ C ].........................   slide B, then C: holes rise
//      [ A ][ E ][ D ][ B ][ C ]................................   one free piece
//
//      relocatable<mesh> m = heap.make<mesh>(file);   m->draw();          16 bytes, as a pointer
//      auto h = heap.allocate(48_KiB);                heap.get(h)         8 bytes, for raw bytes
//      pinned<mesh> still = m.pin();                  dma(still.get());   until `still` dies
//
// Use it for: long-lived objects of many sizes (assets, audio, streaming) in a nearly full region.
// Look elsewhere for: objects of one size (pool, slot_map: they cannot fragment); short lives
//   (arenas); pointers that other code keeps (heap).
//
// Placement: the lowest hole that fits; above largest_movable, the highest: these never move.
// Invariant: objects do not overlap; every live handle leads to exactly one; a pinned one stays.
// Bound:     a request is served whenever one hole holds it, rounded up to 16 bytes (for alignments
//            above 16: size + alignment - 16). What the region needs for that: slack() below.
// Cost:      get: two loads from one line, a compare, an addition. allocate, deallocate: O(log n),
//            about 100 ns; they never compact. compact: O(log n) for each step (an object or a hole
//            that is looked at), and the copies. None does work for all objects, but when the table
//            of slots doubles: options::object_count makes it large enough. The region never grows.
//            Beside it: 44 bytes for each object, 10 bytes for each KiB.
// Threads:   one at a time; get() from many while nothing changes the heap. Threads that read while
//            another compacts: concurrent_relocatable_heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/handle.hpp>
#include <cairn/core/make.hpp>
#include <cairn/core/slice.hpp>
#include <cairn/movable/budget.hpp>
#include <cairn/movable/inside/map_json.hpp>
#include <cairn/movable/inside/planner.hpp>
#include <cairn/movable/relocatable_heap/object_map.hpp>
#include <cairn/movable/relocatable_heap/stats.hpp>
#include <cairn/movable/relocation.hpp>
#include <cairn/os/system_allocator.hpp>
#include <cairn/storage/slot_directory.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

template <class T>
class relocatable;
template <class T>
class pinned;
template <class T>
class frame_ptr;

class relocatable_heap {
public:
    using handle_type = handle<relocatable_heap>;
    using options = relocatable_heap_options;

    /// Over memory of the caller, of which it uses 16 GiB at most; tables come from `upstream`.
    /// An upstream that refuses makes a heap that refuses everything.
    explicit relocatable_heap(byte_slice region, allocator_ref upstream = system_memory(),
                              const options& how = {}) noexcept;
    /// A region of `size` bytes, 16 GiB at most, taken from `upstream` now, as the tables are.
    explicit relocatable_heap(std::size_t size, allocator_ref upstream = system_memory(),
                              const options& how = {}) noexcept;
    /// Movable while no relocatable, pinned or frame_ptr of it is in use. Requires: nothing is
    /// pinned. (Written out: `table_` is never null, so each heap has one of its own.)
    relocatable_heap(relocatable_heap&& other) noexcept;
    relocatable_heap& operator=(relocatable_heap&& other) noexcept;
    relocatable_heap(const relocatable_heap&) = delete;
    relocatable_heap& operator=(const relocatable_heap&) = delete;
    /// Requires: nothing is pinned.
    ~relocatable_heap() { release(); }

    // ------------------------------------------------------------------- bytes

    /// `size` bytes at a multiple of `align`. `how` says how they move; it must outlive them.
    /// Returns: the null handle when no hole is large enough or a table cannot grow; nothing has
    ///          changed then.
    /// Size 0:  a handle of its own, whose bytes may not be read.
    [[nodiscard]] handle_type allocate(std::size_t size, alignment align = default_alignment,
                                       const relocation& how = by_bytes) noexcept;
    handle_type allocate(std::size_t, alignment, const relocation&&) = delete;  // it outlives them

    /// Requires: `h` is live and not pinned. In unchecked builds a stale one is ignored.
    void deallocate(handle_type h) noexcept;

    /// The bytes of `h`, good until the next compact(); nullptr when `h` is null or stale.
    /// Requires: `h` is null or was given out by this heap, however long ago. (Unsure, because it
    /// comes from a file or a network: contains() first.)
    /// Cost:     a load of the generation, a compare; a load of the place, an addition.
    [[nodiscard]] void* get(handle_type h) const noexcept {
        CAIRN_ASSERT(!h || h.index() < slots_.capacity(), "a handle is used with its own heap");
        // Before the question: a loop can then keep it in a register (gcc: 1.91 -> 1.48 ns).
        std::byte* const base = base_;
        const slot_directory_base::slot& s = table_[h.index()];
        if (s.word != h.generation()) [[unlikely]] { return nullptr; }
        std::byte* const object = base + std::size_t{s.value} * place_unit;
#if defined(__GNUC__)
        // Spares the caller's `if (p != nullptr)` a second compare.
        if (object == nullptr) { __builtin_unreachable(); }
#endif
        return object;
    }
    /// True while `h` is live. Any handle is allowed.
    [[nodiscard]] bool contains(handle_type h) const noexcept {
        return h.index() < slots_.capacity() && table_[h.index()].word == h.generation();
    }
    /// What was asked for. Requires: contains(h).
    [[nodiscard]] std::size_t size(handle_type h) const noexcept;

    // ------------------------------------------------------------------- objects

    /// A new T. Returns: null when exhausted; nothing is constructed then.
    template <class T, class... Args>
    [[nodiscard]] relocatable<T> make(Args&&... args);
    /// Ends it. Requires: it lives, and is not pinned.
    template <class T>
    void destroy(relocatable<T> object) noexcept;
    /// The typed name of what make<T>() made, from its handle.
    template <class T>
    [[nodiscard]] relocatable<T> as(handle_type h) noexcept;

    // ------------------------------------------------------------------- staying

    /// While the result lives, the object keeps its address. Null when `h` is null or stale.
    [[nodiscard]] pinned<void> pin(handle_type h) noexcept;
    [[nodiscard]] bool is_pinned(handle_type h) const noexcept;

    // ------------------------------------------------------------------- moving

    /// The safe point: objects may have moved when it returns. Takes up the work where the last
    /// call left it, within `budget`.
    compaction_report compact(const compaction_budget& budget) noexcept;

    /// Bytes by which the region should exceed live objects + request so that, compacted often
    /// enough, no request fails: what may lie scattered in front of the compaction.
    /// See docs/decisions/0050.
    [[nodiscard]] std::size_t slack() const noexcept {
        const std::size_t movable = largest_movable_ < capacity() ? largest_movable_ : capacity();
        return capacity() / 32 + movable;
    }
    /// Counts the calls of compact(): what a frame_ptr was made in.
    [[nodiscard]] std::uint32_t epoch() const noexcept { return epoch_; }
    [[nodiscard]] std::size_t largest_movable() const noexcept { return largest_movable_; }

    // ------------------------------------------------------------------- looking

    [[nodiscard]] std::size_t capacity() const noexcept {
        return std::size_t{map_.granules()} * detail::granule_size;
    }
    [[nodiscard]] std::size_t free_size() const noexcept {
        return std::size_t{map_.free_granules()} * detail::granule_size;
    }
    [[nodiscard]] std::size_t object_count() const noexcept { return slots_.live_count(); }
    /// Entries of the table of handles, used and free: every handle's index is below.
    [[nodiscard]] std::uint32_t slot_count() const noexcept { return slots_.capacity(); }
    /// How many more objects it has room for without growth.
    [[nodiscard]] std::uint32_t free_slot_count() const noexcept { return slots_.free_count(); }
    [[nodiscard]] relocatable_heap_stats stats() const noexcept;  // O(1)
    /// Bytes in holes too small for a request of `size`. O(objects).
    [[nodiscard]] std::size_t unusable_for(std::size_t size) const noexcept;

    /// Calls visit(const relocatable_range&) for each object and hole in order of address.
    template <class Visit>
    void for_each_range(Visit visit) const;

    /// The map as one JSON object, in pieces: sink(const char* text, std::size_t length).
    ///     {"capacity":256,"ranges":[{"offset":0,"size":64,"user":2},{"offset":64,"size":192}]}
    /// "user" is the handle's index; "pinned":true and "fixed":true where they are.
    template <class Sink>
    void write_json(Sink sink) const;

    /// Checks every invariant; a broken one stops a checked build. O(n).
    void validate() const noexcept;

    /// Called before each move, which it may refuse, and after it: for other threads that hold on
    /// to objects.
    struct move_observer {
        void* context = nullptr;
        bool (*before_move)(void* context,
                            std::uint32_t slot) noexcept = nullptr;  // false: not now
        void (*after_move)(void* context, std::uint32_t slot, void* address) noexcept = nullptr;
    };
    /// Calls the observer around each move from now on; {} ends that.
    void set_move_observer(const move_observer& observer) noexcept { observer_ = observer; }

private:
    template <class T>
    friend class pinned;

    static constexpr std::uint32_t none = detail::object_map::none;
    // The table counts in units of 8 bytes, two to a granule: processors multiply by 8 for free.
    static constexpr std::size_t place_unit = 8;
    static constexpr std::uint32_t units = detail::granule_size / place_unit;
    static constexpr slot_directory_base::slot no_slot{0xFFFF'FFFF, 0};  // no handle matches it
    using spot = detail::object_map::spot;
    struct move;
    struct compaction_view;

    void start(std::byte* memory, std::size_t size, const options& how) noexcept;
    void release() noexcept;
    void use_table() noexcept;
    void unpin(handle_type h) noexcept;
    /// The hooks of objects that move run in the middle of compact(), when the map is open.
    void expect_no_move() const noexcept {
        CAIRN_ASSERT(!is_compacting_,
                     "an object that is told of its move changes nothing in the heap");
    }
    void uncount_pin(const detail::object_entry& e) noexcept;

    /// Where `slot` is, in granules from base_, and on which side.
    [[nodiscard]] std::uint32_t place(std::uint32_t slot) const noexcept {
        return slots_.value(slot) / units;
    }
    [[nodiscard]] std::byte* address(std::uint32_t slot) const noexcept {
        return base_ + std::size_t{place(slot)} * detail::granule_size;
    }
    [[nodiscard]] std::size_t size_of(const detail::object_entry& e) const noexcept {
        return std::size_t{e.granules} * detail::granule_size - e.unused;
    }
    [[nodiscard]] bool may_move(const detail::object_entry& e) const noexcept {
        return e.pins == 0 && !e.is_fixed;
    }
    bool apply(const move& m) noexcept;
    void carry(std::byte* to, std::byte* from, const detail::object_entry& e,
               std::byte* via) noexcept;
    void leave(std::byte* from, std::size_t kept, std::size_t size, std::size_t span) noexcept;
    void change_sides() noexcept;
    void learn_speed(std::uint64_t nanoseconds, std::size_t size) noexcept;

    //  address of an object = base_ + place * 16,  value of its slot = place * 2
    //  place = e.place, or e.place + other_side_ where stress_relocate has it on the other side
    const slot_directory_base::slot* table_ = &no_slot;  // slots_.data(), never nullptr
    std::byte* base_ = nullptr;
    slot_directory<reuse::lifo> slots_;  // value: its place in units of 8 bytes from base_
    detail::object_map map_;
    detail::compaction_planner planner_;
    move_observer observer_;
    allocator_ref upstream_ = system_memory();
    std::byte* owned_ = nullptr;  // the region, when it came from upstream
    std::size_t owned_size_ = 0;
    std::size_t region_size_ = 0;  // from base_, both sides
    std::size_t largest_movable_;
    std::uint32_t other_side_ = 0;  // stress_relocate: granules from one side to the other
    std::uint32_t epoch_ = 0;
    bool is_compacting_ = false;
    struct {
        std::uint64_t pinned = 0;
        std::size_t pinned_granules = 0;
        std::uint64_t moved_size = 0;
        std::uint64_t moves = 0;
        std::uint64_t calls = 0;
        std::uint64_t rounds = 0;
        std::uint64_t calls_to_converge = 0;
        std::uint64_t scattered_calls = 0;  // since the free memory was last together
    } counts_;
    double ns_per_byte_ = 0.25;  // of the last copies
};

template <class Visit>
void relocatable_heap::for_each_range(Visit visit) const {
    constexpr std::size_t unit = detail::granule_size;
    std::uint32_t end = 0;
    for (std::uint32_t i = map_.lowest();; i = map_.entry(i).after) {
        if (const std::uint32_t start = map_.start_of(i); start != end) {
            visit(relocatable_range{end * unit, (start - end) * unit, {}, false, false, true});
        }
        if (i == none) { return; }
        const detail::object_entry& e = map_.entry(i);
        visit(relocatable_range{e.place * unit, e.granules * unit,
                                handle_type::make(i, slots_.generation(i)), e.pins != 0, e.is_fixed,
                                false});
        end = map_.end_of(i);
    }
}

template <class Sink>
void relocatable_heap::write_json(Sink sink) const {
    detail::map_json<Sink> json{sink, capacity()};
    for_each_range([&](const relocatable_range& r) {
        json.begin_range(r.offset, r.size);
        if (!r.is_free) { json.user(r.object.index()); }
        if (r.is_pinned) { json.flag("pinned"); }
        if (r.is_fixed) { json.flag("fixed"); }
        json.end_range();
    });
    json.end();
}

}}  // namespace cairn::CAIRN_FLAVOUR

#include <cairn/movable/relocatable.hpp>
