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
// What slot_map and slot_table share: it gives out slots, counts their lives
// and finds the 32-bit value of a live one. What the value means (a row, an offset) is the
// caller's.
//
// Use it for: any store that wants handles: keep it beside your data and let `value` lead there.
// Look elsewhere for: a ready-made store (slot_map, stable_slot_map).
//
// Invariant: a word equals a handle's generation only while the slot is in exactly that life.
// Reuse:     fifo   a free slot waits until `free_min` others are free too, oldest first: the lives
//                   of one busy slot are spread over all, so even 12-bit generations last (default)
//            lifo   the newest first: warmest cache, one slot's lives burn fastest
//            lowest the lowest index: small handles, and the same choice whatever happened before
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
#include <cairn/storage/growable_memory.hpp>
#include <cairn/storage/slot_directory/free_bits.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

enum class reuse { fifo, lifo, lowest };

/// A handle and its object, as items() of a map names them: for (auto [h, object] : map.items()).
template <class Handle, class Reference>
struct slot_item {
    Handle handle;
    Reference object;
};

/// The proof that recycle_worn_out() asks for: write it only where it is true.
struct no_handles_left_t {
    explicit no_handles_left_t() = default;
};
inline constexpr no_handles_left_t no_handles_left{};

struct slot_rules {
    std::uint32_t slot_count_max;  // index_max + 1 of the handle
    std::uint32_t generation_max;
    std::uint32_t free_min;              // fifo: so many stay free before one is used again
    std::uint32_t first_generation = 0;  // 0: a number of the directory's own
};

/// Everything that does not depend on the order of reuse; not for direct use.
class slot_directory_base {
public:
    static constexpr std::uint32_t none = 0xffff'ffff;

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
    [[nodiscard]] std::uint32_t find(std::uint32_t index, std::uint32_t generation) const noexcept {
        const slot* const all =
            slots();  // before the question, so that loops keep it in a register
        if (index < capacity_) [[likely]] {
            const slot& s = all[index];
            if (s.word == generation) [[likely]] { return s.value; }
        }
        return none;
    }

    /// The same as a question: true, and `value` is that of the slot. One branch for the caller.
    [[nodiscard]] bool find(std::uint32_t index, std::uint32_t generation,
                            std::uint32_t& value) const noexcept {
        const slot* const all = slots();
        if (index >= capacity_) [[unlikely]] { return false; }
        const slot& s = all[index];
        value = s.value;
        return s.word == generation;
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

    /// A promised slot comes alive. Requires: it is promised.
    void fulfil(std::uint32_t index, std::uint32_t value) noexcept {
        CAIRN_ASSERT(index < capacity_ && slots()[index].value == promised_mark,
                     "the slot is promised");
        slots()[index] = {slots()[index].word & ~vacant, value};
        --promised_count_;
        ++live_;
        set_limit();
    }

    /// is_ready() is false from now on while `count` or more are alive: for an owner whose columns
    /// have room for so many, so that one comparison answers for all of them.
    void set_live_max(std::size_t count) noexcept {
        live_max_ = count < none ? static_cast<std::uint32_t>(count) : none;
        set_limit();
    }

    /// True when the next life needs no growth, here or in the owner's columns.
    [[nodiscard]] bool is_ready() const noexcept { return live_ < limit_; }

protected:
    static constexpr std::uint32_t vacant = detail::generations::vacant;
    static constexpr std::uint32_t promised_mark = 0xffff'fffe;  // no slot has this index

    slot_directory_base(slot_rules rules, allocator_ref upstream) noexcept
        : memory_{cache_line_alignment, upstream},
          lives_{rules.generation_max, rules.first_generation},
          rules_{rules},
          line_memory_{cache_line_alignment, upstream} {}

    slot_directory_base(slot_directory_base&& other) noexcept;
    slot_directory_base& operator=(slot_directory_base&& other) noexcept;
    ~slot_directory_base() = default;

    slot* slots() const noexcept { return reinterpret_cast<slot*>(memory_.data()); }

    std::uint32_t* line() const noexcept {
        return reinterpret_cast<std::uint32_t*>(line_memory_.data());
    }

    [[nodiscard]] bool copy_slots(const slot_directory_base& other, bool has_line) noexcept;
    [[nodiscard]] std::uint32_t grown_capacity(std::size_t needed) const noexcept;
    [[nodiscard]] bool grow_slots(std::uint32_t count) noexcept;
    void start_slots(std::uint32_t count) noexcept;
    void widen_ring(std::uint32_t count) noexcept;
    void widen_stack(std::uint32_t count) noexcept;
    void wear_out(std::uint32_t index) noexcept;
    void set_limit() noexcept;
    void validate_counts(std::uint32_t free_found) const noexcept;

    // Hot fields first, near each other: stores to one cache line leave two at a time. The two list
    // ends stand apart from live_ even so, or the compiler joins their stores into one wide store,
    // from which the next load cannot be forwarded.
    std::uint32_t live_ = 0;
    std::uint32_t limit_ = 0;  // live_ below this: a slot is ready, free_min others stay,
                               // and the owner has room (live_max_)
    std::uint32_t capacity_ = 0;
    std::uint32_t head_ = 0;  // fifo: where the next slot is taken; lifo: how many are free
    growable_memory memory_;
    std::uint32_t tail_ = 0;  // fifo: where the next free slot is put
    detail::generations lives_;
    slot_rules rules_;
    std::uint32_t promised_count_ = 0;
    std::uint32_t worn_out_count_ = 0;
    std::uint32_t worn_out_head_ = none;
    std::uint32_t live_max_ = none;
    growable_memory line_memory_;  // fifo: a ring, lifo: a stack of free indices
};

namespace detail {

/// Tells the compiler that an object that was found has an address, so that the caller's own null
/// test vanishes where it follows ours.
template <class T>
[[nodiscard]] inline T* not_null(T* object) noexcept {
#if defined(__GNUC__)
    if (object == nullptr) { __builtin_unreachable(); }
#endif
    return object;
}

struct no_free_bits {
    explicit no_free_bits(allocator_ref) noexcept {}
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

    /// The same slots in the same lives, free ones in the same order. Values are copied as they
    /// are.
    /// Requires: no slot was used or reserved yet; the same rules.
    /// Returns: false when exhausted; the directory can only be destroyed then.
    [[nodiscard]] bool copy_from(const slot_directory& other) noexcept {
        if constexpr (Order == reuse::lowest) {
            if (!bits_.copy_from(other.bits_)) { return false; }
        }
        return copy_slots(other, Order != reuse::lowest);
    }

    /// Makes room, so that `live_count` slots can be in use at once without growth.
    /// Returns: false when exhausted, or when the handle has too few index bits.
    [[nodiscard]] bool reserve(std::size_t live_count) noexcept {
        const std::size_t max = rules_.slot_count_max;
        if (live_count > max - worn_out_count_) { return false; }
        const std::size_t wanted = live_count + rules_.free_min + worn_out_count_;
        return grow(wanted < max ? wanted : max, true);
    }

    /// Slots grow in place from now on, up to `live_max` in use at once and free_min more. That is
    /// all there will ever be: those that wear out are not replaced.
    /// Requires: no slot was used yet.
    /// Returns: false for 0, for more than slot_count_max, and when the system refuses.
    [[nodiscard]] bool reserve_address_space(std::size_t live_max) noexcept {
        CAIRN_ASSERT(capacity_ == 0, "addresses are reserved before the first slot");
        if (live_max == 0 || live_max > rules_.slot_count_max) { return false; }
        const std::size_t slot_max = live_max + rules_.free_min;
        return memory_.reserve_address_space(slot_max * sizeof(slot)) && reserve_line(slot_max);
    }

    /// The slot that the next occupy() or promise() will take; makes sure that there is one.
    /// Nothing that a caller can see changes. Returns: none when exhausted.
    [[nodiscard]] std::uint32_t next() noexcept { return prepare() ? peek() : none; }

    /// The two halves of next(). peek() requires: prepare() returned true and nothing came between.
    [[nodiscard]] bool prepare() noexcept { return live_ < limit_ || make_ready(); }
    [[nodiscard]] std::uint32_t peek() noexcept {
        if constexpr (Order == reuse::lowest) {
            return bits_.lowest();
        } else {
            return line()[Order == reuse::fifo ? head_ : head_ - 1];
        }
    }

    /// Slot `index` begins a life and leads to `value`. Requires: index == next().
    void occupy(std::uint32_t index, std::uint32_t value) noexcept {
        occupy(index, slots()[index].word & ~vacant, value);
    }
    /// The same for a caller who knows its generation(), from the handle.
    void occupy(std::uint32_t index, std::uint32_t generation, std::uint32_t value) noexcept {
        CAIRN_ASSERT(slots()[index].word == (generation | vacant), "a slot begins its next life");
        take(index);
        ++live_;
        slots()[index] = {generation, value};
    }

    /// Slot `index` begins a life in which find() fails until fulfil(). Requires: index == next().
    void promise(std::uint32_t index) noexcept {
        take(index);
        slots()[index].value = promised_mark;
        ++promised_count_;
        set_limit();
    }

    /// The life of slot `index` ends: every handle of it is stale from now on.
    /// Requires: it is alive or promised.
    void vacate(std::uint32_t index) noexcept {
        slot& s = slots()[index];
        CAIRN_ASSERT(index < capacity_ && ((s.word & vacant) == 0 || s.value == promised_mark),
                     "a slot that is vacated was in use");
        if ((s.word & vacant) != 0) [[unlikely]] {
            --promised_count_;
            s.value = none;
            set_limit();
        } else {
            --live_;
        }
        end_life(index, s.word & ~vacant);
    }

    /// As vacate(), for a slot that find(index, generation) has just found.
    void vacate_live(std::uint32_t index, std::uint32_t generation) noexcept {
        CAIRN_ASSERT(index < capacity_ && slots()[index].word == generation,
                     "a slot that is vacated was in use");
        --live_;
        end_life(index, generation);
    }

    /// Every promised slot ends its life.
    void vacate_promised() noexcept {
        for (std::uint32_t i = 0; promised_count_ != 0; ++i) {
            if (slots()[i].value == promised_mark) { vacate(i); }
        }
    }

    /// All worn-out slots begin again at their first generation.
    /// Requires: no handle of any of their lives is left anywhere: `no_handles_left` says so.
    /// Returns: how many came back.
    std::uint32_t recycle_worn_out(no_handles_left_t) noexcept {
        const std::uint32_t count = worn_out_count_;
        for (std::uint32_t i = worn_out_head_; worn_out_count_ != 0; --worn_out_count_) {
            const std::uint32_t following = slots()[i].value;
            slots()[i] = {vacant | lives_.first(), none};
            give_back(i);
            i = following;
        }
        worn_out_head_ = none;
        set_limit();
        return count;
    }

    /// Walks the free and worn-out slots; a broken invariant stops a checked build. O(slots).
    void validate() const noexcept {
        std::uint32_t found = 0;
        if constexpr (Order == reuse::lowest) {
            for (std::uint32_t i = 0; i < capacity_; ++i) { found += bits_.contains(i) ? 1u : 0u; }
        } else {
            std::uint32_t at = Order == reuse::fifo ? head_ : 0;
            for (; found < free_count(); ++found) {
                CAIRN_ASSERT((slots()[line()[at]].word & vacant) != 0 &&
                                 slots()[line()[at]].value != promised_mark,
                             "a slot that waits for use is free");
                at = at + 1 == capacity_ ? 0 : at + 1;
            }
            CAIRN_ASSERT(Order == reuse::fifo || head_ == found, "the stack holds all free slots");
            CAIRN_ASSERT(Order == reuse::lifo || free_count() == 0 || at == tail_,
                         "the ring holds all free slots");
        }
        validate_counts(found);
    }

private:
    [[gnu::noinline]] bool make_ready() noexcept {
        if (free_count() > rules_.free_min) { return true; }
        // Rather one of the last free_min than none.
        return grow(std::size_t{in_use_count()} + rules_.free_min + worn_out_count_ + 1, false) ||
               free_count() != 0;
    }

    [[nodiscard]] bool reserve_line(std::size_t slot_max) noexcept {
        if constexpr (Order == reuse::lowest) {
            return bits_.reserve_address_space(slot_max);
        } else {
            return line_memory_.reserve_address_space(slot_max * sizeof(std::uint32_t));
        }
    }

    /// `takes_little`: exactly what is needed will do, where there is no more.
    [[nodiscard]] bool grow(std::size_t needed, bool takes_little) noexcept {
        if (needed <= capacity_) { return true; }
        if (needed > rules_.slot_count_max) { needed = rules_.slot_count_max; }
        if (needed <= capacity_) { return false; }
        const auto attempt = [this](std::size_t count) {
            return grow_exactly(static_cast<std::uint32_t>(count));
        };
        const std::size_t wish = grown_capacity(needed);
        return grow_by_halves(capacity_, needed, wish, attempt) != 0 ||
               (wish != needed && (takes_little || memory_.is_reserved()) && attempt(needed));
    }

    [[nodiscard]] bool grow_exactly(std::uint32_t count) noexcept {
        if constexpr (Order == reuse::lowest) {
            if (!bits_.ensure(count) || !grow_slots(count)) { return false; }
            for (std::uint32_t i = capacity_; i < count; ++i) { bits_.insert(i); }
        } else {
            if (!line_memory_.grow(count * sizeof(std::uint32_t),
                                   capacity_ * sizeof(std::uint32_t)) ||
                !grow_slots(count)) {
                return false;
            }
            if constexpr (Order == reuse::fifo) {
                widen_ring(count);
            } else {
                widen_stack(count);
            }
        }
        start_slots(count);
        return true;
    }

    void take([[maybe_unused]] std::uint32_t index) noexcept {
        if constexpr (Order == reuse::lowest) {
            bits_.erase(index);
        } else if constexpr (Order == reuse::lifo) {
            CAIRN_ASSERT(index == line()[head_ - 1], "the slot taken is the one next() named");
            --head_;
        } else {
            CAIRN_ASSERT(index == line()[head_], "the slot taken is the one that next() named");
            head_ = head_ + 1 == capacity_ ? 0 : head_ + 1;
        }
    }

    void end_life(std::uint32_t index, std::uint32_t generation) noexcept {
        if (lives_.turns_at(generation)) [[unlikely]] {
            if (generation == lives_.last()) {
                wear_out(index);
                return;
            }
            slots()[index].word = vacant | 1;  // the ring of generations closes
        } else {
            slots()[index].word = generation + (vacant + 1);
        }
        give_back(index);
    }

    /// The slot waits for its next life; the caller counts.
    void give_back(std::uint32_t index) noexcept {
        if constexpr (Order == reuse::lowest) {
            bits_.insert(index);
        } else if constexpr (Order == reuse::lifo) {
            line()[head_++] = index;
        } else {
            const std::uint32_t tail = tail_;  // the store might mean it, says the compiler
            line()[tail] = index;
            tail_ = tail + 1 == capacity_ ? 0 : tail + 1;
        }
    }

    [[no_unique_address]] typename detail::free_order<Order>::bits bits_;
};

}  // namespace cairn::inline CAIRN_FLAVOUR
