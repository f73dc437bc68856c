// cairn/movable/offset_heap/lifetime.hpp - offset_heap: made, moved, reset, grown and shrunk.
//
//      grow        [ used ][ free ]         => [ used ][    free    ]   the last range is extended
//                  [ free ][ used ]         => [ free ][ used ][ free ] or a range is added: a node
//      shrink      [ used ][    free    ]   => [ used ][ free ]         only the last free range
//      try_resize  [ a ][ free ][ used ]    => [   a   ][free][ used ]  its right neighbour gives
//                  [  a  ][ used ]          => [ a ][free][ used ]      or gets: a node
//
// Only what needs a node can be refused for memory, and is refused before anything changes.
#pragma once

#include <cairn/movable/offset_heap.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

// ---------------------------------------------------------------------------- life

template <std::unsigned_integral Offset>
basic_offset_heap<Offset>::basic_offset_heap(Offset capacity, allocator_ref upstream,
                                             const options& how) noexcept
    : allocation_count_max_{how.allocation_count_max},
      first_generation_{how.first_generation},
      capacity_{capacity},
      upstream_{upstream} {
    CAIRN_ASSERT(allocation_count_max_ == unlimited || allocation_count_max_ < 1u << 29,
                 "at most 2^29 - 1 allocations are promised");
    if (!grow_nodes()) { capacity_ = 0; }
    start();
}

/// One free range over [0, capacity), or none at all where the capacity is 0. O(bins).
template <std::unsigned_integral Offset>
void basic_offset_heap<Offset>::start() noexcept {
    bins_.clear(heads_, bin_count);
    first_ = last_ = none;
    planner_.restart();
    live_count_ = in_flight_ = 0;
    if (capacity_ == 0) { return; }
    const std::uint32_t i = take_node();
    nodes_[i].offset = 0;
    nodes_[i].size = capacity_;
    nodes_[i].prev = nodes_[i].next = none;
    first_ = last_ = i;
    insert_free(i);
}

/// Each node in use gets a new generation, so that the old names are stale.
template <std::unsigned_integral Offset>
void basic_offset_heap<Offset>::reset() noexcept {
    planner_.restart();
    for (std::uint32_t i = first_; i != none;) {
        const std::uint32_t next = nodes_[i].next;
        ++nodes_[i].generation;
        give_node(i);
        i = next;
    }
    start();
}

/// Gives the nodes back. The heap refuses every request from then on.
template <std::unsigned_integral Offset>
void basic_offset_heap<Offset>::release() noexcept {
    node* const old = std::exchange(nodes_, nullptr);
    const std::uint32_t old_count = std::exchange(node_count_, 0);
    unused_count_ = first_generation_ = 0;
    unused_ = none;
    capacity_ = 0;
    start();
    if (old_count != 0) {
        upstream_.deallocate(old, old_count * sizeof(node), alignment::of<node>());
    }
}

template <std::unsigned_integral Offset>
basic_offset_heap<Offset>::basic_offset_heap(basic_offset_heap&& other) noexcept
    : allocation_count_max_{other.allocation_count_max_},
      capacity_{other.capacity_},
      upstream_{other.upstream_} {
    nodes_ = other.nodes_;
    node_count_ = other.node_count_;
    unused_ = other.unused_;
    unused_count_ = other.unused_count_;
    first_ = other.first_;
    last_ = other.last_;
    live_count_ = other.live_count_;
    in_flight_ = other.in_flight_;
    first_generation_ = other.first_generation_;
    planner_ = other.planner_;
    bins_ = other.bins_;
    for (std::uint32_t b = 0; b < bin_count; ++b) { heads_[b] = other.heads_[b]; }
    other.node_count_ = 0;  // the nodes are this heap's now: release() must not free them
    other.release();
}

template <std::unsigned_integral Offset>
auto basic_offset_heap<Offset>::operator=(basic_offset_heap&& other) noexcept
    -> basic_offset_heap& {
    return detail::begin_anew(*this, other);
}

// ---------------------------------------------------------------------------- size of things

template <std::unsigned_integral Offset>
bool basic_offset_heap<Offset>::grow(Offset new_capacity) noexcept {
    if (new_capacity <= capacity_) { return new_capacity == capacity_; }
    const Offset more = static_cast<Offset>(new_capacity - capacity_);
    // Two neighbours are never both free, so a free last range takes the new room itself.
    if (last_ != none && nodes_[last_].kind == state::free) {
        resize_free(last_, static_cast<Offset>(nodes_[last_].size + more));
    } else {
        if (unused_count_ == 0) { return grow_nodes() && grow(new_capacity); }
        const std::uint32_t i = take_node();
        nodes_[i].offset = capacity_;
        nodes_[i].size = more;
        nodes_[i].prev = last_;
        nodes_[i].next = none;
        (last_ != none ? nodes_[last_].next : first_) = i;
        last_ = i;
        insert_free(i);
    }
    capacity_ = new_capacity;
    return true;
}

template <std::unsigned_integral Offset>
bool basic_offset_heap<Offset>::shrink(Offset new_capacity) noexcept {
    if (new_capacity >= capacity_) { return new_capacity == capacity_; }
    const std::uint32_t i = last_;
    // What is used, pinned, moving or reserved beyond the new end stays where it is.
    if (nodes_[i].kind != state::free || nodes_[i].offset > new_capacity) { return false; }
    if (nodes_[i].offset == new_capacity) {
        remove_free(i);
        unlink(i);
        give_node(i);
    } else {
        resize_free(i, static_cast<Offset>(new_capacity - nodes_[i].offset));
    }
    capacity_ = new_capacity;
    return true;
}

/// A life that the node has not begun yet is one of another heap.
template <std::unsigned_integral Offset>
void basic_offset_heap<Offset>::refuse(offset_allocation a, const char* sentence, misuse_kind kind,
                                       call_site from) const noexcept {
    detail::evidence known{.object = this, .type = "offset_heap", .caller = from};
    if (!a) {
        known.kind = misuse_kind::null_handle;
        detail::assert_failed("contains(a)", "the allocation is not null", known);
    }
    known.values[0] = {"node", a.index};
    known.values[1] = {"life in the name", a.generation};
    const auto lives_before = [this](std::uint32_t life) { return life - first_generation_; };
    if (a.index >= node_count_ ||
        lives_before(a.generation) >= lives_before(nodes_[a.index].generation)) {
        known.kind = misuse_kind::foreign_handle;
        detail::assert_failed("contains(a)", "an allocation is used with its own heap", known);
    }
    known.kind = kind;
    detail::assert_failed("contains(a)", sentence, known);
}

template <std::unsigned_integral Offset>
bool basic_offset_heap<Offset>::try_resize(offset_allocation a, Offset new_size,
                                           call_site from) noexcept {
    if constexpr (asserts_enabled) { expect_used(a, from); }
    if (!contains(a) || nodes_[a.index].kind == state::moving) { return false; }
    if (new_size == 0) { new_size = 1; }
    node& n = nodes_[a.index];
    if (new_size == n.size) { return true; }
    // A range that is reserved for a move is no room, although nothing lies there yet.
    const std::uint32_t right = n.next;
    const bool right_free = right != none && nodes_[right].kind == state::free;
    const Offset room = static_cast<Offset>(n.size + (right_free ? nodes_[right].size : 0));
    if (new_size > room) { return false; }
    if (right_free) {
        if (new_size == room) {  // the neighbour ends
            remove_free(right);
            unlink(right);
            give_node(right);
        } else {
            nodes_[right].offset = static_cast<Offset>(n.offset + new_size);
            resize_free(right, static_cast<Offset>(room - new_size));
        }
    } else {  // smaller, and no free range takes the rest
        if (unused_count_ == 0) { return grow_nodes() && try_resize(a, new_size, from); }
        const std::uint32_t rest = take_node();
        nodes_[rest].offset = static_cast<Offset>(n.offset + new_size);
        nodes_[rest].size = static_cast<Offset>(n.size - new_size);
        nodes_[rest].prev = a.index;
        nodes_[rest].next = n.next;
        (n.next != none ? nodes_[n.next].prev : last_) = rest;
        n.next = rest;
        insert_free(rest);
    }
    nodes_[a.index].size = new_size;
    return true;
}

template <std::unsigned_integral Offset>
void basic_offset_heap<Offset>::set_pinned(offset_allocation a, bool pinned,
                                           call_site from) noexcept {
    if constexpr (asserts_enabled) { expect_used(a, from); }
    if (!contains(a)) { return; }
    CAIRN_ASSERT(nodes_[a.index].kind != state::moving,
                 "a move is committed or cancelled before its allocation is pinned",
                 {.object = this, .type = "offset_heap", .caller = from});
    if (nodes_[a.index].kind == state::moving) { return; }
    nodes_[a.index].kind = pinned ? state::pinned : state::used;
}

}}  // namespace cairn::CAIRN_FLAVOUR
