// What a relocatable heap answers: its numbers, and whether map, handles and pins agree.
#include <cairn/core/assert.hpp>
#include <cairn/movable/relocatable_heap.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

using detail::granule_size;
using detail::object_entry;

relocatable_heap_stats relocatable_heap::stats() const noexcept {
    relocatable_heap_stats s{};
    s.capacity = capacity();
    s.free_size = free_size();
    s.largest_free = std::size_t{map_.largest_hole()} * granule_size;
    s.hole_count = map_.hole_count();
    s.object_count = object_count();
    s.pinned_count = counts_.pinned;
    s.pinned_size = counts_.pinned_granules * granule_size;
    s.moved_size = counts_.moved_size;
    s.move_count = counts_.moves;
    s.compact_count = counts_.calls;
    s.round_count = counts_.rounds;
    s.calls_to_converge = counts_.calls_to_converge;
    return s;
}

std::size_t relocatable_heap::unusable_for(std::size_t size) const noexcept {
    std::size_t total = 0;
    for_each_range([&](const relocatable_range& r) {
        if (r.is_free && r.size < size) { total += r.size; }
    });
    return total;
}

void relocatable_heap::validate() const noexcept {
    if constexpr (asserts_enabled) {
        map_.validate();
        slots_.validate();
        std::size_t count = 0;
        std::uint64_t pinned = 0;
        for (std::uint32_t i = map_.lowest(); i != none; i = map_.entry(i).after) {
            const object_entry& e = map_.entry(i);
            CAIRN_ASSERT(slots_.is_alive(i), "an object in the map has a live handle");
            CAIRN_ASSERT(place(i) == e.place || place(i) == e.place + other_side_,
                         "a handle leads to the place of its object");
            CAIRN_ASSERT(is_aligned(address(i), alignment{std::size_t{1} << e.align_log2}),
                         "an object is aligned as it was asked");
            ++count;
            pinned += e.pins != 0 ? 1 : 0;
        }
        CAIRN_ASSERT(count == slots_.live_count(), "every live handle has one object");
        CAIRN_ASSERT(pinned == counts_.pinned, "the count of pinned objects is true");
    }
}

}}  // namespace cairn::CAIRN_FLAVOUR
