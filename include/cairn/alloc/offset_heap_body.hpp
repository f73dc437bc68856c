// cairn/alloc/offset_heap_body.hpp - the second half of offset_heap.hpp: what its functions do.
//
// A template, so it cannot live in src/ alone; the two heaps that people use are compiled once there
// (src/alloc/offset_heap.cpp). allocate and deallocate are short enough to be inlined from here.
#pragma once

#include <cstring>
#include <new>

#include <cairn/alloc/offset_heap.hpp>
#include <cairn/alloc/relocation/map_json.hpp>

namespace cairn {

// ---------------------------------------------------------------------------- hot path

/// A free node that holds `size` at a multiple of `align` and starts below `below`, or none.
template <std::unsigned_integral Offset, class Steps>
inline std::uint32_t basic_offset_heap<Offset, Steps>::find_hole(Offset size, Offset align,
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
        const Offset padded = static_cast<Offset>(size + (align - 1));
        if (padded < size) { return none; }
        i = probe(first_from(bin_that_holds(padded)));
        if (i != none) { return i; }
    }
    // The bin below the one that certainly fits: some of its ranges are large enough, too.
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
template <std::unsigned_integral Offset, class Steps>
inline void basic_offset_heap<Offset, Steps>::carve(std::uint32_t hole, Offset gap, Offset size,
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

template <std::unsigned_integral Offset, class Steps>
inline offset_allocation basic_offset_heap<Offset, Steps>::allocate(
    Offset size, Offset align, std::uint64_t user_data) noexcept {
    CAIRN_ASSERT(align != 0 && (align & (align - 1)) == 0, "an alignment is a power of two");
    if (size == 0) { size = 1; }
    if (size > capacity_ || live_count_ == max_allocations_) { return {}; }
    const std::uint32_t hole = find_hole(size, align, static_cast<Offset>(~Offset{0}));
    if (hole == none) { return {}; }
    const Offset gap = gap_for(nodes_[hole].offset, align);
    const bool has_rest = nodes_[hole].size - gap != size;
    if (!have_nodes((gap != 0 ? 1u : 0u) + (has_rest ? 1u : 0u))) { return {}; }
    const std::uint32_t gap_node = gap != 0 ? take_node() : none;
    const std::uint32_t rest_node = has_rest ? take_node() : none;
    carve(hole, gap, size, rest_node, gap_node);
    node& n = nodes_[hole];
    n.kind = state::used;
    n.align_log2 = static_cast<std::uint8_t>(std::countr_zero(align));
    n.round = static_cast<std::uint8_t>(planner_.round() - 1);
    n.set_user(user_data);
    ++live_count_;
    return {hole, n.generation};
}

/// Makes node `i` free and merges it with its free neighbours.
template <std::unsigned_integral Offset, class Steps>
inline void basic_offset_heap<Offset, Steps>::free_node(std::uint32_t i) noexcept {
    Steps::touch();
    node& n = nodes_[i];
    ++n.generation;
    const std::uint32_t left = n.prev;
    const std::uint32_t right = n.next;
    Offset size = n.size;
    const bool merge_right = right != none && nodes_[right].kind == state::free;
    if (merge_right) {
        Steps::touch();
        size = static_cast<Offset>(size + nodes_[right].size);
        remove_free(right);
        unlink(right);
        give_node(right);
    }
    if (left != none && nodes_[left].kind == state::free) {
        Steps::touch();
        unlink(i);
        give_node(i);
        resize_free(left, static_cast<Offset>(nodes_[left].size + size));
        return;
    }
    n.size = size;
    insert_free(i);
}

template <std::unsigned_integral Offset, class Steps>
inline void basic_offset_heap<Offset, Steps>::deallocate(offset_allocation a) noexcept {
    CAIRN_ASSERT(contains(a), "an allocation is freed once");
    if (!contains(a)) { return; }
    CAIRN_ASSERT(nodes_[a.index].kind != state::moving,
                 "a move is committed or cancelled before its allocation is freed");
    --live_count_;
    free_node(a.index);
}

// ---------------------------------------------------------------------------- nodes

template <std::unsigned_integral Offset, class Steps>
inline std::uint32_t basic_offset_heap<Offset, Steps>::take_node() noexcept {
    --unused_count_;
    if (unused_ != none) {
        const std::uint32_t i = unused_;
        unused_ = nodes_[i].next;
        return i;
    }
    const std::uint32_t i = fresh_++;
    nodes_[i].generation = 0;
    return i;
}

template <std::unsigned_integral Offset, class Steps>
inline void basic_offset_heap<Offset, Steps>::give_node(std::uint32_t i) noexcept {
    // A plan that stands on this node goes on at its neighbour.
    planner_.forget(i, nodes_[i].prev, nodes_[i].next);
    nodes_[i].kind = state::unused;
    nodes_[i].next = unused_;
    unused_ = i;
    ++unused_count_;
}

template <std::unsigned_integral Offset, class Steps>
inline bool basic_offset_heap<Offset, Steps>::have_nodes(std::uint32_t wanted) noexcept {
    while (unused_count_ < wanted) [[unlikely]] {
        if (!grow_nodes()) { return false; }
    }
    return true;
}

template <std::unsigned_integral Offset, class Steps>
bool basic_offset_heap<Offset, Steps>::grow_nodes() noexcept {
    if (node_count_ >= 0x4000'0000) { return false; }
    std::uint32_t count = node_count_ == 0 ? 64 : node_count_ * 2;
    if (max_allocations_ != unlimited) {
        // Every allocation, a hole beside each, and for each move in flight its destination.
        const std::uint64_t all = std::uint64_t{max_allocations_} * 2 + 1;
        if (all > 0x4000'0000) { return false; }
        count = node_count_ == 0 ? static_cast<std::uint32_t>(all) : node_count_ * 2;
    }
    void* const memory = upstream_.allocate(count * sizeof(node), alignment::of<node>());
    if (memory == nullptr) { return false; }
    if (node_count_ != 0) {
        std::memcpy(memory, static_cast<void*>(nodes_), node_count_ * sizeof(node));
        upstream_.deallocate(nodes_, node_count_ * sizeof(node), alignment::of<node>());
    }
    nodes_ = static_cast<node*>(memory);
    for (std::uint32_t i = node_count_; i < count; ++i) {
        ::new (static_cast<void*>(nodes_ + i)) node{};
    }
    unused_count_ += count - node_count_;
    node_count_ = count;
    return true;
}

template <std::unsigned_integral Offset, class Steps>
void basic_offset_heap<Offset, Steps>::link_before(std::uint32_t i, std::uint32_t right) noexcept {
    const std::uint32_t left = nodes_[right].prev;
    nodes_[i].prev = left;
    nodes_[i].next = right;
    nodes_[right].prev = i;
    (left != none ? nodes_[left].next : first_) = i;
}

template <std::unsigned_integral Offset, class Steps>
inline void basic_offset_heap<Offset, Steps>::unlink(std::uint32_t i) noexcept {
    const node& n = nodes_[i];
    (n.prev != none ? nodes_[n.prev].next : first_) = n.next;
    (n.next != none ? nodes_[n.next].prev : last_) = n.prev;
}

// ---------------------------------------------------------------------------- life

template <std::unsigned_integral Offset, class Steps>
basic_offset_heap<Offset, Steps>::basic_offset_heap(Offset capacity, std::uint32_t max_allocations,
                                                    allocator_ref upstream) noexcept
    : max_allocations_{max_allocations}, capacity_{capacity}, upstream_{upstream} {
    if (!grow_nodes()) { capacity_ = 0; }
    start();
}

/// One free range, or none at all.
template <std::unsigned_integral Offset, class Steps>
void basic_offset_heap<Offset, Steps>::start() noexcept {
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

template <std::unsigned_integral Offset, class Steps>
void basic_offset_heap<Offset, Steps>::reset() noexcept {
    planner_.restart();
    for (std::uint32_t i = first_; i != none;) {
        const std::uint32_t next = nodes_[i].next;
        ++nodes_[i].generation;
        give_node(i);
        i = next;
    }
    start();
}

template <std::unsigned_integral Offset, class Steps>
void basic_offset_heap<Offset, Steps>::release() noexcept {
    if (node_count_ != 0) {
        upstream_.deallocate(nodes_, node_count_ * sizeof(node), alignment::of<node>());
    }
    nodes_ = nullptr;
    node_count_ = fresh_ = unused_count_ = 0;
    unused_ = none;
    capacity_ = 0;
    start();
}

template <std::unsigned_integral Offset, class Steps>
void basic_offset_heap<Offset, Steps>::steal(basic_offset_heap& other) noexcept {
    nodes_ = other.nodes_;
    node_count_ = other.node_count_;
    fresh_ = other.fresh_;
    unused_ = other.unused_;
    unused_count_ = other.unused_count_;
    first_ = other.first_;
    last_ = other.last_;
    live_count_ = other.live_count_;
    max_allocations_ = other.max_allocations_;
    in_flight_ = other.in_flight_;
    planner_ = other.planner_;
    capacity_ = other.capacity_;
    upstream_ = other.upstream_;
    bins_ = other.bins_;
    for (std::uint32_t b = 0; b < bin_count; ++b) { heads_[b] = other.heads_[b]; }
    other.node_count_ = 0;
    other.release();
}

template <std::unsigned_integral Offset, class Steps>
basic_offset_heap<Offset, Steps>::basic_offset_heap(basic_offset_heap&& other) noexcept
    : max_allocations_{0}, capacity_{0}, upstream_{other.upstream_} {
    steal(other);
}

template <std::unsigned_integral Offset, class Steps>
auto basic_offset_heap<Offset, Steps>::operator=(basic_offset_heap&& other) noexcept
    -> basic_offset_heap& {
    if (this != &other) {
        release();
        steal(other);
    }
    return *this;
}

// ---------------------------------------------------------------------------- size of things

template <std::unsigned_integral Offset, class Steps>
bool basic_offset_heap<Offset, Steps>::grow(Offset new_capacity) noexcept {
    if (new_capacity <= capacity_) { return new_capacity == capacity_; }
    const Offset more = static_cast<Offset>(new_capacity - capacity_);
    if (last_ != none && nodes_[last_].kind == state::free) {
        resize_free(last_, static_cast<Offset>(nodes_[last_].size + more));
    } else {
        if (!have_nodes(1)) { return false; }
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

template <std::unsigned_integral Offset, class Steps>
bool basic_offset_heap<Offset, Steps>::shrink(Offset new_capacity) noexcept {
    if (new_capacity >= capacity_) { return new_capacity == capacity_; }
    const std::uint32_t i = last_;
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

template <std::unsigned_integral Offset, class Steps>
bool basic_offset_heap<Offset, Steps>::try_resize(offset_allocation a, Offset new_size) noexcept {
    CAIRN_ASSERT(contains(a), "an allocation is used while it lives");
    if (!contains(a) || nodes_[a.index].kind == state::moving) { return false; }
    if (new_size == 0) { new_size = 1; }
    node& n = nodes_[a.index];
    if (new_size == n.size) { return true; }
    const std::uint32_t right = n.next;
    const bool right_free = right != none && nodes_[right].kind == state::free;
    const Offset room = static_cast<Offset>(n.size + (right_free ? nodes_[right].size : 0));
    if (new_size > room) { return false; }
    if (right_free) {
        if (new_size == room) {
            remove_free(right);
            unlink(right);
            give_node(right);
        } else {
            nodes_[right].offset = static_cast<Offset>(n.offset + new_size);
            resize_free(right, static_cast<Offset>(room - new_size));
        }
    } else {
        if (!have_nodes(1)) { return false; }
        const std::uint32_t rest = take_node();
        node& m = nodes_[a.index];  // the array may have moved
        nodes_[rest].offset = static_cast<Offset>(m.offset + new_size);
        nodes_[rest].size = static_cast<Offset>(m.size - new_size);
        nodes_[rest].prev = a.index;
        nodes_[rest].next = m.next;
        (m.next != none ? nodes_[m.next].prev : last_) = rest;
        m.next = rest;
        insert_free(rest);
    }
    nodes_[a.index].size = new_size;
    return true;
}

template <std::unsigned_integral Offset, class Steps>
void basic_offset_heap<Offset, Steps>::set_pinned(offset_allocation a, bool pinned) noexcept {
    CAIRN_ASSERT(contains(a), "an allocation is used while it lives");
    CAIRN_ASSERT(nodes_[a.index].kind != state::moving,
                 "a move is committed or cancelled before its allocation is pinned");
    nodes_[a.index].kind = pinned ? state::pinned : state::used;
}

// ---------------------------------------------------------------------------- compaction

/// The heap as the planner sees it: see relocation/planner.hpp. Places are nodes.
template <std::unsigned_integral Offset, class Steps>
struct basic_offset_heap<Offset, Steps>::plan_view {
    const basic_offset_heap& heap;
    bool allow_overlap;

    [[nodiscard]] std::uint32_t top() const noexcept { return heap.last_; }
    [[nodiscard]] std::uint32_t below(std::uint32_t at) const noexcept {
        return heap.nodes_[at].prev;
    }
    [[nodiscard]] std::uint32_t first_gap() const noexcept { return heap.first_; }
    [[nodiscard]] std::uint32_t gap_after(std::uint32_t at) const noexcept {
        return heap.nodes_[at].next;
    }
    [[nodiscard]] std::uint32_t gap_after_slide(std::uint32_t, const move& m) const noexcept {
        return m.what.index;
    }

    [[nodiscard]] detail::verdict evacuation(std::uint32_t at, std::uint8_t round,
                                             move& out) const noexcept {
        Steps::touch();
        const node& n = heap.nodes_[at];
        if (n.kind != state::used) { return detail::verdict::fixed; }
        if (n.round == round) { return detail::verdict::moved; }
        const Offset align = static_cast<Offset>(Offset{1} << n.align_log2);
        const std::uint32_t hole = heap.find_hole(n.size, align, n.offset);
        if (hole == none) { return detail::verdict::no; }
        const Offset start = heap.nodes_[hole].offset;
        const Offset to = static_cast<Offset>(start + gap_for(start, align));
        out = {{at, n.generation}, n.offset, to, n.size, hole, false};
        return detail::verdict::yes;
    }

    [[nodiscard]] detail::verdict slide(std::uint32_t hole, std::uint8_t round,
                                        move& out) const noexcept {
        Steps::touch();
        const node& h = heap.nodes_[hole];
        const std::uint32_t at = h.next;
        if (h.kind != state::free || at == none || heap.nodes_[at].kind != state::used) {
            return detail::verdict::fixed;
        }
        const node& n = heap.nodes_[at];
        const Offset align = static_cast<Offset>(Offset{1} << n.align_log2);
        const Offset to = static_cast<Offset>(h.offset + gap_for(h.offset, align));
        const bool overlaps = n.offset - to < n.size;
        if (to >= n.offset || (overlaps && !allow_overlap)) { return detail::verdict::no; }
        if (n.round == round) { return detail::verdict::moved; }
        out = {{at, n.generation}, n.offset, to, n.size, hole, overlaps};
        return detail::verdict::yes;
    }
};

template <std::unsigned_integral Offset, class Steps>
std::size_t basic_offset_heap<Offset, Steps>::plan(move* out, std::size_t out_count,
                                                   const plan_limits<Offset>& limits) noexcept {
    const std::size_t count_max = out_count < limits.max_moves ? out_count : limits.max_moves;
    std::size_t steps = limits.max_steps;
    std::size_t count = 0;
    Offset bytes = 0;
    plan_view view{*this, limits.allow_overlap};
    while (count < count_max) {
        move m;
        if (planner_.next(view, steps, m) != detail::compaction_planner::outcome::move) { break; }
        const node& hole = nodes_[m.reserved];
        const bool has_gap = hole.offset != m.to;
        // A slide takes the hole whole: its rest lies under the allocation until the copy is done.
        const bool has_rest = hole.next != m.what.index && hole.offset + hole.size != m.to + m.size;
        if (m.size > limits.max_bytes - bytes ||
            !have_nodes((has_gap ? 1u : 0u) + (has_rest ? 1u : 0u))) {
            planner_.put_back();
            break;
        }
        const std::uint32_t gap_node = has_gap ? take_node() : none;
        const std::uint32_t rest_node = has_rest ? take_node() : none;
        reserve(m, gap_node, rest_node);
        planner_.accept();
        out[count++] = m;
        bytes = static_cast<Offset>(bytes + m.size);
    }
    return count;
}

/// The destination belongs to the move from now on.
template <std::unsigned_integral Offset, class Steps>
void basic_offset_heap<Offset, Steps>::reserve(const move& m, std::uint32_t gap_node,
                                               std::uint32_t rest_node) noexcept {
    node& hole = nodes_[m.reserved];
    const Offset gap = static_cast<Offset>(m.to - hole.offset);
    const Offset size = rest_node != none ? m.size : static_cast<Offset>(hole.size - gap);
    carve(m.reserved, gap, size, rest_node, gap_node);
    nodes_[m.reserved].kind = state::reserved;
    nodes_[m.what.index].kind = state::moving;
    nodes_[m.what.index].round = planner_.round();
    ++in_flight_;
}

/// Exchanges the ranges of two nodes: each gets the other's offset and neighbours.
template <std::unsigned_integral Offset, class Steps>
void basic_offset_heap<Offset, Steps>::swap_places(std::uint32_t a, std::uint32_t b) noexcept {
    CAIRN_ASSERT(nodes_[a].next != b && nodes_[b].next != a, "neighbours slide, they do not swap");
    const auto point_to = [this](std::uint32_t i) {
        const node& n = nodes_[i];
        (n.prev != none ? nodes_[n.prev].next : first_) = i;
        (n.next != none ? nodes_[n.next].prev : last_) = i;
    };
    const Offset offset = nodes_[a].offset;
    const std::uint32_t prev = nodes_[a].prev;
    const std::uint32_t next = nodes_[a].next;
    nodes_[a].offset = nodes_[b].offset;
    nodes_[a].prev = nodes_[b].prev;
    nodes_[a].next = nodes_[b].next;
    nodes_[b].offset = offset;
    nodes_[b].prev = prev;
    nodes_[b].next = next;
    point_to(a);
    point_to(b);
    planner_.exchange(a, b);
}

template <std::unsigned_integral Offset, class Steps>
void basic_offset_heap<Offset, Steps>::commit(const move& m) noexcept {
    CAIRN_ASSERT(contains(m.what) && nodes_[m.what.index].kind == state::moving &&
                     m.reserved < node_count_ && nodes_[m.reserved].kind == state::reserved,
                 "a move is committed or cancelled once");
    const std::uint32_t at = m.what.index;
    const std::uint32_t hole = m.reserved;
    --in_flight_;
    nodes_[at].kind = state::used;
    if (nodes_[hole].next != at) {  // evacuated: the node moves to the hole, the hole to its place
        swap_places(at, hole);
        free_node(hole);
        return;
    }
    // slid: [ hole ][ at ] => [ at ][ hole ]
    const std::uint32_t left = nodes_[hole].prev;
    const std::uint32_t right = nodes_[at].next;
    nodes_[at].offset = m.to;
    nodes_[hole].offset = static_cast<Offset>(m.to + nodes_[at].size);
    nodes_[at].prev = left;
    nodes_[at].next = hole;
    nodes_[hole].prev = at;
    nodes_[hole].next = right;
    (left != none ? nodes_[left].next : first_) = at;
    (right != none ? nodes_[right].prev : last_) = hole;
    planner_.rename(at, hole);
    free_node(hole);
}

template <std::unsigned_integral Offset, class Steps>
void basic_offset_heap<Offset, Steps>::cancel(const move& m) noexcept {
    CAIRN_ASSERT(contains(m.what) && nodes_[m.what.index].kind == state::moving &&
                     m.reserved < node_count_ && nodes_[m.reserved].kind == state::reserved,
                 "a move is committed or cancelled once");
    --in_flight_;
    nodes_[m.what.index].kind = state::used;
    free_node(m.reserved);
}

// ---------------------------------------------------------------------------- looking

template <std::unsigned_integral Offset, class Steps>
offset_heap_stats<Offset> basic_offset_heap<Offset, Steps>::stats() const noexcept {
    offset_heap_stats<Offset> s{capacity_, 0, 0, live_count_, 0};
    for (std::uint32_t i = first_; i != none; i = nodes_[i].next) {
        const node& n = nodes_[i];
        if (n.kind != state::free) { continue; }
        s.free_size = static_cast<Offset>(s.free_size + n.size);
        s.largest_free = n.size > s.largest_free ? n.size : s.largest_free;
        ++s.free_range_count;
    }
    return s;
}

template <std::unsigned_integral Offset, class Steps>
template <class Sink>
void basic_offset_heap<Offset, Steps>::write_json(Sink sink) const {
    detail::map_json<Sink> json{sink, capacity_};
    for_each_range([&](const offset_range<Offset>& r) {
        json.begin_range(r.offset, r.size);
        if (r.allocation) {
            json.user(r.user_data);
        } else if (!r.is_free) {
            json.flag("reserved");
        }
        json.end_range();
    });
    json.end();
}

template <std::unsigned_integral Offset, class Steps>
void basic_offset_heap<Offset, Steps>::validate() const noexcept {
    if constexpr (asserts_enabled) {
        Offset end = 0;
        std::uint32_t prev = none;
        std::uint32_t free_count = 0;
        std::uint32_t live_count = 0;
        std::uint32_t moving = 0;
        std::uint32_t reserved = 0;
        bool prev_free = false;
        for (std::uint32_t i = first_; i != none; i = nodes_[i].next) {
            const node& n = nodes_[i];
            CAIRN_ASSERT(n.offset == end && n.size != 0, "ranges follow each other without a gap");
            CAIRN_ASSERT(n.prev == prev, "a range knows the one before it");
            CAIRN_ASSERT(!(prev_free && n.kind == state::free),
                         "two neighbours are never both free");
            CAIRN_ASSERT(n.kind != state::unused, "a node in the map is in use");
            free_count += n.kind == state::free ? 1u : 0u;
            live_count += is_used(n.kind) ? 1u : 0u;
            moving += n.kind == state::moving ? 1u : 0u;
            reserved += n.kind == state::reserved ? 1u : 0u;
            prev_free = n.kind == state::free;
            end = static_cast<Offset>(end + n.size);
            prev = i;
        }
        CAIRN_ASSERT(end == capacity_ && prev == last_, "ranges cover the capacity");
        CAIRN_ASSERT(live_count == live_count_, "the count of allocations is true");
        CAIRN_ASSERT(moving == in_flight_ && reserved == in_flight_,
                     "each move in flight has one destination");
        CAIRN_ASSERT(live_count + free_count + reserved + unused_count_ == node_count_,
                     "no node is lost");
        std::uint32_t listed = 0;
        bins_.validate(heads_, links{nodes_}, bin_count, [&](std::uint32_t bin, std::uint32_t i) {
            CAIRN_ASSERT(i < node_count_ && nodes_[i].kind == state::free &&
                             classes::floor(nodes_[i].size) == bin,
                         "a free range is in the bin of its size");
            CAIRN_ASSERT(++listed <= free_count, "a free range is in the bins once");
        });
        CAIRN_ASSERT(listed == free_count, "every free range is in the bins");
    }
}

extern template class basic_offset_heap<std::uint64_t>;
extern template class basic_offset_heap<std::uint32_t>;

}  // namespace cairn
