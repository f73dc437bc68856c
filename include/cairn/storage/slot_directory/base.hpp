// cairn/storage/slot_directory/base.hpp - slots, whatever the order in which they are used again.
//
//      memory_:  a slot after the other, 8 bytes each       free_:  what waits, by order
//      +------+-------+------+-------+- - -                  fifo    a ring   [head_ ... tail_)
//      | word | value | word | value |                       lifo    a stack  [0 ... head_)
//      +------+-------+------+-------+- - -                  lowest  a tree of bits
//
// Looking a slot up, counting slots and making room for them is the same in every order. Taking one
// and giving it back is not: slot_directory.hpp.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <cairn/core/assert.hpp>
#include <cairn/core/inside/moved.hpp>
#include <cairn/storage/generations.hpp>
#include <cairn/storage/growable_memory.hpp>
#include <cairn/storage/slot_directory/free_bits.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

struct slot_rules {
    std::uint32_t slot_count_max;  // index_max + 1 of the handle
    std::uint32_t generation_max;
    std::uint32_t free_min;              // so many stay free before one is used again
    std::uint32_t first_generation = 0;  // 0: a number of the directory's own
};

/// Everything that does not depend on the order of reuse; not for direct use.
class slot_directory_base {
public:
    /// No slot.
    static constexpr std::uint32_t none = 0xffff'ffff;
    /// The largest value of a slot: the two above it mean none, and a slot that is promised.
    static constexpr std::uint32_t value_max = 0xffff'fffd;

    struct slot {
        std::uint32_t word;  // see the picture
        std::uint32_t value;
    };
    static_assert(sizeof(slot) == 8);
    /// All slots, for owners that look handles up themselves: as find(), without the bounds check
    /// where a handle can only be one that was given out. Moves when the slots grow.
    [[nodiscard]] const slot* data() const noexcept { return slots(); }

    /// Slots in use: alive or promised.
    [[nodiscard]] std::uint32_t in_use_count() const noexcept { return live_ + promised_count_; }
    [[nodiscard]] std::uint32_t live_count() const noexcept { return live_; }
    [[nodiscard]] std::uint32_t promised_count() const noexcept { return promised_count_; }
    [[nodiscard]] std::uint32_t worn_out_count() const noexcept { return worn_out_count_; }
    [[nodiscard]] std::uint32_t free_count() const noexcept {
        return capacity_ - in_use_count() - worn_out_count_;
    }
    /// All slots there are; every index given out is below.
    [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }

    /// The value of slot `index` if it is in life `generation`, else none.
    /// Any arguments are allowed: null, stale, from elsewhere, forged.
    [[nodiscard]] [[gnu::always_inline]] std::uint32_t find(
        std::uint32_t index, std::uint32_t generation) const noexcept {
#ifndef __OPTIMIZE__
        return find_called(index, generation);
#else
        // Before the question, so that loops keep it in a register.
        const auto* const all = reinterpret_cast<const slot*>(memory_.data());
        if (index < capacity_) [[likely]] {
            const slot* const s = all + index;
            if (s->word == generation) [[likely]] { return s->value; }
        }
        return none;
#endif
    }

    /// The same as a question: true, and `value` is that of the slot. One branch for the caller.
    [[nodiscard]] [[gnu::always_inline]] bool find(std::uint32_t index, std::uint32_t generation,
                                                   std::uint32_t& value) const noexcept {
#ifndef __OPTIMIZE__
        value = find_called(index, generation);
        return value != none;
#else
        const auto* const all = reinterpret_cast<const slot*>(memory_.data());
        if (index >= capacity_) [[unlikely]] { return false; }
        const slot* const s = all + index;
        value = s->value;
        return s->word == generation;
#endif
    }

    // For callers that are not optimized: calls of the library, which is, in Debug builds, too.

    /// As find().
    [[nodiscard]] std::uint32_t find_called(std::uint32_t index,
                                            std::uint32_t generation) const noexcept;
    struct place {
        void* object;  // null: the slot is not in that life
        void* end;     // of the rows
    };
    /// Where the value of the slot leads among `count` rows of `row_size` bytes.
    [[nodiscard]] place find_place(std::uint32_t index, std::uint32_t generation, const void* rows,
                                   std::size_t row_size, std::size_t count) const noexcept;

    /// Requires: `index` is alive.
    [[nodiscard]] std::uint32_t value(std::uint32_t index) const noexcept {
        CAIRN_ASSERT(is_alive(index), "the slot is alive");
        return slots()[index].value;
    }
    /// Requires: as value(); value <= value_max.
    void set_value(std::uint32_t index, std::uint32_t value) noexcept {
        CAIRN_ASSERT(is_alive(index), "the slot is alive");
        CAIRN_ASSERT(value <= value_max, "a value is at most value_max");
        slots()[index].value = value;
    }

    /// True when the slot has an object.
    [[nodiscard]] bool is_alive(std::uint32_t index) const noexcept {
        return index < capacity_ && (slots()[index].word & vacant) == 0;
    }

    /// True when (index, generation) was given out by promise() and is not fulfilled yet.
    [[nodiscard]] bool is_promised(std::uint32_t index, std::uint32_t generation) const noexcept {
        return index < capacity_ && slots()[index].word == (generation | vacant) &&
               slots()[index].value == promised_mark;
    }

    /// Why (index, generation) finds nothing. Any arguments are allowed. O(1), cold.
    [[nodiscard]] handle_fault fault_of(std::uint32_t index,
                                        std::uint32_t generation) const noexcept;
    /// Stops the program and names what is wrong with (index, generation), a handle of `map`, which
    /// is a `type`. Requires: it finds nothing.
    [[noreturn, gnu::cold]] void refuse(std::uint32_t index, std::uint32_t generation,
                                        const void* map, const char* type, call_site from) const;

    /// The life that slot `index` is in, or will be in next.
    [[nodiscard]] std::uint32_t generation(std::uint32_t index) const noexcept {
        CAIRN_ASSERT(index < capacity_, "a slot index is below capacity()");
        return slots()[index].word & ~vacant;
    }

    /// Makes room, so that `live_count` slots can be in use at once without growth.
    /// Returns: false when exhausted, or when the handle has too few index bits.
    [[nodiscard]] bool reserve(std::size_t live_count) noexcept;
    /// Slots grow in place from now on, up to `live_max` in use at once and free_min more. That is
    /// all there will ever be: those that wear out are not replaced.
    /// Requires: no slot was used yet.
    /// Returns: false for 0, for more than slot_count_max, and when the system refuses.
    [[nodiscard]] bool reserve_address_space(std::size_t live_max, page_options how = {}) noexcept;

    /// A promised slot comes alive. Requires: it is promised; value <= value_max.
    void fulfil(std::uint32_t index, std::uint32_t value) noexcept {
        CAIRN_ASSERT(index < capacity_ && slots()[index].value == promised_mark,
                     "the slot is promised");
        CAIRN_ASSERT(value <= value_max, "a value is at most value_max");
        slots()[index] = {slots()[index].word & ~vacant, value};
        --promised_count_;
        ++live_;
        set_limit();
    }

    /// Every promised slot ends its life.
    void vacate_promised() noexcept;
    /// All worn-out slots begin again at their first generation.
    /// Requires: no handle of any of their lives is left anywhere: `no_handles_left` says so.
    /// Returns: how many came back.
    std::uint32_t recycle_worn_out(no_handles_left_t) noexcept;

    /// is_ready() is false from now on while `count` or more are alive: for an owner whose columns
    /// have room for so many, so that one comparison answers for all of them. A directory that was
    /// moved from has an owner without room.
    void set_live_max(std::size_t count) noexcept {
        live_max_.value = count < none ? static_cast<std::uint32_t>(count) : none;
        set_limit();
    }

    /// True when the next life needs no growth, here or in the owner's columns.
    [[nodiscard]] bool is_ready() const noexcept { return live_ < limit_; }

    /// Walks the free and worn-out slots; a broken invariant stops a checked build. O(slots).
    void validate() const noexcept;

protected:
    static constexpr std::uint32_t vacant = detail::generations::vacant;
    static constexpr std::uint32_t promised_mark = value_max + 1;

    slot_directory_base(slot_rules rules, reuse order, allocator_ref upstream) noexcept
        : memory_{cache_line_alignment, upstream},
          lives_{rules.generation_max, rules.first_generation},
          rules_{rules},
          turn_mask_{turn_mask(rules.generation_max)},
          order_{order},
          free_{upstream} {}

    [[gnu::always_inline]] slot* slots() const noexcept {
        return reinterpret_cast<slot*>(memory_.data());
    }

    std::uint32_t* line() const noexcept {
        return reinterpret_cast<std::uint32_t*>(free_.memory().data());
    }

    /// Slot `index`, which is next, is free no more.
    template <reuse Order>
    void take(std::uint32_t index) noexcept;
    /// Slot `index` waits for its next life; the caller counts.
    template <reuse Order>
    void give_back(std::uint32_t index) noexcept;
    /// Life `generation` of slot `index` ends, and the slot waits or is worn out.
    template <reuse Order>
    void end_life(std::uint32_t index, std::uint32_t generation) noexcept;

    /// A 64th of a slot's lives, but 16 at least and 1024 at most, less one: a mask.
    [[nodiscard]] static constexpr std::uint32_t turn_mask(std::uint32_t generation_max) noexcept {
        const std::uint32_t share = generation_max / 64;
        return std::bit_ceil(share < 16 ? 16 : share < 1024 ? share : 1024) - 1;
    }

    [[nodiscard]] bool copy_slots(const slot_directory_base& other) noexcept;
    [[nodiscard]] bool make_ready() noexcept;
    void end_promise(std::uint32_t index) noexcept;
    void set_limit() noexcept;
    void wear_out(std::uint32_t index) noexcept;
    [[gnu::cold]] void make_way(std::uint32_t index) noexcept;

    /// What set_live_max() said. 0 after it was moved from; none, of a directory without an owner,
    /// stays.
    struct owner_max {
        std::uint32_t value = none;

        owner_max() = default;
        owner_max(owner_max&& other) noexcept : value{other.value} { other.leave(); }
        owner_max& operator=(owner_max&& other) noexcept {
            value = other.value;
            other.leave();
            return *this;
        }
        void leave() noexcept { value = value == none ? none : 0; }
    };

    //  capacity_ = live_ + promised_count_ + worn_out_count_ + free        slots
    //  fifo:  the free ones are line()[head_ .. tail_), modulo capacity_
    //  lifo:  they are line()[0 .. head_), and head_ is how many
    //  live_ < limit_ where a slot is ready: set_limit() has the equation
    // Hot fields first, near each other: stores to one cache line leave two at a time. The two list
    // ends stand apart from live_ even so, or the compiler joins their stores into one wide store,
    // from which the next load cannot be forwarded.
    template <class T>
    using moved = detail::moved<T>;
    moved<std::uint32_t> live_;
    moved<std::uint32_t> limit_;  // live_ below this: a slot is ready, free_min others stay,
                                  // and the owner has room (live_max_)
    moved<std::uint32_t> capacity_;
    moved<std::uint32_t> head_;  // fifo: where the next slot is taken; lifo: how many are free
    growable_memory memory_;
    moved<std::uint32_t> tail_;  // fifo: where the next free slot is put; lifo: who came up last
    detail::generations lives_;
    slot_rules rules_;
    std::uint32_t turn_mask_;  // lifo: so many lives, less one, before a slot makes way
    reuse order_;
    moved<std::uint32_t> promised_count_;
    moved<std::uint32_t> worn_out_count_;
    detail::moved<std::uint32_t, none> worn_out_head_;
    owner_max live_max_;
    free_bits free_;  // lowest: the free indices; fifo: its memory is a ring of them, lifo: a stack

private:
    [[nodiscard]] bool grow(std::size_t needed, bool takes_little) noexcept;
    [[nodiscard]] bool grow_exactly(std::uint32_t count) noexcept;
    void widen_ring(std::uint32_t count) noexcept;
    void widen_stack(std::uint32_t count) noexcept;
    void give_any_back(std::uint32_t index) noexcept;
};

}}  // namespace cairn::CAIRN_FLAVOUR
