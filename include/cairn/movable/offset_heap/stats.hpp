// cairn/movable/offset_heap/stats.hpp - offset_heap: statistics, the map as JSON, validate().
#pragma once

#include <cstring>

#include <cairn/movable/inside/map_json.hpp>
#include <cairn/movable/offset_heap.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

// ---------------------------------------------------------------------------- looking

/// Counted by a walk over all nodes in address order. allocate() and deallocate() count only the
/// live ranges.
template <std::unsigned_integral Offset>
detail::offset_heap_stats<Offset> basic_offset_heap<Offset>::stats() const noexcept {
    detail::offset_heap_stats<Offset> s{capacity_, 0, 0, live_count_, 0};
    for (std::uint32_t i = first_; i != none; i = nodes_[i].next) {
        const node& n = nodes_[i];
        if (n.kind != state::free) { continue; }
        s.free_size = static_cast<Offset>(s.free_size + n.size);
        s.largest_free = n.size > s.largest_free ? n.size : s.largest_free;
        ++s.free_range_count;
    }
    return s;
}

/// One object for each range, in address order. A range without a name that is not free is the
/// target of a planned move: "reserved".
template <std::unsigned_integral Offset>
template <class Sink>
void basic_offset_heap<Offset>::write_json(Sink sink) const {
    detail::map_json<Sink> json{sink, capacity_};
    for_each_range([&](const range& r) {
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

template <std::unsigned_integral Offset>
void basic_offset_heap<Offset>::validate() const noexcept {
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

}}  // namespace cairn::CAIRN_FLAVOUR
