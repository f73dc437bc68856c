// cairn/movable/offset_heap/compaction.hpp - offset_heap: moves that are planned, committed,
// cancelled.
//
//      plan     [ hole ][ ... ][ at ]     the planner (movable/inside) says which; the hole is
//               [ reserved ]   [moving]    reserved until the caller has copied
//      commit   [ at ]         [ free ]    the node keeps its index, so that its name stays
#pragma once

#include <cairn/movable/offset_heap.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

// ---------------------------------------------------------------------------- compaction

/// The heap as the planner sees it: see movable/inside/planner.hpp. Places are nodes.
/// top() is the range at the highest offset; the planner walks down from there with below() and
/// fills holes at low offsets.
template <std::unsigned_integral Offset>
struct basic_offset_heap<Offset>::compaction_view {
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

    /// Can the range at node `at` move to a hole at a lower offset? `fixed`: it is free, reserved
    /// or moving already. `moved`: it moved in this round. `no`: no hole below it is large enough.
    /// `yes`: `out` is the move. A copy to there never overlaps the range.
    [[nodiscard]] detail::verdict evacuation(std::uint32_t at, std::uint8_t round,
                                             move& out) const noexcept {
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

    /// Can the allocation behind the free range `hole` move down over it? The answers are those of
    /// evacuation(). A copy may overlap the range, which `limits.allow_overlap` must permit.
    [[nodiscard]] detail::verdict slide(std::uint32_t hole, std::uint8_t round,
                                        move& out) const noexcept {
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

/// A move is written to `out` only after its destination is reserved, so moves can be committed or
/// cancelled in any order.
template <std::unsigned_integral Offset>
std::size_t basic_offset_heap<Offset>::plan(move* out, std::size_t out_count,
                                            const limits_type& limits) noexcept {
    static_assert(detail::compaction_map<compaction_view, move>);
    const std::size_t count_max =
        out_count < limits.move_count_max ? out_count : limits.move_count_max;
    std::size_t steps = limits.step_count_max;
    std::size_t count = 0;
    Offset bytes = 0;
    bool is_refused = false;  // more nodes
    compaction_view view{*this, limits.allow_overlap};
    while (count < count_max) {
        move m;
        if (planner_.next(view, steps, m) != detail::compaction_planner::outcome::move) { break; }
        const node& hole = nodes_[m.reserved];
        const bool has_gap = hole.offset != m.to;
        // A slide takes the hole whole: its rest lies under the allocation until the copy is done.
        const bool has_rest = hole.next != m.what.index && hole.offset + hole.size != m.to + m.size;
        const bool is_too_large = m.size > limits.size_max;
        const std::uint32_t wanted = (has_gap ? 1u : 0u) + (has_rest ? 1u : 0u);
        bool fits = m.size <= limits.size_max - bytes;
        if (fits && unused_count_ < wanted) {
            if (!is_refused) {
                planner_.repeat();  // first: upstream may come back and change the heap
                is_refused = !grow_nodes();
                ++steps;  // it is looked at once, also where only one step is left
                continue;
            }
            fits = false;
        }
        if (is_too_large || (!fits && in_flight_ == 0 && count == 0)) {
            planner_.pass();  // waiting would not help it: what comes after it goes on
            continue;
        }
        if (!fits) {
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
template <std::unsigned_integral Offset>
void basic_offset_heap<Offset>::reserve(const move& m, std::uint32_t gap_node,
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
template <std::unsigned_integral Offset>
void basic_offset_heap<Offset>::swap_places(std::uint32_t a, std::uint32_t b) noexcept {
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

/// Checked builds stop with a sentence instead of saying false.
template <std::unsigned_integral Offset>
bool basic_offset_heap<Offset>::is_in_flight(const move& m, call_site from) const noexcept {
    if constexpr (asserts_enabled) { expect_used(m.what, from); }
    const bool result = contains(m.what) && nodes_[m.what.index].kind == state::moving &&
                        m.reserved < node_count_ && nodes_[m.reserved].kind == state::reserved;
    CAIRN_ASSERT(result, "a move is committed or cancelled once",
                 {.object = this, .type = "offset_heap", .caller = from});
    return result;
}

/// The old range of the allocation becomes free and merges with its free neighbours.
template <std::unsigned_integral Offset>
void basic_offset_heap<Offset>::commit(const move& m, call_site from) noexcept {
    if (!is_in_flight(m, from)) { return; }
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

/// The allocation stays where it is, and no plan of this round proposes it again.
template <std::unsigned_integral Offset>
void basic_offset_heap<Offset>::cancel(const move& m, call_site from) noexcept {
    if (!is_in_flight(m, from)) { return; }
    --in_flight_;
    nodes_[m.what.index].kind = state::used;
    free_node(m.reserved);
}

}}  // namespace cairn::CAIRN_FLAVOUR
