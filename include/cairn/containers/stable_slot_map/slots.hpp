// cairn/containers/stable_slot_map/slots.hpp - the pages of a stable_slot_map: everything that needs no T.
//
//      pages:   +--------+--------+--------+
//               | state  | state  | state  |      page.hpp: words, generations; stays for ever
//               | bytes  | bytes  |   -    |      room for the objects; goes back when the page is empty
//               +--------+--------+--------+
//                   ^        ^
//                   |        open_page_: no page below has a free slot that is not in hand
//                   hand_page_: where the slots in hand lie (hand.hpp)
//
// Invariant: a slot in hand counts as live in its page's words, and nobody can be found there.
// Cost:      taking and freeing a slot: loads and stores of the page's words, no loop. gather(), once in 64
//            insertions or more: the words it needs. Growth: one page, nothing is copied but the table
//            of pages.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include <cairn/containers/stable_slot_map/hand.hpp>
#include <cairn/containers/stable_slot_map/page.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/storage/generations.hpp>
#include <cairn/storage/growable_memory.hpp>

namespace cairn::inline CAIRN_FLAVOUR::detail {

/// A pointer that the compiler keeps in a register as it is. gcc would rather take base + first * 64 +
/// bit apart again, and add the middle at each bit.
template <class T>
[[nodiscard]] inline T* as_it_is(T* p) noexcept {
#if defined(__GNUC__)
    __asm__("" : "+r"(p));
#endif
    return p;
}

template <unsigned SlotsLog2, std::uint32_t IndexMax, std::uint32_t GenerationMax>
class stable_slots {
public:
    using page = stable_page<SlotsLog2>;
    struct entry {
        page* state;
        std::byte* objects;  // nullptr while the page is empty and its block is with the upstream
    };
    static constexpr unsigned slots_log2 = SlotsLog2;
    static constexpr std::uint32_t slot_mask = page::slot_count - 1;
    static constexpr std::size_t no_page = SIZE_MAX;
    static constexpr std::size_t no_index = SIZE_MAX;
    static constexpr std::size_t page_count_max =
        (std::size_t{IndexMax} + 1 + slot_mask) >> SlotsLog2;

    stable_slots(std::size_t object_size, alignment align, allocator_ref upstream,
                 std::uint32_t first_generation) noexcept
        : lives_{GenerationMax, first_generation},
          table_{alignment::of<entry>(), upstream},
          block_size_{object_size << SlotsLog2},
          align_{align} {}
    stable_slots(stable_slots&& other) noexcept
        : lives_{std::move(other.lives_)},
          table_{std::move(other.table_)},
          block_size_{other.block_size_},
          align_{other.align_} {
        take_state(other);
    }
    /// Requires: release() was called.
    stable_slots& operator=(stable_slots&& other) noexcept {
        lives_ = std::move(other.lives_);
        table_ = std::move(other.table_);
        take_state(other);
        return *this;
    }

    [[nodiscard]] entry* pages() const noexcept { return reinterpret_cast<entry*>(table_.data()); }
    [[nodiscard]] std::size_t page_count() const noexcept { return page_count_; }
    [[nodiscard]] allocator_ref upstream() const noexcept { return table_.upstream(); }
    /// Live objects: counted when they end, and in the hand when they begin.
    [[nodiscard]] std::size_t size() const noexcept { return size_ + hand_.taken_count(); }
    [[nodiscard]] std::size_t exhausted_count() const noexcept { return exhausted_count_; }

    [[nodiscard]] static std::uint32_t index_of(std::size_t p, std::uint32_t slot) noexcept {
        return static_cast<std::uint32_t>(p << SlotsLog2) | slot;
    }

    // ---- a slot begins and ends its life ---------------------------------------------------------

    /// A slot to take: where it is, and the life that it would begin.
    struct place {
        page* state;
        std::byte* objects;
        std::uint32_t slot;
        std::uint32_t index;
        std::uint32_t generation;
    };
    /// True when there is one. False: exhausted, nothing has changed.
    [[nodiscard]] bool ready() noexcept { return !hand_.empty() || gather(); }
    /// Requires: ready().
    [[nodiscard]] place next() const noexcept {
        const std::uint32_t slot = hand_.peek();
        return {hand_page_, hand_objects_, slot, hand_index_ + slot,
                hand_page_->generation[slot] & ~page::vacant};
    }
    [[nodiscard]] std::uint32_t ahead() const noexcept { return hand_.peek_ahead(); }
    /// It is an object's from now on, found by nobody until its generation is written.
    void take(const place&) noexcept { hand_.pop(); }
    /// Its constructor threw: as if it had never been taken.
    void untake(const place& at) noexcept {
        --size_;
        const std::size_t p = at.index >> SlotsLog2;
        at.state->leave(at.slot);
        slot_is_free(p, *at.state, at.slot);
        if (at.state->used == 0) { page_is_empty(p); }
    }
    /// It is in use without an object. Requires: at == next().
    void hold(const place& at) noexcept {
        hand_.pop();
        --size_;  // the hand counts it
        at.state->leave(at.slot);
        page::set(at.state->blocked, at.slot);
        page::set(at.state->held, at.slot);
        ++at.state->held_count;
    }
    /// A held slot gets its object.
    void fulfil(page& state, std::uint32_t slot, std::uint32_t generation) noexcept {
        page::reset(state.blocked, slot);
        page::reset(state.held, slot);
        --state.held_count;
        state.enter(slot);
        state.generation[slot] = generation;
        ++size_;
    }

    /// The object of a slot is gone, and with it life `generation`.
    void leave(std::size_t p, page& state, std::uint32_t slot, std::uint32_t generation) noexcept {
        --size_;
        const bool page_empty = state.leave(slot);
        state.reopen(slot);
        if (p < open_page_) [[unlikely]] { open_page_ = p; }
        if (page_empty || generation == lives_.last()) [[unlikely]] {
            leave_for_long(p, state, slot, generation);
        }
    }
    /// The object of a slot waits for its fence: out of sight, its page stays.
    void set_aside(page& state, std::uint32_t slot) noexcept {
        page::set(state.blocked, slot);
        state.leave(slot);
        ++state.waiting_count;
        --size_;
    }
    /// It waits no more, and its object is destroyed.
    void finish(std::size_t p, std::uint32_t slot) noexcept {
        page& state = *pages()[p].state;
        --state.waiting_count;
        if (state.generation[slot] == page::vacant) {
            ++exhausted_count_;
        } else {
            page::reset(state.blocked, slot);
            slot_is_free(p, state, slot);
        }
        if (state.used == 0) { page_is_empty(p); }
    }
    /// A held slot is given up.
    void drop_held(std::size_t p, std::uint32_t slot) noexcept {
        page& state = *pages()[p].state;
        page::reset(state.held, slot);
        --state.held_count;
        page::reset(state.blocked, slot);
        const std::uint32_t generation = state.generation[slot] & ~page::vacant;
        state.generation[slot] = next_life(generation);
        if (generation == lives_.last()) [[unlikely]] {
            exhaust(state, slot);
        } else {
            slot_is_free(p, state, slot);
        }
        if (state.used == 0) { page_is_empty(p); }
    }
    void drop_all_held() noexcept;
    /// An exhausted slot begins again.
    void recycle(std::size_t p, std::uint32_t slot) noexcept {
        page& state = *pages()[p].state;
        state.generation[slot] = page::vacant | lives_.first();
        page::reset(state.blocked, slot);
        slot_is_free(p, state, slot);
        --exhausted_count_;
    }

    /// The generation word while life `generation` ends: vacant, and the life after it in the ring.
    [[nodiscard]] static constexpr std::uint32_t after(std::uint32_t generation) noexcept {
        return (generation == GenerationMax ? 1 : generation + 1) | page::vacant;
    }
    /// What a slot's generation word is after life `generation`: as above, and 0 when that was the last.
    [[nodiscard]] std::uint32_t next_life(std::uint32_t generation) const noexcept {
        return generation == lives_.last() ? page::vacant : after(generation);
    }
    /// Why (index, generation) finds nothing. Any arguments are allowed.
    [[nodiscard]] handle_fault fault_of(std::uint32_t index,
                                        std::uint32_t generation) const noexcept;
    /// Stops the program and names what is wrong with (index, generation), a handle of `map`.
    /// Requires: it finds nothing.
    [[noreturn, gnu::cold]] void refuse(std::uint32_t index, std::uint32_t generation,
                                        const void* map, call_site from) const;

    /// The objects of word `w`: what is marked live, less the slots in hand.
    [[nodiscard]] std::uint64_t live_in(const page& state, std::uint32_t w) const noexcept {
        const std::uint64_t live = state.live[w];
        return &state == hand_page_ ? live & ~hand_.pending(w) : live;
    }
    /// First live slot at or after `index`, else no_index.
    [[nodiscard]] std::size_t next_live(std::size_t index) const noexcept;

    // ---- pages come and go: cold ------------------------------------------------------------------

    /// For a copy of the map: pages as in `other`, where no object is found yet. enter_copy() follows for
    /// each of its objects, then finish() for each that waits. Requires: no page was added yet.
    /// Returns: false when exhausted; the pages can only be released then.
    [[nodiscard]] bool copy_pages(const stable_slots& other) noexcept;
    /// A slot whose object was just copied.
    void enter_copy(std::size_t p, std::uint32_t slot, std::uint32_t generation) noexcept {
        page& state = *pages()[p].state;
        state.enter(slot);
        state.generation[slot] = generation;
        ++size_;
    }
    [[nodiscard]] bool reserve_pages(std::size_t count) noexcept;
    void return_empty_pages() noexcept;
    /// Requires: nobody lives, waits or is held.
    void release() noexcept;
    void validate() const noexcept;

private:
    void exhaust(page& state, std::uint32_t slot) noexcept {
        page::set(state.blocked, slot);
        ++exhausted_count_;
    }
    void slot_is_free(std::size_t p, page& state, std::uint32_t slot) noexcept {
        state.reopen(slot);
        if (p < open_page_) [[unlikely]] { open_page_ = p; }
    }

    void leave_for_long(std::size_t p, page& state, std::uint32_t slot,
                        std::uint32_t generation) noexcept;
    [[nodiscard]] bool gather() noexcept;
    void drop_hand() noexcept;
    [[nodiscard]] bool add_page() noexcept;
    [[nodiscard]] bool bring_back(std::size_t p) noexcept;
    void send_back(std::size_t p) noexcept;
    void page_is_empty(std::size_t p) noexcept;

    void take_state(stable_slots& other) noexcept {
        hand_ = other.hand_;
        other.hand_.forget();
        hand_page_ = std::exchange(other.hand_page_, nullptr);
        hand_objects_ = other.hand_objects_;
        hand_index_ = other.hand_index_;
        page_count_ = std::exchange(other.page_count_, 0);
        open_page_ = std::exchange(other.open_page_, 0);
        size_ = std::exchange(other.size_, 0);
        kept_page_count_ = std::exchange(other.kept_page_count_, 0);
        spare_page_ = std::exchange(other.spare_page_, no_page);
        exhausted_count_ = std::exchange(other.exhausted_count_, 0);
    }

    generations lives_;
    page* hand_page_ = nullptr;
    std::byte* hand_objects_ = nullptr;
    std::uint32_t hand_index_ = 0;  // of the page's first slot
    stable_hand<page> hand_;
    growable_memory table_;  // entry of every page
    std::size_t page_count_ = 0;
    std::size_t open_page_ = 0;
    std::size_t size_ = 0;              // live objects less those taken from the hand
    std::size_t kept_page_count_ = 0;   // reserve_pages(): these stay when empty
    std::size_t spare_page_ = no_page;  // empty and kept
    std::size_t exhausted_count_ = 0;
    std::size_t block_size_;
    alignment align_;
};

}  // namespace cairn::inline CAIRN_FLAVOUR::detail

#include <cairn/containers/stable_slot_map/slots_cold.hpp>
