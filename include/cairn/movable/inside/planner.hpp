// cairn/movable/inside/planner.hpp - which move comes next: the core of every compaction here.
//
//      evacuate: from the top down, into the lowest hole that fits
//
//      [ A ][ hole   ][ B ][ h ][ C ][ D ][ E ]......         A round looks at each object at most
//           ^------------------------------+                  twice and moves it at most once.
//
//      slide: from the bottom up, down over the hole before it
//
//    [ A ][ E ][ hole ][ B ][ h ][ C ][ D ]..........       [ A ][ E ][ B ][ C ][ D ]..............
//              ^---------+   ^----+
//
// Evacuating costs one byte of copying for each byte that the free end grows by, so it goes first;
// after sixteen objects that fit nowhere the holes are too small for it, and sliding brings them
// together. (A round that moved nothing is followed by one with more patience.) The planner
// remembers where it stands, so a round is cut into as many calls as the budget asks for.
//
// It knows no memory and no lists: relocatable_heap (which then copies) and offset_heap::plan
// (whose caller copies) show it their map, which answers the questions of the concept
// compaction_map.
//
// Invariant: within a round no object is proposed again after a move of it was accepted: the map
//            stamps what moves with the number of the round, and answers verdict::moved.
// Cost:      one question to the map for each step.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

enum class verdict : std::uint8_t {
    fixed,      // nothing that may move: a free place, a pinned object, one that is too large
    no,         // it may, but not now: no hole fits
    yes,        // a move was proposed
    moved,      // it has already moved in this round
    pointless,  // neither this nor anything that follows in this phase can move
};

/// What the planner compacts: objects and gaps, each named by a number. Every answer costs O(log n)
/// or less and changes nothing.
template <class Map, class Move>
concept compaction_map = requires(const Map& map, std::uint32_t at, std::uint8_t round, Move& out) {
    // The object with the highest address; none in an empty map.
    { map.top() } noexcept -> std::same_as<std::uint32_t>;
    // The object before object `at` in order of address, or none.
    { map.below(at) } noexcept -> std::same_as<std::uint32_t>;
    // The lowest place at which a slide may be possible, or none.
    { map.first_gap() } noexcept -> std::same_as<std::uint32_t>;
    // The next such place above place `at`, or none.
    { map.gap_after(at) } noexcept -> std::same_as<std::uint32_t>;
    // Where to go on after slide(at, ..., out) has said yes: the gap behind the object, as it
    // will be when the move is made.
    { map.gap_after_slide(at, out) } noexcept -> std::same_as<std::uint32_t>;
    // May object `at` move into a hole below it? yes: `out` says where to. `moved` when it bears
    // the number of this round.
    { map.evacuation(at, round, out) } noexcept -> std::same_as<verdict>;
    // May what follows gap `at` move down over it? As evacuation.
    { map.slide(at, round, out) } noexcept -> std::same_as<verdict>;
};

class compaction_planner {
public:
    static constexpr std::uint32_t none = 0xFFFF'FFFF;

    enum class outcome : std::uint8_t { move, out_of_steps, round_over };

    /// The next move, or why there is none. Each object or gap looked at takes one of `steps`.
    /// After `move` the caller says accept(), put_back() or pass().
    template <class Map, class Move>
        requires compaction_map<Map, Move>
    [[nodiscard]] outcome next(Map& map, std::size_t& steps, Move& out) noexcept {
        if (phase_ == phase::over) { start_round(map); }
        while (phase_ == phase::evacuate) {
            if (cursor_ == none) {
                phase_ = phase::slide;
                cursor_ = map.first_gap();
                break;
            }
            if (steps == 0) { return outcome::out_of_steps; }
            --steps;
            const std::uint32_t at = cursor_;
            const verdict v = map.evacuation(at, round_, out);
            if (v == verdict::no) { ++misses_; }
            cursor_ = v == verdict::pointless || misses_ > patience_ ? none : map.below(at);
            if (note(v, at)) { return outcome::move; }
        }
        while (cursor_ != none) {
            if (steps == 0) { return outcome::out_of_steps; }
            --steps;
            const std::uint32_t at = cursor_;
            const verdict v = map.slide(at, round_, out);
            // After a slide the gap goes on behind the object: the map names it by `out`.
            cursor_ = v == verdict::yes ? map.gap_after_slide(at, out) : map.gap_after(at);
            if (note(v, at)) { return outcome::move; }
        }
        phase_ = phase::over;
        const bool gave_up = misses_ > patience_;
        settled_ = !moved_ && !left_over_ && !gave_up;
        patience_ = !moved_ && gave_up ? none - 1 : usual_patience;
        return outcome::round_over;
    }

    /// What becomes of the move that next() has just proposed: it was made (or will be: its
    /// destination is reserved)...
    void accept() noexcept { moved_ = true; }
    /// ...or it is proposed again by the next call...
    void put_back() noexcept {
        cursor_ = proposed_;
        left_over_ = true;
    }
    /// ...or next() proposes it once more, in the same call of plan()...
    void repeat() noexcept { cursor_ = proposed_; }
    /// ...or it cannot be made in this round.
    void pass() noexcept { left_over_ = true; }

    /// Places are named by objects in both phases (offset_heap) or by objects while evacuating and
    /// by granules while sliding (relocatable_heap). When the name `at` ends, go on at `below` or
    /// `above` instead.
    void forget(std::uint32_t at, std::uint32_t below, std::uint32_t above) noexcept {
        if (cursor_ == at) { cursor_ = phase_ == phase::evacuate ? below : above; }
    }
    void forget_object(std::uint32_t at, std::uint32_t below) noexcept {
        if (phase_ == phase::evacuate && cursor_ == at) { cursor_ = below; }
    }
    /// [from, to] has become one hole: a slide that stood in it goes on at its begin.
    void join_granules(std::uint32_t from, std::uint32_t to) noexcept {
        if (phase_ == phase::slide && cursor_ > from && cursor_ <= to) { cursor_ = from; }
    }
    /// What the cursor points to has another name now.
    void rename(std::uint32_t from, std::uint32_t to) noexcept {
        if (cursor_ == from) { cursor_ = to; }
    }
    /// Two places have exchanged their names.
    void exchange(std::uint32_t a, std::uint32_t b) noexcept {
        if (cursor_ == a) {
            cursor_ = b;
        } else if (cursor_ == b) {
            cursor_ = a;
        }
    }

    /// A new round that begins with sliding: for those who have the time to move everything,
    /// because sliding moves each object once and leaves one hole.
    template <class Map>
    void start_sliding(Map& map) noexcept {
        start_round(map);
        left_over_ = true;  // no object was asked to evacuate
        phase_ = phase::slide;
        cursor_ = map.first_gap();
    }

    /// The map has changed in a way that may allow new moves.
    void disturb() noexcept {
        settled_ = false;
        left_over_ = true;
    }
    void restart() noexcept {
        phase_ = phase::over;
        cursor_ = none;
        settled_ = false;
    }

    [[nodiscard]] bool round_is_over() const noexcept { return phase_ == phase::over; }
    /// True when a whole round found nothing to move and nothing has changed since.
    [[nodiscard]] bool is_settled() const noexcept { return settled_; }
    [[nodiscard]] std::uint8_t round() const noexcept { return round_; }

private:
    enum class phase : std::uint8_t { over, evacuate, slide };
    static constexpr std::uint32_t usual_patience = 16;

    template <class Map>
    void start_round(Map& map) noexcept {
        ++round_;  // wraps: what last moved 256 rounds ago waits for one more
        moved_ = left_over_ = false;
        misses_ = 0;
        phase_ = phase::evacuate;
        cursor_ = map.top();
    }
    /// True when there is a move to propose.
    bool note(verdict v, std::uint32_t at) noexcept {
        left_over_ = left_over_ || v == verdict::moved;
        proposed_ = at;
        return v == verdict::yes;
    }

    std::uint32_t cursor_ = none;
    std::uint32_t proposed_ = none;
    std::uint32_t misses_ = 0;  // objects of this round that fit into no hole below them
    std::uint32_t patience_ = usual_patience;
    phase phase_ = phase::over;
    std::uint8_t round_ = 0;
    bool moved_ = false;      // in this round
    bool left_over_ = false;  // something was passed over because it had moved, or has changed
    bool settled_ = false;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
