// cairn/containers/stable_slot_map/slots.hpp - which slot the next object takes.
//
//      free --> held ready --> taken --> live --> free, in its next life
//                  |                      |
//                  +--> promised          +--> waits for its fence --> free
//                                         +--> worn out: all its lives are used up
//
// Slots that are ready for the next objects form a stack:
//
//      ready:  [ 7 | 322 | 323 | ...  ]      an insertion takes the top
//                ^ top                       an erasure pushes its slot: reused first
//
//      chunk:   word 0: 1111 0110 ...     word 5: 1111 1011 ...     word 9: ...
//                           |  |                       |
//      gather():  [ 4 | 7 | 322 | ... ]                        64 or more, the lowest on top
//
// A slot in the stack is held: it stays marked live in its chunk, and marked held, too. So erasing
// an object and inserting one changes one word and a count of the chunk. Where the stack is full,
// the slot becomes free in its chunk. So does a slot behind front_end_, the end of the lowest chunk
// with a batch of free slots: insertions come to that chunk, and chunks behind it run empty.
//
// Where the stack is empty, gather() fills it with the free slots of one chunk: looking for one
// free slot at each insertion would make each wait for the words that the one before has stored.
// The chunk is
//      1. the lowest with a batch of free slots,
//      2. else the one where a slot became free last, or the lowest with a free slot,
//      3. else the lowest whose block went back: it gets a block again,
//      4. else a new one.
//
// Cost:      take, leave: loads and stores, no loop. gather(): step_count_max words at most,
//            whatever the number of chunks; once in 64 insertions or more where a chunk has 64.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/containers/stable_slot_map/chunks.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/storage/inside/step_counter.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Live slots of one word, from one slot on.
struct live_word {
    std::size_t first;   // index of the word's first slot, or no_index
    std::uint64_t live;  // 0 for no_index only
};

class stable_slots : public stable_chunks {
public:
    static constexpr std::uint32_t no_slot = 0xffff'ffff;
    static constexpr std::size_t no_index = SIZE_MAX;
    /// Steps (step_counter.hpp) of taking one slot, with or without gathering, or of freeing one:
    /// the words of a chunk, turns of six for its slots, three searches for a chunk, two changes of
    /// kind. A new chunk is on top.
    [[nodiscard]] static constexpr std::uint64_t step_count_max(
        const stable_rules& rules) noexcept {
        const std::uint64_t gathering = std::uint64_t{2} * rules.word_count() + (64 - 1 + 64) / 6;
        return 1 + gathering + 3 * rules.level_count() + 2 * 2 * rules.level_count();
    }

    using stable_chunks::stable_chunks;
    stable_slots(stable_slots&& other) noexcept;

    [[nodiscard]] std::size_t size() const noexcept { return begun_count_ + top_ - ended_count_; }
    /// Grows when an object ends: what was seen alive before is alive while this is the same.
    [[nodiscard]] std::size_t ended_count() const noexcept { return ended_count_; }
    [[nodiscard]] std::size_t worn_out_count() const noexcept { return worn_out_count_; }

    // ---- a slot begins and ends its life ------------------------------------------------------

    struct place {
        stable_chunk* state;
        std::byte* objects;
        std::uint32_t slot;
        std::uint32_t index;
    };
    /// Returns: false when exhausted; nothing has changed then.
    [[nodiscard]] bool ready() noexcept { return top_ != end_ || gather(); }
    /// A slot for a new object. No handle finds it until its generation is written.
    /// Requires: ready().
    [[nodiscard, CAIRN_FORCE_INLINE]] place take(const stable_rules& rules) noexcept {
        CAIRN_DETAIL_STEP();
        const std::uint32_t index = ready_[top_++];
        const entry chunk = table()[index >> rules.slots_log2];
        const std::uint32_t slot = index & rules.slot_mask();
        chunk.state->held(rules)[slot / 64] ^= std::uint64_t{1} << (slot & 63);  // it is set
        ++chunk.state->live_count;
        return {chunk.state, chunk.objects, slot, index};
    }
    /// What erase() writes into the generation word before the object ends: no handle finds it. It
    /// is the next life, but for the two that turn() corrects.
    [[nodiscard]] static constexpr std::uint32_t hidden(std::uint32_t generation) noexcept {
        return (generation + 1) | stable_chunk::vacant;
    }
    /// The object of slot `index` has ended, and life `generation` with it; the word is hidden().
    [[CAIRN_FORCE_INLINE]] void leave(const stable_rules& rules, std::uint32_t index,
                                      stable_chunk* state, std::uint32_t generation) noexcept {
        CAIRN_DETAIL_STEP();
        ++ended_count_;
        if (generation == rules.generation_max || generation == lives_.last()) [[unlikely]] {
            if (!turn(index, generation)) { return; }
        }
        const std::uint32_t slot = index & rules.slot_mask();
        // In this order: the processor foresees a full stack, but not on which side of front_end_
        // an object lies that is erased at random.
        if (top_ != 0 && index < front_end_) {
            state->held(rules)[slot / 64] |= std::uint64_t{1} << (slot & 63);
            ready_[--top_] = index;
            ++begun_count_;
            if (--state->live_count == 0) [[unlikely]] { chunk_is_empty(index); }
        } else {
            state->leave(slot);
            state->open |= std::uint64_t{1} << (slot / 64);
            freed_index_ = index;
            const bool changes_kind = ++state->free_count == state->next_room_at;
            if (--state->live_count == 0 || changes_kind) [[unlikely]] { left_free(index); }
        }
    }
    /// The constructor of the object threw: the slot is free, as if it had never been taken.
    void untake(const place& at) noexcept;
    /// The slot is in use without an object.
    void promise(const place& at) noexcept;
    [[nodiscard]] bool is_promised(std::uint32_t index, std::uint32_t generation) const noexcept;
    /// A promised slot has its object now.
    void fulfil(std::uint32_t index, std::uint32_t generation) noexcept;
    /// A promised slot is given up.
    void drop_promised(std::uint32_t index) noexcept;
    void drop_all_promised() noexcept;

    /// The object of a slot waits for `fence`: its handles are stale, its chunk stays.
    /// Returns: false when exhausted; nothing has changed then.
    [[nodiscard]] bool set_aside(std::uint32_t index, std::uint64_t fence) noexcept;
    /// Removes from the list, from `at` on, the first slot whose fence is <= completed.
    /// Returns: its index, and `at` is where to go on; no_slot when there is none.
    [[nodiscard]] std::uint32_t next_due(std::uint64_t completed, std::size_t& at) noexcept;
    [[nodiscard]] std::size_t waiting_count() const noexcept { return waiting_.size; }
    /// A slot that waited is free: its object is destroyed.
    void finish(std::uint32_t index) noexcept;

    /// For clear(): the live slots of word `w` in chunk `p` end their lives and wait.
    [[nodiscard]] std::uint64_t hide_word(std::size_t p, std::uint32_t w) noexcept;
    /// The objects of those slots are destroyed: the slots are free.
    void free_word(std::size_t p, std::uint32_t w, std::uint64_t freed) noexcept;
    /// See stable_slot_map::recycle_slots().
    std::size_t recycle() noexcept;

    // ---- all of them --------------------------------------------------------------------------

    /// The live slots at or after `index` in the first word that has one.
    [[nodiscard]] live_word next_live(std::size_t index) const noexcept;

    [[nodiscard]] bool reserve_chunks(std::size_t count) noexcept { return reserve(count); }
    [[nodiscard]] bool shrink_to_fit() noexcept;
    /// For a copy of the map: chunks, generations, blocked and promised slots. enter_copies()
    /// follows for all objects.
    [[nodiscard]] bool copy_chunks(const stable_slots& other) noexcept;
    void enter_copies(live_word word) noexcept;
    /// Slots that wait in `other` and not in its copy become free here.
    void finish_waiting_of(const stable_slots& other) noexcept;
    /// Requires: no slot is live, waiting or promised.
    void release() noexcept;
    void validate() const noexcept;

    // ---- handles that find nothing ------------------------------------------------------------

    /// Why (index, generation) finds nothing. Any arguments are allowed.
    [[nodiscard]] handle_fault fault_of(std::uint32_t index,
                                        std::uint32_t generation) const noexcept;
    /// Stops the program and names what is wrong with a handle of `map`.
    [[noreturn, CAIRN_COLD]] void refuse(std::uint32_t index, std::uint32_t generation,
                                         const void* map, call_site from) const;
    /// The generation word of slot `index`. Requires: there is such a slot.
    [[nodiscard]] std::uint32_t life(std::uint32_t index) const noexcept { return life_of(index); }

private:
    static constexpr std::uint32_t batch_enough = 64;   // gather() stops there: 63 more at most
    static constexpr std::uint32_t batch_first = 64;    // so many slots can be pushed on a batch
    static constexpr std::uint32_t append_overrun = 5;  // append() writes six numbers at a time

    void left_free(std::uint32_t index) noexcept;
    [[nodiscard, CAIRN_COLD]] bool turn(std::uint32_t index, std::uint32_t generation) noexcept;
    void chunk_is_empty(std::uint32_t index) noexcept;
    [[nodiscard]] bool gather() noexcept;
    [[nodiscard]] bool get_memory(std::size_t& p) noexcept;
    [[nodiscard, CAIRN_COLD]] bool grow_waiting(std::uint32_t index) noexcept;
    /// The slots of the stack that lie in chunk `p` are free again; of all chunks: no_chunk.
    void drop_ready(std::size_t p) noexcept;
    void set_front(std::size_t p) noexcept;
    [[nodiscard]] std::size_t chunk_with_few() const noexcept;
    void enter_room(std::size_t p) noexcept;
    void unblock(std::uint32_t index) noexcept;
    void slot_is_free(std::uint32_t index) noexcept;
    [[nodiscard]] bool is_worn_out(std::uint32_t index) const noexcept;
    [[nodiscard]] bool all_go_on(const std::uint32_t* lives) const noexcept;
    [[nodiscard]] std::uint64_t hide_one_by_one(std::uint64_t hidden,
                                                std::uint32_t* lives) const noexcept;
    [[nodiscard]] std::uint32_t next_life(std::uint32_t generation) const noexcept;

    std::size_t top_ = 0;  // ready_[top_, end_): slots that are held
    std::size_t end_ = 0;
    std::uint32_t front_end_ = 0;    // slots from here on are not held when they are freed
    std::uint32_t freed_index_ = 0;  // the slot that became free last
    std::size_t begun_count_ = 0;    // with top_: objects that ever lived
    std::size_t ended_count_ = 0;    // those that ended
    plain_list<waiting_slot> waiting_;
    std::uint32_t ready_[batch_first + batch_enough - 1 + 64 + append_overrun];
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
