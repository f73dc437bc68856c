// cairn/storage/inside/slot_directory.hpp - the slots that handles name: lives, values, reuse.
//
//     handle {index 2, generation 5}
//                   |                                  +------------------------------------------+
//     slots_: +-----------+-----------+-----------+    |   word         value                     |
//             | 1 | row 0 |F| 4 |  -  | 5 | row 1 |    |   generation   yours         alive       |
//             +-----------+-----------+-----------+    | F|generation   (anything)    free        |
//                   0           1           2          | F|generation   promised     given out,   |
//                                                      |                              empty yet   |
//     line_:  the indices of the free slots            | F|0            next of them worn out     |
//     fifo    a ring   [head_ ... tail_)               +------------------------------------------+
//     lifo    a stack  [0 ... head_)
//
// The free slots stand in an array of their own and are not chained through each other: with a
// chain every insertion would wait for the cache miss of the one before.
//
// The directory gives out slots, counts their lives and finds the 32-bit value of a live slot. The
// caller chooses what the value means (a row, an offset); two values are taken (value_max).
//
// Use it for: any store that wants handles: keep it beside your data and let `value` lead there.
// Look elsewhere for: a ready-made store (slot_map, stable_slot_map).
//
// Invariant: a word equals a handle's generation only while the slot is in exactly that life.
//            capacity_ = live_ + promised_count_ + worn_out_count_ + free slots; each free slot
//            stands in line_ exactly once.
// Reuse:     fifo   a free slot waits until `free_min` others are free too, oldest first: the lives
//                   of one busy slot are spread over all, so even 12-bit generations last (default)
//            lifo   the newest first: it is still in the cache. After a 64th of its lives (1024 at
//                   most) a freed slot is exchanged with another free slot, so that lives are
//                   spread over all free slots, `free_min` at least
//            Both depend only on the calls made before: equal on two machines.
// Lives:     begin at a number of the directory's own (generations.hpp), so that handles of another
//            directory, or of what this one held before it was moved from or assigned to, find
//            nothing.
// Worn out:  a slot whose generations are used up is set aside and counted, never used again.
//            recycle_worn_out() brings all of them back, once you know that no old handle is left.
// Cost:      find: bounds check, one 8-byte load, one compare. occupy/vacate: a few loads and
//            stores. Memory: 12 bytes a slot.
// Threads:   one at a time; find() from many while no thread changes it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/assert.hpp>
#include <cairn/storage/generations.hpp>
#include <cairn/storage/inside/growable_memory.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

struct slot_rules {
    std::uint32_t slot_count_max;  // index_max + 1 of the handle
    std::uint32_t generation_max;
    std::uint32_t free_min;              // so many stay free before one is used again
    std::uint32_t first_generation = 0;  // 0: a number of the directory's own
};

/// A slot of a directory: see the picture.
struct directory_slot {
    std::uint32_t word;
    std::uint32_t value;
};
static_assert(sizeof(directory_slot) == 8);

/// The numbers of a directory. A directory that was moved from has those of an empty one.
struct directory_numbers {
    directory_numbers() = default;
    directory_numbers(directory_numbers&& other) noexcept;
    directory_numbers& operator=(directory_numbers&& other) noexcept;
    void copy_numbers(const directory_numbers& other) noexcept;

    // Hot fields first, near each other: stores to one cache line leave two at a time. head_ and
    // tail_ stand apart from live_ even so, or the compiler joins their stores into one wide store,
    // from which the next load cannot be forwarded.
    std::uint32_t live_ = 0;
    std::uint32_t limit_ = 0;  // live_ below this: a slot is ready, free_min others stay free,
                               // and the owner has room (live_max_)
    std::uint32_t capacity_ = 0;
    std::uint32_t head_ = 0;  // fifo: where the next slot is taken; lifo: how many are free
    directory_slot* slots_ = nullptr;
    std::uint32_t* line_ = nullptr;  // as long as capacity_
    std::uint32_t tail_ = 0;         // fifo: where the next free slot is put; lifo: exchanged last
    std::uint32_t promised_count_ = 0;
    std::uint32_t worn_out_count_ = 0;
    std::uint32_t worn_out_head_ = 0xffff'ffff;  // the worn-out slots are chained by their values
    std::uint32_t live_max_ = 0xffff'ffff;       // what set_live_max() was given
    // Of the rules, kept by a directory that was moved from. It stands here because the Microsoft
    // ABI puts no member of a derived class into the room at the end of a base.
    std::uint32_t turn_mask_ = 0;  // lifo: so many lives, less one, before a slot is exchanged

private:
    directory_numbers(const directory_numbers&) = default;
    directory_numbers& operator=(const directory_numbers&) = default;
};

/// `Order`: fifo or lifo. Both are compiled once, in the library.
template <reuse Order = reuse::fifo>
class slot_directory : private directory_numbers {
    static_assert(Order != reuse::usual,
                  "what is usual depends on the handle, which a directory does not know");

public:
    /// The two words of a slot.
    using slot = directory_slot;
    /// No slot.
    static constexpr std::uint32_t none = 0xffff'ffff;
    /// The largest value of a slot: the two above it mean none, and a slot that is promised.
    static constexpr std::uint32_t value_max = 0xffff'fffd;

    explicit slot_directory(slot_rules rules, allocator_ref upstream = system_memory()) noexcept;

    /// Takes the slots of `other`, which is empty afterwards: its owner has no limit (live_max).
    slot_directory(slot_directory&& other) noexcept = default;
    slot_directory& operator=(slot_directory&& other) noexcept = default;
    // A copy can fail: copy_from().
    slot_directory(const slot_directory&) = delete;
    slot_directory& operator=(const slot_directory&) = delete;

    // ---- finding ------------------------------------------------------------------------------

    /// The value of slot `index` if it is in life `generation`, else none.
    /// Any arguments are allowed: null, stale, from elsewhere, forged.
    [[nodiscard]] [[CAIRN_FORCE_INLINE]] std::uint32_t find(
        std::uint32_t index, std::uint32_t generation) const noexcept {
        const slot* const all = slots_;  // before the question: loops keep it in a register
        if (index < capacity_) [[likely]] {
            if (all[index].word == generation) [[likely]] { return all[index].value; }
        }
        return none;
    }
    /// The same as a question: true, and `value` is that of the slot. One branch for the caller.
    [[nodiscard]] [[CAIRN_FORCE_INLINE]] bool find(std::uint32_t index, std::uint32_t generation,
                                                   std::uint32_t& value) const noexcept {
        const slot* const all = slots_;
        if (index >= capacity_) [[unlikely]] { return false; }
        value = all[index].value;
        return all[index].word == generation;
    }
    /// All slots, for owners that look handles up themselves: as find(), without the bounds check
    /// where a handle can only be one that was given out. Moves when the slots grow.
    [[nodiscard]] const slot* data() const noexcept { return slots_; }

    /// Requires: `index` is alive.
    [[nodiscard]] std::uint32_t value(std::uint32_t index) const noexcept {
        CAIRN_ASSERT(is_alive(index), "the slot is alive");
        return slots_[index].value;
    }
    /// Requires: as value(); value <= value_max.
    void set_value(std::uint32_t index, std::uint32_t value) noexcept {
        CAIRN_ASSERT(is_alive(index), "the slot is alive");
        CAIRN_ASSERT(value <= value_max, "a value is at most value_max");
        slots_[index].value = value;
    }
    /// The life that slot `index` is in, or will be in next.
    [[nodiscard]] std::uint32_t generation(std::uint32_t index) const noexcept {
        CAIRN_ASSERT(index < capacity_, "a slot index is below capacity()");
        return slots_[index].word & ~vacant;
    }
    /// The lives that a slot in life `generation` can still begin.
    [[nodiscard]] std::uint32_t lives_behind(std::uint32_t generation) const noexcept;
    /// True when the slot has an object.
    [[nodiscard]] bool is_alive(std::uint32_t index) const noexcept {
        return index < capacity_ && (slots_[index].word & vacant) == 0;
    }
    /// True when (index, generation) was given out by promise() and is not fulfilled yet.
    [[nodiscard]] bool is_promised(std::uint32_t index, std::uint32_t generation) const noexcept;
    /// Why (index, generation) finds nothing. Any arguments are allowed. O(1), cold.
    [[nodiscard]] handle_fault fault_of(std::uint32_t index,
                                        std::uint32_t generation) const noexcept;
    /// Stops the program and names what is wrong with (index, generation), a handle of `map`, which
    /// is a `type`. Requires: it finds nothing.
    [[noreturn, CAIRN_COLD]] void refuse(std::uint32_t index, std::uint32_t generation,
                                         const void* map, const char* type, call_site from) const;

    // ---- counting -----------------------------------------------------------------------------

    /// Slots in use: alive or promised.
    [[nodiscard]] std::uint32_t in_use_count() const noexcept { return live_ + promised_count_; }
    [[nodiscard]] std::uint32_t live_count() const noexcept { return live_; }
    [[nodiscard]] std::uint32_t promised_count() const noexcept { return promised_count_; }
    [[nodiscard]] std::uint32_t worn_out_count() const noexcept { return worn_out_count_; }
    [[nodiscard]] std::uint32_t free_count() const noexcept {
        return capacity_ - in_use_count() - worn_out_count_;
    }
    /// All slots; every index given out is below.
    [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }

    // ---- lives begin and end ------------------------------------------------------------------

    /// The slot that the next occupy() or promise() will take; makes sure that there is one.
    /// Nothing that a caller can see changes. Returns: none when exhausted.
    [[nodiscard]] std::uint32_t next() noexcept { return prepare() ? peek() : none; }

    /// The two halves of next(). peek() requires: prepare() returned true and nothing came between.
    [[nodiscard]] bool prepare() noexcept { return live_ < limit_ || make_ready(); }
    /// The slow half of prepare(). The block that the slots leave goes into `old`, or back at once.
    [[nodiscard]] bool make_ready(growable_memory::left_block* old = nullptr) noexcept;
    [[nodiscard]] std::uint32_t peek() const noexcept {
        return line_[Order == reuse::fifo ? head_ : head_ - 1];
    }
    /// True when the next life needs no growth, here or in the owner's columns (set_live_max()).
    [[nodiscard]] bool is_ready() const noexcept { return live_ < limit_; }

    /// Slot `index` begins a life and leads to `value`.
    /// Requires: index == next(); value <= value_max.
    void occupy(std::uint32_t index, std::uint32_t value) noexcept {
        occupy(index, slots_[index].word & ~vacant, value);
    }
    /// The same for a caller who knows its generation(), from the handle.
    void occupy(std::uint32_t index, std::uint32_t generation, std::uint32_t value) noexcept {
        CAIRN_ASSERT(slots_[index].word == (generation | vacant), "a slot begins its next life");
        CAIRN_ASSERT(value <= value_max, "a value is at most value_max");
        take(index);
        ++live_;
        slots_[index] = {generation, value};
    }

    /// Slot `index` begins a life in which find() fails until fulfil(). Requires: index == next().
    void promise(std::uint32_t index) noexcept;
    /// A promised slot comes alive. Requires: it is promised; value <= value_max.
    void fulfil(std::uint32_t index, std::uint32_t value) noexcept;

    /// The life of slot `index` ends: every handle of it is stale from now on.
    /// Requires: it is alive or promised.
    void vacate(std::uint32_t index) noexcept;
    /// As vacate(), for a slot that find(index, generation) has just found.
    void vacate_live(std::uint32_t index, std::uint32_t generation) noexcept {
        CAIRN_ASSERT(index < capacity_ && slots_[index].word == generation,
                     "a slot that is vacated was in use");
        --live_;
        end_life(index, generation);
    }
    /// No handle finds slot `index`, which is alive, until vacate_live(): each one is stale.
    /// For the destructor of what the slot leads to. stop_hiding() comes before set_value() and
    /// vacate_live(), whose asserts alone read the word.
    void hide(std::uint32_t index) noexcept { slots_[index].word = vacant; }
    void stop_hiding(std::uint32_t index, std::uint32_t generation) noexcept {
        if constexpr (asserts_enabled) { show(index, generation); }
    }
    /// Handles find the slot again.
    void show(std::uint32_t index, std::uint32_t generation) noexcept {
        slots_[index].word = generation;
    }
    /// As vacate_live() for the slots of handles[count - 1] ... handles[0], all that live.
    template <class Handle>
    void vacate_rows(const Handle* handles, std::size_t count) noexcept {
        // In a register: the stores below might change it, for all a compiler knows.
        std::uint32_t& where = Order == reuse::lifo ? head_ : tail_;
        std::uint32_t next = where;
        for (; count != 0; --count) {
            const std::uint32_t index = handles[count - 1].index();
            const std::uint32_t life = handles[count - 1].generation();
            if (lives_.turns_at(life) || is_exchanged(index, life)) [[unlikely]] {
                where = next;
                end_life(index, life);
                next = where;
            } else {
                slots_[index].word = life + (vacant + 1);
                line_[next++] = index;
                if (Order == reuse::fifo && next == capacity_) { next = 0; }
            }
        }
        where = next;
        live_ = 0;
    }
    /// Every promised slot ends its life.
    void vacate_promised() noexcept;
    /// All worn-out slots begin again at their first generation.
    /// Requires: no handle of any of their lives is left anywhere: `no_handles_left` says so.
    /// Returns: how many came back.
    std::uint32_t recycle_worn_out(no_handles_left_t) noexcept;

    // ---- room ---------------------------------------------------------------------------------

    /// Makes room, so that `live_count` slots can be in use at once without growth.
    /// Returns: false when exhausted, or when the handle has too few index bits.
    [[nodiscard]] bool reserve(std::size_t live_count) noexcept;
    /// Slots grow in place from now on, up to `live_max` in use at once and free_min more. No other
    /// slots will ever exist: those that wear out are not replaced.
    /// Requires: no slot was used yet.
    /// Returns: false for 0, for more than slot_count_max, and when the system refuses.
    [[nodiscard]] bool reserve_address_space(std::size_t live_max, page_options how = {}) noexcept;
    /// Gives back the free slots behind the last one that is in use or worn out, and the memory
    /// that no slot needs. Those that have lived more than a 16th of their lives stay
    /// (generations.hpp). A handle of a slot that went finds nothing, now and later. O(slots).
    /// Returns: false when the upstream has no smaller block; the memory stays as large then.
    [[nodiscard]] bool shrink_to_fit() noexcept;
    /// From now on the free slot with the lowest index is used first, until slots become free.
    /// O(slots).
    void sort_free() noexcept;
    /// is_ready() is false from now on while `count` or more are alive: for an owner whose columns
    /// have room for so many, so that one comparison answers for all of them.
    void set_live_max(std::size_t count) noexcept {
        live_max_ = count < none ? static_cast<std::uint32_t>(count) : none;
        set_limit();
    }

    /// The same slots in the same lives, free ones in the same order. Values are copied as they
    /// are.
    /// Requires: no slot was used or reserved yet; the same rules.
    /// Returns: false when exhausted; the directory can only be destroyed then.
    [[nodiscard]] bool copy_from(const slot_directory& other) noexcept;

    /// Walks the free and worn-out slots; a broken invariant stops a checked build. O(slots).
    void validate() const noexcept;

private:
    static constexpr std::uint32_t vacant = generations::vacant;
    static constexpr std::uint32_t promised_mark = value_max + 1;

    /// Slot `index`, which is next, is free no more.
    void take([[maybe_unused]] std::uint32_t index) noexcept {
        CAIRN_ASSERT(index == peek(), "the slot taken is the slot that next() returned");
        if constexpr (Order == reuse::lifo) {
            --head_;
        } else {
            head_ = head_ + 1 == capacity_ ? 0 : head_ + 1;
        }
    }
    /// Slot `index` waits for its next life; the caller counts.
    void give_back(std::uint32_t index) noexcept {
        if constexpr (Order == reuse::lifo) {
            line_[head_++] = index;
        } else {
            const std::uint32_t tail = tail_;  // the store might change it, for all gcc knows
            line_[tail] = index;
            tail_ = tail + 1 == capacity_ ? 0 : tail + 1;
        }
    }
    /// Life `generation` of slot `index` ends, and the slot waits or is worn out.
    void end_life(std::uint32_t index, std::uint32_t generation) noexcept {
        if (lives_.turns_at(generation)) [[unlikely]] {
            if (generation == lives_.last()) { return wear_out(index); }
            slots_[index].word = vacant | 1;  // the ring of generations closes
        } else {
            slots_[index].word = generation + (vacant + 1);
        }
        if (is_exchanged(index, generation)) [[unlikely]] { return exchange(index); }
        give_back(index);
    }
    /// By the index, too: slots that live and die together are not all exchanged in one frame.
    [[nodiscard]] bool is_exchanged(std::uint32_t index, std::uint32_t generation) const noexcept {
        return Order == reuse::lifo && ((generation + index) & turn_mask_) == 0;
    }

    [[CAIRN_COLD]] void exchange(std::uint32_t index) noexcept;
    void wear_out(std::uint32_t index) noexcept;
    void end_promise(std::uint32_t index) noexcept;
    void set_limit() noexcept;
    using left_block = growable_memory::left_block;
    [[nodiscard]] bool grow(std::size_t needed, bool takes_little, left_block* old) noexcept;
    [[nodiscard]] bool grow_exactly(std::uint32_t count, left_block* old) noexcept;
    void widen_line(std::uint32_t count) noexcept;
    void narrow_line(std::uint32_t count) noexcept;

    generations lives_;
    slot_rules rules_;
    growable_memory slot_memory_;
    growable_memory line_memory_;
};

extern template class slot_directory<reuse::fifo>;
extern template class slot_directory<reuse::lifo>;

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
