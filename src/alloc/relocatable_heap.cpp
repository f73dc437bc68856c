// Cold half of cairn/alloc/relocatable_heap.hpp: all but get().
#include <cairn/alloc/relocatable_heap.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/os/clock.hpp>

#include <cstring>

namespace cairn {

using detail::granule_size;
using detail::object_entry;
using detail::verdict;

namespace {

constexpr slot_rules rules{relocatable_heap::handle_type::index_max,
                           relocatable_heap::handle_type::generation_max, 0};
constexpr unsigned char left_pattern = 0xF0;

}  // namespace

/// A proposal of the planner.
struct relocatable_heap::move {
    std::uint32_t slot;
    spot to;
    spot via;  // where an object stops over that cannot slide over itself
};

/// The heap as the planner sees it: see relocation/planner.hpp.
struct relocatable_heap::planner_view {
    const relocatable_heap& heap;
    const detail::object_map& map;

    [[nodiscard]] std::uint32_t top() const noexcept { return map.highest(); }
    [[nodiscard]] std::uint32_t below(std::uint32_t at) const noexcept {
        return map.entry(at).before;
    }
    [[nodiscard]] std::uint32_t first_gap() const noexcept { return map.hole_from(0).at; }
    [[nodiscard]] std::uint32_t gap_after(std::uint32_t gap) const noexcept {
        return map.hole_from(gap + 1).at;
    }
    [[nodiscard]] std::uint32_t gap_after_slide(std::uint32_t, const move& m) const noexcept {
        return m.to.at + map.entry(m.slot).granules;
    }

    [[nodiscard]] verdict evacuation(std::uint32_t at, std::uint8_t round,
                                     move& out) const noexcept {
        const object_entry& e = map.entry(at);
        if (!heap.may_move(e)) { return verdict::fixed; }
        if (e.round == round) { return verdict::moved; }
        const spot to = map.find_low(e.granules, alignment{std::size_t{1} << e.align_log2});
        if (to && to.at < e.place) {
            out = {at, to, {}};
            return verdict::yes;
        }
        const spot lowest = map.hole_from(0);
        return lowest && lowest.at < e.place ? verdict::no : verdict::pointless;
    }

    [[nodiscard]] verdict slide(std::uint32_t gap, std::uint8_t round, move& out) const noexcept {
        const spot hole = map.hole_from(gap);
        if (!hole) { return verdict::no; }
        const std::uint32_t at = hole.owner == none ? map.lowest() : map.entry(hole.owner).after;
        if (at == none) { return verdict::no; }
        const object_entry& e = map.entry(at);
        if (!heap.may_move(e)) { return verdict::fixed; }
        const alignment align{std::size_t{1} << e.align_log2};
        const std::uint32_t to = hole.at + map.gap_for(hole.at, align);
        if (to >= e.place) { return verdict::no; }
        if (e.round == round) { return verdict::moved; }
        out = {at, {hole.owner, to}, {}};
        if (e.place - to < e.granules && e.how->relocate != nullptr) {
            out.via = map.find_high(e.granules, align);
            if (!out.via) { return verdict::no; }
        }
        return verdict::yes;
    }
};

// ---------------------------------------------------------------------------- life

relocatable_heap::relocatable_heap(byte_slice region, allocator_ref upstream,
                                   const relocatable_heap_options& options) noexcept
    : slots_{rules, upstream}, map_{upstream}, largest_movable_{options.largest_movable} {
    start(region.data(), region.size(), options);
}

relocatable_heap::relocatable_heap(std::size_t size, allocator_ref upstream,
                                   const relocatable_heap_options& options) noexcept
    : slots_{rules, upstream},
      map_{upstream},
      upstream_{upstream},
      largest_movable_{options.largest_movable} {
    if (size > SIZE_MAX / 2 - 256) { return; }
    const std::size_t total = options.stress_relocate ? 2 * round_up(size, cache_line_alignment)
                                                      : round_up(size, alignment{granule_size});
    void* const memory = upstream.allocate(total, cache_line_alignment);
    if (memory == nullptr) { return; }
    owned_ = static_cast<std::byte*>(memory);
    owned_size_ = total;
    start(owned_, total, options);
    if (map_.granules() == 0) { release(); }
}

void relocatable_heap::start(std::byte* memory, std::size_t size,
                             const relocatable_heap_options& options) noexcept {
    const std::size_t skip =
        padding_to(reinterpret_cast<std::uintptr_t>(memory), alignment{granule_size});
    if (size < skip + granule_size) { return; }
    std::size_t granules = (size - skip) / granule_size;
    if (options.stress_relocate) {  // both sides are aligned alike, up to a cache line
        granules = granules / 2 & ~(cache_line_size / granule_size - 1);
    }
    if (granules > detail::granule_count_max) { granules = detail::granule_count_max; }
    if (granules == 0) { return; }
    // The tables first: without them there is no heap.
    if (options.object_count != 0 &&
        (!slots_.reserve(options.object_count) || !map_.ensure(slots_.capacity()))) {
        return;
    }
    use_table();
    const auto count = static_cast<std::uint32_t>(granules);
    region_size_ = granules * granule_size * (options.stress_relocate ? 2 : 1);
    poison(memory + skip, region_size_);
    if (!map_.create(memory + skip, count)) {
        unpoison(memory + skip, region_size_);
        return;
    }
    base_ = memory + skip;
    other_side_ = options.stress_relocate ? count : 0;
}

void relocatable_heap::use_table() noexcept {
    table_ = slots_.capacity() == 0 ? &no_slot : slots_.data();
}

void relocatable_heap::release() noexcept {
    if (base_ != nullptr) { unpoison(base_, region_size_); }
    map_.release();
    slots_ = slot_directory<reuse::lifo>{rules, upstream_};
    use_table();
    if (owned_ != nullptr) {
        upstream_.deallocate(owned_, owned_size_, cache_line_alignment);
        owned_ = nullptr;
    }
    base_ = nullptr;
    planner_.restart();
}

relocatable_heap::relocatable_heap(relocatable_heap&& other) noexcept
    : slots_{static_cast<slot_directory<reuse::lifo>&&>(other.slots_)},
      map_{static_cast<detail::object_map&&>(other.map_)},
      upstream_{other.upstream_},
      largest_movable_{other.largest_movable_} {
    steal(other);
}

relocatable_heap& relocatable_heap::operator=(relocatable_heap&& other) noexcept {
    if (this != &other) {
        release();
        slots_ = static_cast<slot_directory<reuse::lifo>&&>(other.slots_);
        map_ = static_cast<detail::object_map&&>(other.map_);
        upstream_ = other.upstream_;
        largest_movable_ = other.largest_movable_;
        steal(other);
    }
    return *this;
}

void relocatable_heap::steal(relocatable_heap& other) noexcept {
    use_table();
    other.use_table();
    base_ = other.base_;
    planner_ = other.planner_;
    gate_ = other.gate_;
    owned_ = other.owned_;
    owned_size_ = other.owned_size_;
    region_size_ = other.region_size_;
    other_side_ = other.other_side_;
    epoch_ = other.epoch_;
    counts_ = other.counts_;
    ns_per_byte_ = other.ns_per_byte_;
    other.base_ = nullptr;
    other.owned_ = nullptr;
    other.planner_.restart();
    other.counts_ = {};
}

// ---------------------------------------------------------------------------- bytes

auto relocatable_heap::allocate(std::size_t size, alignment align, const relocation& how) noexcept
    -> handle_type {
    if (size > capacity() || align.bytes() > capacity()) { return {}; }
    const std::size_t granules = size == 0 ? 1 : (size + granule_size - 1) / granule_size;
    const auto count = static_cast<std::uint32_t>(granules);
    const bool is_fixed = size > largest_movable_;
    const spot to = is_fixed ? map_.find_high(count, align) : map_.find_low(count, align);
    if (!to) { return {}; }
    const bool is_ready = slots_.prepare() && map_.ensure(slots_.capacity());
    use_table();  // the slots may have grown
    if (!is_ready) { return {}; }
    const std::uint32_t slot = slots_.peek();
    const std::uint32_t generation = slots_.generation(slot);
    slots_.occupy(slot, to.at * units);
    object_entry& e = map_.entry(slot);
    e.how = &how;
    e.pins = 0;
    e.unused = static_cast<std::uint8_t>(granules * granule_size - size);
    e.align_log2 = static_cast<std::uint8_t>(align.log2());
    e.round = static_cast<std::uint8_t>(planner_.round() - 1);
    e.is_fixed = is_fixed;
    map_.insert(slot, to, count);
    unpoison(address(slot), size);
    planner_.disturb();
    return handle_type::make(slot, generation);
}

void relocatable_heap::deallocate(handle_type h) noexcept {
    CAIRN_ASSERT(contains(h), "an object is freed once, by its handle");
    if (!contains(h)) { return; }
    const std::uint32_t slot = h.index();
    object_entry& e = map_.entry(slot);
    CAIRN_ASSERT(e.pins == 0, "an object is unpinned before it is freed");
    if (e.pins != 0) { uncount_pin(e); }
    leave(address(slot), 0, size_of(e), std::size_t{e.granules} * granule_size);
    planner_.forget_object(slot, e.before);
    map_.remove(slot);
    planner_.join_granules(map_.end_of(e.before), e.place + e.granules);
    slots_.vacate_live(slot, h.generation());
    planner_.disturb();
}

std::size_t relocatable_heap::size(handle_type h) const noexcept {
    CAIRN_ASSERT(contains(h), "an object is used while it lives");
    return contains(h) ? size_of(map_.entry(h.index())) : 0;
}

// ---------------------------------------------------------------------------- staying

pinned<void> relocatable_heap::pin(handle_type h) noexcept {
    if (!contains(h)) { return {}; }
    void* const object = get(h);
    object_entry& e = map_.entry(h.index());
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

// ---------------------------------------------------------------------------- moving

/// Nobody lives in the `span` bytes at `from` any more but in the first `kept`; `size` of them were
/// in use.
void relocatable_heap::leave(std::byte* from, std::size_t kept, std::size_t size,
                             std::size_t span) noexcept {
    if (other_side_ != 0 && size > kept) { std::memset(from + kept, left_pattern, size - kept); }
    poison(from + kept, span - kept);
}

/// The object of `e` at `from` moves to `to`; both spans belong to it.
void relocatable_heap::carry(std::byte* to, std::byte* from, const object_entry& e,
                             std::byte* via) noexcept {
    const std::size_t size = size_of(e);
    const std::size_t span = std::size_t{e.granules} * granule_size;
    const auto relocate = e.how->relocate;
    if (relocate == nullptr) {
        // Only what lies before the old bytes is new: unpoisoning more would forget what is defined.
        const auto distance = static_cast<std::size_t>(from - to);
        const bool overlaps = to < from && distance < size;
        unpoison(to, overlaps ? distance : size);
        std::memmove(to, from, size);
        leave(from, overlaps ? size - distance : 0, size, span);
    } else {
        std::byte* source = from;
        if (via != nullptr) {
            unpoison(via, size);
            relocate(via, from, size);
            leave(from, 0, size, span);
            source = via;
        }
        unpoison(to, size);
        relocate(to, source, size);
        leave(source, 0, size, span);
    }
    if (e.how->on_relocated != nullptr) { e.how->on_relocated(to, from, size); }
}

bool relocatable_heap::apply(const move& m) noexcept {
    if (gate_.close != nullptr && !gate_.close(gate_.context, m.slot)) { return false; }
    object_entry& e = map_.entry(m.slot);
    std::byte* const from = address(m.slot);
    const std::uint32_t side = place(m.slot) - e.place;
    const auto at = [&](spot s) { return base_ + (std::size_t{side} + s.at) * granule_size; };
    map_.lift(m.slot, m.to);
    carry(at(m.to), from, e, m.via ? at(m.via) : nullptr);
    if (m.via && m.via.owner != m.slot) { map_.rewrite_hole(m.via.owner); }
    map_.put(m.slot, m.to);
    e.round = planner_.round();
    slots_.set_value(m.slot, (side + m.to.at) * units);
    if (gate_.open != nullptr) { gate_.open(gate_.context, m.slot, at(m.to)); }
    const std::size_t bytes = m.via ? 2 * size_of(e) : size_of(e);
    ++counts_.moves;
    counts_.moved_size += bytes;
    return true;
}

compaction_report relocatable_heap::compact(const compaction_budget& budget) noexcept {
    ++epoch_;
    ++counts_.calls;
    compaction_report r;
    const bool is_timed = budget.microseconds != compaction_budget::no_end;
    const std::uint64_t start = is_timed ? monotonic_nanoseconds() : 0;
    const std::uint64_t time_max = std::uint64_t{budget.microseconds} * 1000;
    std::uint64_t elapsed = 0;
    const auto scattered = [&] { return map_.hole_count() > 1 && !planner_.is_settled(); };
    const bool was_scattered = scattered();
    planner_view map{*this, map_};
    std::size_t moves_before_round = 0;
    unsigned idle_rounds = 0;
    while (scattered() && r.steps < budget.steps && r.bytes < budget.bytes &&
           (!is_timed || elapsed < time_max)) {
        // Without moves nobody looks at the clock: only a few steps at a time.
        constexpr std::size_t steps_per_look = 32;
        const std::size_t wanted = budget.steps - r.steps;
        const std::size_t slice = is_timed && wanted > steps_per_look ? steps_per_look : wanted;
        std::size_t left = slice;
        move m;
        const auto outcome = planner_.next(map, left, m);
        r.steps += slice - left;
        if (outcome == detail::compaction_planner::outcome::round_over) {
            idle_rounds = r.moves == moves_before_round ? idle_rounds + 1 : 0;
            if (idle_rounds == 3) { break; }  // all that is left is held by other threads
            moves_before_round = r.moves;
        } else if (outcome == detail::compaction_planner::outcome::move) {
            const std::size_t size = size_of(map_.entry(m.slot)) * (m.via ? 2 : 1);
            const auto guess = static_cast<std::uint64_t>(static_cast<double>(size) * ns_per_byte_);
            const bool fits =
                size <= budget.bytes - r.bytes && (!is_timed || elapsed + guess <= time_max);
            if (r.moves != 0 && !fits) {
                planner_.put_back();
                break;
            }
            if (!apply(m)) {
                planner_.pass();
                continue;
            }
            planner_.accept();
            ++r.moves;
            r.bytes += size;
            if (is_timed) {
                const std::uint64_t now = monotonic_nanoseconds() - start;
                if (size >= 4096) {
                    const double speed =
                        static_cast<double>(now - elapsed) / static_cast<double>(size);
                    ns_per_byte_ += (speed - ns_per_byte_) / 4;
                }
                elapsed = now;
            }
            continue;
        }
        if (is_timed) { elapsed = monotonic_nanoseconds() - start; }
    }
    r.nanoseconds = elapsed;
    r.one_piece = map_.hole_count() <= 1;
    r.settled = !scattered();
    if (was_scattered) {
        ++counts_.scattered_calls;
        if (r.settled) {
            counts_.calls_to_converge = counts_.scattered_calls;
            counts_.scattered_calls = 0;
        }
    }
    if (other_side_ != 0) { change_sides(); }
    return r;
}

/// stress_relocate: every object that may move goes to the same place on the other side.
void relocatable_heap::change_sides() noexcept {
    for (std::uint32_t i = map_.lowest(); i != none; i = map_.entry(i).after) {
        const object_entry& e = map_.entry(i);
        const std::size_t distance = std::size_t{other_side_} * granule_size;
        if (!may_move(e) || distance % (std::size_t{1} << e.align_log2) != 0) { continue; }
        if (gate_.close != nullptr && !gate_.close(gate_.context, i)) { continue; }
        std::byte* const from = address(i);
        const std::uint32_t target = place(i) == e.place ? e.place + other_side_ : e.place;
        std::byte* const to = base_ + std::size_t{target} * granule_size;
        carry(to, from, e, nullptr);
        slots_.set_value(i, target * units);
        if (gate_.open != nullptr) { gate_.open(gate_.context, i, to); }
    }
}

// ---------------------------------------------------------------------------- looking

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

}  // namespace cairn
