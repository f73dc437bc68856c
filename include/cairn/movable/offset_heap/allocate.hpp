// cairn/movable/offset_heap/allocate.hpp - offset_heap: the hot path and the nodes it takes.
//
// Short enough to be inlined from here; the rest is compiled once (src/movable/offset_heap.cpp).
#pragma once

#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include <cairn/movable/offset_heap.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

// ---------------------------------------------------------------------------- hot path

/// A free node that holds `size` at a multiple of `align` and starts below `below`, or none.
/// Without an alignment and a bound the head of the first bin that certainly fits is the answer.
/// Otherwise up to probe_count ranges are looked at in each of three bins: those of the size, those
/// of the size plus the worst gap, and those below the size, of which some are large enough.
/// Cost: O(1): three searches of the bitmap and 3 * probe_count nodes at most.
template <std::unsigned_integral Offset>
inline std::uint32_t basic_offset_heap<Offset>::find_hole(Offset size, Offset align,
                                                          Offset below) const noexcept {
    const links l{nodes_};
    const std::uint32_t sure = first_from(bin_that_holds(size));
    if (align <= 1 && below == static_cast<Offset>(~Offset{0})) {
        if (sure != none) { return sure; }
    } else {
        const auto probe = [&](std::uint32_t i) {
            for (unsigned tries = probe_count; i != none && tries != 0; --tries, i = l.next(i)) {
                const node& n = nodes_[i];
                if (n.offset < below && gap_for(n.offset, align) <= n.size - size) { return i; }
            }
            return none;
        };
        std::uint32_t i = probe(sure);
        if (i != none) { return i; }
        // A range of this size has room for `size` wherever it starts.
        const Offset padded = static_cast<Offset>(size + (align - 1));
        if (padded < size) { return none; }  // the sum wrapped: no range is as large
        i = probe(first_from(bin_that_holds(padded)));
        if (i != none) { return i; }
    }
    // The bin below the first bin that certainly fits: some of its ranges are large enough too.
    std::uint32_t i = heads_[classes::floor(size)];
    for (unsigned tries = probe_count; i != none && tries != 0; --tries, i = l.next(i)) {
        const node& n = nodes_[i];
        if (n.size >= size && n.offset < below && gap_for(n.offset, align) <= n.size - size) {
            return i;
        }
    }
    return none;
}

/// [ ------- hole ------- ] => [ gap ][ size ][ rest ]; `hole` becomes the middle.
template <std::unsigned_integral Offset>
inline void basic_offset_heap<Offset>::carve(std::uint32_t hole, Offset gap, Offset size,
                                             std::uint32_t rest_node,
                                             std::uint32_t gap_node) noexcept {
    remove_free(hole);
    node& n = nodes_[hole];
    if (gap_node != none) {
        node& g = nodes_[gap_node];
        g.offset = n.offset;
        g.size = gap;
        link_before(gap_node, hole);
        n.offset = static_cast<Offset>(n.offset + gap);
        n.size = static_cast<Offset>(n.size - gap);
        insert_free(gap_node);
    }
    if (rest_node != none) {
        node& r = nodes_[rest_node];
        r.offset = static_cast<Offset>(n.offset + size);
        r.size = static_cast<Offset>(n.size - size);
        r.prev = hole;
        r.next = n.next;
        (n.next != none ? nodes_[n.next].prev : last_) = rest_node;
        n.next = rest_node;
        n.size = size;
        insert_free(rest_node);
    }
}

template <std::unsigned_integral Offset>
[[CAIRN_FORCE_INLINE]] inline offset_allocation basic_offset_heap<Offset>::allocate(
    Offset size, Offset align, std::uint64_t user_data) noexcept {
    CAIRN_ASSERT(align != 0 && (align & (align - 1)) == 0, "an alignment is a power of two");
    if (size == 0) { size = 1; }
    // All that can be refused is refused before the first node changes. Behind growth all is looked
    // at anew: upstream may have used the heap.
    std::uint32_t hole;
    Offset gap;
    bool has_rest;
    for (;;) {
        if (size > capacity_ || live_count_ == allocation_count_max_) { return {}; }
        hole = find_hole(size, align, static_cast<Offset>(~Offset{0}));
        if (hole == none) { return {}; }
        gap = gap_for(nodes_[hole].offset, align);
        has_rest = nodes_[hole].size - gap != size;
        if (unused_count_ >= (gap != 0 ? 1u : 0u) + (has_rest ? 1u : 0u)) [[likely]] { break; }
        if (!grow_nodes()) { return {}; }
    }
    const std::uint32_t gap_node = gap != 0 ? take_node() : none;
    const std::uint32_t rest_node = has_rest ? take_node() : none;
    carve(hole, gap, size, rest_node, gap_node);
    node& n = nodes_[hole];
    n.kind = state::used;
    // The plan of this round may propose it: its round is the one before.
    n.align_log2 = static_cast<std::uint8_t>(std::countr_zero(align));
    n.round = static_cast<std::uint8_t>(planner_.round() - 1);
    n.set_user(user_data);
    ++live_count_;
    return {hole, n.generation};
}

/// Makes node `i` free and merges it with its free neighbours.
template <std::unsigned_integral Offset>
inline void basic_offset_heap<Offset>::free_node(std::uint32_t i) noexcept {
    CAIRN_DETAIL_STEP();
    node& n = nodes_[i];
    ++n.generation;
    const std::uint32_t left = n.prev;
    const std::uint32_t right = n.next;
    Offset size = n.size;
    const bool merge_right = right != none && nodes_[right].kind == state::free;
    if (merge_right) {
        CAIRN_DETAIL_STEP();
        size = static_cast<Offset>(size + nodes_[right].size);
        remove_free(right);
        unlink(right);
        give_node(right);
    }
    if (left != none && nodes_[left].kind == state::free) {
        CAIRN_DETAIL_STEP();
        unlink(i);
        give_node(i);
        resize_free(left, static_cast<Offset>(nodes_[left].size + size));
        return;
    }
    n.size = size;  // no free neighbour on the left: this node becomes the whole free range
    insert_free(i);
}

template <std::unsigned_integral Offset>
inline void basic_offset_heap<Offset>::deallocate(offset_allocation a, call_site from) noexcept {
    if constexpr (asserts_enabled) {
        if (!contains(a)) {
            refuse(a, "an allocation is freed once", misuse_kind::double_free, from);
        }
    }
    if (!contains(a)) { return; }
    CAIRN_ASSERT(nodes_[a.index].kind != state::moving,
                 "a move is committed or cancelled before its allocation is freed",
                 {.object = this, .type = "offset_heap", .caller = from});
    --live_count_;
    free_node(a.index);
}

// ---------------------------------------------------------------------------- nodes

/// Requires: a node is unused.
template <std::unsigned_integral Offset>
inline std::uint32_t basic_offset_heap<Offset>::take_node() noexcept {
    --unused_count_;
    const std::uint32_t i = unused_;
    unused_ = nodes_[i].next;
    return i;
}

template <std::unsigned_integral Offset>
inline void basic_offset_heap<Offset>::give_node(std::uint32_t i) noexcept {
    // A plan that stands on this node goes on at its neighbour.
    planner_.forget(i, nodes_[i].prev, nodes_[i].next);
    nodes_[i].kind = state::unused;
    nodes_[i].next = unused_;
    unused_ = i;
    ++unused_count_;
}

/// Twice as many nodes; the first time 64, or all that options::allocation_count_max can need, so
/// that a heap with that promise asks its upstream once. O(nodes).
/// An upstream that comes back may change the whole heap meanwhile: what a caller knew of it, and
/// every reference to a node, ends.
/// Returns: false when the upstream refuses; nothing has changed then.
template <std::unsigned_integral Offset>
bool basic_offset_heap<Offset>::grow_nodes() noexcept {
    if (node_count_ >= 0x4000'0000) { return false; }
    std::uint32_t count = node_count_ == 0 ? 64 : node_count_ * 2;
    if (allocation_count_max_ != unlimited) {
        // Every allocation and a hole beside each. The destinations of moves in flight come on top.
        const std::uint64_t all = std::uint64_t{allocation_count_max_} * 2 + 1;
        if (all > 0x4000'0000) { return false; }
        count = node_count_ == 0 ? static_cast<std::uint32_t>(all) : node_count_ * 2;
    }
    void* const memory = upstream_.allocate(count * sizeof(node), alignment::of<node>());
    if (memory == nullptr) { return false; }
    const std::uint32_t old_count = node_count_;
    if (count <= old_count) {  // it has grown meanwhile
        upstream_.deallocate(memory, count * sizeof(node), alignment::of<node>());
        return true;
    }
    node* const old = std::exchange(nodes_, static_cast<node*>(memory));
    if (old_count != 0) { std::memcpy(memory, static_cast<void*>(old), old_count * sizeof(node)); }
    if (first_generation_ == 0) { first_generation_ = detail::generations::draw(0xFFFF'FFFF); }
    for (std::uint32_t i = node_count_; i < count; ++i) {
        node* const n = ::new (static_cast<void*>(nodes_ + i)) node{};
        n->generation = first_generation_;
        n->next = i + 1 < count ? i + 1 : unused_;
    }
    unused_ = node_count_;
    unused_count_ += count - node_count_;
    node_count_ = count;
    if (old_count != 0) {
        upstream_.deallocate(old, old_count * sizeof(node), alignment::of<node>());
    }
    return true;
}

/// Node `i` becomes the left neighbour of `right`.
template <std::unsigned_integral Offset>
void basic_offset_heap<Offset>::link_before(std::uint32_t i, std::uint32_t right) noexcept {
    const std::uint32_t left = nodes_[right].prev;
    nodes_[i].prev = left;
    nodes_[i].next = right;
    nodes_[right].prev = i;
    (left != none ? nodes_[left].next : first_) = i;
}

/// The neighbours of node `i` become neighbours; `i` keeps its own links.
template <std::unsigned_integral Offset>
inline void basic_offset_heap<Offset>::unlink(std::uint32_t i) noexcept {
    const node& n = nodes_[i];
    (n.prev != none ? nodes_[n.prev].next : first_) = n.next;
    (n.next != none ? nodes_[n.next].prev : last_) = n.prev;
}

}}  // namespace cairn::CAIRN_FLAVOUR
