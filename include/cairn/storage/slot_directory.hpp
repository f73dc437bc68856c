// cairn/storage/slot_directory.hpp - the slots that handles point at: generations, values, reuse.
//
//     handle {index 2, generation 5}
//                   |                                  +------------------------------------------+
//     slots:  +-----------+-----------+-----------+    |   word         value                     |
//             | 1 | row 0 |F| 4 |  -  | 5 | row 1 |    |   generation   yours         alive       |
//             +-----------+-----------+-----------+    | F|generation   (anything)    free        |
//                   0           1           2          | F|generation   promised     given out,   |
//                                                      |                              empty yet   |
//     free:   [ 1 | 3 | 4 | ...                        | F|0            next of them worn out     |
//             next to be used, in order                +------------------------------------------+
//
// The free slots stand in a row of their own and are not chained through each other: a chain would
// make every insertion wait for the cache miss of the one before.
//
// It gives out slots, counts their lives and finds the 32-bit value of a live one. What the value
// means (a row, an offset) is the caller's; two values are taken (value_max).
//
// Use it for: any store that wants handles: keep it beside your data and let `value` lead there.
// Look elsewhere for: a ready-made store (slot_map, stable_slot_map).
//
// Invariant: a word equals a handle's generation only while the slot is in exactly that life.
// Reuse:     fifo   a free slot waits until `free_min` others are free too, oldest first: the lives
//                   of one busy slot are spread over all, so even 12-bit generations last (default)
//            lifo   the newest first: warmest cache. After a 64th of its lives (1024 at most) one
//                   changes places with the next in turn of those that wait: lives are spread over
//                   all free ones, `free_min` at least
//            lowest the lowest index: small handles, and the same choice whatever happened before
//            Each is decided by what was done before and nothing else: equal on two machines.
// Lives:     begin at a number of the directory's own (generations.hpp), so that handles of another
//            one, or of what a directory held before it was moved from or assigned to, are told.
// Worn out:  a slot whose generations are used up is set aside and counted, never used again.
//            recycle_worn_out() brings all of them back, once you know that no old handle is left.
// Cost:      find: bounds check, one 8-byte load, one compare. occupy/vacate: a few loads and
//            stores.
//            Memory: 12 bytes a slot.
// Threads:   one at a time; find() from many while no thread changes it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/assert.hpp>
#include <cairn/storage/generations.hpp>
#include <cairn/storage/slot_directory/base.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// What is below, and what slot_directory/base.hpp says of slots in any order: finding, counting,
/// room, promised and worn-out slots.
template <reuse Order = reuse::fifo>
class slot_directory : public slot_directory_base {
    static_assert(Order != reuse::usual,
                  "what is usual depends on the handle, which a directory does not know");

public:
    explicit slot_directory(slot_rules rules, allocator_ref upstream = system_memory()) noexcept
        : slot_directory_base{rules, Order, upstream} {}

    /// The same slots in the same lives, free ones in the same order. Values are copied as they
    /// are.
    /// Requires: no slot was used or reserved yet; the same rules.
    /// Returns: false when exhausted; the directory can only be destroyed then.
    [[nodiscard]] bool copy_from(const slot_directory& other) noexcept { return copy_slots(other); }

    /// The slot that the next occupy() or promise() will take; makes sure that there is one.
    /// Nothing that a caller can see changes. Returns: none when exhausted.
    [[nodiscard]] std::uint32_t next() noexcept { return prepare() ? peek() : none; }

    /// The two halves of next(). peek() requires: prepare() returned true and nothing came between.
    [[nodiscard]] bool prepare() noexcept { return live_ < limit_ || make_ready(); }
    [[nodiscard]] std::uint32_t peek() noexcept {
        if constexpr (Order == reuse::lowest) {
            return free_.lowest();
        } else {
            return line()[Order == reuse::fifo ? head_ : head_ - 1];
        }
    }

    /// Slot `index` begins a life and leads to `value`.
    /// Requires: index == next(); value <= value_max.
    void occupy(std::uint32_t index, std::uint32_t value) noexcept {
        occupy(index, slots()[index].word & ~vacant, value);
    }
    /// The same for a caller who knows its generation(), from the handle.
    void occupy(std::uint32_t index, std::uint32_t generation, std::uint32_t value) noexcept {
        CAIRN_ASSERT(slots()[index].word == (generation | vacant), "a slot begins its next life");
        CAIRN_ASSERT(value <= value_max, "a value is at most value_max");
        take<Order>(index);
        ++live_;
        slots()[index] = {generation, value};
    }

    /// Slot `index` begins a life in which find() fails until fulfil(). Requires: index == next().
    void promise(std::uint32_t index) noexcept {
        take<Order>(index);
        slots()[index].value = promised_mark;
        ++promised_count_;
        set_limit();
    }

    /// The life of slot `index` ends: every handle of it is stale from now on.
    /// Requires: it is alive or promised.
    void vacate(std::uint32_t index) noexcept {
        const slot& s = slots()[index];
        CAIRN_ASSERT(index < capacity_ && ((s.word & vacant) == 0 || s.value == promised_mark),
                     "a slot that is vacated was in use");
        if ((s.word & vacant) != 0) [[unlikely]] { return end_promise(index); }
        --live_;
        end_life<Order>(index, s.word);
    }

    /// As vacate(), for a slot that find(index, generation) has just found.
    void vacate_live(std::uint32_t index, std::uint32_t generation) noexcept {
        CAIRN_ASSERT(index < capacity_ && slots()[index].word == generation,
                     "a slot that is vacated was in use");
        --live_;
        end_life<Order>(index, generation);
    }
};

template <reuse Order>
inline void slot_directory_base::take([[maybe_unused]] std::uint32_t index) noexcept {
    if constexpr (Order == reuse::lowest) {
        free_.erase(index);
    } else if constexpr (Order == reuse::lifo) {
        CAIRN_ASSERT(index == line()[head_ - 1], "the slot taken is the one next() named");
        --head_;
    } else {
        CAIRN_ASSERT(index == line()[head_], "the slot taken is the one that next() named");
        head_ = head_ + 1 == capacity_ ? 0 : head_ + 1;
    }
}

template <reuse Order>
inline void slot_directory_base::give_back(std::uint32_t index) noexcept {
    if constexpr (Order == reuse::lowest) {
        free_.insert(index);
    } else if constexpr (Order == reuse::lifo) {
        line()[head_++] = index;
    } else {
        const std::uint32_t tail = tail_;  // the store might mean it, says the compiler
        line()[tail] = index;
        tail_ = tail + 1 == capacity_ ? 0 : tail + 1;
    }
}

template <reuse Order>
inline void slot_directory_base::end_life(std::uint32_t index, std::uint32_t generation) noexcept {
    if (lives_.turns_at(generation)) [[unlikely]] {
        if (generation == lives_.last()) { return wear_out(index); }
        slots()[index].word = vacant | 1;  // the ring of generations closes
    } else {
        slots()[index].word = generation + (vacant + 1);
    }
    if constexpr (Order == reuse::lifo) {
        // By the index, too: slots that live and die together do not all make way in one frame.
        if (((generation + index) & turn_mask_) == 0) [[unlikely]] { return make_way(index); }
    }
    give_back<Order>(index);
}

}}  // namespace cairn::CAIRN_FLAVOUR
