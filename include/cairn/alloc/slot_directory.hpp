// cairn/alloc/slot_directory.hpp - the slots that handles point at: generations, values, reuse.
//
//      handle {index 2, generation 5}
//                    |                                       word          value
//      slots:  +-----------+-----------+-----------+    +------------------------------------------+
//              | 1 | row 0 |F| 4 | ->3 | 5 | row 1 |    |   generation  yours          alive       |
//              +-----------+-----------+-----------+    | F|generation  next free      free        |
//                    0           1           2          | F|generation  held mark      given out,  |
//                                                       |                              empty yet   |
//      used_ ->  slots never used yet                   | F|0           next retired   retired     |
//                                                       +------------------------------------------+
//
// What slot_map, slot_map<table> and relocatable_heap share: it gives out slots, counts their lives
// and finds the 32-bit value of a live one. What the value means (a row, an offset) is the caller's.
//
// Use it for: any store that wants handles: keep it beside your data and let `value` lead there.
// Look elsewhere for: a ready-made store (slot_map, stable_slot_map).
//
// Invariant: a word equals a handle's generation only while the slot is in exactly that life.
// Reuse:     fifo   a free slot waits until `free_min` others are free too, oldest first: the lives
//                   of one busy slot are spread over all, so even 12-bit generations last (default)
//            lifo   the newest first: warmest cache, one slot's lives burn fastest
//            lowest the lowest index: small handles, and the same choice whatever happened before
// Retired:   a slot whose generations are used up is set aside and counted, never wrapped.
//            recycle_retired() brings all of them back, once you know that no old handle is left.
// Cost:      find: bounds check, one 8-byte load, one compare. occupy/vacate: a few loads and stores.
//            Memory: 8 bytes a slot.
// Threads:   one at a time; find() from many while nobody changes it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/free_bits.hpp>
#include <cairn/alloc/growable_memory.hpp>
#include <cairn/core/assert.hpp>

namespace cairn {

enum class reuse { fifo, lifo, lowest };

/// The proof that recycle_retired() asks for: write it only where it is true.
struct no_handles_left_t {
    explicit no_handles_left_t() = default;
};
inline constexpr no_handles_left_t no_handles_left{};

struct slot_rules {
    std::uint32_t slot_count_max;  // index_max + 1 of the handle
    std::uint32_t generation_max;
    std::uint32_t free_min;        // fifo: so many stay free before one is used again
};

/// Everything that does not depend on the order of reuse; not for direct use.
class slot_directory_base {
public:
    static constexpr std::uint32_t none = 0xffff'ffff;

    /// Slots in use: alive or held.
    [[nodiscard]] std::uint32_t in_use_count() const noexcept {
        return used_ - free_count_ - retired_count_;
    }
    /// Slots that have been used at least once; the indices of all handles given out are below.
    [[nodiscard]] std::uint32_t used_count() const noexcept { return used_; }
    [[nodiscard]] std::uint32_t free_count() const noexcept { return free_count_; }
    [[nodiscard]] std::uint32_t held_count() const noexcept { return held_count_; }
    [[nodiscard]] std::uint32_t retired_count() const noexcept { return retired_count_; }
    [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }

    /// The value of slot `index` if it is in life `generation`, else none.
    /// Any arguments are allowed: null, stale, from elsewhere, forged.
    [[nodiscard]] std::uint32_t find(std::uint32_t index,
                                     std::uint32_t generation) const noexcept {
        if (index < used_) [[likely]] {
            const slot& s = slots()[index];
            if (s.word == generation) [[likely]] { return s.value; }
        }
        return none;
    }

    /// Requires: `index` is alive.
    [[nodiscard]] std::uint32_t value(std::uint32_t index) const noexcept {
        CAIRN_ASSERT(is_alive(index), "the slot is alive");
        return slots()[index].value;
    }
    void set_value(std::uint32_t index, std::uint32_t value) noexcept {
        CAIRN_ASSERT(is_alive(index), "the slot is alive");
        slots()[index].value = value;
    }

    [[nodiscard]] bool is_alive(std::uint32_t index) const noexcept {
        return index < used_ && (slots()[index].word & vacant) == 0;
    }

    /// True when (index, generation) was given out by hold() and is not fulfilled yet.
    [[nodiscard]] bool is_held(std::uint32_t index, std::uint32_t generation) const noexcept {
        return index < used_ && slots()[index].word == (generation | vacant) &&
               slots()[index].value == held_mark;
    }

    /// The life that slot `index` is in, or will be in next.
    [[nodiscard]] std::uint32_t generation(std::uint32_t index) const noexcept {
        return index < used_ ? slots()[index].word & ~vacant : 1;
    }

    /// A held slot comes alive. Requires: it is held.
    void fulfil(std::uint32_t index, std::uint32_t value) noexcept {
        CAIRN_ASSERT(index < used_ && slots()[index].value == held_mark, "the slot is held");
        slots()[index] = {slots()[index].word & ~vacant, value};
        --held_count_;
    }

protected:
    struct slot {
        std::uint32_t word;
        std::uint32_t value;
    };
    static_assert(sizeof(slot) == 8);
    static constexpr std::uint32_t vacant = 0x8000'0000;     // above every generation
    static constexpr std::uint32_t held_mark = 0xffff'fffe;  // no slot has this index

    slot_directory_base(slot_rules rules, allocator_ref upstream) noexcept
        : rules_{rules}, memory_{cache_line_alignment, upstream} {}

    slot_directory_base(slot_directory_base&& other) noexcept;
    slot_directory_base& operator=(slot_directory_base&& other) noexcept;
    ~slot_directory_base() = default;

    slot* slots() const noexcept { return reinterpret_cast<slot*>(memory_.data()); }

    [[nodiscard]] bool grow(std::size_t slot_count) noexcept;
    [[nodiscard]] bool reserve_slots(std::size_t live_count) noexcept;
    void retire(std::uint32_t index) noexcept;
    void validate_counts(std::uint32_t free_found) const noexcept;

    slot_rules rules_;
    std::uint32_t used_ = 0;      // slots below have been used
    std::uint32_t capacity_ = 0;  // slots that fit the memory
    std::uint32_t free_count_ = 0;
    std::uint32_t head_ = none;  // free list: next to be used
    std::uint32_t tail_ = none;
    std::uint32_t held_count_ = 0;
    std::uint32_t retired_count_ = 0;
    std::uint32_t retired_head_ = none;
    growable_memory memory_;
};

namespace detail {

struct no_free_bits {
    explicit no_free_bits(allocator_ref) noexcept {}
    static bool ensure(std::size_t) noexcept { return true; }
    static bool reserve_address_space(std::size_t) noexcept { return true; }
};

template <reuse Order>
struct free_order {
    using bits = no_free_bits;
};
template <>
struct free_order<reuse::lowest> {
    using bits = free_bits;
};

}  // namespace detail

template <reuse Order = reuse::fifo>
class slot_directory : public slot_directory_base {
public:
    explicit slot_directory(slot_rules rules, allocator_ref upstream = system_memory()) noexcept
        : slot_directory_base{rules, upstream}, bits_{upstream} {}

    slot_directory(slot_directory&&) noexcept = default;
    slot_directory& operator=(slot_directory&&) noexcept = default;

    /// Makes room, so that `live_count` slots can be in use at once without growth.
    /// Returns: false when exhausted, or when the handle has too few index bits.
    [[nodiscard]] bool reserve(std::size_t live_count) noexcept {
        return reserve_slots(live_count) && bits_.ensure(capacity_);
    }

    /// Slots grow in place from now on, up to `live_max` in use at once.
    /// Requires: no slot was used yet.
    [[nodiscard]] bool reserve_address_space(std::size_t live_max) noexcept {
        const std::size_t slot_max = live_max + rules_.free_min;
        return memory_.reserve_address_space(slot_max * sizeof(slot)) &&
               bits_.reserve_address_space(slot_max);
    }

    /// The slot that the next occupy() or hold() will take; makes sure that there is one.
    /// Nothing that a caller can see changes. Returns: none when exhausted.
    [[nodiscard]] std::uint32_t next() noexcept {
        if constexpr (Order == reuse::lowest) {
            if (free_count_ != 0) { return bits_.lowest(); }
        } else {
            if (free_count_ > (Order == reuse::fifo ? rules_.free_min : 0)) { return head_; }
        }
        if (used_ < capacity_) [[likely]] { return used_; }
        return next_when_full();
    }

    /// Slot `index` begins a life and leads to `value`. Requires: index == next().
    void occupy(std::uint32_t index, std::uint32_t value) noexcept {
        take(index);
        slot& s = slots()[index];
        s = {s.word & ~vacant, value};
    }

    /// Slot `index` begins a life in which find() fails until fulfil(). Requires: index == next().
    void hold(std::uint32_t index) noexcept {
        take(index);
        slots()[index].value = held_mark;
        ++held_count_;
    }

    /// The life of slot `index` ends: every handle of it is stale from now on.
    /// Requires: it is alive or held.
    void vacate(std::uint32_t index) noexcept {
        slot& s = slots()[index];
        CAIRN_ASSERT(index < used_ && ((s.word & vacant) == 0 || s.value == held_mark),
                     "a slot that is vacated was in use");
        if ((s.word & vacant) != 0) [[unlikely]] { --held_count_; }
        const std::uint32_t next_generation = (s.word & ~vacant) + 1;
        if (next_generation > rules_.generation_max) [[unlikely]] {
            retire(index);
            return;
        }
        s.word = next_generation | vacant;
        give_back(index);
    }

    /// Every held slot ends its life.
    void vacate_held() noexcept {
        for (std::uint32_t i = 0; held_count_ != 0; ++i) {
            if (slots()[i].value == held_mark) { vacate(i); }
        }
    }

    /// All retired slots begin again at generation 1.
    /// Requires: no handle of any of their lives is left anywhere. That is what you sign.
    /// Returns: how many came back.
    std::uint32_t recycle_retired(no_handles_left_t) noexcept {
        const std::uint32_t count = retired_count_;
        for (std::uint32_t i = retired_head_; retired_count_ != 0; --retired_count_) {
            const std::uint32_t following = slots()[i].value;
            slots()[i].word = vacant | 1;
            give_back(i);
            i = following;
        }
        retired_head_ = none;
        return count;
    }

    /// Walks the free and retired slots; a broken invariant stops a checked build. O(slots).
    void validate() const noexcept {
        std::uint32_t found = 0;
        if constexpr (Order == reuse::lowest) {
            for (std::uint32_t i = 0; i < used_; ++i) { found += bits_.contains(i) ? 1u : 0u; }
        } else {
            for (std::uint32_t i = head_; i != none; i = slots()[i].value) {
                CAIRN_ASSERT((slots()[i].word & vacant) != 0, "a slot in the free list is vacant");
                ++found;
            }
        }
        validate_counts(found);
    }

private:
    std::uint32_t next_when_full() noexcept {
        if (used_ < rules_.slot_count_max && grow(std::size_t{used_} + 1) &&
            bits_.ensure(capacity_)) {
            return used_;
        }
        if constexpr (Order == reuse::lowest) {
            return none;
        } else {
            return head_;  // earlier than wished, but better than nothing; none when there is none
        }
    }

    void take(std::uint32_t index) noexcept {
        if (index == used_) {
            slots()[used_++].word = vacant | 1;
            return;
        }
        --free_count_;
        if constexpr (Order == reuse::lowest) {
            bits_.erase(index);
        } else {
            CAIRN_ASSERT(index == head_, "the slot taken is the one that next() named");
            head_ = slots()[index].value;
        }
    }

    void give_back(std::uint32_t index) noexcept {
        if constexpr (Order == reuse::lowest) {
            slots()[index].value = none;
            bits_.insert(index);
        } else if constexpr (Order == reuse::lifo) {
            slots()[index].value = head_;
            head_ = index;
        } else {
            slots()[index].value = none;
            if (head_ == none) {
                head_ = index;
            } else {
                slots()[tail_].value = index;
            }
            tail_ = index;
        }
        ++free_count_;
    }

    [[no_unique_address]] typename detail::free_order<Order>::bits bits_;
};

}  // namespace cairn
