// Cold half of cairn/movable/relocatable_heap.hpp: life, bytes, pins, numbers. Moving is in
// relocatable_heap/compact.cpp.
#include <cairn/core/assert.hpp>
#include <cairn/core/inside/begin_anew.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/movable/relocatable_heap.hpp>

#include <bit>
#include <cstring>
#include <utility>

namespace cairn { inline namespace CAIRN_FLAVOUR {

using detail::object_entry;
using detail::object_granule;
using detail::object_granules_max;

namespace {

constexpr detail::slot_rules rules(std::uint32_t first_generation) noexcept {
    return {relocatable_heap::handle_type::index_max, relocatable_heap::handle_type::generation_max,
            0, first_generation};
}
constexpr unsigned char left_pattern = 0xF0;

constexpr std::size_t page = 4096 / object_granule;

/// What is aligned on one side is aligned on the other one, too: up to a page, or up to the largest
/// alignment that a smaller side holds.
constexpr std::size_t distance_for(std::size_t side) noexcept {
    return detail::round_up(side, alignment{side < page ? std::bit_ceil(side) : page});
}

}  // namespace

/// stress_relocate has two sides, in granules:
///
///     0            side         distance       distance + side
///     +------------+ - - - - - +-------------+
///     |            |  nothing  |             |     without it: one side, and the distance is 0
///     +------------+ - - - - - +-------------+
struct relocatable_heap::two_sides {
    std::size_t side;
    std::size_t distance;

    /// The sides that find room in `granules`.
    [[nodiscard]] static two_sides in(std::size_t granules, bool stress) noexcept {
        constexpr std::size_t most = object_granules_max;
        if (!stress) { return {granules < most ? granules : most, 0}; }
        const std::size_t half = granules / 2 < most ? granules / 2 : most;
        if (half == 0) { return {0, 0}; }
        const std::size_t unit = half < page ? std::bit_floor(half) : page;
        return {half / unit * unit, half / unit * unit};
    }
};

// ---------------------------------------------------------------------------- life

relocatable_heap::relocatable_heap(byte_slice region, allocator_ref upstream,
                                   const options& how) noexcept
    : slots_{rules(how.first_generation), upstream},
      map_{upstream},
      upstream_{upstream},
      largest_movable_{how.largest_movable} {
    const std::size_t skip = detail::padding_to(reinterpret_cast<std::uintptr_t>(region.data()),
                                                alignment{object_granule});  // 0 to 15 bytes
    if (region.size() < skip) { return; }
    // Bytes at the end that make no whole granule are not used.
    const std::size_t granules = (region.size() - skip) / object_granule;
    start(region.data() + skip, two_sides::in(granules, how.stress_relocate), how.object_count);
}

relocatable_heap::relocatable_heap(std::size_t size, allocator_ref upstream,
                                   const options& how) noexcept
    : slots_{rules(how.first_generation), upstream},
      map_{upstream},
      upstream_{upstream},
      largest_movable_{how.largest_movable} {
    if (size > SIZE_MAX / 2 - 256) { return; }
    const std::size_t wanted = detail::round_up(size, alignment{object_granule}) / object_granule;
    const std::size_t granules = wanted < object_granules_max ? wanted : object_granules_max;
    const two_sides r{granules, how.stress_relocate ? distance_for(granules) : 0};
    const std::size_t total = object_granule * (r.side + r.distance);
    void* const memory = upstream.allocate(total, detail::cache_line_alignment);
    if (memory == nullptr) { return; }
    owned_ = static_cast<std::byte*>(memory);
    owned_size_ = total;
    start(owned_, r, how.object_count);
    // start() found no room for the tables: the memory goes back, and the heap refuses everything.
    if (map_.granules() == 0) { release(); }
}

void relocatable_heap::start(std::byte* base, const two_sides& r,
                             std::size_t object_count) noexcept {
    if (r.side == 0) { return; }
    // The tables first: without them there is no heap.
    if (object_count != 0 && (!slots_.reserve(object_count) || !map_.extend(slots_.capacity()))) {
        release();  // half of the tables is none
        return;
    }
    // get() reads table_ without a question, so it always leads somewhere: to one slot that matches
    // no handle, as long as there are none.
    use_table();
    region_size_ = (r.distance + r.side) * object_granule;
    poison(base, region_size_);
    if (!map_.create(base, static_cast<std::uint32_t>(r.side))) {
        unpoison(base, region_size_);
        return;
    }
    // Last: a heap without a base has no region to unpoison.
    base_ = base;
    other_side_ = static_cast<std::uint32_t>(r.distance);
}

void relocatable_heap::use_table() noexcept {
    table_ = slots_.capacity() == 0 ? &no_slot : slots_.data();
}

void relocatable_heap::release() noexcept {
    CAIRN_ASSERT(counts_.pinned == 0, "an object is unpinned before its heap ends");
    const detail::code_of_program asks{upstream_count_};
    if (base_ != nullptr) { unpoison(base_, region_size_); }
    base_ = nullptr;
    planner_.restart();
    table_ = &no_slot;
    // A directory that is assigned to begins its lives elsewhere: old handles find nothing in what
    // comes next. It goes first, so that none is found while memory goes.
    slots_ = detail::slot_directory<reuse::lifo>{rules(0), upstream_};
    map_.release();
    if (owned_ != nullptr) {
        upstream_.deallocate(std::exchange(owned_, nullptr), owned_size_,
                             detail::cache_line_alignment);
    }
}

relocatable_heap::relocatable_heap(relocatable_heap&& other) noexcept
    : slots_{static_cast<detail::slot_directory<reuse::lifo>&&>(other.slots_)},
      map_{static_cast<detail::object_map&&>(other.map_)},
      upstream_{other.upstream_},
      largest_movable_{other.largest_movable_} {
    // A pin names the heap by its address: it would unpin nothing.
    CAIRN_ASSERT(other.counts_.pinned == 0, "an object is unpinned before its heap moves");
    use_table();
    other.use_table();
    base_ = other.base_;
    planner_ = other.planner_;
    observer_ = other.observer_;
    owned_ = other.owned_;
    owned_size_ = other.owned_size_;
    region_size_ = other.region_size_;
    other_side_ = other.other_side_;
    epoch_ = other.epoch_;
    counts_ = other.counts_;
    ns_per_mib_ = other.ns_per_mib_;
    other.base_ = nullptr;
    other.owned_ = nullptr;
    other.planner_.restart();
    other.counts_ = {};
}

relocatable_heap& relocatable_heap::operator=(relocatable_heap&& other) noexcept {
    return detail::begin_anew(*this, other);
}

// ---------------------------------------------------------------------------- bytes

auto relocatable_heap::allocate(std::size_t size, alignment align, const relocation& how) noexcept
    -> handle_type {
    expect_no_move();
    // Before they become granules and log2: nothing below can wrap, and a heap without a region
    // refuses here.
    if (size > capacity() || align.bytes() > capacity()) { return {}; }
    const std::size_t granules = size == 0 ? 1 : (size + object_granule - 1) / object_granule;
    const auto count = static_cast<std::uint32_t>(granules);
    // Slots, entries and the map grow apart. A table that was made larger for a request that is
    // then refused stays so: nothing that a caller can see has changed.
    // A slot whose entry has room is good, although the table of entries could not grow the last
    // time. Before the spot is found: an upstream that comes back may take one.
    if (!make_tables()) { return {}; }
    // What never moves goes to the top, where no compaction has to go round it.
    const bool is_fixed = size > largest_movable_;
    const spot to = is_fixed ? map_.find_high(count, align) : map_.find_low(count, align);
    if (!to) { return {}; }
    const std::uint32_t slot = slots_.peek();
    const std::uint32_t generation = slots_.generation(slot);
    // From here on nothing is refused: slot, entry and spot are there. New objects are put on the
    // first side (place == e.place), and count as not moved in this round.
    slots_.occupy(slot, to.at * units);
    object_entry& e = map_.entry(slot);
    e.how = &how;
    e.pins = 0;
    e.unused = static_cast<std::uint8_t>(granules * object_granule - size);
    e.align_log2 = static_cast<std::uint8_t>(align.log2());
    e.round = static_cast<std::uint8_t>(planner_.round() - 1);
    e.is_fixed = is_fixed;
    map_.insert(slot, to, count);
    unpoison(address(slot), size);
    planner_.disturb();
    return handle_type::make(slot, generation);
}

/// Makes sure that the next slot is there and has an entry. Returns: false when exhausted.
bool relocatable_heap::make_tables() noexcept {
    if (slots_.is_ready() && slots_.peek() < map_.entry_room()) [[likely]] { return true; }
    const detail::code_of_program asks{upstream_count_};
    detail::growable_memory::left_block old;  // ends last: upstream may look handles up
    const bool has_slot = slots_.is_ready() || slots_.make_ready(&old);
    use_table();  // the slots may have grown
    return has_slot && make_entry(slots_.peek());
}

/// Makes sure that `slot` has an entry. Returns: false when exhausted.
bool relocatable_heap::make_entry(std::uint32_t slot) noexcept {
    const std::size_t room = map_.entry_room();
    if (slot < room) { return true; }
    // Twice as many, up to one for each slot: behind trim() there are more slots than objects.
    constexpr std::size_t least = 64;
    std::size_t wanted = 2 * room < least ? least : 2 * room;
    wanted = wanted <= slot ? std::size_t{slot} + 1 : wanted;
    return map_.extend(wanted < slots_.capacity() ? wanted : slots_.capacity());
}

std::size_t relocatable_heap::trim() noexcept {
    expect_no_move();
    std::uint32_t used = slots_.capacity();
    while (used != 0 && !slots_.is_alive(used - 1)) { --used; }
    slots_.sort_free();
    const detail::code_of_program asks{upstream_count_};
    return map_.shrink(used);
}

void relocatable_heap::expect_object(handle_type h, const char* sentence,
                                     detail::evidence known) const noexcept {
    if (contains(h)) { return; }
    const handle_fault fault = slots_.fault_of(h.index(), h.generation());
    if (fault == handle_fault::null) {
        known.kind = misuse_kind::null_handle;
        detail::assert_failed("contains(h)", "the handle is not null", known);
    }
    known.values[0] = {"slot", h.index()};
    known.values[1] = {"life in the handle", h.generation()};
    if (fault == handle_fault::foreign) {
        known.kind = misuse_kind::foreign_handle;
        detail::assert_failed("contains(h)", "a handle is used with its own heap", known);
    }
    detail::assert_failed("contains(h)", sentence, known);
}

void relocatable_heap::deallocate(handle_type h, call_site from) noexcept {
    expect_no_move();
    if constexpr (asserts_enabled) {
        expect_object(h, "an object is freed once, by its handle",
                      {.kind = misuse_kind::double_free,
                       .object = this,
                       .type = "relocatable_heap",
                       .caller = from});
    }
    if (!contains(h)) { return; }
    const std::uint32_t slot = h.index();
    object_entry& e = map_.entry(slot);
    CAIRN_ASSERT(e.pins == 0, "an object is unpinned before it is freed",
                 {.object = this,
                  .type = "relocatable_heap",
                  .caller = from,
                  .values = {{"slot", slot}, {"pins", e.pins}}});
    // An unchecked build goes on: the pin that is left finds a stale handle when it ends.
    if (e.pins != 0) { uncount_pin(e); }
    leave(address(slot), 0, size_of(e), std::size_t{e.granules} * object_granule);
    // The planner may stand on this object, or in a hole that is about to be joined: it goes on at
    // the neighbour, and at the begin of the joint hole. Before remove(), while the entry still has
    // its neighbours; `e` keeps its values behind it.
    planner_.forget_object(slot, e.before);
    map_.remove(slot);
    planner_.join_granules(map_.end_of(e.before), e.place + e.granules);
    slots_.vacate_live(slot, h.generation());
    planner_.disturb();
}

std::size_t relocatable_heap::size(handle_type h, call_site from) const noexcept {
    if constexpr (asserts_enabled) {
        expect_object(h, "an object is used while it lives",
                      {.kind = misuse_kind::stale_handle,
                       .object = this,
                       .type = "relocatable_heap",
                       .caller = from});
    }
    return contains(h) ? size_of(map_.entry(h.index())) : 0;
}

// ---------------------------------------------------------------------------- staying

pinned<void> relocatable_heap::pin(handle_type h) noexcept {
    expect_no_move();
    if (!contains(h)) { return {}; }
    void* const object = get(h);
    object_entry& e = map_.entry(h.index());
    // Counted once an object, whatever the number of its pins: the figures are objects and granules
    // that cannot move.
    if (e.pins++ == 0) {
        ++counts_.pinned;
        counts_.pinned_granules += e.granules;
    }
    return {*this, h, object};
}

void relocatable_heap::unpin(handle_type h) noexcept {
    CAIRN_ASSERT(contains(h), "an object is unpinned before it is freed");
    if (!contains(h)) { return; }
    object_entry& e = map_.entry(h.index());
    // With the last pin it may move: a planner that had settled looks again.
    if (--e.pins == 0) {
        uncount_pin(e);
        planner_.disturb();
    }
}

void relocatable_heap::uncount_pin(const object_entry& e) noexcept {
    --counts_.pinned;
    counts_.pinned_granules -= e.granules;
}

bool relocatable_heap::is_pinned(handle_type h) const noexcept {
    return contains(h) && map_.entry(h.index()).pins != 0;
}

/// Of the `span` bytes at `from` only the first `kept` are in use; `size` of them were
/// in use.
void relocatable_heap::leave(std::byte* from, std::size_t kept, std::size_t size,
                             std::size_t span) noexcept {
    // stress_relocate writes over what an object has left, so that a stale pointer does not find
    // its old bytes.
    if (other_side_ != 0 && size > kept) { std::memset(from + kept, left_pattern, size - kept); }
    poison(from + kept, span - kept);
}

// ---------------------------------------------------------------------------- looking

detail::relocatable_heap_stats relocatable_heap::stats() const noexcept {
    detail::relocatable_heap_stats s{};
    s.capacity = capacity();
    s.free_size = free_size();
    s.largest_free = std::size_t{map_.largest_hole()} * object_granule;
    s.hole_count = map_.hole_count();
    s.object_count = object_count();
    s.pinned_count = counts_.pinned;
    s.pinned_size = counts_.pinned_granules * object_granule;
    s.moved_size = counts_.moved_size;
    s.move_count = counts_.moves;
    s.compact_count = counts_.calls;
    s.round_count = counts_.rounds;
    s.calls_to_converge = counts_.calls_to_converge;
    return s;
}

std::size_t relocatable_heap::unusable_for(std::size_t size) const noexcept {
    std::size_t total = 0;
    for_each_range([&](const range& r) {
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
            CAIRN_ASSERT(detail::is_aligned(address(i), alignment{std::size_t{1} << e.align_log2}),
                         "an object is aligned as it was asked");
            ++count;
            pinned += e.pins != 0 ? 1 : 0;
        }
        CAIRN_ASSERT(count == slots_.live_count(), "every live handle has one object");
        CAIRN_ASSERT(pinned == counts_.pinned, "the count of pinned objects is true");
    }
}

}}  // namespace cairn::CAIRN_FLAVOUR
