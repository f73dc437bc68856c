// cairn/containers/stable_slot_map/noted_slots.hpp - the free slots of chunks that are nearly full.
//
//      full chunk, an object ends:    note its slot, and leave the index of chunks alone
//      an object comes, no chunk
//      has a batch of free slots:     take the slot that was noted last
//
//      [ 17 | 4090 | 812 | 2051 |    ...   ]      64 indices, newest first; a 65th takes the place
//        oldest             ^ newest              of the oldest, whose chunk then enters the index
//
// In a map that is full but for a few slots each erasure would enter a chunk into the index, and
// each insertion would find it there, gather one slot and take it out again. What is noted needs
// neither, and its cache lines are warm. So where no chunk has a batch, whatever becomes free is
// noted, in chunks that the index knows to have a few, too: no guess whether it does.
//
// A note is a hint: its slot may have been gathered with others since, and be free again or not. So
// the map looks whether it is free before it gives it out.
//
// Cost: note: two stores. take: a load.
#pragma once

#include <cstdint>

#include <cairn/core/inside/moved.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

class noted_slots {
public:
    static constexpr std::uint32_t count_max = 64;
    static constexpr std::uint32_t no_slot = 0xffff'ffff;

    /// Returns: the oldest one, which made way; no_slot when there was room.
    std::uint32_t note(std::uint32_t index) noexcept {
        std::uint32_t& place = slots_[end_++ % count_max];
        if (count_ != count_max) {
            ++count_;
            place = index;
            return no_slot;
        }
        const std::uint32_t oldest = place;
        place = index;
        return oldest;
    }
    /// The one that was noted last. Returns: no_slot when there is none.
    std::uint32_t take() noexcept {
        if (count_ == 0) { return no_slot; }
        --count_;
        return slots_[--end_ % count_max];
    }
    /// One that is taken soon. Returns: no_slot when there are not so many.
    [[nodiscard]] std::uint32_t ahead() const noexcept {
        return count_ < lookahead ? no_slot : slots_[(end_ - lookahead) % count_max];
    }
    void forget() noexcept { count_ = 0; }

    /// True when `index` is noted. O(count_max): for validate().
    [[nodiscard]] bool has(std::uint32_t index) const noexcept {
        for (std::uint32_t i = 1; i <= count_; ++i) {
            if (slots_[(end_ - i) % count_max] == index) { return true; }
        }
        return false;
    }

private:
    static constexpr std::uint32_t lookahead = 4;

    std::uint32_t end_ = 0;       // wraps: count_max divides 2^32
    moved<std::uint32_t> count_;  // of a map that was moved from: none
    std::uint32_t slots_[count_max];
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
