// cairn/movable/offset_heap.hpp - a heap over numbers: memory that the CPU does not touch.
//
//    0                                                            capacity
//    +--------+-------+-------------+------+----------------------+   GPU memory, a file, an atlas:
//    |  used  | free  |    used     | used |         free         |   never read, never written
//    +--------+-------+-------------+------+----------------------+
//        ^        ^          ^
//    nodes: { offset, size, neighbours, bin links or user data, generation }   beside it
//
// Use it for: sub-allocating GPU heaps and buffers, ranges of a file, rows of an atlas, ids.
// Look elsewhere for: memory that the CPU may touch (heap.hpp keeps the nodes in the blocks).
//
// Invariant: nodes cover [0, capacity) without a gap; two neighbours are never both free; a bin's
//            bit is set exactly when it has a node.
// Bound:     a request is refused only when no free range holds the size, plus alignment - 1,
//            rounded up to the next of 32 steps an octave (by less than 1/32); or no node is left.
// Cost:      allocate, deallocate: constant: at most three bitmap words, four probes for an aligned
//            hole, two neighbours. A node is 40 bytes (offsets of 64 bits) or 32.
// Threads:   none.
// Source:    the bins are TLSF's; plan() is the planner of relocatable_heap, in shape Naughty Dog's
//            (Gregory, Game Engine Architecture, 5.2.2.2) with both ends.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include <cairn/alloc/inside/free_lists.hpp>
#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/inside/begin_anew.hpp>
#include <cairn/movable/inside/planner.hpp>
#include <cairn/movable/offset_heap/ranges.hpp>
#include <cairn/os/system_allocator.hpp>
#include <cairn/storage/generations.hpp>
#include <cairn/storage/inside/step_counter.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

template <std::unsigned_integral Offset>
class basic_offset_heap {
    static_assert(sizeof(Offset) == 4 || sizeof(Offset) == 8);

public:
    using offset_type = Offset;
    using options = detail::offset_heap_options;
    using stats_type = detail::offset_heap_stats<Offset>;
    /// Bytes of the memory that is managed: where a block lies, and its size.
    using range = detail::offset_range<Offset>;
    /// How much a plan may move.
    using limits_type = detail::plan_limits<Offset>;
    /// A move that a plan proposes.
    using move = detail::offset_move<Offset>;
    /// As options::allocation_count_max: as many as memory has nodes for.
    static constexpr std::uint32_t unlimited = options::unlimited;
    /// Steps (step_counter.hpp) of allocate or deallocate; doubling the nodes comes on top.
    static constexpr std::uint32_t steps_max = 40;

    basic_offset_heap() = delete;  // it needs a capacity: offset_heap{256_MiB}
    explicit basic_offset_heap(allocator_ref) = delete;  // it needs a capacity: {256_MiB, upstream}

    /// Manages [0, capacity). Nodes for the allocations and the holes between them come from
    /// `upstream`. An upstream that refuses them now (options::allocation_count_max) makes a heap
    /// that refuses everything.
    explicit basic_offset_heap(Offset capacity, allocator_ref upstream = system_memory(),
                               const options& how = {}) noexcept;
    basic_offset_heap(Offset capacity, const options& how) noexcept
        : basic_offset_heap{capacity, system_memory(), how} {}
    // Written out: `other` loses its bins with its ranges.
    basic_offset_heap(basic_offset_heap&& other) noexcept;
    basic_offset_heap& operator=(basic_offset_heap&& other) noexcept;
    basic_offset_heap(const basic_offset_heap&) = delete;
    basic_offset_heap& operator=(const basic_offset_heap&) = delete;
    ~basic_offset_heap() { release(); }

    // ------------------------------------------------------------------- allocate, deallocate

    /// A range of `size` at a multiple of `align`, which is a power of two.
    /// Returns: no range when none fits within the bound, or allocation_count_max live; nothing
    ///          changed.
    /// Size 0:  takes a range of 1, so that every allocation has an offset of its own.
    [[nodiscard]] offset_allocation allocate(Offset size, Offset align = 1,
                                             std::uint64_t user_data = 0) noexcept;

    /// Requires: `a` is live and has no move in flight. In unchecked builds a stale one is ignored.
    void deallocate(offset_allocation a, call_site from = call_site::current()) noexcept;

    /// Makes the range larger or smaller where it stands. Returns: false when it cannot.
    [[nodiscard]] bool try_resize(offset_allocation a, Offset new_size,
                                  call_site from = call_site::current()) noexcept;

    /// Forgets all allocations, which are stale then, and all moves in flight. O(nodes in use).
    void reset() noexcept;

    /// More room at the end. Returns: false when no node is left for it; nothing changed.
    [[nodiscard]] bool grow(Offset new_capacity) noexcept;
    /// Less room. Returns: false when something lives beyond `new_capacity`; nothing changed.
    [[nodiscard]] bool shrink(Offset new_capacity) noexcept;

    // ------------------------------------------------------------------- queries

    /// True while `a` was not deallocated.
    [[nodiscard]] bool contains(offset_allocation a) const noexcept {
        return a.index < node_count_ && nodes_[a.index].generation == a.generation &&
               is_used(nodes_[a.index].kind);
    }
    /// Requires, for these: contains(a).
    [[nodiscard]] Offset offset(offset_allocation a,
                                call_site from = call_site::current()) const noexcept {
        return live(a, from).offset;
    }
    [[nodiscard]] Offset size(offset_allocation a,
                              call_site from = call_site::current()) const noexcept {
        return live(a, from).size;
    }
    /// The number that allocate() or set_user_data() was given last.
    [[nodiscard]] std::uint64_t user_data(offset_allocation a,
                                          call_site from = call_site::current()) const noexcept {
        return live(a, from).user();
    }
    /// A number of the caller's, kept beside the allocation.
    void set_user_data(offset_allocation a, std::uint64_t value,
                       call_site from = call_site::current()) noexcept {
        (void)live(a, from);
        nodes_[a.index].set_user(value);
    }
    /// A pinned allocation is never proposed for a move.
    /// Requires: `a` is live and has no move in flight. Unchecked builds ignore it otherwise.
    void set_pinned(offset_allocation a, bool pinned,
                    call_site from = call_site::current()) noexcept;

    [[nodiscard]] Offset capacity() const noexcept { return capacity_; }
    /// How many live.
    [[nodiscard]] std::size_t allocation_count() const noexcept { return live_count_; }
    [[nodiscard]] stats_type stats() const noexcept;  // O(ranges)

    /// Calls visit(const range&) for each range in address order.
    template <class Visit>
    void for_each_range(Visit visit) const {
        for (std::uint32_t i = first_; i != none; i = nodes_[i].next) {
            const node& n = nodes_[i];
            const bool used = is_used(n.kind);
            visit(range{used ? offset_allocation{i, n.generation} : offset_allocation{}, n.offset,
                        n.size, used ? n.user() : 0, n.kind == state::free});
        }
    }

    /// The map as one JSON object, in pieces: sink(const char* text, std::size_t length).
    ///     {"capacity":256,"ranges":[{"offset":0,"size":64,"user":7},{"offset":64,"size":192}]}
    template <class Sink>
    void write_json(Sink sink) const;

    /// Checks every invariant; a broken one stops a checked build. O(ranges).
    void validate() const noexcept;

    // ------------------------------------------------------------------- compaction

    /// Proposes moves that bring the free memory together, and reserves their destinations: first
    /// allocations of the high end into holes that fit them below, then what follows a hole slides
    /// down over it. Call it again for more: when a round is over, the next begins. In one round an
    /// allocation is proposed once at most.
    ///
    /// Returns: how many moves were written to `out` (at most out_count and limits.move_count_max).
    /// Cost:    at most limits.step_count_max nodes, each with at most four probes of holes; it
    ///          goes on where the last call stopped.
    [[nodiscard]] std::size_t plan(move* out, std::size_t out_count,
                                   const limits_type& limits) noexcept;

    /// The copy is done: the allocation is at `m.to` now. Its name stays.
    /// Requires, for these: `m` is in flight. It was neither committed nor cancelled, and reset()
    /// has not forgotten it. Unchecked builds ignore it otherwise.
    void commit(const move& m, call_site from = call_site::current()) noexcept;
    /// There will be no copy: the destination is free again.
    void cancel(const move& m, call_site from = call_site::current()) noexcept;

    /// True when the last plan() reached the end of a round.
    [[nodiscard]] bool round_is_over() const noexcept { return planner_.round_is_over(); }
    [[nodiscard]] std::size_t moves_in_flight() const noexcept { return in_flight_; }

private:
    static constexpr std::uint32_t none = detail::no_block;
    using classes = detail::size_class<5, Offset>;
    static constexpr std::uint32_t bin_count = classes::floor(static_cast<Offset>(~Offset{0})) + 1;
    static constexpr unsigned probe_count = 4;

    // A node is in the list of unused ones, or it is one range of [0, capacity):
    //      free       in a bin                         used      an allocation
    //      reserved   where a planned move will end    pinned    one that no plan moves
    //                                                  moving    one whose move is in flight
    enum class state : std::uint8_t { unused, free, used, pinned, moving, reserved };

    // One range. Its index and generation are the name that the caller holds, so a move exchanges
    // the places of two nodes and never their indices.
    struct node {
        Offset offset;
        Offset size;
        std::uint32_t prev;  // neighbours in address order
        std::uint32_t next;
        std::uint32_t link[2];  // free: next and prev of the bin; used: user data
        std::uint32_t generation;
        state kind;
        std::uint8_t align_log2;
        std::uint8_t round;  // of the plan that moved it last

        [[nodiscard]] std::uint64_t user() const noexcept {
            return link[0] | std::uint64_t{link[1]} << 32;
        }
        void set_user(std::uint64_t v) noexcept {
            link[0] = static_cast<std::uint32_t>(v);
            link[1] = static_cast<std::uint32_t>(v >> 32);
        }
    };
    static_assert(sizeof(node) == (sizeof(Offset) == 8 ? 40 : 32));

    /// How free_lists walks the ranges of a bin.
    struct links {
        node* nodes;
        [[nodiscard]] std::uint32_t next(std::uint32_t i) const noexcept {
            CAIRN_DETAIL_STEP();
            return nodes[i].link[0];
        }
        [[nodiscard]] std::uint32_t prev(std::uint32_t i) const noexcept {
            CAIRN_DETAIL_STEP();
            return nodes[i].link[1];
        }
        void set_next(std::uint32_t i, std::uint32_t to) const noexcept {
            CAIRN_DETAIL_STEP();
            nodes[i].link[0] = to;
        }
        void set_prev(std::uint32_t i, std::uint32_t to) const noexcept {
            CAIRN_DETAIL_STEP();
            nodes[i].link[1] = to;
        }
        void set_both(std::uint32_t i, std::uint32_t next, std::uint32_t prev) const noexcept {
            CAIRN_DETAIL_STEP();
            nodes[i].link[0] = next;
            nodes[i].link[1] = prev;
        }
    };

    [[nodiscard]] static bool is_used(state s) noexcept {
        return s == state::used || s == state::pinned || s == state::moving;
    }
    [[nodiscard]] const node& live(offset_allocation a, call_site from) const noexcept {
        if constexpr (asserts_enabled) { expect_used(a, from); }
        return nodes_[a.index];
    }
    /// Checked builds: stops the program with what is wrong with `a`, which is not live. `sentence`
    /// and `kind` are for an allocation that is gone.
    [[noreturn]] void refuse(offset_allocation a, const char* sentence, misuse_kind kind,
                             call_site from) const noexcept;
    [[nodiscard]] bool is_in_flight(const move& m, call_site from) const noexcept;
    void expect_used(offset_allocation a, call_site from) const noexcept {
        if (contains(a)) [[likely]] { return; }
        refuse(a, "an allocation is used while it lives", misuse_kind::stale_handle, from);
    }
    /// Bytes from `offset` to the next multiple of `align`.
    [[nodiscard]] static Offset gap_for(Offset offset, Offset align) noexcept {
        return static_cast<Offset>(static_cast<Offset>(0 - offset) &
                                   static_cast<Offset>(align - 1));
    }

    /// The lowest bin all of whose ranges hold `size`; bin_count when there is none.
    [[nodiscard]] static std::uint32_t bin_that_holds(Offset size) noexcept {
        // Beyond this, rounding up would wrap.
        constexpr Offset max = static_cast<Offset>(~Offset{0});
        if (size > max - max / 32) { return bin_count; }
        const std::uint32_t bin = classes::ceil(size);
        return bin < bin_count ? bin : bin_count;
    }
    /// The first range of the lowest non-empty bin from `bin` on, or none.
    [[nodiscard]] std::uint32_t first_from(std::uint32_t bin) const noexcept {
        if (bin >= bin_count) { return none; }
        const std::uint32_t found = bins_.bin_from(bin);
        return found < bin_count ? heads_[found] : none;
    }

    /// Node `i` becomes free and enters the bin of its size. Its neighbours are not looked at.
    void insert_free(std::uint32_t i) noexcept {
        nodes_[i].kind = state::free;
        bins_.insert(heads_, links{nodes_}, classes::floor(nodes_[i].size), i);
    }
    /// Node `i` leaves its bin, by the size that it has now. Requires: it is free.
    void remove_free(std::uint32_t i) noexcept {
        bins_.remove(heads_, links{nodes_}, classes::floor(nodes_[i].size), i);
    }
    /// The size of a free node changes: its bin may.
    void resize_free(std::uint32_t i, Offset size) noexcept {
        const std::uint32_t before = classes::floor(nodes_[i].size);
        const std::uint32_t after = classes::floor(size);
        if (before != after) {
            bins_.remove(heads_, links{nodes_}, before, i);
            bins_.insert(heads_, links{nodes_}, after, i);
        }
        nodes_[i].size = size;
    }

    // Nodes (offset_heap/allocate.hpp). They are there before anything changes, so that a
    // refusal of the upstream leaves the heap as it was.
    [[nodiscard]] std::uint32_t take_node() noexcept;
    void give_node(std::uint32_t i) noexcept;
    [[nodiscard]] bool grow_nodes() noexcept;
    // The list of all ranges in the order of their addresses.
    void link_before(std::uint32_t i, std::uint32_t right) noexcept;
    void unlink(std::uint32_t i) noexcept;
    void swap_places(std::uint32_t a, std::uint32_t b) noexcept;

    // The hot path (offset_heap/allocate.hpp), and plans (offset_heap/compaction.hpp).
    [[nodiscard]] std::uint32_t find_hole(Offset size, Offset align, Offset below) const noexcept;
    void carve(std::uint32_t hole, Offset gap, Offset size, std::uint32_t rest_node,
               std::uint32_t gap_node) noexcept;
    void free_node(std::uint32_t i) noexcept;
    struct compaction_view;
    void reserve(const move& m, std::uint32_t gap_node, std::uint32_t rest_node) noexcept;
    // The beginning and the end (offset_heap/lifetime.hpp).
    void start() noexcept;
    void release() noexcept;

    node* nodes_ = nullptr;
    std::uint32_t node_count_ = 0;    // nodes that exist
    std::uint32_t unused_ = none;     // list of nodes for later, through `next`
    std::uint32_t unused_count_ = 0;  // its length
    std::uint32_t first_ = none;      // lowest range
    std::uint32_t last_ = none;       // highest range
    std::uint32_t live_count_ = 0;
    std::uint32_t allocation_count_max_;
    std::uint32_t in_flight_ = 0;
    std::uint32_t first_generation_ = 0;  // 0: drawn when the first nodes are made
    detail::compaction_planner planner_;
    Offset capacity_;
    allocator_ref upstream_;
    detail::free_lists<bin_count> bins_;
    std::uint32_t heads_[bin_count];
};

/// Offsets of 64 bits, and of 32.
using offset_heap = basic_offset_heap<std::uint64_t>;
using offset_heap_32 = basic_offset_heap<std::uint32_t>;

}}  // namespace cairn::CAIRN_FLAVOUR

#include <cairn/movable/offset_heap/allocate.hpp>
#include <cairn/movable/offset_heap/compaction.hpp>
#include <cairn/movable/offset_heap/lifetime.hpp>
#include <cairn/movable/offset_heap/stats.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

extern template class basic_offset_heap<std::uint64_t>;
extern template class basic_offset_heap<std::uint32_t>;

}}  // namespace cairn::CAIRN_FLAVOUR
