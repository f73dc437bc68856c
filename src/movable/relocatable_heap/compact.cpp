// Cold half of cairn/movable/relocatable_heap.hpp: compact(), and how objects get from here to
// there.
#include <cairn/core/poison.hpp>
#include <cairn/movable/relocatable_heap.hpp>

#include <cstring>
#include <utility>

namespace cairn { inline namespace CAIRN_FLAVOUR {

using detail::object_entry;
using detail::object_granule;
using detail::verdict;

namespace {

/// A limit of time or bytes without a number of steps gets one: see compact().
work_limit with_steps(work_limit limit) noexcept {
    if (limit.steps != SIZE_MAX || limit.is_none()) { return limit; }
    constexpr std::size_t least = 40;  // about 5 microseconds
    const std::size_t by_time = limit.is_timed() ? std::size_t{limit.microseconds} * 4 / 5 : 0;
    limit.steps = by_time > least ? by_time : least;
    return limit;
}

}  // namespace

/// A proposal of the planner.
struct relocatable_heap::move {
    std::uint32_t slot;
    spot to;
    spot via;  // where an object stops over that cannot slide over itself
};

/// The heap as the planner sees it: see movable/inside/planner.hpp.
struct relocatable_heap::compaction_view {
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
        // An object that moved in this round is not asked to move again: the round ends.
        if (!heap.may_move(e)) { return verdict::fixed; }
        if (e.round == round) { return verdict::moved; }
        const spot to = map.find_low(e.granules, alignment{std::size_t{1} << e.align_log2});
        if (to && to.at < e.place) {
            out = {at, to, {}};
            return verdict::yes;
        }
        // Nothing fits. Where no hole at all lies below this object, none lies below those under
        // it: the rest of the walk is pointless.
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
        // [ owner ][ hole ][ object ]   =>   [ owner ][gap][ object ][ hole ]
        const std::uint32_t to = hole.at + map.gap_for(hole.at, align);
        if (to >= e.place) { return verdict::no; }
        if (e.round == round) { return verdict::moved; }
        out = {at, {hole.owner, to}, {}};
        // Old and new place overlap. Bytes may be moved over themselves; an object with a function
        // of its own may not, and goes through a third place, high up.
        if (e.place - to < e.granules && e.how->relocate != nullptr) {
            out.via = map.find_high(e.granules, align);
            if (!out.via) { return verdict::no; }
        }
        return verdict::yes;
    }
};

/// The object of `e` at `from` moves to `to`; both spans belong to it.
void relocatable_heap::carry(std::byte* to, std::byte* from, const object_entry& e,
                             std::byte* via) noexcept {
    // size: requested bytes; span: granules, in bytes. Bytes are unpoisoned before they are written
    // and poisoned after they were read:
    // from         [############ size ############|..span]
    // to    [############ size ############|..]                    distance = from - to
    //      [ distance ]                      [ left: poisoned  ]
    const std::size_t size = size_of(e);
    const std::size_t span = std::size_t{e.granules} * object_granule;
    const auto relocate = e.how->relocate;
    if (relocate == nullptr) {
        // Only bytes before the old ones are new: unpoisoning more would mark defined bytes as
        // undefined.
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
    if (observer_.before_move != nullptr && !observer_.before_move(observer_.context, m.slot)) {
        return false;
    }
    // In this order:
    //   before_move     the observer lets the object go, or nothing happens: no reader holds it now
    //   lift            the holes it touches leave the index: their bytes may be written
    //   carry           the bytes; hooks of the object may look, and change nothing in the heap
    //   put             the map is whole again
    //   set_value       handles lead to the new place
    //   after_move      readers may come again, and find it
    object_entry& e = map_.entry(m.slot);
    std::byte* const from = address(m.slot);
    const std::uint32_t side = place(m.slot) - e.place;
    // Places in the map are those of the first side; the object may be on the other one, and stays
    // there.
    const auto at = [&](spot s) { return base_ + (std::size_t{side} + s.at) * object_granule; };
    map_.lift(m.slot, m.to);
    carry(at(m.to), from, e, m.via ? at(m.via) : nullptr);
    // The words of a hole that was used in passing: it is in the index all the time, and unchanged
    // but for them. (Behind the object itself lies a hole that lift() has closed.)
    if (m.via && m.via.owner != m.slot) { map_.rewrite_hole(m.via.owner); }
    map_.put(m.slot, m.to);
    e.round = planner_.round();
    slots_.set_value(m.slot, (side + m.to.at) * units);
    if (observer_.after_move != nullptr) {
        observer_.after_move(observer_.context, m.slot, at(m.to));
    }
    const std::size_t bytes = m.via ? 2 * size_of(e) : size_of(e);
    ++counts_.moves;
    counts_.moved_size += bytes;
    return true;
}

/// What a copy costs, from the last copies. A copy that was interrupted counts four times at most.
void relocatable_heap::learn_speed(std::uint64_t nanoseconds, std::size_t size) noexcept {
    // A moving average over about four copies.
    const std::uint64_t speed = (nanoseconds << 20) / size;
    const std::uint64_t most = 4 * ns_per_mib_;
    ns_per_mib_ += (speed < most ? speed : most) / 4 + 1 - ns_per_mib_ / 4;
}

/// What a call has done so far.
struct relocatable_heap::progress {
    std::size_t moves = 0;
    std::size_t moves_before_round = 0;
    unsigned idle_rounds = 0;  // in a row, in which other threads held all that could have moved
    bool was_refused = false;  // in this round

    /// Returns: false when all that is left is held by other threads.
    bool end_round() noexcept {
        idle_rounds = was_refused && moves == moves_before_round ? idle_rounds + 1 : 0;
        was_refused = false;
        moves_before_round = moves;
        return idle_rounds != 3;
    }
};

/// A few steps of the planner, and the move that it proposes. Returns: false when the call ends.
bool relocatable_heap::go_on(compaction_view& map, detail::work_meter& meter,
                             progress& p) noexcept {
    constexpr std::size_t steps_per_look = 32;  // where the planner finds no move
    const std::size_t slice = meter.steps_until_look(steps_per_look);
    std::size_t left = slice;
    move m;
    const auto outcome = planner_.next(map, left, m);
    meter.pay(slice - left, 0);
    if (outcome == detail::compaction_planner::outcome::round_over) {
        ++counts_.rounds;
        if (!p.end_round()) { return false; }
    }
    if (outcome != detail::compaction_planner::outcome::move) {
        (void)meter.look();
        return true;
    }
    const std::size_t size = size_of(map_.entry(m.slot)) * (m.via ? 2 : 1);
    const std::uint64_t guess = (size * ns_per_mib_) >> 20;
    // The first move of a call is made in any case, or a large object would stop all others.
    if (p.moves != 0 && !(meter.has_bytes_for(size) && meter.has_time_for(guess))) {
        planner_.put_back();              // the next call begins with this move
        ns_per_mib_ -= ns_per_mib_ / 32;  // otherwise one bad guess would stop every later copy
        return false;
    }
    if (!apply(m)) {
        planner_.pass();
        p.was_refused = true;
        (void)meter.look();
        return true;
    }
    planner_.accept();
    ++p.moves;
    meter.pay(0, size);
    const std::uint64_t took = meter.look();
    constexpr std::size_t least_to_learn_from = 4096;  // bytes
    if (took != 0 && size >= least_to_learn_from) { learn_speed(took, size); }
    return true;
}

compaction_report relocatable_heap::compact(const work_limit& limit) noexcept {
    static_assert(detail::compaction_map<compaction_view, move>);
    expect_no_move();
    CAIRN_ASSERT(built_count_ == 0,
                 "a constructor or a destructor of an object does not compact the object's heap");
    is_compacting_ = true;
    ++epoch_;
    ++counts_.calls;
    const bool was_scattered = is_scattered();
    compaction_view map{*this, map_};
    // Without a limit, sliding alone: it moves each object once, and leaves one hole.
    if (limit.is_none() && was_scattered) { planner_.start_sliding(map); }
    detail::work_meter meter{with_steps(limit)};
    progress p;
    while (is_scattered() && meter.goes_on() && go_on(map, meter, p)) {}
    const bool settled = !is_scattered();
    if (was_scattered) {
        ++counts_.scattered_calls;
        if (settled) { counts_.calls_to_converge = std::exchange(counts_.scattered_calls, 0); }
    }
    const compaction_report r{.bytes = meter.bytes(),
                              .moves = p.moves,
                              .steps = meter.steps(),
                              .nanoseconds = meter.nanoseconds(),
                              .one_piece = map_.hole_count() <= 1,
                              .settled = settled};
    if (other_side_ != 0) { change_sides(); }
    is_compacting_ = false;
    return r;
}

/// stress_relocate: every object that may move goes to the same place on the other side.
void relocatable_heap::change_sides() noexcept {
    for (std::uint32_t i = map_.lowest(); i != none; i = map_.entry(i).after) {
        const object_entry& e = map_.entry(i);
        // The sides do not overlap, so nothing is moved over itself, and the map, which knows
        // places on one side only, stays as it is.
        const std::size_t distance = std::size_t{other_side_} * object_granule;
        if (!may_move(e) || distance % (std::size_t{1} << e.align_log2) != 0) { continue; }
        if (observer_.before_move != nullptr && !observer_.before_move(observer_.context, i)) {
            continue;
        }
        std::byte* const from = address(i);
        const std::uint32_t target = place(i) == e.place ? e.place + other_side_ : e.place;
        std::byte* const to = base_ + std::size_t{target} * object_granule;
        carry(to, from, e, nullptr);
        slots_.set_value(i, target * units);
        ++counts_.moves;
        counts_.moved_size += size_of(e);
        if (observer_.after_move != nullptr) { observer_.after_move(observer_.context, i, to); }
    }
}

}}  // namespace cairn::CAIRN_FLAVOUR
