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
//      pinned<mesh> still = m.pin();                  dma(still.get());   until `still` ends
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
// Memory:    a peak of objects keeps the 44 bytes of each. trim() gives back 32 of them; 12 stay,
//            those of the slot, because get() looks there for every handle of the peak.
// Threads:   one at a time; get() from many while nothing changes the heap. Threads that read while
//            another compacts: concurrent_relocatable_heap.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/handle.hpp>
#include <cairn/core/inside/element.hpp>
#include <cairn/core/make.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/core/slice.hpp>
#include <cairn/movable/inside/map_json.hpp>
#include <cairn/movable/inside/planner.hpp>
#include <cairn/movable/relocatable_heap/object_map.hpp>
#include <cairn/movable/relocation.hpp>
#include <cairn/os/system_allocator.hpp>
#include <cairn/storage/inside/slot_directory.hpp>
#include <cairn/storage/work_limit.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

class relocatable_heap;
class concurrent_relocatable_heap;
template <class T>
class relocatable;
template <class T>
class pinned;
template <class T>
class frame_ptr;

namespace detail {

struct relocatable_heap_options {
    /// Larger objects do not move. Moving an object of this size may exceed a frame's limit
    /// by its time: about 25 to 60 microseconds for 256 KiB. Unlimited: SIZE_MAX.
    std::size_t largest_movable = 256_KiB;
    /// So many objects find room in the tables without growth; more make them double.
    std::size_t object_count = 0;
    /// The debug mode: every compact() moves every unpinned object to another address and destroys
    /// the bytes it left (0xF0, and poisoned), so that a pointer kept too long is found at its
    /// first use. (Not objects larger than largest_movable, or aligned to more than 4096.) Takes
    /// the region twice: capacity() is half of it, less a page at most.
    bool stress_relocate = false;
    /// The first life of every slot; see slot_map::options. 0: a number of the heap's own.
    std::uint32_t first_generation = 0;
};

struct relocatable_heap_stats {
    std::size_t capacity;      // bytes
    std::size_t free_size;     // bytes in holes
    std::size_t largest_free;  // bytes of the largest hole
    std::size_t hole_count;    // free ranges between objects
    std::size_t object_count;
    std::size_t pinned_count;  // objects that are pinned now
    std::size_t pinned_size;   // bytes that cannot move now because of a pin
    std::uint64_t moved_size;  // bytes copied since the heap was made, those of stress_relocate too
    std::uint64_t move_count;  // moves of objects since the heap was made
    std::uint64_t compact_count;  // calls
    std::uint64_t round_count;    // in a round an object moves once at most
    std::uint64_t
        calls_to_converge;  // the last time: from the first call with several holes to the
                            // one that left one piece, or nothing more to move

    /// External fragmentation: the part of the free memory that is not in the largest hole.
    [[nodiscard]] double fragmentation() const noexcept {
        return free_size == 0
                   ? 0.0
                   : 1.0 - static_cast<double>(largest_free) / static_cast<double>(free_size);
    }
};

/// A piece of the map, for for_each_range().
struct relocatable_range {
    std::size_t offset;
    std::size_t size;
    handle<relocatable_heap> object;  // null for holes
    bool is_pinned;
    bool is_fixed;  // too large to move
    bool is_free;
};

}  // namespace detail

/// What one compact() did. What stress_relocate copies is not counted here; stats() counts it.
struct compaction_report {
    std::size_t bytes = 0;          // copied
    std::size_t moves = 0;          // objects that stand elsewhere now
    std::size_t steps = 0;          // objects and holes that were looked at
    std::uint64_t nanoseconds = 0;  // 0 when the limit has no time
    bool one_piece = false;         // the free memory is one hole, or none
    bool settled = false;           // no object can move until one is freed, allocated or unpinned
};

namespace detail {

/// Checked builds: code of the program runs inside a call.
class code_of_program {
public:
    explicit code_of_program(std::uint32_t& count) noexcept : count_{count} {
        if constexpr (asserts_enabled) { ++count_; }
    }
    ~code_of_program() {
        if constexpr (asserts_enabled) { --count_; }
    }
    code_of_program(const code_of_program&) = delete;
    code_of_program& operator=(const code_of_program&) = delete;

private:
    std::uint32_t& count_;
};

}  // namespace detail

class relocatable_heap {
public:
    using handle_type = handle<relocatable_heap>;
    using options = detail::relocatable_heap_options;
    using stats_type = detail::relocatable_heap_stats;
    /// An object of the heap: its handle, address and size.
    using range = detail::relocatable_range;

    relocatable_heap() = delete;  // it needs a size, relocatable_heap{16_MiB}, or memory
    explicit relocatable_heap(allocator_ref) = delete;  // it needs a size: {16_MiB, upstream}

    /// Over memory of the caller, of which it uses 16 GiB at most; tables come from `upstream`.
    /// An upstream that refuses makes a heap that refuses everything.
    explicit relocatable_heap(byte_slice region, allocator_ref upstream = system_memory(),
                              const options& how = {}) noexcept;
    relocatable_heap(byte_slice region, const options& how) noexcept
        : relocatable_heap{region, system_memory(), how} {}
    /// A region of `size` bytes, 16 GiB at most, taken from `upstream` now, as the tables are.
    explicit relocatable_heap(std::size_t size, allocator_ref upstream = system_memory(),
                              const options& how = {}) noexcept;
    relocatable_heap(std::size_t size, const options& how) noexcept
        : relocatable_heap{size, system_memory(), how} {}
    /// Movable while no relocatable, pinned or frame_ptr of it is in use. Requires: nothing is
    /// pinned. (Written out: `table_` is never null, so each heap has its own table.)
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
    void deallocate(handle_type h, call_site from = call_site::current()) noexcept;

    /// The bytes of `h`, good until the next compact(); nullptr when `h` is null or stale.
    /// Requires: `h` is null or was given out by this heap, however long ago. (Unsure, because it
    /// comes from a file or a network: contains() first.)
    /// Cost:     a load of the generation, a compare; a load of the place, an addition.
    [[nodiscard]] void* get(handle_type h) const noexcept {
        CAIRN_ASSERT(!h || h.index() < slots_.capacity(), "a handle is used with its own heap");
        // Before the question: a loop can then keep it in a register (gcc: 1.91 -> 1.48 ns).
        std::byte* const base = base_;
        const detail::directory_slot& s = table_[h.index()];
        if (s.word != h.generation()) [[unlikely]] { return nullptr; }
        std::byte* const object = base + std::size_t{s.value} * place_unit;
        // Spares the caller's `if (p != nullptr)` a second compare.
        if (object == nullptr) { compiler::unreachable(); }
        return object;
    }
    /// True while `h` is live. Any handle is allowed.
    [[nodiscard]] bool contains(handle_type h) const noexcept {
        return h.index() < slots_.capacity() && table_[h.index()].word == h.generation();
    }
    /// What was asked for. Requires: contains(h).
    [[nodiscard]] std::size_t size(handle_type h,
                                   call_site from = call_site::current()) const noexcept;

    // ------------------------------------------------------------------- objects

    /// A new T. Returns: null when exhausted; nothing is constructed then.
    template <detail::element T, class... Args>
    [[nodiscard]] relocatable<T> make(Args&&... args);
    /// Ends it. Requires: it lives, and is not pinned.
    template <class T>
    void destroy(relocatable<T> object, call_site from = call_site::current()) noexcept;
    /// The typed name of what make<T>() made, from its handle.
    template <class T>
    [[nodiscard]] relocatable<T> as(handle_type h) noexcept;

    // ------------------------------------------------------------------- staying

    /// While the result lives, the object keeps its address. Null when `h` is null or stale.
    [[nodiscard]] pinned<void> pin(handle_type h) noexcept;
    [[nodiscard]] bool is_pinned(handle_type h) const noexcept;

    // ------------------------------------------------------------------- moving

    /// The safe point: objects may have moved when it returns. A call goes on where the last call
    /// stopped, within `limit`: bytes are copied ones, a step looks at an object or a hole.
    ///
    /// Without a limit it ends when no object can move any more: a loading screen. Each object then
    /// moves once, unless pins or alignments above 16 leave holes that are worth a second round. An
    /// object that cannot slide over its own bytes may be copied twice.
    /// A limit of time or bytes without a number of steps gets one: 4 for each 5 microseconds, at
    /// least 40. So planning takes about a tenth of the time, and a heap of small objects stops at
    /// its steps long before. (Without it the soak of `cairn lab defrag` copies twice as much, and
    /// not one request more succeeds.)
    /// A limit is passed by one object at most: bytes and time are compared before each move. A
    /// move that would not end in time, at the speed of the last ones, is left for the next call,
    /// except the first move of a call; otherwise a large object would never move.
    /// Requires: no constructor, destructor, hook or visitor that the heap runs calls it.
    compaction_report compact(const work_limit& limit = {}) noexcept;
    template <std::integral Number>
    compaction_report compact(Number) = delete;  // the limit has a unit: {.microseconds = 50}

    /// Bytes by which the region should exceed live objects + request so that, compacted often
    /// enough, no request fails: what may lie scattered in front of the compaction.
    /// See docs/decisions/0050.
    [[nodiscard]] std::size_t slack() const noexcept {
        const std::size_t movable = largest_movable_ < capacity() ? largest_movable_ : capacity();
        return capacity() / 32 + movable;
    }
    /// The number of calls of compact(); a frame_ptr stores it.
    [[nodiscard]] std::uint32_t epoch() const noexcept { return epoch_; }
    [[nodiscard]] std::size_t largest_movable() const noexcept { return largest_movable_; }

    /// Gives back the entries behind the last object in the table, 32 bytes each, those of
    /// options::object_count too. The slots stay; the lowest free ones are used first from now on,
    /// so that the next objects need few entries. Objects do not move. Cost: O(slots).
    /// Returns: the bytes that went back to the upstream; 0 when it has no smaller block.
    std::size_t trim() noexcept;

    // ------------------------------------------------------------------- looking

    [[nodiscard]] std::size_t capacity() const noexcept {
        return std::size_t{map_.granules()} * detail::object_granule;
    }
    [[nodiscard]] std::size_t free_size() const noexcept {
        return std::size_t{map_.free_granules()} * detail::object_granule;
    }
    [[nodiscard]] std::size_t object_count() const noexcept { return slots_.live_count(); }
    /// Entries of the table of handles, used and free: every handle's index is below.
    [[nodiscard]] std::uint32_t slot_count() const noexcept { return slots_.capacity(); }
    /// How many more objects it has room for without growth.
    [[nodiscard]] std::uint32_t free_slot_count() const noexcept { return slots_.free_count(); }
    [[nodiscard]] stats_type stats() const noexcept;  // O(1)
    /// Bytes in holes too small for a request of `size`. O(objects).
    [[nodiscard]] std::size_t unusable_for(std::size_t size) const noexcept;

    /// Calls visit(const range&) for each object and hole in order of address.
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
    friend class concurrent_relocatable_heap;

    static constexpr std::uint32_t none = detail::object_map::none;
    // The table counts in units of 8 bytes, two to a granule: processors multiply by 8 for free.
    static constexpr std::size_t place_unit = 8;
    static constexpr std::uint32_t units = detail::object_granule / place_unit;
    static constexpr detail::directory_slot no_slot{0xFFFF'FFFF, 0};  // no handle matches it
    using spot = detail::object_map::spot;
    struct move;
    struct compaction_view;

    struct two_sides;
    void start(std::byte* base, const two_sides& r, std::size_t object_count) noexcept;
    void release() noexcept;
    void use_table() noexcept;
    [[nodiscard]] bool make_tables() noexcept;
    [[nodiscard]] bool make_entry(std::uint32_t slot) noexcept;
    void unpin(handle_type h) noexcept;
    /// The hooks of objects that move run in the middle of compact(), when the map is open,
    /// visitors while the list of objects is walked, and upstream while tables change.
    void expect_no_move() const noexcept {
        CAIRN_ASSERT(!is_compacting_, "on_relocated() changes nothing in the heap");
        CAIRN_ASSERT(visitor_count_ == 0,
                     "a visitor of for_each_range() or write_json() changes nothing in the heap");
        CAIRN_ASSERT(upstream_count_ == 0,
                     "the upstream of a relocatable heap changes nothing in it while it is asked "
                     "for tables or gets memory back");
    }
    void uncount_pin(const detail::object_entry& e) noexcept;
    /// Checked builds: stops the program unless `h` is live, with what is wrong with it. `sentence`
    /// and the kind in `known` are for an object that is gone.
    void expect_object(handle_type h, const char* sentence, detail::evidence known) const noexcept;

    /// Where `slot` is, in granules from base_, and on which side.
    [[nodiscard]] std::uint32_t place(std::uint32_t slot) const noexcept {
        return slots_.value(slot) / units;
    }
    [[nodiscard]] std::byte* address(std::uint32_t slot) const noexcept {
        return base_ + std::size_t{place(slot)} * detail::object_granule;
    }
    [[nodiscard]] std::size_t size_of(const detail::object_entry& e) const noexcept {
        return std::size_t{e.granules} * detail::object_granule - e.unused;
    }
    [[nodiscard]] bool may_move(const detail::object_entry& e) const noexcept {
        return e.pins == 0 && !e.is_fixed;
    }
    /// More than one hole, and moves are left.
    [[nodiscard]] bool is_scattered() const noexcept {
        return map_.hole_count() > 1 && !planner_.is_settled();
    }
    struct progress;
    [[CAIRN_FORCE_INLINE]] inline bool go_on(compaction_view& map, detail::work_meter& meter,
                                             progress& p) noexcept;
    bool apply(const move& m) noexcept;
    void carry(std::byte* to, std::byte* from, const detail::object_entry& e,
               std::byte* via) noexcept;
    void leave(std::byte* from, std::size_t kept, std::size_t size, std::size_t span) noexcept;
    void change_sides() noexcept;
    void learn_speed(std::uint64_t nanoseconds, std::size_t size) noexcept;

    //  address of an object = base_ + place * 16,  value of its slot = place * 2
    //  place = e.place, or e.place + other_side_ where stress_relocate has it on the other side
    const detail::directory_slot* table_ = &no_slot;  // slots_.data(), never nullptr
    std::byte* base_ = nullptr;
    detail::slot_directory<reuse::lifo> slots_;  // value: its place in units of 8 bytes from base_
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
    std::uint32_t built_count_ = 0;            // checked builds: objects that begin or end now
    mutable std::uint32_t visitor_count_ = 0;  // checked builds: visitors that run now
    std::uint32_t upstream_count_ = 0;         // checked builds: calls of upstream that run now
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
    std::uint64_t ns_per_mib_ = 262'144;  // of the last copies; 0.25 ns a byte
};

template <class Visit>
void relocatable_heap::for_each_range(Visit visit) const {
    constexpr std::size_t unit = detail::object_granule;
    const detail::code_of_program runs{visitor_count_};
    std::uint32_t end = 0;
    for (std::uint32_t i = map_.lowest();; i = map_.entry(i).after) {
        if (const std::uint32_t start = map_.start_of(i); start != end) {
            visit(range{end * unit, (start - end) * unit, {}, false, false, true});
        }
        if (i == none) { return; }
        const detail::object_entry& e = map_.entry(i);
        visit(range{e.place * unit, e.granules * unit, handle_type::make(i, slots_.generation(i)),
                    e.pins != 0, e.is_fixed, false});
        end = map_.end_of(i);
    }
}

template <class Sink>
void relocatable_heap::write_json(Sink sink) const {
    const detail::code_of_program runs{visitor_count_};  // the sink
    detail::map_json<Sink> json{sink, capacity()};
    for_each_range([&](const range& r) {
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
